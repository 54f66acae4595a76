"""The API: what people ask the queue.

What submissions, listings and changes of jobs do not need is imported by the first call that needs it
(decision 102).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import boto3

from headway.accounting.prices import Prices
from headway_service.bootstrap.clients import CALL_LIMITS
from headway_service.bootstrap.reuse import ReuseContainer
from headway_service.bootstrap.usage import UsageContainer
from headway_service.jobs.commands import JobCommands
from headway_service.jobs.queries import JobQueries
from headway_service.jobs.submit import Submitter
from headway_service.ports.messaging import Wake
from headway_service.response_check import check_answers

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

    from headway_service.accounting.repair import UsageRepairer
    from headway_service.actions.action import ActionKind, Author
    from headway_service.dead_letters.redrive import DeadLetters
    from headway_service.effects.service import ConfigurationEffects
    from headway_service.forecast.service import ForecastService
    from headway_service.jobs.request_changes import RequestChanges
    from headway_service.jobs.rogue_stops import RogueJobStops
    from headway_service.pools.capacity import Capacity
    from headway_service.pools.edit_config import ConfigEditor
    from headway_service.pools.operations import PoolOperations
    from headway_service.summary.cache import SummaryCache
    from headway_service.summary.held import HeldJobs
    from headway_service.summary.results import Picture


class ApiContainer(UsageContainer, ReuseContainer):
    """For the function `api`."""

    @cached_property
    def _lambda(self) -> LambdaClient:
        return check_answers(boto3.client("lambda", config=CALL_LIMITS))

    @property
    def usage_repairer(self) -> UsageRepairer:
        """Repairs sums of usage."""
        from headway_service.accounting.repair import UsageRepairer

        return UsageRepairer(self.table, self.clocks.training_ms, self.settings.retention_s)

    @property
    def prices(self) -> Prices:
        """What instances cost, as the configuration in effect says."""
        return self._configuration().dated_prices()

    @property
    def rogue_job_stops(self) -> RogueJobStops:
        """Takes requests of operators to stop training jobs that did not come through the queue."""
        from headway_service.jobs.rogue_stops import RogueJobStops

        return RogueJobStops(self.table, self.clocks)

    @property
    def submitter(self) -> Submitter:
        """Submits jobs."""
        return self.make_submitter(self.wake)

    def make_submitter(self, wake: Wake) -> Submitter:
        """Submits jobs, and requests ticks through this function."""
        return Submitter(
            table=self.table,
            wake=wake,
            clocks=self.clocks,
            in_force=self.in_force,
            reuse=self.reuse,
            run_times=self.run_times.get,
        )

    @property
    def job_commands(self) -> JobCommands:
        """Changes jobs."""
        return JobCommands(
            table=self.table,
            wake=self.wake,
            clocks=self.clocks,
            configuration=self._configuration,
            retention_s=self.settings.retention_s,
        )

    @property
    def request_changes(self) -> RequestChanges:
        """Changes the requests of waiting jobs."""
        from headway_service.jobs.request_changes import RequestChanges

        return RequestChanges(
            table=self.table,
            wake=self.wake,
            clocks=self.clocks,
            configuration=self._configuration,
            run_times=self.run_times.get,
        )

    @property
    def job_queries(self) -> JobQueries:
        """Shows jobs."""
        return JobQueries(
            table=self.table,
            clocks=self.clocks,
            configuration=self._configuration,
        )

    def capacity(self) -> Capacity:
        """How the pools are used now, by pool and by team."""
        from headway_service.pools.capacity import read_capacity

        return read_capacity(self.table, self._configuration, self.clocks.training_ms())

    @cached_property
    def summaries(self) -> SummaryCache:
        """Gives summaries. One for all invocations, as it keeps the last one for a moment."""
        from headway_service.summary.cache import SummaryCache

        return SummaryCache(self._picture, self.clocks.machine_ms)

    @cached_property
    def _held_jobs(self) -> HeldJobs:
        from headway_service.summary.held import HeldJobs

        return HeldJobs(self.table, self.clocks.machine_ms)

    def _picture(self) -> Picture:
        from headway_service.summary.reader import read_picture

        return read_picture(
            self.table, self._configuration, self._held_jobs.count, self.clocks.training_ms(), self.clocks.machine_ms()
        )

    @property
    def pool_operations(self) -> PoolOperations:
        """Pauses, drains and resumes pools."""
        from headway_service.pools.operations import PoolOperations

        return PoolOperations(table=self.table, wake=self.wake, clocks=self.clocks, configuration=self._configuration)

    def note_action(self, kind: ActionKind, target: str, author: Author) -> None:
        """Record what an operator begins to do, if it is not done in the table."""
        from headway_service.actions.action import ActionRecord

        self.table.write([ActionRecord.of(kind, target, author, self.clocks).put()])

    @property
    def config_editor(self) -> ConfigEditor:
        """Changes the configuration document."""
        from headway_service.pools.edit_config import ConfigEditor

        return ConfigEditor(
            table=self.table,
            first=self.settings.first_configuration,
            clocks=self.clocks,
            region=self.settings.region,
        )

    @property
    def config_effects(self) -> ConfigurationEffects:
        """Tells what a configuration would do."""
        from headway_service.effects.service import ConfigurationEffects

        return ConfigurationEffects(
            table=self.table, clocks=self.clocks, in_force=self.in_force, region=self.settings.region
        )

    @property
    def forecast_service(self) -> ForecastService:
        """Computes forecasts."""
        from headway_service.forecast.service import ForecastService

        return ForecastService(
            table=self.table,
            clocks=self.clocks,
            configuration=self._configuration,
            run_times=self.run_times.get,
        )

    @property
    def dead_letters(self) -> DeadLetters:
        """Shows and redrives dead letters."""
        from headway.api_documents.dead_letters import LetterQueue
        from headway_service.aws.dead_letter_queues import AwsRedriveTargets, SqsDeadLetterQueue
        from headway_service.dead_letters.redrive import DeadLetters

        return DeadLetters(
            {
                LetterQueue.WAKE: SqsDeadLetterQueue(self._sqs, self.settings.wake_dead_letters_url),
                LetterQueue.EVENT: SqsDeadLetterQueue(self._sqs, self.settings.event_dead_letters_url),
            },
            AwsRedriveTargets(self._lambda, self.settings.observe_function, self._send_wake_up),
            self.clocks.machine_ms,
        )
