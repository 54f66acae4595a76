"""The limit of the run time is far above it."""

from __future__ import annotations

from math import ceil

from headway.advice.figures import JobFigures
from headway.advice.outcome import Advice, Confidence, PriceOf
from headway.durations import in_words

FAR_ABOVE = 3.0
"""How many times the run time a limit has to be."""

MARGIN = 1.5
"""How many times the run time the advised limit is."""

_STEP_S = 600


def loose_limit(figures: JobFigures, price_of: PriceOf) -> Advice | None:  # noqa: ARG001 - all rules take the same
    """A lower limit, for a job that has run much shorter than it may.

    Args:
        figures: of the job.
        price_of: not used.
    """
    run_s, limit_s = figures.completed_s, figures.limit_s
    if run_s is None or limit_s is None:
        return None
    better_s = max(_STEP_S, ceil(run_s * MARGIN / _STEP_S) * _STEP_S)
    if limit_s < FAR_ABOVE * run_s or better_s >= limit_s:
        return None
    return Advice(
        code="LooseLimit",
        finding="The job may run much longer than it did.",
        remedy=(
            f"Set MaxRuntimeInSeconds to {better_s} for such a job (`headway submit --set "
            f"StoppingCondition.MaxRuntimeInSeconds={better_s}`): with a short limit it may pass a blocked job, so it "
            "starts sooner."
        ),
        figures=(f"Run time {in_words(run_s * 1000)}, limit {in_words(limit_s * 1000)}",),
        # Another run may take longer: one was measured.
        confidence=Confidence.MEDIUM,
    )
