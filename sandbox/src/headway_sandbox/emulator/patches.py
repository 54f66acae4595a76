"""Access to ministack, the emulator of all AWS services but SageMaker, and patches of the remaining services.

Written for ministack 1.5.33, which is pinned: it has no stable interface for the patches, so they use private names.
After a change of the pin, review the functions of this package one by one; the end-to-end tests show which ones broke.
ministack reads its settings from the environment when it is imported: `headway_sandbox.server.server` sets them before.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import asyncio
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

# Runs in each function's process: the process exits when the server is gone, even if the server was killed and the
# handler is busy. (PR_SET_PDEATHSIG does not work: it fires when the *thread* that started the process ends, and
# ministack starts processes from short-lived threads.)
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
    """Caller of a signed request."""

    access_key: str
    region: str

    @property
    def session(self) -> str | None:
        """Session name of an assumed role: for a function, its name."""
        session = module("services.sts")._sessions.get(self.access_key)
        return str(session["Arn"]).rpartition("/")[2] if session else None


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A denied request."""

    principal: str = ""
    explicit: bool = False
    """Whether a policy denies it explicitly."""
    answer: tuple[int, dict[str, str], bytes] | None = None
    """The complete response, if the credentials are invalid; None if permission is missing."""


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A process that runs a function."""

    pid: int
    function: str
    busy: bool
    code: str
    """Identifies the code that it runs, for comparison."""


def module(name: str) -> Any:
    """Import one of ministack's modules, such as `services.sqs`, which reads its settings at import."""
    return importlib.import_module(f"ministack.{name}")


def prepare() -> AsgiApp:
    """Apply the patches and return ministack's ASGI application.

    Raises:
        RuntimeError: Another version is installed.
    """
    app = module("app")
    found = app._version()
    if found != VERSION:
        raise RuntimeError(
            f"The sandbox is written for ministack {VERSION}, found {found}: run `make setup-sandbox`, "
            "or install Headway's extra `sandbox` again."
        )
    runtime = module("core.lambda_runtime")
    runtime._PYTHON_WORKER_SCRIPT = _WATCH_PARENT + runtime._PYTHON_WORKER_SCRIPT
    _retry_events()
    _retry_stream_records()
    _publish_batches()
    _encrypt_with_the_managed_key()
    application: AsgiApp = app.app
    return application


def _retry_events() -> None:
    """Retry a rule's function twice after an error, as on AWS for asynchronous invocations; ministack does not.

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
    """Retry a stream batch if the function reports a failed record, which ministack treats as success.

    On AWS the failed record and all later ones are sent again, here the whole batch: no record is lost either way.
    Source: Lambda developer guide, "Configuring partial batch response with DynamoDB and Lambda".
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


def _publish_batches() -> None:
    """Authorize PublishBatch by sns:Publish; ministack requires sns:PublishBatch, which does not exist on AWS.

    Source: SNS developer guide, "Amazon SNS API permissions: Actions and resources reference".
    """
    actions = module("core.iam_actions")
    original = actions.extract_iam_action

    def extract(*request: Any) -> Any:
        action = original(*request)
        return "sns:Publish" if action == "sns:PublishBatch" else action

    actions.extract_iam_action = extract


