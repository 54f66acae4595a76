"""What one decision has come to so far."""

from __future__ import annotations

from headway.model import Snapshot, WaitingJob
from headway.plan import DelayedPreemption, Plan, Preempt, Release, ReleaseWarm, Start, StopForSize
from headway.policy import Fill
from headway.scheduling.placement import eligibility
from headway.scheduling.placement.explainer import Explainer
from headway.scheduling.placement.ground import Ground
from headway.scheduling.placement.hints import Hints
from headway.scheduling.placement.memo import Memo
from headway.scheduling.placement.obstacles import Obstacle, WouldDelay
from headway.scheduling.placement.placements import AfterWarmPools, StartNow
from headway.scheduling.placement.trying import start_now, want_of
from headway.scheduling.probes import Probes


class PassState:
    """The ground of a decision, and its plan as far as it is made.

    :mod:`headway.scheduling.placement.commit` changes both together.

    Attributes:
        considered: jobs that were considered.
        beyond: jobs of spent budgets that are tried on what all others leave, each with what keeps it back, and its
            place.
        last: unlaunchable jobs that are tried on what all others leave, each with its place.
        has_gaps: whether a decision that fills gaps could start another job, or say of one what would let it start.
    """

    def __init__(self, snapshot: Snapshot, *, explain: bool, fills_gaps: bool = False) -> None:
        self.snapshot = snapshot
        self.ground = ground = Ground(snapshot, fills_gaps=fills_gaps)
        self.memo = Memo(ground)
        self.hints = Hints(ground)
        self.probes = Probes(
            snapshot,
            ground.capacity.limits,
            is_eligible=lambda job: eligibility.obstacle(job, ground) is None,
            can_start=lambda job: self.start_beside(job) is not None,
        )
        self.explainer = Explainer(ground, enabled=explain)
        self.releases: list[Release] = []
        self.stops: list[StopForSize] = []
        self.starts: list[Start] = []
        self.preemptions: list[Preempt | ReleaseWarm] = []
        self.delayed: list[DelayedPreemption] = []
        self.considered = 0
        self.beyond: list[tuple[WaitingJob, Obstacle, int]] = []
        self.last: list[tuple[WaitingJob, int]] = []
        self.has_gaps = False

    def note_gap(self, obstacle: Obstacle) -> None:
        """Note whether a job waits that fits, and would only have to be stopped in time for another one."""
        job = obstacle.job
        # On another alternative than that of its obstacle it might fit.
        fits = isinstance(obstacle, WouldDelay) or job.on_alternative or bool(job.alternatives)
        if fits and self.snapshot.policy.fill is not Fill.PROVEN:
            self.has_gaps = self.has_gaps or self.explainer.enabled or job.terms.checkpoints

    def start_beside(self, job: WaitingJob) -> StartNow | AfterWarmPools | None:
        """The way in which an unlaunchable job on one alternative starts now, without a take-over; None if none."""
        if eligibility.obstacle(job, self.ground) is not None:
            return None
        return start_now(want_of(job, self.ground), self.ground, takes_over=False)

    def plan(self) -> Plan:
        """The decision."""
        return Plan(
            actions=(*self.releases, *self.stops, *self.starts, *self.preemptions),
            waits=tuple(self.explainer.waits),
            unseen=len(self.snapshot.waiting) - self.considered,
            delayed=tuple(self.delayed),
        )
