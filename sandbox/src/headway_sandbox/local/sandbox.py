"""A temporary sandbox for tests."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from headway_sandbox.call_recorder import Call, call_from_document
from headway_sandbox.errors import SandboxError, StopFailed
from headway_sandbox.local import aws_account, manager
from headway_sandbox.local.manager import Settings
from headway_sandbox.local.sandbox_info import SandboxInfo
from headway_sandbox.local.sources import Sources, here
from headway_sandbox.sagemaker.training_job import Durations
from headway_sandbox.server import admin_client
from headway_sandbox.training.settings import TrainingSettings


class Sandbox:
    """A sandbox on a free port, as a context manager. Several can run at the same time.

    Args:
        state_dir: State directory, kept afterwards; None: a temporary one.
        speed: Factor by which training jobs are accelerated.
        deploy: False: the services without the queue, which start in two seconds.
        durations: Durations of a training job's stages.
        training: With which scripts of training jobs run; None: all jobs are timers.
        relays: Whether it has a socket for training jobs even if it runs none itself.
        parameters: Template parameters, in addition to the sandbox's own.
        sources: What is deployed; None: this checkout, or the installed package.
    """

    def __init__(
        self,
        *,
        state_dir: Path | None = None,
        speed: float = 1.0,
        deploy: bool = True,
        durations: Durations | None = None,
        training: TrainingSettings | None = None,
        relays: bool = False,
        parameters: Mapping[str, str] | None = None,
        sources: Sources | None = None,
    ) -> None:
        self._temporary = state_dir is None
        folder = state_dir or Path(tempfile.mkdtemp(prefix="headway-sandbox-"))
        self._settings = Settings(
            state_dir=folder,
            port=0,
            speed=speed,
            durations=durations,
            training=training,
            relays=relays,
            parameters=parameters,
            deploys=deploy,
            sources=sources or here(),
        )
        self._info: SandboxInfo | None = None

    def __enter__(self) -> Sandbox:
        try:
            self._info = manager.start(self._settings)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._temporary:
            # Its state is not needed.
            with suppress(StopFailed):
                manager.stop(self._settings.state_dir, keeps_state=False)
            shutil.rmtree(self._settings.state_dir, ignore_errors=True)
        else:
            manager.stop(self._settings.state_dir)

    @property
    def info(self) -> SandboxInfo:
        """The running sandbox.

        Raises:
            RuntimeError: The context manager has not been entered.
        """
        if self._info is None:
            raise RuntimeError("Use it as `with Sandbox() as sb:`.")
        return self._info

    @property
    def endpoint(self) -> str:
        """URL of the queue's API with its stage."""
        return self.info.endpoint

    @property
    def state_dir(self) -> Path:
        """The state directory."""
        return self._settings.state_dir

    def client(self, service: str, *, access_key: str | None = None, secret_key: str | None = None) -> Any:
        """Return a boto3 client.

        Args:
            service: Name of the service.
            access_key: Access key; None: the root's.
            secret_key: Secret key; None: the root's.
        """
        return aws_account.client(self.info, service, access_key=access_key, secret_key=secret_key)

    def make_user(self, name: str, policy: dict[str, Any] | str | None) -> tuple[str, str]:
        """Create an IAM user and return its access key and secret key.

        Args:
            name: The user's name.
            policy: Its policy document, the ARN of a managed policy, or None.
        """
        return aws_account.make_user(self.info, name, policy)

    def make_user_of(self, account: str, name: str, policy: dict[str, Any]) -> tuple[str, str]:
        """Create an IAM user of another account and return its access key and secret key.

        Args:
            account: The account's id.
            name: The user's name, which must be new.
            policy: Its policy document.
        """
        made = self._call("POST", f"/accounts/{account}/users", {"name": name, "policy": policy})
        return made["accessKey"], made["secretKey"]

    def restart(self, *, kill: bool = False) -> None:
        """Stop it and start it again on the same state and port.

        Args:
            kill: Whether to kill its server (SIGKILL), in place of a clean stop.
        """
        port = self.info.port
        (manager.kill if kill else manager.stop)(self._settings.state_dir)
        self._settings = Settings(**{**vars(self._settings), "port": port})
        self._info = manager.start(self._settings)

    def use_stack(self, name: str) -> None:
        """Use the queue of a stack that another tool deployed.

        Raises:
            SandboxError: The stack does not exist or is not complete.
        """
        info = replace(self.info, stack=name)
        endpoint = aws_account.api_endpoint(info)
        if not endpoint:
            raise SandboxError(f"The stack {name} is not deployed, or not complete.")
        self._info = replace(info, endpoint=endpoint)

    # -------------------------------------------------------------------------------------- controls that AWS lacks

    def jobs(self) -> list[dict[str, Any]]:
        """Return summaries of all training jobs, oldest first, with Instances, Tags and FailureReason."""
        jobs: list[dict[str, Any]] = self._call("GET", "/jobs")["jobs"]
        return jobs

    def in_use(self) -> dict[str, int]:
        """Return the instances per type in use by training jobs."""
        used: dict[str, int] = self._call("GET", "/jobs")["inUse"]
        return used

    def finish(self, name: str) -> None:
        """Complete a training job now."""
        self._call("POST", f"/jobs/{name}/finish")

    def fail(self, name: str, reason: str = "AlgorithmError: ExecuteUserScriptError: exit code 1") -> None:
        """Fail a training job now.

        Args:
            reason: Its FailureReason.
        """
        self._call("POST", f"/jobs/{name}/fail", {"reason": reason})

    def interrupt(self, name: str) -> None:
        """Interrupt a spot job."""
        self._call("POST", f"/jobs/{name}/interrupt")

    def training_time(self) -> float:
        """Return the training time, in seconds since the epoch."""
        return float(self._call("GET", "/plans")["now"])

    def put_plan(self, name: str, blocks: Iterable[tuple[float, float]], **plan: Any) -> str:
        """Create or change a training plan, e.g. `put_plan("spring", [(0, 86_400)], instance_count=2)`.

        Args:
            blocks: Begin and end of its reserved blocks, in seconds of training time from now.
            plan: The other members of `headway_sandbox.sagemaker.capacity.training_plan.TrainingPlan`.

        Returns:
            Its ARN.
        """
        now = self.training_time()
        reserved = [{"start": now + start, "end": now + end} for start, end in blocks]
        self._call("PUT", f"/plans/{name}", {"blocks": reserved, **plan})
        arn: str = self.client("sagemaker").describe_training_plan(TrainingPlanName=name)["TrainingPlanArn"]
        return arn

    def faults(self) -> dict[str, Any]:
        """Return the switches (`headway_sandbox.sagemaker.faults.Faults`)."""
        return self._call("GET", "/faults")

    def set_faults(self, **switches: Any) -> None:
        """Set some switches, e.g. `set_faults(quotas={"ml.p5.48xlarge": 2}, event_drop=0.1)`."""
        self._call("PATCH", "/faults", switches)

    def clear_faults(self) -> None:
        """Reset all switches: no faults, no quotas, unlimited capacity."""
        self._call("PUT", "/faults")

    def calls(self) -> list[Call]:
        """Return the functions' AWS calls since the server's start (`headway_sandbox.call_recorder`)."""
        return [call_from_document(call) for call in self._call("GET", "/calls")["calls"]]

    def set_calls(self, calls: Iterable[Call]) -> None:
        """Replace the recorded calls, e.g. to restore them after a test that changed policies on purpose."""
        self._call("PUT", "/calls", {"calls": [asdict(call) for call in calls]})

    def functions(self) -> list[dict[str, Any]]:
        """Return the processes that run functions now: pid, function, busy."""
        found: list[dict[str, Any]] = self._call("GET", "/functions")["functions"]
        return found

    def kill_functions(self, function: str | None = None, *, busy_only: bool = False) -> list[dict[str, Any]]:
        """Kill processes of functions with SIGKILL and return them.

        Args:
            function: Part of the functions' names; None: all functions.
            busy_only: Whether to spare idle processes.
        """
        body = {"function": function, "busyOnly": busy_only}
        killed: list[dict[str, Any]] = self._call("POST", "/functions/kill", body)["killed"]
        return killed

    def expire_credentials(self, function: str | None = None) -> list[str]:
        """Expire the credentials of functions (or role sessions) and return their names.

        Their AWS calls fail until their processes are killed.

        Args:
            function: Part of their names; None: all.
        """
        expired: list[str] = self._call("POST", "/functions/expire", {"function": function})["expired"]
        return expired

    def release_messages(self, queue: str) -> int:
        """Make messages that a crashed function received visible again; return their number.

        Without this they are visible after the visibility timeout, which is minutes and not accelerated.

        Args:
            queue: Part of the queues' names.
        """
        return int(self._call("POST", f"/queues/{queue}/release")["released"])

    def invoke(self, function: str, payload: Mapping[str, Any] | None = None) -> Any:
        """Invoke a function and return its response, e.g. in place of its schedule.

        Args:
            function: Part of the function's name.
            payload: The event.

        Raises:
            SandboxError: The function failed.
        """
        client = self.client("lambda")
        pages = client.get_paginator("list_functions").paginate()
        names = [entry["FunctionName"] for page in pages for entry in page["Functions"]]
        (name,) = [entry for entry in names if function in entry]
        answer = client.invoke(FunctionName=name, Payload=json.dumps(payload or {}).encode())
        document = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise SandboxError(f"{name} failed: {document}")
        return document

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return admin_client.call(self.info.port, self.info.administrator, method, path, body)
