"""Training plans without AWS."""

from __future__ import annotations

from headway_service.ports.training_plans import TrainingPlan


class MemoryTrainingPlans:
    """A :class:`headway_service.ports.training_plans.TrainingPlans` in memory.

    Attributes:
        plans: by name.
        error: raised by the next calls, if any.
        described: the names that were asked for.
    """

    def __init__(self, *plans: TrainingPlan) -> None:
        self.plans = {plan.arn.rpartition("/")[2]: plan for plan in plans}
        self.error: Exception | None = None
        self.described: list[str] = []

    def describe(self, name: str) -> TrainingPlan | None:
        """See :class:`headway_service.ports.training_plans.TrainingPlans`."""
        self.described.append(name)
        if self.error is not None:
            raise self.error
        return self.plans.get(name)
