"""With its siblings `emulated_…` the one place that touches ministack, the emulator of everything that isn't SageMaker.

Written against ministack 1.5.33, which is pinned: it has no stable interface for what is needed here, so
private names are used. When the pin moves, go through the functions below one by one; the end-to-end tests
say which broke. ministack reads its settings from the environment when it is imported:
`headway_sandbox.server.server` sets them before.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import asyncio
import copy
import importlib
import json
import os
import signal
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

VERSION = "1.5.33"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

# Run in each function's process: it ends itself when the server is gone, even if the server was killed and
# the handler is busy. (PR_SET_PDEATHSIG won't do: it fires when the *thread* that started the process ends,
# and ministack starts them from short-lived threads.)
_WATCH_PARENT = """
def _headway_watch_parent():
    import os, threading, time
    parent = os.getppid()
    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)
    threading.Thread(target=watch, daemon=True).start()
_headway_watch_parent()
"""


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who signed a request. `session` is the name of an assumed role's session: for a function, its name."""

    access_key: str
    region: str

    @property
    def session(self) -> str | None:
        session = module("services.sts")._sessions.get(self.access_key)
        return str(session["Arn"]).rpartition("/")[2] if session else None


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A denied request: `answer` is a complete response if the credentials failed, else a policy was lacking."""

    principal: str = ""
    explicit: bool = False
    answer: tuple[int, dict[str, str], bytes] | None = None


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A process that runs a function."""

    pid: int
    function: str
    busy: bool
    code: str
    """What it runs, to be compared with others."""


def module(name: str) -> Any:
    """One of ministack's modules, such as `services.sqs`. It reads its settings when it is imported."""
    return importlib.import_module(f"ministack.{name}")


def prepare() -> AsgiApp:
    """Ministack's ASGI application, with its gaps that matter here filled.

    Raises:
        RuntimeError: another version is installed.
    """
    app = module("app")
    found = app._version()
    if found != VERSION:
        raise RuntimeError(f"The sandbox is written for ministack {VERSION}, found {found}: run `make setup`.")
    runtime = module("core.lambda_runtime")
    runtime._PYTHON_WORKER_SCRIPT = _WATCH_PARENT + runtime._PYTHON_WORKER_SCRIPT
    _retry_events()
    _retry_stream_records()
    _keep_stream_records()
    _publish_batches()
    _encrypt_with_the_managed_key()
    application: AsgiApp = app.app
    return application


def _retry_events() -> None:
    """A rule's function is invoked asynchronously: on AWS two retries follow an error, in ministack none.

    Source: Lambda developer guide, "Error handling for asynchronous invocation".
    """
    eventbridge, functions = module("services.eventbridge"), module("services.lambda_svc")

    def dispatch(arn: str, payload: str) -> None:
        function, config, _name = functions._get_func_record_for_ref(arn)
        if function and config:
            record = functions._execution_record_for_config(function, config)
            functions.invoke_async_with_retry(record, json.loads(payload))

    eventbridge._dispatch_to_lambda = dispatch


def _retry_stream_records() -> None:
    """A function may answer which record of a table's stream it failed on, which ministack takes for success.

    On AWS that record comes again with all after it, here the whole batch does: no record is lost either way. Source:
    Lambda developer guide, "Configuring partial batch response with DynamoDB and Lambda".
    """
    functions = module("services.lambda_svc")
    original = functions._execute_function

    def execute(function: Mapping[str, Any], event: Any) -> Any:
        result = original(function, event)
        match event, result:
            case {"Records": [{"eventSource": "aws:dynamodb"}, *_]}, {"body": {"batchItemFailures": [_, *_]}}:
                return {**result, "error": True}
            case _:
                return result

    functions._execute_function = execute


