"""Once a minute: wakes the scheduler, publishes the queue's gauges, and recovers from lost events.

It follows training plans, counts long queues, and adds what has ended to the sums of usage. Where the deployment lists
buckets for it, it sees when running jobs have written checkpoints. Once a week it writes a digest of usage, if the
policy wants one.

What takes a bounded time comes first. Last comes what asks SageMaker about attempts, which takes the rest of the time.
"""

from __future__ import annotations

from headway_service import cold_start

# isort: split
from collections.abc import Callable
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service.bootstrap.reconcile import ReconcileContainer
from headway_service.monitoring.gauges import gauges
from headway_service.observability import metrics
from headway_service.observability.emf import record
from headway_service.observability.logging import logger
from headway_service.observability.steps import Step, isolated_steps
from headway_service.pools.pause_counts import begin_to_count
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.tracking.reconciler import reconcile

USAGE_MS = 5_000
"""The sums of usage take up no further part of the feed after this time, ms. The next run continues."""

QUEUE_COUNTS_MS = 5_000
"""No further queue is counted after this time, ms."""

container = ReconcileContainer.from_environment()
cold_start.freeze()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Run once. An error in one step is raised when the others have been run."""
    clocks, left_ms = container.clocks, context.get_remaining_time_in_millis
    with isolated_steps() as step:
        with step("wake-up"):
            # Whatever it finds: this recovers a wake-up that was lost between a write and its message.
            container.wake("reconcile")
        with step("usage"):
            # Before the digest, which is to have all of its week.
            used = container.usage_consumer.consume(clocks.machine_ms() + USAGE_MS)
            record([metrics.UNACCOUNTED.of(used.unaccounted)])
        with step("digest"):
            container.weekly_digests.write_if_due()
        with step("ledger"):
            _follow(read_ledger(container.table), left_ms, step)


def _follow(ledger: Ledger, left_ms: Callable[[], int], step: Step) -> None:
    """Publish the gauges of the ledger, and recover what was lost.

    Args:
        ledger: as it was just read.
        left_ms: how long the invocation may still live, ms.
    """
    clocks = container.clocks
    with step("gauges"):
        now_ms, machine_ms = clocks.training_ms(), clocks.machine_ms()
        record(gauges(container.table, ledger, now_ms, machine_ms, container.settings.reconcile_after_s))
    with step("pauses"):
        begin_to_count(container.table, ledger, clocks.machine_ms())
    with step("queue counts"):
        container.queue_recounts.run_if_due(ledger, clocks.machine_ms() + QUEUE_COUNTS_MS)
    with step("attempts"), container.described_at_once() as calls:
        ended = reconcile(
            ledger,
            table=container.table,
            training_jobs=container.training_jobs,
            training_plans=container.training_plans,
            spot_scores=lambda: container.spot_scores,
            checkpoints=container.checkpoint_reads,
            observer=container.observer,
            calls=calls,
            clocks=clocks,
            sleep=container.sleep,
            wake=container.wake,
            after_s=container.settings.reconcile_after_s,
            left_ms=left_ms,
            step=step,
        )
        record([metrics.UNHEARD.of(ended)])
