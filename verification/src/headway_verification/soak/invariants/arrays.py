"""The invariants of arrays and their members, checked on the raw items of the table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headway_verification.soak.invariants.dependencies import awaited
from headway_verification.soak.invariants.times import is_before_its_time
from headway_verification.soak.violations import require

_Jobs = Mapping[str, Mapping[str, Any]]

_ENDS = frozenset({"completed", "failed", "stopped"})
_HOLDING = frozenset({"running", "stopping"})


def is_array(job: Mapping[str, Any]) -> bool:
    """Return whether a job is an array, which is never started itself."""
    return "array" in job.get("summary", {})


def array_of(job: Mapping[str, Any]) -> str:
    """Return the array that a job is a member of; empty for none."""
    name: str = job.get("summary", {}).get("memberOf", "")
    return name


def is_set_aside(job: Mapping[str, Any]) -> bool:
    """Return whether a job is a member that is in no queue until its array takes it in."""
    return bool(job.get("summary", {}).get("isSetAside"))


def check_arrays(jobs: _Jobs, unlaunchable: Collection[str]) -> None:
    """Check that each member is made once and counted once, and that no more are in the queue or run than may be.

    Args:
        jobs: the jobs, by name.
        unlaunchable: the members that had left their places to others: they may run beside these.

    Raises:
        Violated: an invariant does not hold.
    """
    members: dict[str, list[Mapping[str, Any]]] = {}
    for job in jobs.values():
        if array := array_of(job):
            members.setdefault(array, []).append(job)
    for name, job in jobs.items():
        if is_array(job):
            _check_array(name, job, members.get(name, []), unlaunchable)


def _check_array(
    name: str, array: Mapping[str, Any], members: list[Mapping[str, Any]], unlaunchable: Collection[str]
) -> None:
    numbers, lists = array["summary"]["array"], array.get("members", {})
    live, made = set(lists.get("live", ())), numbers.get("made", 0)
    indexes = {each["summary"]["index"] for each in members}
    begun = {*range(lists.get("nextIndex", 0)), *lists.get("early", ())}
    require(indexes == begun, f"{name} has made the members {sorted(begun)}, but there are {sorted(indexes)}")
    require(made == len(begun) <= numbers["count"], f"{name} has made {made} of {numbers['count']} members")
    counted = sum(numbers.get(state, 0) for state in _ENDS)
    require(counted + len(live) == made, f"{name} has made {made} members, but {counted} ended and {len(live)} live")
    for each in members:
        index, state = each["summary"]["index"], each["jobState"]
        require(index in live or state in _ENDS, f"{each['jobName']} is {state}, but is counted as ended")
    active = [each for each in members if _is_active(each) and each["jobName"] not in unlaunchable]
    most = numbers.get("atOnce", len(active))
    require(len(active) <= most, f"{len(active)} members of {name} are in the queue or run, and {most} may")
    early = numbers.get("stoppedEarly", 0)
    require(early <= numbers.get("stopped", 0), f"{early} members of {name} were stopped early, but not stopped")
    require(
        not early or "earlyStopping" in numbers, f"members of {name} were stopped early, but it does not ask for it"
    )
    if array["jobState"] == "completed":
        ended_well = numbers.get("completed", 0) + early
        require(ended_well == numbers["count"], f"{name} is completed, but not all of its members are")
    if array["jobState"] == "failed":
        require(not live and numbers.get("failed", 0) > 0, f"{name} is failed, but no member is")


def check_resting(jobs: _Jobs, resting: Collection[str]) -> None:
    """Check that there is nothing to do for arrays that ticks leave alone.

    Args:
        jobs: the jobs, by name.
        resting: the arrays that rest.

    Raises:
        Violated: there is.
    """
    for name in resting:
        array = jobs[name]
        state, members = array["jobState"], [each for each in jobs.values() if array_of(each) == name]
        left = [each for each in members if each["jobState"] not in _ENDS]
        require(state not in {*_ENDS, "stopping"}, f"{name} is {state}, and rests")
        require(not any(map(_is_active, left)), f"{name} rests, and members are in the queue or run")
        numbers = array["summary"]["array"]
        counted = sum(numbers.get(each, 0) for each in _ENDS)
        require(counted < numbers["count"], f"{name} rests, and all of its members are counted as ended")
        if array.get("held") or awaited(array) or is_before_its_time(array):
            continue
        require(numbers.get("made", 0) == numbers["count"], f"{name} rests, and has members that are not made")
        require(all(each.get("held") for each in left), f"{name} rests, and members could enter the queue")


def _is_active(member: Mapping[str, Any]) -> bool:
    """Return whether a member is in the queue or runs."""
    waits = member["jobState"] not in _ENDS | _HOLDING
    return member["jobState"] in _HOLDING or (waits and not member.get("held") and not is_set_aside(member))
