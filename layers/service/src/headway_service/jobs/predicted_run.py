"""The predicted run time of a job that enters, where the policy compares jobs by it."""

from __future__ import annotations

from collections.abc import Callable

from headway.job_terms import owner_hash
from headway.prediction.kinds import RunKind
from headway.prediction.run_times import Prediction, RunTimes
from headway_service.admission.admitted import Admitted
from headway_service.config.document import Configuration


def predict_run(
    admitted: Admitted, owner: str, configuration: Configuration, run_times: Callable[[], RunTimes]
) -> Prediction | None:
    """Predict the run time of a job that enters; None if too little is known, or no order compares it.

    Args:
        admitted: its request.
        owner: ARN of its owner.
        configuration: the configuration in effect.
        run_times: returns how long the jobs that have completed ran. It is called only if an order compares that.
    """
    if not configuration.priority.by_predictions:
        return None
    kind = RunKind.of(owner=owner_hash(owner), source=admitted.terms.source, demand=admitted.demand, name=admitted.name)
    return run_times().predict(kind, limit_ms=admitted.terms.limit_ms)
