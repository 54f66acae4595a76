"""What SageMaker proves about a launch.

An answer counts only for what it proves. If the only CreateTrainingJob of an attempt is refused, the attempt was not
launched. If an earlier answer is missing, neither a later refusal nor a training job that is not found proves anything
until SageMaker has had time to show it (:mod:`headway_service.sagemaker_api.visibility`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from headway.refusals import Cause, FailedLaunches, NoInstances, add
from headway_service.errors import LaunchError, LaunchPostponed, LaunchRefused, NameTaken, OutcomeUnknown, Throttled
from headway_service.launching.backoff import PoolBackoff
from headway_service.launching.launches import Launch
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import TrainingJobs, TrainingJobStatus
from headway_service.sagemaker_api.visibility import is_proven
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import AttemptRecord

CLOCKS_MS = 5_000
"""A training job may seem to be created this much before it was requested, as SageMaker has a clock of its own."""

ASK_AGAIN_S = 10
"""Time after which SageMaker is asked again about a launch that it may show later."""

MAX_UNANSWERED = 2
"""After so many calls without a clear answer a launch is only asked about. If SageMaker does not show it, its job waits
again, as after any launch without instances."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """SageMaker has accepted a call of this invocation."""

    #: The earliest time at which the training job can have been created, ms.
    created_from_ms: int
    #: Whether that was a moment ago, so that its status is known.
    is_new: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """SageMaker has the attempt from an earlier call."""

    status: TrainingJobStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class NameInUse:
    """The name of the attempt is in use, for good, by a training job that the queue cannot take for the attempt."""

    #: Whether that has a mark of the queue. One without may be the attempt itself, of which SageMaker does not show the
    #: tags yet.
    is_marked: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class NotLaunched:
    """The launch got no instances."""

    launch: NoInstances
    #: Whether it counts with those before it: not if an outage may have left it without an answer.
    in_a_row: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """SageMaker has refused the request for good."""

    error: LaunchError


@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing shows that SageMaker has the attempt: it shows no such training job, or none of its calls was made."""


@dataclass(frozen=True, slots=True)
class Open:
    """Nothing. The lease of the launch was returned, and a later round goes on."""


Shown = Found | NameInUse | Missing
"""What SageMaker shows under the name of an attempt."""

Proof = Accepted | Found | NameInUse | NotLaunched | Refused | Missing | Open


