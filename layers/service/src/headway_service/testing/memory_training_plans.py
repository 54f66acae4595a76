"""Training plans without AWS."""

from __future__ import annotations

from headway_service.ports.training_plans import TrainingPlan


class MemoryTrainingPlans:
    """A :class:`headway_service.ports.training_plans.TrainingPlans` in memory.

    Attributes:
        plans: by name.
        errors: raised by the calls for these names.
        described: the names that were asked for.
    """

    def __init__(self, *plans: TrainingPlan) -> None:
        self.plans = {plan.arn.rpartition("/")[2]: plan for plan in plans}
        self.errors: dict[str, Exception] = {}
        self.described: list[str] = []

    def describe(self, name: str) -> TrainingPlan | None:
        """See :class:`headway_service.ports.training_plans.TrainingPlans`."""
        self.described.append(name)
        if name in self.errors:
            raise self.errors[name]
        return self.plans.get(name)