def _encrypt_with_the_managed_key() -> None:
    """Encrypt an upload with `aws:kms` and no key id with the key aws/s3, which ministack does not have.

    The SageMaker SDK uploads sources this way. Source: S3 user guide, "Using server-side encryption with AWS KMS
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


# ---------------------------------------------------------------------------------------------- authorization


async def read_signed(scope: Scope, receive: Receive) -> tuple[Caller, bytes]:
    """Read a request's caller and body as ministack's app does before it checks the signature.

    Args:
        scope: ASGI scope of the request.
        receive: ASGI receive function.
    """
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


def refusal(
    caller: Caller, action: str, resource: str, context: Mapping[str, Any], *, service: str = "sagemaker"
) -> Refusal | None:
    """Check the signature (once per request) and the caller's policies.

    Args:
        action: The IAM action.
        resource: ARN of its resource.
        context: Condition keys.
        service: The called service, as named in signatures.

    Returns:
        None if the call is allowed.
    """
    evaluator = module("core.iam_evaluator")
    denied = evaluator.enforce(
        caller.access_key, action, service, caller.region, resource_arn=resource, service_context=dict(context)
    )
    if denied is None:
        return None
    if isinstance(denied, evaluator.AuthError):
        # The error response of a JSON service; ministack recognizes JSON services by this header.
        headers = {"x-amz-target": "SageMaker"}
        answer = module("app")._credential_failure(service, action, str(uuid.uuid4()), denied, headers)
        return Refusal(answer=answer)
    return Refusal(principal=denied.principal_arn, explicit=denied.decision == "Deny")


def role_allows(role_arn: str, action: str, resource: str, context: Mapping[str, Any]) -> bool:
    """Return whether a role's own policies allow an action.

    Args:
        action: The IAM action.
        resource: ARN of its resource.
        context: Condition keys.
    """
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
    """Return whether a role exists and lets SageMaker assume it."""
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


def role_credentials(role_arn: str, session: str) -> tuple[str, str, str]:
    """Assume a role as SageMaker does, which has checked that the role trusts it.

    Args:
        session: Name of the session.

    Returns:
        Access key, secret key and session token. They expire only when the server ends, as SageMaker renews those of a
        training job.
    """
    sts, account = module("services.sts"), role_arn.split(":")[4]
    credentials = (sts._gen_session_access_key(), sts._gen_secret(), sts._gen_session_token())
    sts.register_session(
        credentials[0],
        {
            "Arn": sts._assumed_role_arn(role_arn, session)[0],
            "UserId": f"{sts._role_id(role_arn)}:{session}",
            "SecretAccessKey": credentials[1],
            "SessionToken": credentials[2],
            "AccountId": account,
            "PrincipalType": "AssumedRole",
            "SourceAccessKeyId": "",
            "SourcePrincipalArn": "",
            "SessionTags": [],
            "SessionPolicies": None,
        },
    )
    return credentials


# ----------------------------------------------------------------------------------------------------- events


def put_event(*, region: str, detail_type: str, detail: Mapping[str, Any], resource: str) -> None:
    """Put an `aws.sagemaker` event on the default bus, which clients may not do (as on AWS).

    Targets are invoked on other threads, so this returns at once.

    Args:
        region: Region of the bus.
        detail_type: The event's `detail-type`.
        resource: ARN of the training job.
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
    """Return the processes that run functions now."""
    runtime = module("core.lambda_runtime")
    with runtime._lock:
        entries = [worker for pool in runtime._workers.values() for worker in pool]
    return [
        Worker(pid=worker._proc.pid, function=worker.func_name, busy=worker.in_use, code=worker.headway_code)
        for worker in entries
        if worker._proc is not None and worker._proc.poll() is None
    ]


def kill_workers(function: str | None = None, *, busy_only: bool = False) -> list[Worker]:
    """Kill processes of functions with SIGKILL and return them.

    Args:
        function: Part of the functions' names; None: all functions.
        busy_only: Whether to spare idle processes.
    """
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
    """End the processes of all functions and remove their unpacked code."""
    module("core.lambda_runtime").reset()


def expire_credentials(function: str | None = None) -> list[str]:
    """Expire the credentials of the functions whose name contains `function` (None: all) and return their names.

    A function's next process gets new credentials: `kill_workers` ends the fault.
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
    """End the visibility timeout of all messages in the queues whose name contains `queue`; return their number."""
    now, released = time.time(), 0
    for entry in list(module("services.sqs")._queues._data.values()):
        if queue in entry["name"]:
            held = [message for message in entry["messages"] if message["visible_at"] > now]
            for message in held:
                message["visible_at"] = now
            released += len(held)
    module("core.concurrency").esm_wake.set()
    return released


def serve(application: AsgiApp, *, addresses: list[str], stop: asyncio.Event) -> Awaitable[None]:
    """Serve HTTP until `stop` is set.

    Args:
        application: The ASGI application.
        addresses: What to listen on: `HOST:PORT`, or `unix:PATH`, whose requests have no address in `scope["server"]`.
        stop: Ends the server.
    """
    config = importlib.import_module("hypercorn.config").Config()
    config.bind = addresses
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    config.graceful_timeout = 0.5
    served: Awaitable[None] = importlib.import_module("hypercorn.asyncio").serve(
        application, config, shutdown_trigger=stop.wait
    )
    return served
