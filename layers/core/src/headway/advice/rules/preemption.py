"""Much work is lost by preemption."""

from __future__ import annotations

from headway.advice.figures import JobFigures, mean
from headway.advice.outcome import Advice, Confidence, PriceOf
from headway.durations import in_words

MUCH_LOST_S = 600.0
"""Least work lost that is worth advice."""

OFTEN = 2
"""Preemptions from which a job with checkpoints is advised on their interval."""

INTERVALS = 10
"""Checkpoints between two preemptions. Half an interval is lost on average: 5 % of the time."""


def lost_work(figures: JobFigures, price_of: PriceOf) -> Advice | None:  # noqa: ARG001 - all rules take the same
    """Checkpoints, or an interval between them, for a job that is preempted.

    Args:
        figures: of the job.
        price_of: not used.
    """
    times = figures.preempted_s
    if not times or sum(times) < MUCH_LOST_S:
        return None
    spent = f"{len(times)} preempted after {in_words(sum(times) * 1000)} of run time in all"
    if not figures.checkpoints:
        return Advice(
            code="LostWork",
            finding="Without checkpoints, each preemption restarts the job from the beginning.",
            remedy="Write checkpoints, and add a CheckpointConfig; `headway rehearse` shows whether the job resumes.",
            figures=(f"Attempts: {spent}, which were lost",),
            confidence=Confidence.HIGH,
            saved_s=sum(times),
        )
    if len(times) < OFTEN:
        return None
    between_s = mean(times)
    interval_s = between_s / INTERVALS
    return Advice(
        code="CheckpointInterval",
        finding="The job is preempted again and again.",
        remedy=(
            f"Write a checkpoint at least every {in_words(interval_s * 1000)}: then a preemption loses "
            f"{in_words(interval_s * 500)} on average."
        ),
        figures=(f"Attempts: {spent}, {in_words(between_s * 1000)} each on average",),
        # How often the script writes checkpoints now is not known.
        confidence=Confidence.MEDIUM,
    )
