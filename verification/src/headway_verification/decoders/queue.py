"""A queue in one process that is given hostile input, and has to go on serving others."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from headway_sandbox.inprocess.deployment import ALARM_PREFIX, ALARM_TOPIC_ARN, EVERY_MINUTE, SimulatedDeployment
from headway_sandbox.inprocess.lambda_loader import event, http_event
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.request_builder import G5, P5, training_request
from headway_service import errors
from headway_service.aws.cloudwatch_alarms import CloudWatchAlarms
from headway_service.aws.cloudwatch_training_metrics import CloudWatchTrainingMetrics
from headway_service.aws.sagemaker_training_jobs import SageMakerTrainingJobs
from headway_service.aws.sagemaker_training_plans import SageMakerTrainingPlans
from headway_service.events.publisher import event_of
from headway_service.launching.report import TickReport
from headway_service.observability.logging import logger
from headway_service.ports.alarms import Alarms
from headway_service.ports.training_jobs import AllTrainingJobs
from headway_service.ports.training_metrics import TrainingMetrics
from headway_service.ports.training_plans import TrainingPlans
from headway_verification.decoders.decoder import Refused

SIZE = 50
"""Instances of each pool: the jobs of others always find some that are free."""

DOCUMENT = {"pools": {P5: {"size": SIZE}, G5: {"size": SIZE}, f"{P5}.spot": {"size": SIZE}}}

ADA, BOB = "arn:aws:iam::123456789012:user/ada", "arn:aws:iam::123456789012:user/bob"

CODES = frozenset(
    kind.code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.RequestError)
)
"""The codes of refusals that have a type. An unexpected error has another one."""

READS = (
    "/jobs", "/summary", "/capacity", "/forecast", "/config", "/rogue-jobs",
    "/history?since=2026-01-01", "/events", "/usage?by=owner&from=2026-11-25",
)  # fmt: skip
"""What anybody asks."""

_current: dict[str, Callable[[str, Mapping[str, Any]], Mapping[str, Any]]] = {}


class Broken(AssertionError):
    """Something that may not happen, whatever the input."""


@cache
def _shared_client(service: str) -> Any:
    """A client shared by all queues of this process: creating one takes longer than decoding an input."""

    def answer(operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        return _current[service](operation, request)

    return stub_client(service, answer)


@cache
def quiet() -> None:
    """Suppress the logs and the warnings of the handlers."""
    logger.setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="aws_lambda_powertools")


class Queue(SimulatedDeployment[StreamedTable]):
    """A queue that a hostile user, Ada, shares with another one, Bob.

    Attributes:
        reports: those of its ticks.
    """

    def __init__(self) -> None:
        quiet()
        super().__init__(StreamedTable(), DOCUMENT)
        _current["sagemaker"], _current["cloudwatch"] = self.call_sagemaker, self.call_cloudwatch
        self.reports: list[TickReport] = []
        self._failures: list[Exception] = []
        self._told = 0
        self._others = 0

    # ------------------------------------------------------------------------------------------------- the adapters

    def make_training_jobs(self) -> AllTrainingJobs:
        """See :class:`SimulatedDeployment`."""
        return SageMakerTrainingJobs(_shared_client("sagemaker"))

    def make_training_plans(self) -> TrainingPlans:
        """See :class:`SimulatedDeployment`."""
        return SageMakerTrainingPlans(_shared_client("sagemaker"))

    def make_alarms(self) -> Alarms:
        """See :class:`SimulatedDeployment`."""
        return CloudWatchAlarms(_shared_client("cloudwatch"), ALARM_PREFIX, ALARM_TOPIC_ARN)

    def make_training_metrics(self) -> TrainingMetrics:
        """See :class:`SimulatedDeployment`."""
        return CloudWatchTrainingMetrics(_shared_client("cloudwatch"))

    def tick_ended(self, report: TickReport) -> None:
        """See :class:`SimulatedDeployment`."""
        self.reports.append(report)

    def tick_failed(self, error: Exception) -> None:
        """See :class:`SimulatedDeployment`. The handler catches it; it is raised when its invocation has ended."""
        self._failures.append(error)

    # ----------------------------------------------------------------------------------------------------- the calls

    def ask(
        self,
        method: str,
        path: str,
        text: str | None = None,
        *,
        query: Mapping[str, list[str]] | None = None,
        headers: Mapping[str, str] | None = None,
        caller: str = ADA,
    ) -> dict[str, Any]:
        """Call the API.

        Args:
            method: the HTTP method.
            path: the path, which may end with a query.
            text: the body.
            query: the query parameters.
            caller: who calls.

        Returns:
            The document of the answer.

        Raises:
            Refused: the call is refused, with a code of its own.
            Broken: it is answered otherwise.
        """
        path, _, given = path.partition("?")
        pairs = dict(pair.split("=", 1) for pair in given.split("&")) if given else {}
        payload = http_event(method, path, text, query or {name: [value] for name, value in pairs.items()}, headers)
        payload["requestContext"]["identity"]["userArn"] = caller
        answer = self.invoke("api", payload)
        status = answer["statusCode"]
        document = json.loads(answer["body"]) if answer["body"] else {}
        if HTTPStatus.OK <= status < HTTPStatus.BAD_REQUEST:
            return document if isinstance(document, dict) else {}
        error = document.get("error", {})
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or error.get("code") not in CODES or not error.get("message"):
            raise Broken(f"{method} {path} is answered {status}: {document}")
        raise Refused(f"{status} {error['code']}: {error['message']}")

    # ------------------------------------------------------------------------------------------------- what it serves

    def serve_others(self) -> None:
        """Let Bob submit a job to a free pool: the next tick starts it, and every function and question succeeds.

        Raises:
            Broken: it does not.
        """
        self._others += 1
        name = f"bob-{self._others}"
        request = training_request(name, [(G5, 1)], run_s=60)
        try:
            self.ask("POST", "/jobs", json.dumps(request), caller=BOB)
        except Refused as error:
            raise Broken(f"the job of another user is refused: {error}") from error
        self.tick()
        if not any(job.name == name for job in self.fleet.jobs(now=self.now_s)):
            raise Broken(f"the job of another user does not start, although its pool is free: {self.state_of(name)}")
        self.run_functions()

    def state_of(self, name: str) -> str:
        """What the queue says of a job."""
        told = self.ask("GET", f"/jobs/{name}", caller=BOB)
        return f"{told.get('jobState')}: {told.get('reason')}"

    def tick(self) -> None:
        """Run a tick, which has to decide and to leave nothing alone.

        Raises:
            Broken: it makes no decision.
            Exception: whatever it failed with, or left a record alone for.
        """
        before = len(self.reports)
        self.invoke("schedule", event("schedule"))
        if self._failures:
            raise self._failures[0]
        if len(self.reports) == before or not self.reports[-1].decisions:
            raise Broken("a tick makes no decision")

    def run_functions(self) -> None:
        """Run all other functions, which have to succeed, and ask what anybody asks."""
        for detail in list(self.new_events()):
            self.invoke("observe", {**event("observe"), "detail": detail})
        for function in EVERY_MINUTE:
            self.invoke(function, event(function))
        while self._told < len(self.table.written):
            first, self._told = self._told, min(len(self.table.written), self._told + 100)
            records = [self.table.record(number, self.now_s) for number in range(first, self._told)]
            for each in records:
                event_of(each)
            self.invoke("tell", {"Records": records})
        for path in READS:
            self._ask_anything(path)

    def ask_about(self, name: str) -> None:
        """Ask all there is to ask about a job."""
        for rest in ("", "/explanation", "/members"):
            self._ask_anything(f"/jobs/{name}{rest}")

    def _ask_anything(self, path: str) -> None:
        try:
            self.ask("GET", path, caller=BOB)
        except Refused as error:
            # A job that is not there, or is no array.
            if not path.startswith("/jobs/"):
                raise Broken(f"GET {path} is refused: {error}") from error

    def let_pass(self, seconds: float) -> None:
        """Let time pass; the functions get SageMaker's events, and a tick follows each that frees instances."""
        for detail in list(self.due_events(seconds)):
            self.invoke("observe", {**event("observe"), "detail": detail})
        self.tick()