def _keep_stream_records() -> None:
    """Keep what functions have not yet read of a table's stream when the sandbox stops.

    ministack keeps how far they have read, but not the records: after a start it would pass over as many new ones.
    """
    dynamodb, functions = module("services.dynamodb"), module("services.lambda_svc")
    save, load = dynamodb.get_state, dynamodb.load_persisted_state

    def unread(account: str, region: str, table: str, end: int) -> int:
        """The first position that not all functions have read."""
        positions = functions._dynamodb_stream_positions
        mappings = [
            (scope, mapping["UUID"])
            for scope, mapping in list(functions._esms._data.items())
            if f":table/{table}/stream/" in mapping.get("EventSourceArn", "") and scope[:2] == (account, region)
        ]
        return min((positions.get_scoped(*scope[:2], name, end) for scope, name in mappings), default=end)

    def get_state() -> dict[str, Any]:
        state = save()
        kept, trimmed = type(dynamodb._stream_records)(), type(dynamodb._stream_trimmed)()
        for (account, region, table), records in list(dynamodb._stream_records.all_items()):
            first = dynamodb._stream_trimmed.get_scoped(account, region, table, 0)
            position = max(first, unread(account, region, table, first + len(records)))
            kept.set_scoped(account, region, table, copy.deepcopy(records[position - first :]))
            trimmed.set_scoped(account, region, table, position)
        return {**state, "stream_records": kept, "stream_trimmed": trimmed}

    def load_persisted_state(data: Mapping[str, Any] | None) -> None:
        load(data)
        if data:
            dynamodb._stream_records.update(data.get("stream_records", {}))
            dynamodb._stream_trimmed.update(data.get("stream_trimmed", {}))

    dynamodb.get_state, dynamodb.load_persisted_state = get_state, load_persisted_state


def _publish_batches() -> None:
    """Who may publish may publish batches too; ministack asks for a permission sns:PublishBatch, which AWS has not.

    Source: SNS developer guide, "Amazon SNS API permissions: Actions and resources reference".
    """
    actions = module("core.iam_actions")
    original = actions.extract_iam_action

    def extract(*request: Any) -> Any:
        action = original(*request)
        return "sns:Publish" if action == "sns:PublishBatch" else action

    actions.extract_iam_action = extract


def _encrypt_with_the_managed_key() -> None:
    """An upload with `aws:kms` and no key id is encrypted with the account's key aws/s3; ministack has no such key.

    The SageMaker SDK uploads sources in this way. Source: S3 user guide, "Using server-side encryption with AWS KMS
    keys (SSE-KMS)".
    """
    s3 = module("services.s3")
    original = s3._resolve_sse_write_headers
    key = "x-amz-server-side-encryption-aws-kms-key-id"

    def resolve(headers: Mapping[str, str], bucket_name: str) -> Any:
        if headers.get("x-amz-server-side-encryption") == "aws:kms" and not headers.get(key):
            headers = {**headers, key: "alias/aws/s3"}
        return original(headers, bucket_name)

    s3._resolve_sse_write_headers = resolve


# ---------------------------------------------------------------------------------------------- authorisation


async def read_signed(scope: Scope, receive: Receive) -> tuple[Caller, bytes]:
    """Read a request as ministack's own app does before it checks a signature: who sent it, and its body."""
    app, evaluator, responses = module("app"), module("core.iam_evaluator"), module("core.responses")
    router = module("core.router")
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    host = (scope.get("client") or ("127.0.0.1",))[0]
    evaluator.pin_request_origin(host, secure_transport=False)
    access_key = router.extract_access_key_id(headers)
    region = router.extract_region(headers)
    responses.set_request_account_id(app._request_account_scope(access_key))
    responses.set_request_region(region)
    raw_path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    evaluator.pin_signed_request(scope["method"], raw_path, {}, scope["headers"])
    body: bytes = await app._read_request_body(receive, scope["method"], headers)
    return Caller(access_key=access_key, region=region), body


def refusal(caller: Caller, action: str, resource: str, context: Mapping[str, Any]) -> Refusal | None:
    """Check the signature (the first time for a request) and the caller's policies. None means: go on."""
    evaluator = module("core.iam_evaluator")
    denied = evaluator.enforce(
        caller.access_key, action, "sagemaker", caller.region, resource_arn=resource, service_context=dict(context)
    )
    if denied is None:
        return None
    if isinstance(denied, evaluator.AuthError):
        # As a JSON service answers it; the header is what ministack tells those by.
        headers = {"x-amz-target": "SageMaker"}
        answer = module("app")._credential_failure("sagemaker", action, str(uuid.uuid4()), denied, headers)
        return Refusal(answer=answer)
    return Refusal(principal=denied.principal_arn, explicit=denied.decision == "Deny")


