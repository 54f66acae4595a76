"""The state of training jobs: those of attempts, and those that did not come through the queue."""

from __future__ import annotations

from functools import cached_property

from headway_service.bootstrap.sagemaker import SageMakerContainer
from headway_service.store.marks import Marks
from headway_service.tracking.observer import Observer
from headway_service.tracking.rogue_jobs import RogueJobTracker


class TrackingContainer(SageMakerContainer):
    """For the functions that apply what SageMaker says of training jobs."""

    @cached_property
    def marks(self) -> Marks:
        """The marks of this deployment's training jobs."""
        return Marks(self.table, self.settings.table, self._token)

    @property
    def observer(self) -> Observer:
        """Applies SageMaker's status of attempts."""
        return Observer(self.table, self.settings.retention_s, self._configuration, self.clocks.machine_ms)

    @property
    def rogue_jobs(self) -> RogueJobTracker:
        """Applies SageMaker's status of rogue training jobs."""
        return self._rogue_jobs()

    def _rogue_jobs(self, *, stops: bool = False) -> RogueJobTracker:
        return RogueJobTracker(self.table, self.training_jobs, self.marks, self.clocks.machine_ms, stops=stops)
