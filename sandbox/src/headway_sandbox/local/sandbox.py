"""A sandbox for a test: started, used and thrown away."""

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
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.manager import SandboxInfo, Settings
from headway_sandbox.sagemaker.training_job import Durations
from headway_sandbox.server import admin_client


class Sandbox:
    """A sandbox on a free port. Several can live side by side.

    Args:
        state_dir: kept afterwards, if given; else a temporary folder that is removed.
        speed: how much faster than the real world the training jobs go.
        deploy: False leaves the queue out: the services alone, up in two seconds.
        durations: how long the stages of a training job take.
        parameters: of the template, over what the sandbox sets.
        checkout: whose sources are deployed; this one's by default.
        sources: what is deployed, as the record of the functions' calls names it; by default the checkout's.
    """

    def __init__(
        self,
        *,
        state_dir: Path | None = None,
        speed: float = 1.0,
        deploy: bool = True,
        durations: Durations | None = None,
        parameters: Mapping[str, str] | None = None,
        checkout: Checkout | None = None,
        sources: str | None = None,
    ) -> None:
        self._temporary = state_dir is None
        folder = state_dir or Path(tempfile.mkdtemp(prefix="headway-sandbox-"))
        self._settings = Settings(
            state_dir=folder,
            port=0,
            speed=speed,
            durations=durations,
            parameters=parameters,
            deploys=deploy,
            checkout=checkout or Checkout.here(),
            sources=sources,
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
            # Nobody will miss its state.
            with suppress(StopFailed):
                manager.stop(self._settings.state_dir)
            shutil.rmtree(self._settings.state_dir, ignore_errors=True)
        else:
            manager.stop(self._settings.state_dir)

    @property
    def info(self) -> SandboxInfo:
        if self._info is None:
            raise RuntimeError("Use it as `with Sandbox() as sb:`.")
        return self._info

    @property
    def endpoint(self) -> str:
        """The queue's API, stage included."""
        return self.info.endpoint

    @property
    def state_dir(self) -> Path:
        return self._settings.state_dir

    def client(self, service: str, *, access_key: str | None = None, secret_key: str | None = None) -> Any:
        """A boto3 client for a service of the sandbox, by default as the account's root."""
        return aws_account.client(self.info, service, access_key=access_key, secret_key=secret_key)

    def make_user(self, name: str, policy: dict[str, Any] | str | None) -> tuple[str, str]:
        """An IAM user with that policy (a document, the ARN of a managed one, or none); its access key and secret."""
        return aws_account.make_user(self.info, name, policy)

    def restart(self) -> None:
        """Stop it cleanly and start it again on the same state and port."""
        port = self.info.port
        manager.stop(self._settings.state_dir)
        self._settings = Settings(**{**vars(self._settings), "port": port})
        self._info = manager.start(self._settings)

    def use_stack(self, name: str) -> None:
        """Speak to the queue of a stack that somebody else has deployed.

        Raises:
            SandboxError: there is none of that name, or it is not complete.
        """
        info = replace(self.info, stack=name)
        endpoint = aws_account.api_endpoint(info)
        if not endpoint:
            raise SandboxError(f"The stack {name} is not deployed, or not complete.")
        self._info = replace(info, endpoint=endpoint)

    # ------------------------------------------------------------------------------------------- what can't be on AWS

    def jobs(self) -> list[dict[str, Any]]:
        """All training jobs, oldest first: their summaries, with Instances, Tags and FailureReason."""
        jobs: list[dict[str, Any]] = self._pull("GET", "/jobs")["jobs"]
        return jobs

    def in_use(self) -> dict[str, int]:
        """Instances per type that training jobs hold against the quotas."""
        used: dict[str, int] = self._pull("GET", "/jobs")["inUse"]
        return used

    def finish(self, name: str) -> None:
        """Have a training job complete now."""
        self._pull("POST", f"/jobs/{name}/finish")

    def fail(self, name: str, reason: str = "AlgorithmError: ExecuteUserScriptError: exit code 1") -> None:
        """Have a training job fail now, with that FailureReason."""
        self._pull("POST", f"/jobs/{name}/fail", {"reason": reason})

    def interrupt(self, name: str) -> None:
        """Take a spot job's instances away."""
        self._pull("POST", f"/jobs/{name}/interrupt")

    def faults(self) -> dict[str, Any]:
        """The switches as they are (`headway_sandbox.sagemaker.faults.Faults`)."""
        return self._pull("GET", "/faults")

    def set_faults(self, **switches: Any) -> None:
        """Set the named switches, e.g. `set_faults(quotas={"ml.p5.48xlarge": 2}, event_drop=0.1)`."""
        self._pull("PATCH", "/faults", switches)

    def clear_faults(self) -> None:
        """No faults, no quotas, no limits of capacity."""
        self._pull("PUT", "/faults")

    def calls(self) -> list[Call]:
        """What functions have asked of AWS since the server was started (`headway_sandbox.call_recorder`)."""
        return [call_from_document(call) for call in self._pull("GET", "/calls")["calls"]]

    def set_calls(self, calls: Iterable[Call]) -> None:
        """Keep these in place of what it has: after a test that changed policies on purpose, as it was before."""
        self._pull("PUT", "/calls", {"calls": [asdict(call) for call in calls]})

    def functions(self) -> list[dict[str, Any]]:
        """The processes that run functions now: pid, function, busy."""
        found: list[dict[str, Any]] = self._pull("GET", "/functions")["functions"]
        return found

    def kill_functions(self, function: str | None = None, *, busy_only: bool = False) -> list[dict[str, Any]]:
        """SIGKILL the processes of the functions whose name contains `function`, or all. Returns them."""
        body = {"function": function, "busyOnly": busy_only}
        killed: list[dict[str, Any]] = self._pull("POST", "/functions/kill", body)["killed"]
        return killed

    def expire_credentials(self, function: str | None = None) -> list[str]:
        """Let the credentials of the functions (or sessions of roles) expire whose name contains `function`, or of all.

        Until their processes are killed they call AWS in vain. Returns their names.
        """
        expired: list[str] = self._pull("POST", "/functions/expire", {"function": function})["expired"]
        return expired

    def release_messages(self, queue: str) -> int:
        """Give back at once what a crashed function held of the queues whose name contains `queue`.

        Else it comes back after the queue's visibility timeout, which is minutes, and passes at no greater speed here.
        """
        return int(self._pull("POST", f"/queues/{queue}/release")["released"])

    def invoke(self, function: str, payload: Mapping[str, Any] | None = None) -> Any:
        """Run the function whose name contains `function` and wait for its answer; for what a schedule would start."""
        client = self.client("lambda")
        pages = client.get_paginator("list_functions").paginate()
        names = [entry["FunctionName"] for page in pages for entry in page["Functions"]]
        (name,) = [entry for entry in names if function in entry]
        answer = client.invoke(FunctionName=name, Payload=json.dumps(payload or {}).encode())
        document = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise SandboxError(f"{name} failed: {document}")
        return document

    def _pull(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return admin_client.call(self.info.port, method, path, body)
