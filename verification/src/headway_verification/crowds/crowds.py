"""The crowds: what a user makes many of, and what has become of it when ticks have passed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from itertools import pairwise
from typing import Any

from headway.sweeps import member_name
from headway_service.store.ledger import read_ledger
from headway_service.store.repository import find_job
from headway_verification.crowds.deployment import CrowdedDeployment, Tick

MOST_MEMBERS = 500
"""Members of an array each of which is held."""

CHAIN = 450
"""The depth of a chain of dependencies."""

NAME = "swept"
"""The job that is copied: no attribute of an item has that name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Crowd:
    """What a user makes many of.

    Attributes:
        what: what it is.
        make: makes that many of it.
        become: what has become of it.
        count: how many.
    """

    what: str
    make: Callable[[CrowdedDeployment, int], None]
    become: Callable[[CrowdedDeployment], str]
    count: int


def play(crowd: Crowd, count: int, minutes: int) -> tuple[list[Tick], str]:
    """Make a crowd, and let ticks pass. Returns the ticks, and what has become of it.

    Args:
        count: how many of it.
        minutes: how many ticks.
    """
    deployment = CrowdedDeployment()
    crowd.make(deployment, count)
    return [deployment.minute() for _ in range(minutes)], crowd.become(deployment)


def accepted(limits: Mapping[str, int], most: int) -> int:
    """How many arrays of one held member are accepted of one owner.

    Args:
        limits: the limits of the configuration; empty for the defaults.
        most: after how many it stops.
    """
    deployment = CrowdedDeployment(limits)
    for number in range(most):
        if not _hold_member(deployment, f"{NAME}-{number}", may_be_refused=True):
            return number
    return most


def _sweep(members: int) -> dict[str, Any]:
    return {"list": [{"seed": seed} for seed in range(members)]}


def _hold_member(deployment: CrowdedDeployment, name: str, *, may_be_refused: bool = False) -> bool:
    """Submit an array of one member, and hold that. Returns whether it was accepted."""
    answer = deployment.submit(name, sweep=_sweep(1))
    if may_be_refused and answer[0] == HTTPStatus.CONFLICT:
        return False
    _require(answer, HTTPStatus.CREATED)
    _require(deployment.call_api("POST", f"/jobs/{name}_0/hold"), HTTPStatus.OK)
    return True


def _arrays_of_held_members(deployment: CrowdedDeployment, count: int) -> None:
    _hold_member(deployment, NAME)
    deployment.copy(NAME, (f"copy-{number:05}" for number in range(count - 1)))


def _held_arrays(deployment: CrowdedDeployment, count: int) -> None:
    _require(deployment.submit(NAME, sweep=_sweep(10)), HTTPStatus.CREATED)
    _require(deployment.call_api("POST", f"/jobs/{NAME}/hold"), HTTPStatus.OK)
    deployment.copy(NAME, (f"copy-{number:05}" for number in range(count - 1)))


def _held_jobs(deployment: CrowdedDeployment, count: int) -> None:
    deployment.submit(NAME)
    _require(deployment.call_api("POST", f"/jobs/{NAME}/hold"), HTTPStatus.OK)
    deployment.copy(NAME, (f"copy-{number:05}" for number in range(count - 1)))


def _held_members(deployment: CrowdedDeployment, count: int) -> None:
    """Hold each member of arrays by itself, so that each is a job."""
    members = min(MOST_MEMBERS, count)
    for number in range(0, count, members):
        name = f"array-{number}"
        _require(deployment.submit(name, sweep=_sweep(members)), HTTPStatus.CREATED)
        for index in range(members):
            _require(deployment.call_api("POST", f"/jobs/{member_name(name, index, members)}/hold"), HTTPStatus.OK)


def _chain(deployment: CrowdedDeployment, count: int) -> None:
    """Chains, of which the first job is stopped."""
    for number in range(0, count, CHAIN):
        names = [f"job-{number + place:05}" for place in range(min(CHAIN, count - number))]
        deployment.submit(names[0])
        for before, name in pairwise(names):
            _require(deployment.submit(name, dependsOn=[{"job": before}]), HTTPStatus.CREATED)
        _require(deployment.call_api("DELETE", f"/jobs/{names[0]}"), HTTPStatus.OK)


def _arrays_become(deployment: CrowdedDeployment) -> str:
    arrays = read_ledger(deployment.table).arrays
    return f"{len(arrays)} open, {sum(each.rests for each in arrays)} at rest"


def _chain_becomes(deployment: CrowdedDeployment) -> str:
    names = {item["pk"].removeprefix("job#") for item in deployment.table.items() if item["pk"].startswith("job#job-")}
    jobs = [find_job(deployment.table, name) for name in names]
    return f"{sum(job is not None and job.ending is not None for job in jobs)} have ended"


def _jobs_become(deployment: CrowdedDeployment) -> str:
    jobs: list[Any] = [item for item in deployment.table.items() if item["sk"] == "job"]
    return f"{sum(bool(each.get('held')) for each in jobs)} held"


def _require(answer: tuple[int, Any], expected: HTTPStatus) -> None:
    """Check that the API has taken a call.

    Raises:
        RuntimeError: it has not.
    """
    if answer[0] != expected:
        raise RuntimeError(f"the API has answered {answer}, not {expected}")


CROWDS: Mapping[str, Crowd] = {
    "arrays": Crowd(
        what="arrays of one member, which is held",
        make=_arrays_of_held_members,
        become=_arrays_become,
        count=10_000,
    ),
    "held-arrays": Crowd(what="arrays of ten members, held", make=_held_arrays, become=_arrays_become, count=10_000),
    "holds": Crowd(what="jobs, held", make=_held_jobs, become=_jobs_become, count=10_000),
    "held-members": Crowd(
        what=f"members of arrays of {MOST_MEMBERS}, each held", make=_held_members, become=_arrays_become, count=10_000
    ),
    "chain": Crowd(
        what=f"jobs in chains of {CHAIN}, whose first one is stopped",
        make=_chain,
        become=_chain_becomes,
        count=4 * CHAIN,
    ),
}
"""The crowds, by key."""
