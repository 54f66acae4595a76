"""Handles a batch of the table's stream: keeps the sums of usage, then publishes the changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.lifecycle import TERMINAL
from headway_service.accounting.accountant import Accountant
from headway_service.errors import RetryLater
from headway_service.events.publisher import PublishResult
from headway_service.observability.logging import logger
from headway_service.store.records.job import JobRecord

_Raw = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsumeResult:
    """The result for a batch of stream records.

    Attributes:
        failed_from: sequence number of the first record to be retried, with all after it; None if there is none.
        dropped: how many changes are not published, or not as a message, because they are invalid or rejected.
        unaccounted: how many jobs could not be added to the sums, and are skipped.
    """

    failed_from: str | None
    dropped: int
    unaccounted: int


class StreamConsumer:
    """Handles what the table's stream brings.

    Args:
        accountant: keeps the sums.
        publish: publishes the changes in records.
    """

    def __init__(self, accountant: Accountant, publish: Callable[[Sequence[_Raw]], PublishResult]) -> None:
        self._accountant = accountant
        self._publish = publish

    def consume(self, records: Sequence[_Raw]) -> ConsumeResult:
        """Handle a batch, which is in the order of the writes.

        Changes from the first one on that the sums lack are not published yet: their records come again, and each would
        be published twice.
        """
        failed_from, unaccounted = self._account(records)
        if failed_from is not None:
            records = [raw for raw in records if int(_sequence(raw)) < int(failed_from)]
        result = self._publish(records)
        return ConsumeResult(
            failed_from=result.failed_from or failed_from, dropped=result.dropped, unaccounted=unaccounted
        )

    def _account(self, records: Sequence[_Raw]) -> tuple[str | None, int]:
        """Returns the sequence number of the first record that is not accounted for, and how many are skipped."""
        ended = [(_sequence(raw), job) for raw in records if (job := ended_in(raw)) is not None]
        if not ended:
            return None, 0
        try:
            self._accountant.account([job for _, job in ended])
        except RetryLater:
            return ended[0][0], 0
        except Exception:  # noqa: BLE001 - one job must not keep the sums of the others from being kept
            logger.exception("the sums of a batch cannot be kept; its jobs are taken one by one")
        else:
            return None, 0
        skipped = 0
        for sequence, job in ended:
            try:
                self._accountant.account([job])
            except RetryLater:
                return sequence, skipped
            except Exception:  # noqa: BLE001 - it must not keep later changes from being published
                skipped += 1
                logger.exception("a job is not in the sums of usage", extra={"job": job.job_name})
        return None, skipped


def ended_in(raw: _Raw) -> JobRecord | None:
    """The job in a stream record, if one of its attempts has ended with this change, or the job has.

    An unreadable record has none: the publisher reports it.
    """
    # Imported late, as by the publisher.
    from aws_lambda_powertools.utilities.data_classes.dynamo_db_stream_event import DynamoDBRecord

    try:
        stored = DynamoDBRecord(dict(raw)).dynamodb
        if stored is None or stored.keys["sk"] != "job" or not stored.new_image:
            return None
        new = JobRecord.parse(stored.new_image)
        old = JobRecord.parse(stored.old_image) if stored.old_image else None
    except Exception:  # noqa: BLE001 - whatever makes it unreadable
        return None
    ends = new.attempts and (old is None or old.attempts != new.attempts)
    ends = ends or (new.job_state in TERMINAL and (old is None or old.job_state not in TERMINAL))
    return new if ends else None


def _sequence(raw: _Raw) -> str:
    return str(raw["dynamodb"]["SequenceNumber"])
