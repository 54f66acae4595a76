"""Answers questions about the future: when jobs start, why not yet, what a new job or a change would do.

Nothing is changed. The decisions themselves run on virtual time (:mod:`headway.forecasting.forecast`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from headway.forecasting import forecast as core
from headway.forecasting.forecast import (
    Cancel,
    Forecast,
    Reprioritize,
    Resize,
    Submit,
    SubmitArray,
    UnknownEdit,
    WhatIf,
)
from headway.lifecycle import ACTIVE, TERMINAL, WAITING, JobState
from headway.model import Snapshot, WaitingJob
from headway.plan import Plan, Preempt, ReleaseWarm
from headway.policy import Policy
from headway.prediction.likely_times import LikelyTime, predict_end
from headway.prediction.run_times import RunTimes
from headway.reasons import ReasonCode, turn_of
from headway.reasons.remedies import remedy_for
from headway.scheduling.team_turns import TeamTurns
from headway_service.admission.admit import admit
from headway_service.admission.admitted import Admitted
from headway_service.admission.checks import times
from headway_service.admission.queues.budgets import RefusingBudgets
from headway_service.admission.queues.limits import QueueLimits
from headway_service.arrays.to_come import array_to_come
from headway_service.config.authorization import Caller
from headway_service.config.document import Configuration
from headway_service.config.pool import Pool
from headway_service.errors import FieldError, InvalidRequest, JobNotFound, NameInUse, RequestError
from headway_service.forecast.results import Ahead, Consequences, DryRun, Expected, Explanation, Move, Outlook
from headway_service.forecast.snapshot import MAX_FORESEEN, ForecastSnapshot, build_snapshot
from headway_service.jobs.commands import require_priority
from headway_service.jobs.dependencies import resolve
from headway_service.jobs.front_positions import positions_from_plan
from headway_service.jobs.new_job import new_job
from headway_service.jobs.position import JobView, PositionExplainer
from headway_service.jobs.predicted_run import predict_run
from headway_service.jobs.queue_fronts import ranks_as_stored
from headway_service.pools.capacity import PoolUse, read_pool_uses
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table
from headway_service.store.job_filter import JobFilter
from headway_service.store.job_listing import list_jobs
from headway_service.store.ledger import Ledger
from headway_service.store.queue_tail import MAX_PLACE
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.listed_job import ListedJob
from headway_service.store.repository import find_job, find_live_attempt, get_job

MAX_FORECAST_JOBS = 100
"""Jobs in one forecast."""

MAX_AHEAD = 20
"""Jobs ahead that an explanation names."""


MAX_DELAYS = 20
"""Waiting jobs with another start that a dry run names."""


MAX_MOVED = 100
"""Jobs with another start that a what-if names."""


_PREDICTED = "Predicted starts assume that jobs run as long as jobs like them have run before, and prove nothing."


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmitRequest:
    """The edit that submits a request."""

    request: Any


Edit = SubmitRequest | Cancel | Reprioritize | Resize


class ForecastService:
    """Makes forecasts.

    Args:
        clocks: training time and machine time.
        configuration: the configuration in effect.
        run_times: returns how long the jobs that have completed ran.
    """

    def __init__(
        self,
        *,
        table: Table,
        clocks: Clocks,
        configuration: Callable[[], Configuration],
        run_times: Callable[[], RunTimes],
    ) -> None:
        self._table = table
        self._clocks = clocks
        self._configuration = configuration
        self._run_times = run_times
        self._explainer = PositionExplainer(table, clocks, lambda: configuration().policy())

    def dry_run(self, request: Any, caller: Caller) -> DryRun:
        """What :meth:`headway_service.jobs.submit.Submitter.submit` would answer, and the effect on other jobs.

        Args:
            request: the request as decoded from JSON.

        Raises:
            InvalidRequest, RequestTooLarge, NotAllowed, RuleViolation, ImpossibleDemand, QueueFull,
                BudgetSpent: as a submission.
            NameInUse: a request of that name is in the queue, be it the same one.
        """
        configuration = self._configuration()
        job = self._new_job(request, caller, configuration)
        room = QueueLimits(self._table, configuration.limits, caller.arn, self._clocks.machine_ms)
        room.require(job)
        RefusingBudgets(self._table, configuration.policy(), self._clocks.training_ms).require(job)
        if job.is_kept_back:
            seen = self._explainer.explain([job])[0]
            return DryRun(seen=seen, expected_start_ms=None, preempts=[], releases=[], delays=[], note=_after(job))
        queue = self._snapshot(job.entry_time, configuration.policy())
        try:
            result = queue.what_if([_submission_of(job)])
        except UnknownEdit:
            # Another request has entered under that name since it was looked up.
            raise _name_in_use(job.job_name) from None
        ahead = queue.coming().ahead_of(job)
        place = queue.coming().place(self._explainer.places([job], read=room.tails)[job.job_name], ahead)
        # Of an array, those of its members that enter at once.
        names = sorted(name for name, array in result.entering.items() if array == job.job_name) or [job.job_name]
        first = replace(job.waiting(), name=names[0])
        told = positions_from_plan(result.plan, [first], queue.coming(result.arrays)).get(first.name)
        waiting_names = {each.name for each in queue.snapshot.waiting}
        moved = [move for move in _moves(result) if move.job in waiting_names]
        return DryRun(
            seen=JobView(job=job, place=place, reason=told.reason if told else job.reason, to_come=sum(ahead.values())),
            expected_start_ms=result.after.starts[job.job_name],
            preempts=_for(names, Preempt, result.plan),
            releases=_for(names, ReleaseWarm, result.plan),
            delays=moved[:MAX_DELAYS],
            note=queue.note(result.after, job.waiting()),
        )

    def explain(self, name: str) -> Explanation:
        """Why a job is in its state, and what happens next.

        Raises:
            JobNotFound: there is none of that name.
        """
        job = get_job(self._table, name)
        seen = self._explainer.explain([job])[0]
        remedy = remedy_for(seen.reason.code)
        if job.job_state in TERMINAL:
            return Explanation(
                seen=seen, expected_start_ms=None, expected_end_ms=None, note="The job has ended.", remedy=remedy
            )
        # As many are ahead of a job without a place as are counted.
        counted = {max(job.demand): MAX_PLACE} if _is_beyond_places(seen) and len(job.demand) == 1 else {}
        pools = read_pool_uses(self._table, job.pools, counted)
        if job.is_queued:
            return self._explain_waiting(seen, pools, remedy)
        attempt = find_live_attempt(self._table, job)
        likely_end: LikelyTime | None = None
        if attempt is not None:
            known = self._known(self._configuration())
            if known is not None and attempt.stop_cause is None:
                likely_end = predict_end(attempt.allocation(), known, self._clocks.training_ms())
            note, end_ms = (
                "It has ended by then: its limit and the time for its provisioning and stop are over.",
                _end_ms(attempt),
            )
        elif job.held:
            note, end_ms = (
                f"It is in no queue, and starts only after it is released (`headway release {name}`).",
                None,
            )
        else:
            note, end_ms = _outside(job), None
        return Explanation(
            seen=seen,
            expected_start_ms=None,
            expected_end_ms=end_ms,
            note=note,
            pools=pools,
            remedy=remedy,
            predicted_end=likely_end,
        )

    def forecast(self, name: str | None, limit: int) -> Outlook:
        """When waiting jobs are expected to start: by that time, those without one last, then by place.

        Args:
            name: of one job; None for all.
            limit: most jobs in the answer.

        Raises:
            JobNotFound: there is no job of that name.
        """
        listed: Sequence[ListedJob]
        if name is not None:
            listed, more = [get_job(self._table, name)], None
        else:
            listed, more = list_jobs(self._table, JobFilter(states=WAITING), MAX_FORESEEN, None)
        configuration = self._configuration()
        queue = self._snapshot(self._clocks.training_ms(), configuration.policy(), also=listed if name else ())
        seen = queue.forecast([name] if name else None)
        predicted = queue.predicted_starts(self._known(configuration), [name] if name else None)
        # The listing may lag behind: jobs that have started since do not wait.
        started = {attempt.job_name for attempt in queue.ledger.attempts}
        waiting = [job for job in listed if job.job_state in WAITING and job.job_name not in started]
        waiting.sort(key=lambda job: (_last(seen.starts.get(job.job_name)), job.held, job.rank()))
        told = self._explainer.explain(waiting[:limit])
        return Outlook(
            as_of_ms=queue.snapshot.now_ms,
            until_ms=seen.until_ms,
            note=_with_predictions(queue.note(seen), predicted),
            jobs=[
                Expected(
                    seen=each,
                    start_ms=seen.starts.get(each.job.job_name),
                    predicted_start=predicted.get(each.job.job_name),
                )
                for each in told
            ],
            more=more is not None or len(waiting) > limit,
        )

    def what_if(self, changes: Sequence[Edit], caller: Caller) -> Consequences:
        """The effect of changes, applied in order.

        Raises:
            RequestError: as each change by itself; fields begin with ``changes.N``.
        """
        configuration = self._configuration()
        changed = _resized(configuration, changes)
        # Each with its number among the changes: a submission that is kept back is none of the snapshot.
        applied: list[tuple[int, core.Edit]] = []
        also: list[JobRecord] = []
        submitted: set[str] = set()
        for index, change in enumerate(changes):
            try:
                match change:
                    case SubmitRequest():
                        job = self._new_job(change.request, caller, changed)
                        submitted.add(job.job_name)
                        if not job.is_kept_back:
                            applied.append((index, _submission_of(job)))
                    case Cancel() | Reprioritize():
                        if change.job not in submitted:
                            also.append(self._changeable(change, changed))
                        applied.append((index, change))
                    case Resize():
                        applied.append((index, change))
            except RequestError as error:
                raise _within(error, index, "request." if isinstance(change, SubmitRequest) else "") from None
        queue = self._snapshot(self._clocks.training_ms(), configuration.policy(), also=also)
        try:
            result = queue.what_if([change for _, change in applied])
        except UnknownEdit as error:
            place = f"changes.{applied[error.index][0]}"
            raise InvalidRequest(f"{place}: {error}", [FieldError(field=place, message=str(error))]) from None
        return Consequences(
            starts=result.starts,
            preempts=result.preempts,
            releases=result.releases,
            moved=_moves(result)[:MAX_MOVED],
            note=queue.note(result.after),
        )

    def _snapshot(self, now_ms: int, policy: Policy, also: Iterable[ListedJob] = ()) -> ForecastSnapshot:
        return build_snapshot(self._table, now_ms, self._clocks.machine_ms(), policy, also)

    def _known(self, configuration: Configuration) -> RunTimes | None:
        """How long jobs have run, if run times are predicted."""
        return self._run_times() if configuration.predictions else None

    def _new_job(self, request: Any, caller: Caller, configuration: Configuration) -> JobRecord:
        """The job that a submission would make."""
        admitted = self._admit(request, caller, configuration)
        now_ms = self._clocks.training_ms()
        times.require_ahead(admitted.not_before_ms, admitted.start_by_ms, now_ms)
        found = resolve(self._table, admitted.depends_on, caller, configuration.access_rules())
        return new_job(
            admitted,
            configuration.policy(),
            owner=caller.arn,
            key=None,
            now_ms=now_ms,
            prediction=predict_run(admitted, caller.arn, configuration, self._run_times),
            depends_on=found.depends_on,
        )

    def _admit(self, request: Any, caller: Caller, configuration: Configuration) -> Admitted:
        """Check a request as a submission that makes a new job."""
        admitted = admit(request, configuration, caller)
        if find_job(self._table, admitted.name) is not None:
            raise _name_in_use(admitted.name)
        return admitted

    def _changeable(self, change: Cancel | Reprioritize, configuration: Configuration) -> JobRecord:
        """The job that a change is about, if it can be changed so."""
        try:
            job = get_job(self._table, change.job)
        except JobNotFound as error:
            raise JobNotFound(str(error), [FieldError(field="jobName", message=str(error))]) from None
        if job.job_state in TERMINAL:
            raise _wrong_job(f"`{change.job}` has {job.job_state} already, so nothing of it can change")
        if job.held:
            raise _wrong_job(f"`{change.job}` is held and in no queue, so nothing would change: release it first")
        if job.awaited or job.begin_ms is not None:
            what = "other jobs" if job.awaited else "its time"
            raise _wrong_job(f"`{change.job}` waits for {what} and is in no queue, so nothing would change")
        if isinstance(change, Reprioritize):
            require_priority(change.priority, configuration.max_priority(job.team), job.team)
        elif job.job_state in ACTIVE:
            raise _wrong_job(f"`{change.job}` is {job.job_state}, and only a job that waits can be withdrawn")
        return job

    def _waiting(self, job: WaitingJob, seen: Forecast) -> Ahead:
        known = find_job(self._table, job.name)
        return Ahead(
            job=job.name,
            # The queue entry does not have the state.
            job_state=known.job_state if known is not None else JobState.PENDING,
            priority=job.terms.priority,
            demand=job.demand,
            owner=known.owner if known is not None else None,
            started_ms=None,
            expected_end_ms=_plus(seen.starts.get(job.name), job.terms.limit_ms),
        )

    def _explain_waiting(self, seen: JobView[JobRecord], pools: Sequence[PoolUse], remedy: str | None) -> Explanation:
        job = seen.job
        configuration = self._configuration()
        policy = configuration.policy()
        # No forecast reaches a job so far back. Then only the first of the jobs ahead of it are read.
        heads = partial(_shown_ahead, job) if _is_beyond_forecasts(seen, policy) else None
        queue = build_snapshot(self._table, self._clocks.training_ms(), self._clocks.machine_ms(), policy, [job], heads)
        covered = queue.covers(job.waiting())
        holders = sorted(_holders(job, queue.ledger), key=lambda each: (_last(_end_ms(each)), each.attempt_name))
        waiting = queue.ahead_of(job.waiting())
        ahead = [_holding(attempt) for attempt in holders[:MAX_AHEAD]]
        shown = waiting[: MAX_AHEAD - len(ahead)]
        forecast = queue.forecast([job.job_name] if covered else [each.name for each in shown])
        predicted = queue.predicted_starts(self._known(configuration), [job.job_name]) if covered else {}
        start_ms = forecast.starts.get(job.job_name)
        ahead += [self._waiting(each, forecast) for each in shown]
        in_queue = MAX_PLACE if seen.place is None else seen.place - seen.to_come - 1
        before = seen.to_come + (len(waiting) if covered else max(len(waiting), in_queue))
        return Explanation(
            seen=seen,
            expected_start_ms=start_ms,
            expected_end_ms=_plus(start_ms, job.limit_ms),
            predicted_start=predicted.get(job.job_name),
            note=_with_predictions(queue.note(forecast, job.waiting()), predicted),
            ahead=ahead,
            more=min(MAX_PLACE, max(0, len(holders) + before - len(ahead))),
            pools=pools,
            remedy=remedy,
            turn=_turn(job.team, queue.snapshot),
        )


def _turn(team: str, snapshot: Snapshot) -> str | None:
    """What a team used lately, in words; None where that does not count."""
    rules, found = snapshot.policy.fair_share, TeamTurns(snapshot).lately(team)
    if rules is None or found is None:
        return None
    return turn_of(team, used=found.used, weight=found.weight, unknown=found.unknown, half_life_ms=rules.half_life_ms)


def _holders(job: ListedJob, ledger: Ledger) -> list[AttemptRecord]:
    """The attempts that hold instances in a pool of a job."""
    return [each for each in ledger.attempts if not each.demand.keys().isdisjoint(job.pools)]


def _shown_ahead(job: ListedJob, ledger: Ledger) -> int:
    """How many waiting jobs ahead of a job its explanation names at most; at least 1."""
    return max(1, MAX_AHEAD - len(_holders(job, ledger)))


def _is_beyond_places(seen: JobView[ListedJob]) -> bool:
    """Whether more jobs are ahead of a job than are counted."""
    return seen.job.is_queued and seen.place is None and seen.reason.code is ReasonCode.WAITS_BEHIND


def _is_beyond_forecasts(seen: JobView[ListedJob], policy: Policy) -> bool:
    """Whether so many jobs are ahead of a job that no forecast has them all."""
    if not _is_beyond_places(seen) and (seen.place is None or seen.place - seen.to_come <= MAX_FORESEEN):
        return False
    return ranks_as_stored(policy) and not seen.job.chooses


def _outside(job: ListedJob) -> str:
    """The note on a job that is in no queue, and is not held."""
    if job.awaited or job.begin_ms is not None:
        return _after(job)
    if job.array is not None:
        return "An array never starts itself: its members enter the queue in turn."
    return f"It is in no queue until `{job.member_of}` takes it in." if job.is_set_aside else "It is in no queue."


def _after(job: ListedJob) -> str:
    """The note on a job that waits for others, or for its time."""
    names = ", ".join(f"`{name}`" for name, _ in job.awaited)
    until = [f"these jobs have ended: {names}"] if names else []
    until += ["its time has come"] if job.begin_ms is not None else []
    return f"It is in no queue until {', and '.join(until)}. Its start is not forecast before."


def _with_predictions(note: str, predicted: Mapping[str, LikelyTime]) -> str:
    """A note, with what predictions assume if there are any."""
    return f"{note} {_PREDICTED}" if predicted else note


def _for(names: Collection[str], kind: type[Preempt | ReleaseWarm], plan: Plan) -> list[str]:
    """The jobs that are preempted, or whose warm pools are released, for some jobs."""
    return [action.job for action in plan.actions if isinstance(action, kind) and action.for_job in names]


def _submission_of(job: JobRecord) -> Submit | SubmitArray:
    return Submit(job=job.waiting()) if job.array is None else SubmitArray(array=array_to_come(job))


def _moves(result: WhatIf) -> list[Move]:
    """Jobs that would start at another time, ordered by their current start."""
    found = [Move(job=name, before_ms=before, after_ms=after) for name, (before, after) in result.moved.items()]
    return sorted(found, key=lambda move: (_last(move.before_ms), _last(move.after_ms), move.job))


def _holding(attempt: AttemptRecord) -> Ahead:
    return Ahead(
        job=attempt.job_name,
        job_state=JobState.RUNNING if attempt.stop_cause is None else JobState.STOPPING,
        priority=attempt.priority,
        demand=attempt.demand,
        owner=attempt.owner,
        started_ms=attempt.since_ms,
        expected_end_ms=_end_ms(attempt),
    )


def _resized(configuration: Configuration, changes: Iterable[Edit]) -> Configuration:
    """The configuration with the sizes of pools that changes give them."""
    sizes = {change.pool: Pool(size=change.size) for change in changes if isinstance(change, Resize)}
    return configuration.model_copy(update={"pools": {**configuration.pools, **sizes}})


def _wrong_job(message: str) -> InvalidRequest:
    return InvalidRequest(message, [FieldError(field="jobName", message=message)])


def _within(error: RequestError, index: int, part: str) -> RequestError:
    """The same refusal of one of several changes."""
    fields = [FieldError(field=f"changes.{index}.{part}{each.field}", message=each.message) for each in error.fields]
    # The message has the only field and its text, so that a caller who prints both does not repeat them.
    place = fields[0].field if [each.message for each in fields] == [str(error)] else f"changes.{index}"
    return type(error)(f"{place}: {error}", fields)


def _end_ms(attempt: AttemptRecord) -> int | None:
    """When an attempt has ended by its limit, at the latest."""
    return _plus(attempt.since_ms, attempt.limit_ms)


def _plus(start_ms: int | None, limit_ms: int | None) -> int | None:
    return None if start_ms is None or limit_ms is None else start_ms + limit_ms


def _last(time_ms: int | None) -> tuple[bool, int]:
    """Sort key that puts an unknown time last."""
    return (time_ms is None, time_ms or 0)


def _name_in_use(name: str) -> NameInUse:
    return NameInUse(
        f"`{name}` is the name of another job in the queue: choose a new name",
        [FieldError(field="TrainingJobName", message="is the name of another job in the queue")],
    )