def role_allows(role_arn: str, action: str, resource: str, context: Mapping[str, Any]) -> bool:
    """Whether a role's own policies allow an action."""
    evaluator, account = module("core.iam_evaluator"), role_arn.split(":")[4] if role_arn.count(":") >= 5 else ""
    asked = evaluator.EvalContext(
        principal_arn=role_arn,
        principal_type="AssumedRole",
        principal_account=account,
        action=action,
        resource_arn=resource,
        region="",
        service_context={key.lower(): value for key, value in context.items()},
    )
    policies = evaluator._gather_role_policies(role_arn.rpartition("/")[2], account)
    return bool(evaluator.evaluate(asked, policies).decision == "Allow")


def role_trusts_sagemaker(role_arn: str) -> bool:
    """Whether the role is there and lets SageMaker assume it."""
    role = module("services.iam")._roles.get(role_arn.rpartition("/")[2])
    if role is None or role.get("Arn") != role_arn:
        return False
    policy = role.get("AssumeRolePolicyDocument") or "{}"
    document = json.loads(policy) if isinstance(policy, str) else policy
    statements = document.get("Statement", [])
    for statement in statements if isinstance(statements, list) else [statements]:
        principal = statement.get("Principal")
        services = principal.get("Service", []) if isinstance(principal, dict) else []
        if statement.get("Effect") == "Allow" and "sagemaker.amazonaws.com" in (
            [services] if isinstance(services, str) else services
        ):
            return True
    return False


# ----------------------------------------------------------------------------------------------------- events


def put_event(*, region: str, detail_type: str, detail: Mapping[str, Any], resource: str) -> None:
    """Put an `aws.sagemaker` event on the default bus, which a client may not do (nor on AWS).

    Targets are invoked on threads of their own, so this returns at once.
    """
    responses = module("core.responses")
    responses.set_request_account_id("")  # the sandbox's own account
    responses.set_request_region(region)
    entry = {
        "Source": "aws.sagemaker",
        "DetailType": detail_type,
        "Detail": json.dumps(detail),
        "Resources": [resource],
        "EventBusName": "default",
    }
    module("services.eventbridge")._put_events({"Entries": [entry]}, allow_aws_source=True)


# -------------------------------------------------------------------------------------------------- functions


def workers() -> list[Worker]:
    """The processes that run functions now."""
    runtime = module("core.lambda_runtime")
    with runtime._lock:
        entries = [worker for pool in runtime._workers.values() for worker in pool]
    return [
        Worker(pid=worker._proc.pid, function=worker.func_name, busy=worker.in_use, code=worker.headway_code)
        for worker in entries
        if worker._proc is not None and worker._proc.poll() is None
    ]


def kill_workers(function: str | None = None, *, busy_only: bool = False) -> list[Worker]:
    """SIGKILL the processes of the functions whose name contains `function` (all, if None). Returns them."""
    chosen = [
        worker
        for worker in workers()
        if (function is None or function in worker.function) and (worker.busy or not busy_only)
    ]
    for worker in chosen:
        try:
            os.kill(worker.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return chosen


def end_workers() -> None:
    """End all functions' processes and remove what they were unpacked into."""
    module("core.lambda_runtime").reset()


def expire_credentials(function: str | None = None) -> list[str]:
    """Let the credentials expire of the functions whose name contains `function` (of all, if None). Returns the names.

    A function's next process gets new ones: with `kill_workers` all goes on.
    """
    expired = [
        session
        for session in module("services.sts")._sessions.values()
        if ":assumed-role/" in session["Arn"] and (function is None or function in session["Arn"].rpartition("/")[2])
    ]
    for session in expired:
        session["Expiration"] = time.time() - 1.0
    return sorted(session["Arn"].rpartition("/")[2] for session in expired)


def release_messages(queue: str) -> int:
    """End the visibility timeout of the messages in the queues whose name contains `queue`; how many there were."""
    now, released = time.time(), 0
    for entry in list(module("services.sqs")._queues._data.values()):
        if queue in entry["name"]:
            held = [message for message in entry["messages"] if message["visible_at"] > now]
            for message in held:
                message["visible_at"] = now
            released += len(held)
    module("core.concurrency").esm_wake.set()
    return released


def serve(application: AsgiApp, *, host: str, port: int, stop: asyncio.Event) -> Awaitable[None]:
    """Serve HTTP until `stop` is set."""
    config = importlib.import_module("hypercorn.config").Config()
    config.bind = [f"{host}:{port}"]
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    config.graceful_timeout = 0.5
    served: Awaitable[None] = importlib.import_module("hypercorn.asyncio").serve(
        application, config, shutdown_trigger=stop.wait
    )
    return served