class Proofs:
    """Finds out what SageMaker proves, in one invocation.

    Args:
        training_jobs: SageMaker.
        backoff: the back-offs of pools.
        machine_clock: the machine time, ms.
        throttled_ms: when one of several launches was last throttled, machine time, ms; 0 for never.

    Attributes:
        accepted: what SageMaker has accepted here, by the mark of the attempt, should that not have been written down.
        unanswered: the marks of attempts whose calls had no clear answer here. This invocation makes no other call for
            them: its answer would seem to be the only one, and a refusal would hide a launch.
        is_silent: whether SageMaker has not answered a question here: it is asked no other one about a launch.
        throttled_ms: see there.
    """

    def __init__(
        self,
        table: Table,
        training_jobs: TrainingJobs,
        backoff: PoolBackoff,
        machine_clock: Callable[[], int],
        throttled_ms: int,
    ) -> None:
        self._table = table
        self._training_jobs = training_jobs
        self._backoff = backoff
        self._machine_clock = machine_clock
        self._sizes: dict[str, int] = {}
        #: Refusals that prove nothing yet, by the mark of the attempt, should they not have been written down.
        self._refused: dict[str, FailedLaunches] = {}
        self.accepted: dict[str, Accepted] = {}
        self.unanswered: set[str] = set()
        self.is_silent = False
        self.throttled_ms = throttled_ms

    def update(self, ledger: Ledger) -> None:
        """Apply the sizes of the ledger's pools."""
        self._sizes = {pool.pool: pool.size for pool in ledger.pools}

    def of_call(self, attempt: AttemptRecord, launch: Launch, now_ms: int) -> Proof:
        """What the answer to a call proves.

        Args:
            attempt: the attempt, whose lease this invocation holds.
            launch: its call.
            now_ms: the training time, ms.

        Raises:
            Conflict: it was changed meanwhile.
            OutcomeUnknown: whether it was launched is not known; the intent stays.
        """
        log = {"job": attempt.job_name, "attempt": attempt.attempt_name}
        try:
            launch.answer()
        except (NameTaken, LaunchPostponed, LaunchRefused) as error:
            return self._of_refusal(attempt, error, now_ms)
        except Throttled as error:
            # No call is in progress: the next invocation may retry without waiting for the lease to expire.
            self._return_lease(attempt, -1)
            if launch.alone:
                self._backoff.begin(attempt.demand, error, self._machine_clock())
                raise
            # Perhaps only these were too many at once: it is tried again by itself before its pool backs off.
            logger.warning("one of several launches is throttled; they go on one at a time", extra=log)
            self.throttled_ms = self._machine_clock()
            return Open()
        except OutcomeUnknown as error:
            # First of all, as what follows may fail. The lease stays, too.
            self.unanswered.add(attempt.mark)
            logger.warning("launch unclear; the intent stays", extra=log)
            self._backoff.unanswered(attempt.demand, attempt.job_name, error, self._machine_clock())
            raise
        logger.info("launched", extra=log)
        accepted = Accepted(created_from_ms=launch.asked_ms - CLOCKS_MS)
        # Its end may be seen before it is confirmed again.
        self.accepted[attempt.mark] = replace(accepted, is_new=False)
        return accepted

    def of_canceled(self, attempt: AttemptRecord) -> Found | Missing:
        """What is proven of an attempt that is not to be launched any more: a known call may have launched it.

        Args:
            attempt: the attempt, whose lease this invocation holds.

        Raises:
            Conflict: it was changed meanwhile.
            OutcomeUnknown: SageMaker may show it later; it is asked again.
        """
        shown = Missing() if attempt.unanswered_ms is None else self._shown(attempt)
        return shown if isinstance(shown, Found) else Missing()

    def of_question(self, attempt: AttemptRecord, now_ms: int) -> Proof:
        """What SageMaker proves about a launch without a clear answer when it is asked.

        Args:
            attempt: the attempt, whose lease this invocation holds.
            now_ms: the training time, ms.

        Raises:
            Conflict: it was changed meanwhile.
            OutcomeUnknown: SageMaker does not answer, or may show it later.
        """
        shown = self._shown(attempt)
        if not isinstance(shown, Missing):
            return shown
        if attempt.unanswered < MAX_UNANSWERED:
            # Its pools have backed off meanwhile: it was not its fault.
            self._return_lease(attempt, -1)
            return Open()
        log = {"job": attempt.job_name, "attempt": attempt.attempt_name}
        logger.warning("launch not shown; its job waits again", extra=log)
        return self._of_row(attempt, now_ms)

    def _of_row(self, attempt: AttemptRecord, now_ms: int) -> NotLaunched:
        """What the calls of a launch that SageMaker does not have prove, most of which had no clear answer."""
        if attempt.refused is not None:
            # The one clear answer was about its request.
            refusal = attempt.refused.value().last_launch
            return NotLaunched(launch=replace(refusal, known_ms=now_ms))
        # If SageMaker has accepted no other launch between its own, it may be an outage, and not about its request.
        last_ms = attempt.seen_ms if attempt.unanswered_ms is None else attempt.unanswered_ms
        is_own = self._backoff.has_accepted(attempt.demand, attempt.seen_ms, last_ms)
        launch = NoInstances(
            cause=Cause.UNANSWERED,
            launched_ms=attempt.since_ms if is_own else now_ms,
            known_ms=now_ms,
            idled_ms=now_ms - attempt.since_ms if is_own else 0,
            pools_size=self._pools_size(attempt),
        )
        return NotLaunched(launch=launch, in_a_row=is_own)

    def _of_refusal(
        self, attempt: AttemptRecord, error: NameTaken | LaunchPostponed | LaunchRefused, now_ms: int
    ) -> Proof:
        """What the refusal of a call proves.

        A restored table does not know each earlier launch, and a name in use may be answered with any refusal. So
        SageMaker is asked about a refusal that is permanent, as that ends the job, and about each further one of a row,
        as the job would else be tried under a name for ever that it never gets.
        """
        refusal = self._refusal(attempt, error, now_ms) if isinstance(error, LaunchPostponed) else None
        if isinstance(error, NameTaken) or attempt.unanswered_ms is not None:
            shown = self._shown(attempt, in_use=isinstance(error, NameTaken), refusal=refusal)
        elif refusal is None:
            shown = self._shown(attempt)
        else:
            shown = self._shown_if_answered(attempt) if attempt.failed_before else Missing()
        if isinstance(shown, Found) and attempt.unanswered_ms is None:
            return self._restored(attempt, shown)
        if not isinstance(shown, Missing):
            return shown
        log = {"job": attempt.job_name, "attempt": attempt.attempt_name, "error": error.code}
        if refusal is not None:
            logger.warning("launch postponed", extra=log)
            return NotLaunched(launch=refusal)
        logger.warning("launch refused", extra=log)
        return Refused(error=error)

    def _restored(self, attempt: AttemptRecord, found: Found) -> Found | NameInUse:
        """SageMaker has the attempt, but no call of which the queue knows has launched it: its table was restored.

        One that has completed completes its job. One that was stopped or has failed proves nothing about the job: the
        queue may have preempted it, or tried the job again, and has forgotten that. The next attempt uses the next
        name, which may be that of an attempt that still runs.

        Raises:
            OutcomeUnknown: it is stopping; it is asked about again.
        """
        if found.status.status == "Stopping":
            self._return_lease(attempt, ASK_AGAIN_S * 1000)
            raise OutcomeUnknown(f"`{attempt.attempt_name}` was launched before, and is stopping")
        return NameInUse() if found.status.ended and found.status.status != "Completed" else found

    def _shown_if_answered(self, attempt: AttemptRecord) -> Shown:
        """What SageMaker shows of a launch that it has refused, whether or not it answers this question."""
        try:
            return self._ask(attempt)
        except OutcomeUnknown as unclear:
            # The next refused launch asks again.
            told = {"job": attempt.job_name, "attempt": attempt.attempt_name, "error": str(unclear)}
            logger.warning("whether the name is in use is not known", extra=told)
            return Missing()

    def _shown(self, attempt: AttemptRecord, *, in_use: bool = False, refusal: NoInstances | None = None) -> Shown:
        """What SageMaker shows under the name of an attempt that no call of this invocation has launched.

        Args:
            attempt: the attempt, whose lease this invocation holds.
            in_use: whether SageMaker reports that its name is in use.
            refusal: what the last call was refused with, which is kept until it proves something.

        Raises:
            OutcomeUnknown: SageMaker may show it later; it is asked again.
        """
        if refusal is not None:
            self._refused[attempt.mark] = add(None, refusal)
        try:
            shown = self._ask(attempt)
        except OutcomeUnknown as error:
            # The call before it is the one whose answer is missing; this question can be repeated.
            self.is_silent = True
            self._return_lease(attempt, ASK_AGAIN_S * 1000)
            self._backoff.begin(attempt.demand, error, self._machine_clock())
            raise
        self._backoff.answered(attempt.demand, self._machine_clock())
        if isinstance(shown, Found) or (isinstance(shown, NameInUse) and shown.is_marked):
            return shown
        proven = attempt.unanswered_ms is None or is_proven(attempt.unanswered_ms, self._machine_clock())
        if proven and (isinstance(shown, NameInUse) or not in_use):
            return shown
        self._return_lease(attempt, ASK_AGAIN_S * 1000)
        what = "shown without its tags" if isinstance(shown, NameInUse) else "not found"
        raise OutcomeUnknown(f"`{attempt.attempt_name}` is {what}; SageMaker may have launched it")

    def _ask(self, attempt: AttemptRecord) -> Shown:
        """What SageMaker shows under the name of an attempt now.

        Raises:
            OutcomeUnknown: SageMaker gave no clear answer.
        """
        status = self._training_jobs.describe(attempt.attempt_name)
        if status is None:
            return Missing()
        mark = self._training_jobs.mark_of(status.arn)
        return Found(status=status) if mark == attempt.mark else NameInUse(is_marked=mark is not None)

    def _return_lease(self, attempt: AttemptRecord, in_ms: int) -> None:
        refused = self._refused.get(attempt.mark)
        self._table.write(transitions.return_lease(attempt, self._machine_clock() + in_ms, refused=refused))

    def _refusal(self, attempt: AttemptRecord, error: LaunchPostponed, now_ms: int) -> NoInstances:
        """The end of a launch that SageMaker has refused for now."""
        return NoInstances(
            cause=error.cause,
            launched_ms=attempt.since_ms,
            known_ms=now_ms,
            code=error.code,
            text=error.text,
            by_request=error.by_request,
            pools_size=self._pools_size(attempt),
        )

    def _pools_size(self, attempt: AttemptRecord) -> int:
        return sum(self._sizes.get(pool, 0) for pool in attempt.demand)
