"""The fake's answers on ended jobs and on sums of usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.client.fakes.contract_foresight import ENDED, Reply, problem

HOUR_S = 3600

KEPT_SINCE = "2024-11-28"
"""The first day whose daily sums are kept, at the time of the fake server."""


def answer(
    jobs: Mapping[str, dict[str, Any]],
    method: str,
    segments: list[str],
    query: dict[str, list[str]],
    document: dict[str, Any],
) -> Reply | None:
    """The answer; None if the call is another one."""
    match (method, segments):
        case ("GET", ["history"]):
            return 200, history(jobs, query)
        case ("GET", ["usage"]):
            return sums(query)
        case ("GET", ["usage", "comparison"]):
            return 200, comparison(query)
        case ("POST", ["usage", "repair"]):
            return repair(document)
        case ("POST", ["forget"]):
            return 200, {"jobs": 2, "unreadable": 0, "sums": 5, "nextToken": None}
        case ("POST", ["usage", "recount"]):
            return 200, recount(query)
        case _:
            return None


def history(jobs: Mapping[str, dict[str, Any]], query: dict[str, list[str]]) -> dict[str, Any]:
    """Jobs that have ended: those of the given states, owner and team, one after the other."""
    wanted = {name: values[0] for name, values in query.items()}
    chosen = [
        job
        for job in jobs.values()
        if job["jobState"] in query.get("state", ENDED)
        and job["team"] == wanted.get("team", job["team"])
        and (job["endedTime"] or "") >= wanted["since"]
    ]
    start = int(wanted.get("nextToken", "0"))
    end = start + min(int(wanted.get("limit", "100")), 1)
    return {
        "jobs": [ended(job) for job in chosen[start:end]],
        "nextToken": str(end) if end < len(chosen) else None,
    }


def ended(job: Mapping[str, Any]) -> dict[str, Any]:
    """An ended job."""
    kept = ("jobName", "jobState", "team", "owner", "priority", "entryTime", "startedTime", "endedTime")
    return {
        **{name: job[name] for name in kept},
        "attemptCount": job["attemptCount"],
        "preemptions": 1,
        "waitSeconds": 90,
        "runSeconds": 2 * HOUR_S,
        "reusedFrom": None,
        "usedSeconds": {"ml.p5.48xlarge": 4 * HOUR_S},
        "lostSeconds": HOUR_S,
        "billedSeconds": {"ml.p5.48xlarge": 3 * HOUR_S},
        "unbilledSeconds": {},
        **{name: job[name] for name in ("lostSeconds", "cost", "currency") if name in job},
    }


def row(name: str | None, period: str | None = None, **changes: Any) -> dict[str, Any]:
    """A sum."""
    durations = {"count": 3, "p50Seconds": 60, "p90Seconds": 7200}
    return {
        "name": name,
        "period": period,
        "jobs": {"completed": 2, "failed": 1},
        "attempts": 4,
        "preemptions": 1,
        "reused": 0,
        "usedSeconds": {"ml.p5.48xlarge": 5 * HOUR_S, "ml.g5.xlarge.spot": HOUR_S},
        "lostSeconds": {"ml.p5.48xlarge": HOUR_S},
        "billedSeconds": {"ml.p5.48xlarge": 5 * HOUR_S},
        "unbilledSeconds": {"ml.g5.xlarge.spot": HOUR_S},
        "wait": durations,
        "run": durations,
        "idleSeconds": {},
        "idleReservedSeconds": {},
        **changes,
    }


QUALITY = {"kept": 40, "predicted": 36, "medianError": 0.184, "coverage": 0.806}
"""How good predictions were."""


def sums(query: dict[str, list[str]]) -> Reply:
    """Sums of two names, of the first day if they are by day."""
    wanted = {name: values[0] for name, values in query.items()}
    if wanted["from"] > wanted.get("to", "9999"):
        return problem(400, "InvalidRequest", "the range is empty: `to` must not be before `from`")
    if wanted["step"] == "day" and wanted["from"] < KEPT_SINCE:
        return problem(400, "InvalidRequest", f"daily sums are kept since {KEPT_SINCE}: choose whole months before")
    period = {"total": None, "month": wanted["from"][:7], "day": wanted["from"]}[wanted["step"]]
    names = [f"{wanted['by'].removeprefix('tag:')}1", None]
    price = {"pool": "ml.p5.48xlarge", "from": "2026-01-01", "perHour": 98.32}
    spot = {"ml.g5.xlarge.spot": HOUR_S}
    costs = {"cost": 491.6, "unpricedSeconds": spot, "lostCost": 98.32, "lostUnpricedSeconds": {}}
    costs |= {"savedSeconds": {"ml.g5.xlarge.spot": 4 * HOUR_S}, "savedCost": 5.6}
    cost = costs if wanted["by"] == "owner" else {}
    # As while attempts run.
    running = {"running": 2, "runningSeconds": {"ml.p5.48xlarge": 480 * HOUR_S}} if cost else {}
    return 200, {
        **({"currency": "USD", "prices": [price]} if cost else {}),
        "by": wanted["by"],
        "from": wanted["from"],
        "to": wanted.get("to", wanted["from"]),
        "step": wanted["step"],
        "rows": [row(name, period, **cost, **(running if name else {})) for name in names],
        "predictions": QUALITY if "predictions" in wanted else None,
        **({"runningUntil": "2026-11-25T08:30:00.000Z"} if running else {}),
    }


def recount(query: dict[str, list[str]]) -> dict[str, Any]:
    """Two pages."""
    if "nextToken" in query:
        return {"compared": 7, "repaired": 1, "unreadable": [], "nextToken": None}
    return {"compared": 50, "repaired": 2, "unreadable": [], "nextToken": "x"}


def repair(wanted: dict[str, Any]) -> Reply:
    """A repair of the newest comparison of the 23rd takes effect; that of the 21st is older than another one."""
    if wanted["day"] == "2026-11-21":
        message = "the sums of 2026-11 by owner were repaired since the comparison: compare 2026-11-21 again"
        return problem(409, "SumsChanged", message)
    kept = {name: wanted[name] for name in ("by", "day")}
    return 200, {**kept, "repaired": len(wanted["differences"]), "revision": wanted["revision"] + 1}


def comparison(query: dict[str, list[str]]) -> dict[str, Any]:
    """Two pages; by owner, the sums have too much, and one job is not complete on the 24th."""
    wanted = {name: values[0] for name, values in query.items()}
    by_owner = wanted["by"] == "owner"
    last = "nextToken" in wanted
    job = {"jobName": "a", "sums": {"x": {"attempts": 1}}, "complete": True}
    more = {
        "jobName": "b",
        "sums": {"x": {"attempts": 1, "jobs.failed": 1}},
        "complete": not by_owner or wanted["day"] != "2026-11-24",
    }
    stored = {"x": {"attempts": 3 if by_owner else 2, "jobs.failed": 1}, **({"": {"w.9": 1}} if by_owner else {})}
    return {
        "by": wanted["by"],
        "day": wanted["day"],
        "scanned": 2,
        "jobs": [more] if last else [job],
        "stored": stored if last else None,
        "keepsEarlier": not last and wanted["day"] != "2026-11-22",
        "revision": 3 if last else None,
        "changed": last and wanted["day"] == "2026-11-20",
        "nextToken": None if last else "x",
    }
