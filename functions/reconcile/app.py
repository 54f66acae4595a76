"""Once a minute: recovers from lost events and wake-ups, follows training plans, and publishes the queue's gauges.

Where the deployment lists buckets for it, it sees when running jobs have written checkpoints.

It counts long queues, and adds what has ended to the sums of usage. Once a week it writes a digest of usage, if the
policy wants one.
"""

from __future__ import annotations

from headway_service import cold_start

# isort: split
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service.bootstrap.reconcile import ReconcileContainer
from headway_service.monitoring.gauges import RESERVED_MS, gauges
from headway_service.observability import metrics
from headway_service.observability.emf import record
from headway_service.observability.logging import logger
from headway_service.observability.steps import Step, isolated_steps
from headway_service.pools.pause_counts import begin_to_count
from headway_service.tracking.reconciler import reconcile

container = ReconcileContainer.from_environment()
cold_start.freeze()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Run once. An error in one step is raised when the others have been run."""
    with isolated_steps() as step:
        with step("attempts"):
            _reconcile(context, step)
        left_ms = context.get_remaining_time_in_millis() - RESERVED_MS
        if left_ms > 0:
            with step("usage"):
                # Before the digest, which is to have all of its week.
                used = container.usage_consumer.consume(container.clocks.machine_ms() + left_ms)
                record([metrics.UNACCOUNTED.of(used.unaccounted)])
        if context.get_remaining_time_in_millis() > RESERVED_MS:
            with step("digest"):
                container.weekly_digests.write_if_due()


def _reconcile(context: LambdaContext, step: Step) -> None:
    """Recover what was lost, and publish the gauges of the ledger as it was then."""
    found = reconcile(
        table=container.table,
        training_jobs=container.training_jobs,
        training_plans=container.training_plans,
        spot_scores=lambda: container.spot_scores,
        checkpoints=container.checkpoint_reads,
        observer=container.observer,
        clocks=container.clocks,
        sleep=container.sleep,
        wake=container.wake,
        after_s=container.settings.reconcile_after_s,
        step=step,
    )
    record([metrics.UNHEARD.of(found.ended)])
    with step("pauses"):
        begin_to_count(container.table, found.ledger, container.clocks.machine_ms())
    if context.get_remaining_time_in_millis() > RESERVED_MS:
        with step("gauges"):
            now_ms, machine_ms = container.clocks.training_ms(), container.clocks.machine_ms()
            record(gauges(container.table, found.ledger, now_ms, machine_ms, container.settings.reconcile_after_s))
        with step("queue counts"):
            container.queue_recounts.run_if_due(
                found.ledger, container.clocks.machine_ms() + context.get_remaining_time_in_millis() - RESERVED_MS
            )
