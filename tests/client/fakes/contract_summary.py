"""The summary of the fake API: made of its jobs, without scheduling."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from tests.client.fakes.contract_foresight import ENDED, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.client.fakes.contract import Queue


def answer(queue: Queue, method: str, segments: list[str], headers: Mapping[str, str]) -> Reply | None:
    if (method, segments) != ("GET", ["summary"]):
        return None
    document = summary(queue)
    if headers.get("if-none-match") == f'"{document["version"]}"':
        return 304, {}
    return 200, document


def summary(queue: Queue) -> dict[str, Any]:
    jobs = [queue.job(name) for name in queue.jobs]
    running = [job for job in jobs if job["jobState"] in {"running", "stopping"}]
    waiting = [job for job in jobs if job["place"] is not None]
    ended = [job for job in jobs if job["jobState"] in ENDED]
    pools = [
        {
            "nextChange": None, "warm": 0, "plan": "", "byTeam": {"": queue.pool(name)["allocated"]},
            **queue.pool(name),
        }
        for name in sorted(queue.settings["pools"])
    ]  # fmt: skip
    document = {
        "pools": pools,
        "teams": queue.teams,
        "budgets": queue.budgets,
        "counts": {
            "waiting": len(waiting),
            "depending": 0,
            "held": sum(job["held"] for job in queue.jobs.values()),
            "moreHeld": False,
            "running": sum(job["jobState"] == "running" for job in running),
            "stopping": sum(job["jobState"] == "stopping" for job in running),
        },
        "running": [_running(job) for job in running],
        "moreRunning": 0,
        "waiting": [_waiting(job) for job in waiting],
        "moreWaiting": False,
        "ended": [_ended(job) for job in ended],
        "events": [_event(job) for job in [*ended, *running]],
        "forecastTime": None,
    }
    version = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
    return {"version": version, **document}


def _running(job: dict[str, Any]) -> dict[str, Any]:
    stops = job["jobState"] == "stopping"
    return {
        "jobName": job["jobName"], "attemptName": job["jobName"], "jobState": job["jobState"], "status": "Training",
        "team": job["team"], "priority": job["priority"], "demand": job["demand"],
        "startedTime": "2026-01-02T03:04:05.678Z", "endsBy": "2026-01-02T07:30:00.000Z",
        "stoppingSince": "2026-01-02T06:29:00.000Z" if stops else None,
        "stopCause": "request" if stops else None, "stopsFor": None, "owner": job["owner"],
    }  # fmt: skip


def _waiting(job: dict[str, Any]) -> dict[str, Any]:
    return {
        "jobName": job["jobName"], "team": job["team"], "priority": job["priority"], "demand": job["demand"],
        "entryTime": job["entryTime"], "place": job["place"], "reason": job["reason"],
        "startBy": None, "expectedStart": None,
    }  # fmt: skip


def _ended(job: dict[str, Any]) -> dict[str, Any]:
    return {
        "jobName": job["jobName"], "jobState": job["jobState"], "team": job["team"], "priority": job["priority"],
        "demand": job["demand"], "startedTime": "2026-01-02T04:00:00.000Z", "endedTime": "2026-01-02T05:00:00.000Z",
        "preemptions": 0, "reason": job["reason"],
    }  # fmt: skip


def _event(job: dict[str, Any]) -> dict[str, Any]:
    return {
        "time": "2026-01-02T05:00:00.000Z", "kind": job["jobState"], "jobName": job["jobName"],
        "message": job["reason"]["message"],
    }  # fmt: skip
