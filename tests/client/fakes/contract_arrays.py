"""Arrays of the fake API. All members wait, or are still to come, unless a test changes them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headway.sweeps import Sweep, member_name, parse_member
from tests.client.fakes.contract_foresight import Reply, problem

if TYPE_CHECKING:
    from tests.client.fakes.contract import Queue


@dataclass
class Array:
    """An array.

    Attributes:
        name: its name.
        sweep: what its members differ in.
        at_once: how many members are jobs at once; None for all.
        max_failures: how many may fail.
        members: by index, members of the documents that tests have changed.
    """

    name: str
    sweep: Sweep
    at_once: int | None
    max_failures: int | None
    members: dict[int, dict[str, Any]] = field(default_factory=dict)

    def change(self, index: int, **changes: Any) -> None:
        """Change members of a member's document."""
        self.members.setdefault(index, {}).update(changes)

    def member(self, index: int) -> dict[str, Any]:
        return {
            "index": index,
            "jobName": member_name(self.name, index, self.sweep.count),
            "jobState": "pending",
            "made": self.at_once is None or index < self.at_once,
            "parameters": self.sweep.values(index),
            "metrics": {},
            "attempt": None,
            "startedTime": None,
            "endedTime": None,
            **self.members.get(index, {}),
        }

    def progress(self) -> dict[str, Any]:
        members = [self.member(index) for index in range(self.sweep.count)]
        states = Counter(member["jobState"] for member in members if member["made"])
        return {
            "count": len(members),
            "atOnce": self.at_once,
            "maxFailures": self.max_failures,
            "unmade": sum(not member["made"] for member in members),
            **{state: states[state] for state in ("completed", "failed", "stopped")},
        }


def submitted(queue: Queue, document: dict[str, Any], reply: Reply) -> Reply:
    """Make an array of a job that was submitted with a sweep."""
    if "sweep" not in document or reply[0] != 201:
        return reply
    name = document["jobDetails"]["TrainingJobName"]
    sweep = Sweep.parse(document["sweep"])
    queue.arrays[name] = Array(name, sweep, document.get("atOnce"), document.get("maxFailures"))
    return 201, shown(queue, name)


def shown(queue: Queue, name: str) -> dict[str, Any]:
    """Return an array as it is now."""
    queue.jobs[name]["array"] = queue.arrays[name].progress()
    return queue.job(name)


def answer(queue: Queue, method: str, segments: list[str], query: dict[str, list[str]]) -> Reply | None:
    for name in queue.arrays:
        shown(queue, name)
    match (method, segments):
        case ("GET", ["jobs", name, "members"]):
            return _members(queue, name, query)
        case ("GET", ["jobs", name]):
            return _member(queue, name)
        case _:
            return None


def _members(queue: Queue, name: str, query: dict[str, list[str]]) -> Reply:
    if name not in queue.jobs:
        return problem(404, "JobNotFound", f"There is no job {name}.")
    if name not in queue.arrays:
        return problem(400, "NotAnArray", f"{name} is no array, so it has no members.")
    array = queue.arrays[name]
    start = int(query["from"][0])
    end = min(start + min(int(query["limit"][0]), queue.page_size), array.sweep.count)
    members = [array.member(index) for index in range(start, end)]
    return 200, {"array": name, "members": members, "nextIndex": end if end < array.sweep.count else None}


def _member(queue: Queue, name: str) -> Reply | None:
    found = parse_member(name)
    if found is None or found[0] not in queue.arrays:
        return None
    array, index = queue.arrays[found[0]], found[1]
    if not (index < array.sweep.count and array.member(index)["made"]):
        return problem(404, "JobNotFound", f"There is no job {name}.")
    member = array.member(index)
    own = {key: member[key] for key in ("jobName", "jobState", "parameters", "metrics", "startedTime", "endedTime")}
    job = queue.job(array.name, whole=True)
    return 200, {**job, **own, "array": None, "memberOf": array.name, "index": index}
