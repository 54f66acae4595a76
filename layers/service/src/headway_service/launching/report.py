"""What a tick did."""

from __future__ import annotations

from dataclasses import dataclass, field

from headway.plan import Action, Preempt, Release, ReleaseWarm, Start, StopForSize
from headway_service.store.records.capacity.attempt import AttemptRecord


@dataclass(kw_only=True, slots=True)
class TickReport:
    """What a tick did, for the log and for tests."""

    #: Jobs that an intent to launch was written for, and those whose launch SageMaker has accepted.
    started: list[str] = field(default_factory=list)
    launched: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    #: Jobs whose attempts SageMaker had provided no instances for, and that others can use.
    gave_way: list[str] = field(default_factory=list)
    #: Waiting jobs for which the last round preempts nothing yet, as a checkpoint is due soon.
    delayed: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    drained: list[str] = field(default_factory=list)
    #: Jobs that have failed, as only their own requests kept them from starting.
    given_up: list[str] = field(default_factory=list)
    shrunk: list[str] = field(default_factory=list)
    #: The jobs whose warm pools were released.
    warm_released: list[str] = field(default_factory=list)
    #: The records that were left alone, as they could not be processed: arrays, jobs, attempts, pools.
    failed: list[str] = field(default_factory=list)
    #: Why, of each.
    errors: list[Exception] = field(default_factory=list)
    rejected: int = 0
    unclear: int = 0
    rounds: int = 0
    #: Decisions that were carried out, as far as there was time.
    decisions: int = 0
    waiting: int = 0

    def note(self, action: Action, attempt: AttemptRecord | None) -> None:
        """Note an action whose intent is written.

        Args:
            attempt: the attempt to launch or to stop for it; None if there is none.
        """
        self._done(action, attempt).append(action.job)

    def _done(self, action: Action, attempt: AttemptRecord | None) -> list[str]:
        match action:
            case Release():
                return self.released
            case Start():
                return self.started
            case Preempt():
                return self.gave_way if attempt is not None and attempt.lacks_instances else self.preempted
            case StopForSize() if attempt is not None:
                return self.shrunk
            case StopForSize() | ReleaseWarm():
                return self.warm_released

    def note_conflict(self) -> None:
        """Count something that was not done, as others changed it meanwhile."""
        self.rejected += 1

    def note_failed(self, name: str, error: Exception) -> None:
        """Note a record that is left alone.

        Args:
            name: the record.
            error: why.
        """
        self.failed.append(name)
        self.errors.append(error)
