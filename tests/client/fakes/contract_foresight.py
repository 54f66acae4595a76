"""Predictions of the fake API; tests set the times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.client.fakes.contract import Queue

NOTE = "Each job runs until its limit."
ENDED = ("completed", "failed", "stopped")

Reply = tuple[int, dict[str, Any]]


def problem(status: int, code: str, message: str, **fields: str) -> Reply:
    listed = [{"field": name, "message": text} for name, text in fields.items()]
    return status, {"error": {"code": code, "message": message, "fields": listed}, "requestId": "req-1"}


def answer(queue: Queue, method: str, segments: list[str], query: dict[str, list[str]], document: Any) -> Reply | None:
    match (method, segments):
        case ("POST", ["jobs" | "add-job"]) if query.get("dryRun") == ["true"]:
            return _dry_run(queue, document.get("jobDetails", document))
        case ("GET", ["jobs", name, "explanation"]):
            return _explanation(queue, name)
        case ("GET", ["forecast"]):
            return _forecast(queue, query)
        case ("POST", ["what-if"]):
            said = {"starts": [], "preempts": [], "moved": [], "note": NOTE}
            return 200, said | queue.foresight.get("what-if", {})
        case _:
            return None


def _dry_run(queue: Queue, document: dict[str, Any]) -> Reply:
    reply = queue.checked(document)
    if reply is not None:
        return reply
    name = document["TrainingJobName"]
    if name in queue.jobs:
        return problem(409, "NameInUse", f"{name} is in use; choose another name.")
    queue.jobs[name] = queue.entered(document)
    job = queue.job(name)
    del queue.jobs[name]
    said = {"expectedStart": None, "preempts": [], "delays": [], "note": NOTE, **queue.foresight.get("dry-run", {})}
    return 200, {"dryRun": True, "job": job, **said}


def _explanation(queue: Queue, name: str) -> Reply:
    if name not in queue.jobs:
        return problem(404, "JobNotFound", f"There is no job {name}.")
    job = queue.job(name)
    pools = [queue.pool(pool) for pool in job["demand"] if pool in queue.settings["pools"]]
    said = {
        **{key: job[key] for key in ("jobName", "jobState", "held", "place", "reason")},
        "expectedStart": None, "expectedEnd": None, "note": NOTE, "ahead": [], "more": 0, "pools": pools,
        "remedy": None,
    }  # fmt: skip
    return 200, said | queue.foresight.get(name, {})


def _forecast(queue: Queue, query: dict[str, list[str]]) -> Reply:
    wanted = query.get("job")
    if wanted and wanted[0] not in queue.jobs:
        return problem(404, "JobNotFound", f"There is no job {wanted[0]}.")
    keys = ("jobName", "jobState", "place", "priority", "demand", "held")
    jobs = [queue.job(name) for name in queue.jobs if not wanted or name == wanted[0]]
    waiting = [job for job in jobs if job["jobState"] in {"pending", "preempted"}]
    entries = [
        {**{key: job[key] for key in keys}, "expectedStart": None, **queue.foresight.get(job["jobName"], {})}
        for job in waiting
    ]
    limit = int(query.get("limit", ["100"])[0])
    said = {"asOf": "2026-01-02T03:04:05.678Z", "until": None, "note": NOTE, "more": len(entries) > limit}
    return 200, {**said, "jobs": entries[:limit]}
