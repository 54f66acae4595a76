"""The states in which AWS says no, and goes on saying it, as values.

Each is a small queue in which some jobs are refused and others could run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from headway.pool_names import SPOT_SUFFIX
from headway_service.ports.table import Delete, Put
from headway_service.store.records.job import request_key
from headway_verification.refusals import answers
from headway_verification.refusals.answers import Answer
from headway_verification.refusals.deployment import RefusingDeployment
from headway_verification.refusals.jobs import P4, P5, Do, Job, call, resources, several

SPOT = P5 + SPOT_SUFFIX
TEN_DAYS_S = 864_000
CAPACITY_WAIT_S = 900
"""How long SageMaker looks for instances of a job without a limit of its own, s: AWS does not document it, and users
report a quarter of an hour (aws/sagemaker-pytorch-training-toolkit#171)."""
OUTAGE_MIN = 30
"""How long SageMaker answers no launch, minutes."""
MANY = 1000
"""Jobs that cannot start."""

ROOM: Mapping[str, Any] = {"limits": {"waitingPerTeam": 10_000, "waitingPerOwner": 10_000}}
"""A configuration in which as many jobs may wait as there can be."""


@dataclass(frozen=True, kw_only=True)
class State:
    """A state.

    Attributes:
        key: its number, and its variant.
        what: what it is.
        asked: the job of which the queue is asked why it does what it does.
        pools: the instances of each pool.
        usable: those of them that SageMaker has and allows, per pool; a pool that is left out is not looked at.
        jobs: the jobs.
        acts: what is done at which minute, after the submissions of that minute.
        answers: launches that SageMaker refuses.
        faults: switches of the fake SageMaker.
        settings: other members of the configuration document.
        ready_min: waits are counted from this minute on: SageMaker answers no launch before it.
        s3_call_s: how long a call of S3 takes, s.
        hours: how long it is played, h.
    """

    key: str
    what: str
    asked: str
    pools: Mapping[str, int]
    usable: Mapping[str, int]
    jobs: tuple[Job, ...]
    acts: tuple[tuple[int, Do], ...] = ()
    answers: tuple[Answer, ...] = ()
    faults: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    ready_min: int = 0
    s3_call_s: float = 0.0
    hours: float = 24.0

    @property
    def document(self) -> dict[str, Any]:
        """The configuration document."""
        return {"pools": {pool: {"size": size} for pool, size in self.pools.items()}, **self.settings}


NOBODY: Mapping[str, int] = {}
"""The instances that AWS gives a job that it refuses."""

_THREE = several(3, "small")
_BIG_REFUSED = Job(name="big", demand={P5: 4}, at_min=10, priority=5, runs_on=NOBODY)


def _quota_below_pool() -> State:
    return State(
        key="1",
        what="pool 4, quota 3, three jobs run, `big` (priority 5) wants 4",
        asked="big",
        pools={P5: 4},
        usable={P5: 3},
        faults={"quotas": {P5: 3}},
        jobs=(*_THREE, _BIG_REFUSED),
    )


def _refused_for_ever(count: int) -> State:
    return State(
        key=f"2 wants {count}",
        what=f"pool 8, a job that wants {count} exceeds a quota for ever, twelve others of 1 could use the rest",
        asked="big",
        pools={P5: 8},
        usable={P5: 8},
        answers=(answers.volume_over_quota("big"),),
        jobs=(
            *several(12, "small", run_h=8.0),
            Job(name="big", demand={P5: count}, at_min=10, priority=5, runs_on=NOBODY),
        ),
    )


def _denied(key: str, what: str, answer: Answer, **terms: Any) -> State:
    return State(
        key=key,
        what=f"pool 4, {what}; it wants 4 with priority 5, six others want 1",
        asked="big",
        pools={P5: 4},
        usable={P5: 4},
        answers=(answer,),
        jobs=(
            *several(6, "small", run_h=6.0),
            Job(name="big", demand={P5: 4}, at_min=10, priority=5, runs_on=NOBODY, **terms),
        ),
    )


def _alternative() -> State:
    other = [{"ResourceConfig": resources({P4: 4})}]
    return State(
        key="5 types",
        what="the quota of the first preference is 0, the alternative is free",
        asked="flexible",
        pools={P5: 4, P4: 4},
        usable={P5: 0, P4: 4},
        faults={"quotas": {P5: 0}},
        jobs=(Job(name="flexible", demand={P5: 4}, terms={"alternatives": other}, runs_on={P4: 4}),),
    )


def _spot() -> State:
    other = [{"EnableManagedSpotTraining": False, "StoppingCondition": {"MaxRuntimeInSeconds": 86_400}}]
    return State(
        key="5 spot",
        what="the spot quota is 0, the alternative on demand is free",
        asked="flexible",
        pools={P5: 4, SPOT: 4},
        usable={P5: 4, SPOT: 0},
        faults={"spot_quotas": {P5: 0}},
        jobs=(Job(name="flexible", demand={P5: 4}, spot=True, terms={"alternatives": other}, runs_on={P5: 4}),),
    )


def _fewer_than_pool(key: str, what: str, *, running: bool = False, pending_s: int | None = None) -> State:
    before = (Job(name="running", run_h=8.0),) if running else ()
    return State(
        key=key,
        what=f"pool 4, SageMaker has 3, `big` wants 4, six jobs want 1{what}",
        asked="big",
        pools={P5: 4},
        usable={P5: 3},
        faults={"capacity": {P5: 3}, "capacity_wait_s": CAPACITY_WAIT_S},
        settings={} if pending_s is None else {"maxPendingSeconds": pending_s},
        jobs=(
            *before,
            Job(name="big", demand={P5: 4}, at_min=10, priority=5, runs_on=NOBODY),
            *several(6, "small", at_min=11),
        ),
    )


_FOR_TWO_POOLS = (*several(12, "a"), *several(8, "b", demand={P4: 1}))


def _six_lost() -> State:
    return State(
        key="7 six",
        what="six launches in a row get no answer; 20 jobs for 20 instances",
        asked="a-0",
        pools={P5: 12, P4: 8},
        usable={P5: 12, P4: 8},
        answers=(answers.unanswered(times=6),),
        jobs=_FOR_TWO_POOLS,
        hours=6,
    )


def _answers_again(deployment: RefusingDeployment[Any]) -> None:
    deployment.answers.clear()


def _outage() -> State:
    return State(
        key="7 outage",
        what=f"no launch gets an answer for {OUTAGE_MIN} minutes; 20 jobs for 20 instances wait since its end",
        asked="a-0",
        pools={P5: 12, P4: 8},
        usable={P5: 12, P4: 8},
        answers=(answers.unanswered(),),
        acts=((OUTAGE_MIN, _answers_again),),
        jobs=_FOR_TWO_POOLS,
        ready_min=OUTAGE_MIN,
        hours=6,
    )


def _never_answered() -> State:
    return State(
        key="8",
        what="pool 4, SageMaker never answers clearly to one job that wants 1, eight others want 1",
        asked="poison",
        pools={P5: 4},
        usable={P5: 4},
        answers=(answers.unanswered("poison"),),
        jobs=(Job(name="poison", priority=5, runs_on=NOBODY), *several(8, "small", at_min=1, run_h=8.0)),
    )


def _many_too_large() -> State:
    return State(
        key="9 smaller",
        what=f"the pool was made smaller: {MANY} jobs cannot start, a small one is behind them",
        asked="small",
        pools={P5: 4},
        usable={P5: 3},
        jobs=(*several(MANY, "large", demand={P5: 4}, runs_on=NOBODY), Job(name="small", at_min=5)),
        acts=((0, call("PATCH", f"/pools/{P5}", {"size": 3})),),
        settings=ROOM,
        hours=1,
    )


def _many_paused() -> State:
    return State(
        key="9 paused",
        what=f"{MANY} jobs need a paused pool as well, a small one is behind them",
        asked="small",
        pools={P5: 4, P4: 4},
        usable={P5: 4},
        jobs=(*several(MANY, "both", demand={P5: 1, P4: 1}, runs_on=NOBODY), Job(name="small", at_min=5)),
        acts=((0, call("POST", f"/pools/{P4}/pause", {"reason": "maintenance"})),),
        settings=ROOM,
        hours=1,
    )


def _sweep(count: int, **terms: Any) -> Job:
    """An array whose members may be answered by equal jobs."""
    grid = {"grid": {"seed": [str(number) for number in range(count)]}}
    return Job(name="sweep", terms={"sweep": grid, "reuse": True}, **terms)


def _damaged(key: str, what: str, damage: Callable[[RefusingDeployment[Any]], None]) -> State:
    """A record is damaged; a job of another pool comes every ten minutes."""
    others = tuple(
        Job(name=f"other-{number}", demand={P4: 1}, at_min=5 + 10 * number, run_h=0.1) for number in range(20)
    )
    return State(
        key=key,
        what=f"{what}; in another pool a job comes every ten minutes",
        asked="sweep",
        pools={P5: 4, P4: 4},
        usable={P5: 4, P4: 4},
        jobs=(_sweep(4, runs_on=NOBODY), *others),
        acts=((0, damage),),
        hours=4,
    )


def _lose_request(deployment: RefusingDeployment[Any]) -> None:
    deployment.table.write([Delete(key=request_key("sweep"))])


def _rewrite_request(change: Mapping[str, Any], deployment: RefusingDeployment[Any]) -> None:
    item = deployment.table.get(request_key("sweep")) or {}
    deployment.table.write([Put(item={**item, **change})])


def _compared(count: int) -> State:
    # Each member draws the same value, so that each is answered by the first job, whose outputs S3 is asked for.
    same = {"random": {"seed": {"choice": [1]}}, "count": count, "seed": 1}
    return State(
        key=f"11 {count}",
        what=f"{count} members are compared at 0.2 s a call; an urgent job on its own free pool comes at once",
        asked="urgent",
        pools={P5: 4, P4: 4},
        usable={P5: 4, P4: 4},
        jobs=(
            Job(name="first", run_h=0.1, terms={"reuse": True}, changes={"HyperParameters": {"seed": "1"}}),
            Job(name="sweep", at_min=30, run_h=0.1, terms={"sweep": same, "reuse": True}, runs_on=NOBODY),
            Job(name="urgent", at_min=30, demand={P4: 1}, priority=99, run_h=0.5),
        ),
        settings=ROOM,
        s3_call_s=0.2,
        hours=2,
    )


def _held_members() -> State:
    return State(
        key="12",
        what="pool 4, a reuse array of 60 with 50 held members: its others, of 1 h each",
        asked="sweep",
        pools={P5: 4},
        usable={P5: 4},
        jobs=(_sweep(60, run_h=1.0, members=range(50, 60)),),
        acts=tuple((0, call("POST", f"/jobs/sweep_{number}/hold")) for number in range(50)),
    )


def _held_twin() -> State:
    return State(
        key="13",
        what="an urgent job (priority 9) is equal to one (priority 0) that is held; the pool is free",
        asked="urgent",
        pools={P5: 4},
        usable={P5: 4},
        jobs=(
            Job(name="slow", terms={"reuse": True}, runs_on=NOBODY),
            Job(name="urgent", priority=9, at_min=5, terms={"reuse": True}),
        ),
        acts=((0, call("POST", "/jobs/slow/hold")),),
    )


def _states() -> tuple[State, ...]:
    return (
        _quota_below_pool(),
        *(_refused_for_ever(count) for count in (1, 4, 8)),
        _denied("3 policy", "a service control policy denies one job", answers.denied_by_policy("big")),
        _denied("3 key", "the key of one job's volumes gives no grant", answers.denied_grant("big")),
        _denied("4 run time", "ten days are longer than the quota", answers.runs_too_long(), limit_s=TEN_DAYS_S),
        _denied("4 debugger", "a debugger rule exceeds the processing jobs", answers.debugger_over_quota("big")),
        _alternative(),
        _spot(),
        _fewer_than_pool("6", ""),
        _fewer_than_pool("6 running", "; one runs already", running=True),
        _fewer_than_pool("6 pending", "; `maxPendingSeconds` is 1800", pending_s=1800),
        _six_lost(),
        _outage(),
        _never_answered(),
        _many_too_large(),
        _many_paused(),
        _damaged("10 missing", "the stored request of a reuse array is missing", _lose_request),
        _damaged("10 garbled", "a stored request cannot be parsed", partial(_rewrite_request, {"jobDetails": "{"})),
        _damaged("10 sweep", "newer code wrote a sweep", partial(_rewrite_request, {"sweep": '{"bayesian": {}}'})),
        _damaged("10 schema", "newer code wrote the request", partial(_rewrite_request, {"schemaVersion": 99})),
        _compared(300),
        _compared(10_000),
        _held_members(),
        _held_twin(),
        _denied(
            "14",
            "29 days are longer than SageMaker allows",
            answers.too_long_for_sagemaker(),
            limit_s=29 * 86_400,
        ),
    )


STATES: Mapping[str, State] = {state.key: state for state in _states()}
"""The states, by key."""
