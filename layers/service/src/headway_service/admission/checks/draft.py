"""A request under review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_service.admission.policy_view import charged_team
from headway_service.config.authorization import Caller
from headway_service.config.document import Configuration
from headway_service.sagemaker_api.training_request import TrainingRequest


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A CreateTrainingJob request, and what it is checked against.

    Attributes:
        request: the request.
        configuration: the pools and the rules in force.
        caller: the caller; None for a review that restricts no caller.
        home: the team if the tags name none; empty if that is open.
        left_spot: whether the job has moved to on-demand instances, so that their pools count.
        priority: the priority that the job has, which counts in place of that of its tags; None for a new job.
    """

    request: TrainingRequest
    configuration: Configuration
    caller: Caller | None
    home: str
    left_spot: bool = False
    priority: int | None = None

    @property
    def raw(self) -> Mapping[str, Any]:
        """The request as it is sent to SageMaker."""
        return self.request.raw

    @property
    def team(self) -> str:
        """The configured team that is charged; empty for none."""
        return charged_team(self.request.tags, self.configuration, self.home)

    @property
    def spot(self) -> bool:
        """Whether the job runs on spot instances."""
        return self.request.spot and not self.left_spot

    @property
    def demand(self) -> dict[str, int]:
        """Instances per pool."""
        return self.request.demand(self.configuration.pools, spot=self.spot)
