"""The sandbox's HTTP server: routes SageMaker's requests to the fake SageMaker and most others to the emulator.

The credential scope of its signature identifies a request to SageMaker, or to Service Quotas, which shows SageMaker's
quotas; the protocol is AWS JSON 1.1. `/_headway/…`
(`headway_sandbox.server.admin_api`) has controls for tests and the demo. Requests have passed
`headway_sandbox.server.front_door`, which knows their callers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headway_sandbox.call_recorder import RunRecorder
from headway_sandbox.emulator import patches, service_state
from headway_sandbox.emulator.patches import AsgiApp, Caller, Receive, Scope, Send
from headway_sandbox.errors import AwsError, JournalError
from headway_sandbox.journal.journal import Journal
from headway_sandbox.sagemaker.api import authorization, request_validation
from headway_sandbox.sagemaker.capacity import service_quotas
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.server import admin_api, gateway, signatures
from headway_sandbox.server.gateway import Gateway, Refused
from headway_sandbox.server.monitoring import Monitoring
from headway_sandbox.server.quota_calls import respond_to_quota_call
from headway_sandbox.server.responses import JSON, respond, respond_not_saved
from headway_sandbox.server.saved_fleet import SavedFleet
from headway_sandbox.server.training_logs import TrainingLogs
from headway_sandbox.server.training_runs import TrainingRuns

_log = logging.getLogger("headway.sandbox")
_SCOPE = re.compile(r"Credential=[^/\s]+/[^/]+/[^/]+/(?P<service>[^/]+)/")
_SAGEMAKER = "sagemaker"
_TARGET_PREFIX = "SageMaker."
_DETAIL_TYPE = "SageMaker Training Job State Change"
# The longest sleep until the next due change, as a switch may have changed it.
_LONGEST_SLEEP_S = 0.5
_MONITORING_EVERY_S = 1.0
_RECORD_EVERY_S = 5.0
_SETTINGS_EVERY_S = 2.0


class AwsProxy:
    """The ASGI application. All access to the fake SageMaker runs on the server's event loop, without locks."""

    def __init__(
        self,
        *,
        fleet: FakeSageMaker,
        state_dir: Path,
        record: RunRecorder,
        journal: Journal,
        recovered: Mapping[str, int] | None = None,
        behind: AsgiApp,
        runs: TrainingRuns,
        on_shutdown: Callable[[], None],
    ) -> None:
        self.fleet = fleet
        self._journal = journal
        self._saved_fleet = SavedFleet(fleet, journal)
        self._settings_changed = False
        self._serves = False
        self._record = record
        self._controls = admin_api.Controls(
            fleet=fleet, calls=record.calls, state_dir=state_dir, recovered=recovered, trains=runs.enabled
        )
        self._behind = behind
        self._logs = TrainingLogs(fleet)
        self._gateway = Gateway(fleet.settings.region)
        self._on_shutdown = on_shutdown
        self._changed = asyncio.Event()
        self._clocks: list[asyncio.Task[None]] = []
        self._runs = runs
        runs.changed = self._changed.set

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._behind(scope, self._watch_for_shutdown(receive), self._watch_for_startup(send))
            return
        if not self._serves:
            # The manager's first question. The emulator's start is over, and the port is bound.
            self._serves = True
            self._journal.mark_running()
        if scope["type"] == "http" and scope["path"].startswith(admin_api.PREFIX):
            status, answer = await admin_api.answer(self._controls, scope, receive)
            self._changed.set()
            await respond(self._after_commit(scope, send), status, answer, JSON)
        elif scope["type"] == "http":
            await self._respond_or_replace(scope, receive, send)
        else:
            await self._behind(scope, receive, send)

    async def _respond_or_replace(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond, unless `Faults.raw_answers` replaces the response."""
        operation = _header(scope, b"x-amz-target").rpartition(".")[2]
        raw, after, self.fleet.faults = self.fleet.faults.raw_answer(operation)
        if raw is None:
            await self._answer(scope, receive, send)
            return
        await (self._answer(scope, receive, _discard) if after else _read_all(receive))
        await respond(send, raw.status, raw.body, {"content-type": "text/html"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        send = self._after_commit(scope, send)
        service = _called_service(scope)
        if service == _SAGEMAKER:
            await self._sagemaker(scope, receive, send)
        elif service == service_quotas.SERVICE:
            await respond_to_quota_call(self.fleet, _header(scope, b"x-amz-target"), scope, receive, send)
        elif refused := self._refused_by_gateway(scope):
            await respond(send, refused.status, refused.body, refused.headers)
        elif gateway.is_api_call(scope["path"]) and (full := self._journal.lack_of_space()):
            # A function could not even be unpacked.
            await respond_not_saved(send, full, to_api_call=True)
        else:
            await self._behind(scope, receive, send)

    def _refused_by_gateway(self, scope: Scope) -> Refused | None:
        unsigned = self.fleet.faults.unsigned_payload
        return self._gateway.refusal(scope["path"], _headers(scope), time.time(), unsigned_payload=unsigned)

    # ---------------------------------------------------------------------------------------------- the journal

    def _after_commit(self, scope: Scope, send: Send) -> Send:
        """Send no response before its effect is saved. If that fails, the response says so.

        A GET has no effect: what the sandbox has can be read while its disk is full.
        """
        if scope["method"] == "GET":
            return send
        failed = False

        async def send_saved(message: Any) -> None:
            nonlocal failed
            if message["type"] == "http.response.start":
                try:
                    self._save(scope)
                except JournalError as error:
                    failed = True
                    _log.error("a response was replaced by an internal error: %s", error)
                    await respond_not_saved(send, error, to_api_call=gateway.is_api_call(scope["path"]))
            if not failed:
                await send(message)

        return send_saved

    def _save(self, scope: Scope) -> None:
        headers = _headers(scope)
        if service_state.changes_settings(scope["method"], scope["path"], headers):
            self._settings_changed = True
        self._commit()

    def _commit(self) -> None:
        self._saved_fleet.put_changes()
        self._journal.commit()

    async def _save_settings(self) -> None:
        """Save changes of other settings shortly after them, as each time all services are saved."""
        while True:
            await asyncio.sleep(_SETTINGS_EVERY_S)
            if self._settings_changed:
                self._settings_changed = False
                self._save_all()

    def _save_all(self) -> None:
        service_state.save()
        try:
            self._commit()
        except JournalError as error:
            self._settings_changed = True
            _log.error("the settings of the services are not saved: %s", error)

    # ---------------------------------------------------------------------------------------------- SageMaker

    async def _sagemaker(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {"content-type": "application/x-amz-json-1.1", "x-amzn-requestid": str(uuid.uuid4())}
        caller, body = await patches.read_signed(scope, receive)
        operation = _header(scope, b"x-amz-target").removeprefix(_TARGET_PREFIX)
        try:
            self._check_signature(scope)
            request = _parse(body)
            refused = self._authorize(caller, operation, request)
            if refused is not None:
                status, more, content = refused
                await respond(send, status, content, {**headers, **more})
                return
            answer = self.fleet.call(operation, request, now=self._training_time())
        except AwsError as error:
            self._changed.set()
            content = json.dumps({"__type": error.code, "message": error.message}).encode()
            await respond(send, error.status, content, {**headers, "x-amzn-errortype": error.code})
            return
        self._changed.set()
        if self._killed_caller(caller, operation):
            return
        has_output = request_validation.service_model().operation_model(operation).output_shape is not None
        await respond(send, 200, json.dumps(answer).encode() if has_output else b"", headers)

    def _check_signature(self, scope: Scope) -> None:
        unsigned, region = self.fleet.faults.unsigned_payload, self.fleet.settings.region
        error = signatures.error_in(_headers(scope), region=region, service="sagemaker", unsigned_payload=unsigned)
        if error is not None:
            raise AwsError(signatures.CODE, error)

    def _authorize(
        self, caller: Caller, operation: str, request: Mapping[str, Any]
    ) -> tuple[int, dict[str, str], bytes] | None:
        """Return the response to an invalid signature; None if the call is allowed.

        Raises:
            AwsError: No policy allows it, or the role cannot be assumed.
        """
        for permission in authorization.permissions(operation, request, arn_prefix=self.fleet.arn("")):
            if permission.or_role and patches.role_allows(
                permission.or_role, permission.action, permission.resource, permission.context
            ):
                continue
            resource_tags = self.fleet.tags_of(permission.resource)
            context = {
                **permission.context,
                **{f"aws:ResourceTag/{key}": value for key, value in resource_tags.items()},
            }
            refusal = patches.refusal(caller, permission.action, permission.resource, context)
            if refusal is not None:
                if refusal.answer is not None:
                    return refusal.answer
                raise authorization.denied(permission, principal=refusal.principal, explicit=refusal.explicit)
        if operation == "CreateTrainingJob":
            trusted = patches.role_trusts_sagemaker(str(request.get("RoleArn", "")))
            authorization.check_role(request, trusted=trusted)
        return None

    def _killed_caller(self, caller: Caller, operation: str) -> bool:
        """Kill the calling function after its call took effect, if `Faults.kill_caller` applies; return whether."""
        applies, self.fleet.faults = self.fleet.faults.consume("kill_caller", operation)
        if not applies:
            return False
        killed = patches.kill_workers(caller.session, busy_only=True) if caller.session else []
        _log.info("killed the caller of %s: %s", operation, [worker.pid for worker in killed])
        return bool(killed)

    # ---------------------------------------------------------------------------------------------- the clock

    def _training_time(self) -> float:
        return self.fleet.settings.clock.training_time(time.time())

    async def _run_clock(self) -> None:
        clock = self.fleet.settings.clock
        while True:
            now = self._training_time()
            due_events = self.fleet.advance(now)
            try:
                self._commit()
            except JournalError as error:
                _log.error("changes of training jobs are not saved yet: %s", error)
            for detail in due_events:
                self._send_event(detail)
            await self._write_logs(now)
            self._step_runs(now)
            due = self.fleet.next_due()
            pause_s = (
                _LONGEST_SLEEP_S
                if due is None
                else min(_LONGEST_SLEEP_S, max(0.0, clock.machine_time(due) - time.time()))
            )
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), pause_s)

    async def _run_monitoring(self) -> None:
        monitoring = Monitoring(self.fleet)
        while True:
            try:
                await monitoring.step(time.time())
            except Exception:  # noqa: BLE001  an error in one alarm must not stop the loop
                _log.exception("an evaluation of alarms failed")
            await asyncio.sleep(_MONITORING_EVERY_S)

    async def _write_record(self) -> None:
        while True:
            await asyncio.sleep(_RECORD_EVERY_S)
            await asyncio.to_thread(self._record.write_if_new)

    async def _write_logs(self, now: float) -> None:
        try:
            await self._logs.write(now)
        except Exception:  # noqa: BLE001  an error in one log must not stop the loop
            _log.exception("cannot write the logs of training jobs")

    def _step_runs(self, now: float) -> None:
        try:
            self._runs.step(now)
        except Exception:  # noqa: BLE001  an error in one job must not stop the loop
            _log.exception("cannot start or stop the scripts of training jobs")

    def _send_event(self, detail: Mapping[str, Any]) -> None:
        try:
            patches.put_event(
                region=self.fleet.settings.region,
                detail_type=_DETAIL_TYPE,
                detail=detail,
                resource=detail["TrainingJobArn"],
            )
        except Exception:  # noqa: BLE001  an event that a target cannot handle must not stop the loop
            _log.exception("cannot put an event")

    def _watch_for_startup(self, send: Send) -> Send:
        async def watched(message: Any) -> None:
            if message["type"] == "lifespan.startup.complete":
                clocks = (self._run_clock(), self._run_monitoring(), self._write_record(), self._save_settings())
                self._clocks = [asyncio.create_task(clock) for clock in clocks]
            await send(message)

        return watched

    def _watch_for_shutdown(self, receive: Receive) -> Receive:
        async def watched() -> Any:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                for clock in self._clocks:
                    clock.cancel()
                await self._runs.close()
                # Before the emulator saves its state: functions must not write while it is saved.
                await asyncio.to_thread(self._on_shutdown)
            return message

        return watched


async def _read_all(receive: Receive) -> None:
    while (await receive()).get("more_body", False):
        pass


async def _discard(_: Any) -> None:
    """Discard a response."""


def _called_service(scope: Scope) -> str:
    """Return the service that a request is signed for; empty without a signature in a header."""
    found = _SCOPE.search(_header(scope, b"authorization"))
    return found["service"] if found else ""


def _headers(scope: Scope) -> dict[str, str]:
    return {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name), "")


def _parse(body: bytes) -> Mapping[str, Any]:
    try:
        request = json.loads(body or b"{}")
    except ValueError:
        request = None
    if not isinstance(request, dict):
        raise AwsError("SerializationException", "The request's body is not a JSON object.")
    return request
