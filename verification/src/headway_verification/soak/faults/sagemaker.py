"""SageMaker called through a fault injector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from botocore.exceptions import ReadTimeoutError

from headway_sandbox.errors import AwsError
from headway_sandbox.inprocess.lambda_functions import ENVIRONMENT
from headway_sandbox.sagemaker.api.authorization import permissions
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_verification.soak.cooperative_scheduler import current
from headway_verification.soak.faults.injection import FaultInjector

PAGE = 5
"""Training jobs per page of a listing."""


class FaultySageMaker:
    """Answers SageMaker's calls from the fleet, through a fault injector.

    Args:
        fleet: the training jobs.
        edge: the fault injector.
        clock_s: the virtual time, s.
        random: determines the age of listings.
        answered: called with the name of a training job, and the code and the text of the error that a launch is
            answered with, or "".
    """

    def __init__(
        self,
        fleet: FakeSageMaker,
        edge: FaultInjector,
        clock_s: Callable[[], float],
        random: Random,
        *,
        answered: Callable[[str, str, str], None],
    ) -> None:
        self._fleet = fleet
        self._edge = edge
        self._clock_s = clock_s
        self._random = random
        self._answered = answered
        #: The previous answer of a listing, by starting point.
        self._listed: dict[str, Mapping[str, Any]] = {}
        #: How often each training job was created, by name.
        self.created: dict[str, int] = {}

    def __call__(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a call.

        Args:
            request: its parameters.

        Raises:
            AwsError: the error that SageMaker would return.
            RawAnswer: the answer of an intermediary.
            ReadTimeoutError: there is no answer.
        """
        process = current()
        if operation == "ListTrainingJobs":
            # Runs have too few training jobs for pages of a hundred.
            request = {**request, "MaxResults": PAGE}

        def work() -> Mapping[str, Any]:
            if operation == "StopTrainingJob" and process is not None and process.function == "patrol":
                self._require_allowed(str(request["TrainingJobName"]))
            if operation == "CreateTrainingJob":
                return self._create(request)
            answer = self._fleet.call(operation, request, now=self._clock_s())
            if operation == "ListTrainingJobs":
                return self._maybe_old(str(request.get("NextToken", "")), answer)
            return answer

        return self._edge.call(
            operation,
            work,
            about=str(request.get("TrainingJobName", "")),
            needs=[each.action for each in permissions(operation, request, arn_prefix=self._fleet.arn(""))],
            refused=lambda: AwsError("ThrottlingException", "Rate exceeded", status=400),
            lost=lambda: ReadTimeoutError(endpoint_url="https://sagemaker.invalid"),
            # The client for CreateTrainingJob makes one try (headway_service.bootstrap.clients.ONE_TRY).
            again=None if operation == "CreateTrainingJob" else work,
            raw=lambda answer: answer,
        )

    def _create(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        name = str(request["TrainingJobName"])
        try:
            answer = self._fleet.call("CreateTrainingJob", request, now=self._clock_s())
        except AwsError as error:
            self._answered(name, error.code, error.message)
            raise
        self._answered(name, "", "")
        self.created[name] = self.created.get(name, 0) + 1
        return answer

    def _maybe_old(self, place: str, page: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the page as it is, or the previous answer: listings are not documented as consistent."""
        before = self._listed.get(place, page)
        self._listed[place] = page
        return self._random.choice([before, page])

    def _require_allowed(self, name: str) -> None:
        """The scan may stop jobs without a queue's mark and those with the mark of this queue (template.yaml)."""
        tags = self._fleet.tags_of(self._fleet.arn(name))
        if JOB_TAG in tags and not tags.get(ATTEMPT_TAG, "").startswith(f"{ENVIRONMENT['HEADWAY_TABLE']}/"):
            raise AwsError("AccessDeniedException", f"not authorized to perform: sagemaker:StopTrainingJob on {name}")
