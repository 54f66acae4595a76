"""`/_headway/…`: controls for tests that AWS does not have, for the sandbox's administrator only.

GET   /_headway/health               the server's pid, stateDir, region, account, speed, trains, and what a kill left
POST  /_headway/save                 saves the state of all services, for a kill
GET   /_headway/jobs                 all training jobs with status and instances, and the instances in use and kept warm
POST  /_headway/jobs/NAME/finish     completes the job now
POST  /_headway/jobs/NAME/fail       {"reason": "AlgorithmError: ..."}: fails the job now
POST  /_headway/jobs/NAME/interrupt  interrupts a spot job
GET   /_headway/plans                the training time, and the training plans
PUT   /_headway/plans/NAME           creates or changes a training plan (`TrainingPlan`), with times in training time
GET   /_headway/faults               the switches (`headway_sandbox.sagemaker.faults.Faults`)
PUT   /_headway/faults               sets switches; the others get their defaults
PATCH /_headway/faults               sets switches; the others keep their values
GET   /_headway/calls                AWS calls of functions so far (`headway_sandbox.call_recorder.Call`)
PUT   /_headway/calls                {"calls": [...]}: replaces them, after a test has changed policies on purpose
POST  /_headway/queues/NAME/release  makes the messages of a crashed function visible now, not after minutes
GET   /_headway/functions            the processes that run functions: pid, function, busy
POST  /_headway/functions/kill       {"function": part of its name or null, "busyOnly": bool}: SIGKILL
POST  /_headway/functions/expire     {"function": part of its name or null}: expires its credentials until it is killed
POST  /_headway/accounts/ID/users    {"name": str, "policy": document}: makes a user of another account, with a new key
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from headway_sandbox.administrator import CONTROLS
from headway_sandbox.call_recorder import Calls, call_from_document
from headway_sandbox.emulator import authentication, patches, service_state
from headway_sandbox.emulator.patches import Receive, Scope
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.api import list_training_jobs
from headway_sandbox.sagemaker.capacity.training_plan import TrainingPlan
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.service import FakeSageMaker

PREFIX = CONTROLS
_MAX_BODY = 100_000
_Answer = tuple[int, Any]


@dataclass(frozen=True, kw_only=True)
class Controls:
    """What the requests control.

    Attributes:
        fleet: The fake SageMaker.
        calls: The recorded calls.
        state_dir: The server's state directory.
        recovered: What a killed server left, as this one found it at its start; None if the last one was stopped.
        trains: Whether scripts of training jobs run (`--train`).
    """

    fleet: FakeSageMaker
    calls: Calls
    state_dir: Path
    recovered: Mapping[str, int] | None
    trains: bool


async def answer(controls: Controls, scope: Scope, receive: Receive) -> tuple[int, bytes]:
    """Handle a request.

    Args:
        controls: What it controls.
        scope: ASGI scope of the request.
        receive: ASGI receive function.

    Returns:
        Status and JSON body.
    """
    status, document = await _answer(controls, scope, receive)
    return status, json.dumps(document).encode()


async def _answer(controls: Controls, scope: Scope, receive: Receive) -> _Answer:
    try:
        body = await _read(receive)
        if (scope["method"], scope["path"]) == ("GET", f"{PREFIX}health"):
            return 200, _health(controls)
        path = [unquote(part) for part in scope["path"].removeprefix(PREFIX).split("/")]
        return _route(controls.fleet, controls.calls, scope["method"], path, body)
    except AwsError as error:
        return error.status, {"code": error.code, "message": error.message}
    except (ValueError, TypeError, KeyError) as error:
        return 400, {"code": "BadRequest", "message": str(error)}


async def _read(receive: Receive) -> dict[str, Any]:
    content = b""
    more = True
    while more:
        message = await receive()
        content += message.get("body", b"")
        more = message.get("more_body", False)
        if len(content) > _MAX_BODY:
            raise ValueError(f"The body has more than {_MAX_BODY} bytes.")
    document = json.loads(content or b"{}")
    if not isinstance(document, dict):
        raise TypeError("The body must be a JSON object.")
    return document


def _route(fleet: FakeSageMaker, calls: Calls, method: str, path: list[str], body: Mapping[str, Any]) -> _Answer:
    match method, path:
        case _, ["jobs", *action]:
            return _jobs(fleet, method, action, body)
        case "GET" | "PUT" | "PATCH", ["faults"]:
            if method != "GET":
                fleet.faults = (Faults() if method == "PUT" else fleet.faults).with_changes(body)
            return 200, fleet.faults.to_document()
        case "GET" | "PUT", ["calls"]:
            if method == "PUT":
                calls.replace(map(call_from_document, body["calls"]))
            return 200, {"calls": [asdict(call) for call in calls.all()]}
        case _, ["plans", *name]:
            return _plans(fleet, method, name, body)
        case _, ["functions", *action]:
            return _functions(method, action, body)
        case _:
            return _services(method, path, body)


def _services(method: str, path: list[str], body: Mapping[str, Any]) -> _Answer:
    match method, path:
        case "POST", ["save"]:
            service_state.save()
            return 200, {}
        case "POST", ["accounts", account, "users"]:
            access_key, secret_key = authentication.make_user(account, body["name"], body["policy"])
            return 200, {"accessKey": access_key, "secretKey": secret_key}
        case "POST", ["queues", name, "release"]:
            return 200, {"released": patches.release_messages(name)}
        case _:
            return _not_found(method, path)


def _functions(method: str, action: list[str], body: Mapping[str, Any]) -> _Answer:
    match method, action:
        case "GET", []:
            return 200, {"functions": [asdict(worker) for worker in patches.workers()]}
        case "POST", ["kill"]:
            killed = patches.kill_workers(body.get("function"), busy_only=bool(body.get("busyOnly")))
            return 200, {"killed": [asdict(worker) for worker in killed]}
        case "POST", ["expire"]:
            return 200, {"expired": patches.expire_credentials(body.get("function"))}
        case _:
            return _not_found(method, ["functions", *action])


def _not_found(method: str, path: list[str]) -> _Answer:
    return 404, {"code": "NotFound", "message": f"There is no {method} {PREFIX}{'/'.join(path)}."}


def _health(controls: Controls) -> dict[str, Any]:
    settings = controls.fleet.settings
    return {
        "pid": os.getpid(),
        "stateDir": str(controls.state_dir),
        "region": settings.region,
        "account": settings.account,
        "speed": settings.clock.speed,
        "recovered": controls.recovered,
        "trains": controls.trains,
    }


def _training_time(fleet: FakeSageMaker) -> float:
    return fleet.settings.clock.training_time(time.time())


def _jobs(fleet: FakeSageMaker, method: str, path: list[str], body: Mapping[str, Any]) -> _Answer:
    match method, path:
        case "GET", []:
            return 200, _all_jobs(fleet)
        case "POST", [name, action]:
            return _act(fleet, name, action, body)
        case _:
            return _not_found(method, ["jobs", *path])


def _all_jobs(fleet: FakeSageMaker) -> dict[str, Any]:
    now = _training_time(fleet)
    jobs = fleet.jobs(now=now)
    return {
        "jobs": [
            {
                **list_training_jobs.summary(job, now=now),
                "Instances": job.instances,
                "Tags": job.tags,
                "FailureReason": job.failure_reason,
            }
            for job in jobs
        ],
        "inUse": fleet.in_use(),
        "keptWarm": fleet.kept_warm(now=now),
    }


def _plans(fleet: FakeSageMaker, method: str, path: list[str], body: Mapping[str, Any]) -> _Answer:
    now = _training_time(fleet)
    match method, path:
        case "GET", []:
            pass
        case "PUT", [name]:
            fleet.put_plan(TrainingPlan.from_document({**body, "name": name}), now=now)
        case _:
            return _not_found(method, ["plans", *path])
    return 200, {"now": now, "plans": [plan.to_document() for plan in fleet.plans(now=now)]}


def _act(fleet: FakeSageMaker, name: str, action: str, body: Mapping[str, Any]) -> _Answer:
    now = _training_time(fleet)
    actions: Mapping[str, Callable[[], None]] = {
        "finish": lambda: fleet.finish(name, now=now),
        "fail": lambda: fleet.fail(name, str(body["reason"]), now=now),
        "interrupt": lambda: fleet.interrupt(name, now=now),
    }
    if action not in actions:
        return 404, {"code": "NotFound", "message": f"Unknown action {action}. Actions: {', '.join(actions)}."}
    actions[action]()
    return 200, fleet.describe(name, now=now)
