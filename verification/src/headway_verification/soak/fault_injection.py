"""The outside as an invocation sees it: every call may be the last, be turned away, or lose its answer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from random import Random
from typing import Any, TypeVar

from botocore.exceptions import ClientError, ReadTimeoutError

from headway_sandbox.cloudwatch.memory_cloudwatch import MemoryCloudWatch
from headway_sandbox.errors import AwsError
from headway_sandbox.inprocess.lambda_functions import ENVIRONMENT
from headway_sandbox.sagemaker.authorization import permissions
from headway_sandbox.sagemaker.raw_answers import RawAnswer
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.errors import RetryLater, UnreadableAnswer
from headway_service.ports.config_store import ConfigurationText
from headway_service.ports.table import (
    Check,
    Condition,
    Delete,
    Equals,
    Item,
    Key,
    ListingPage,
    Put,
    Tally,
    Update,
    Write,
)
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.testing.memory_config import MemoryConfiguration
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.cooperative_scheduler import Killed, current
from headway_verification.soak.faults import BESIDE, READS, Fault, FaultPlan
from headway_verification.soak.replica import Replica

T = TypeVar("T")

PAGE = 5
"""Training jobs in one page of a listing."""

ACTIONS: Mapping[str, str] = {
    **{operation: f"dynamodb:{operation}" for operation in ("GetItem", "Query")},
    **{operation: f"ssm:{operation}" for operation in ("GetParameter", "PutParameter")},
    **{operation: f"cloudwatch:{operation}" for operation in ("PutMetricAlarm", "DeleteAlarms", "DescribeAlarms")},
    "PutEvents": "events:PutEvents",
    "PublishBatch": "sns:Publish",
    "SendMessage": "sqs:SendMessage",
}
"""What a caller must be allowed to do for a call, as far as that does not depend on the request."""

ITEM_ACTIONS = {Put: "PutItem", Update: "UpdateItem", Delete: "DeleteItem", Check: "ConditionCheckItem"}


class FaultInjector:
    """Carries out calls with what befalls them.

    Args:
        accidents: draws the accidents.
        note: called for each call with an effect and each accident: caller and operation.
        clock_s: virtual time, s.

    Attributes:
        changed: whether any call may have changed anything.
        needed: what functions would have had to be allowed to do, and how often.
    """

    def __init__(self, accidents: FaultPlan, note: Callable[[str, str], None], clock_s: Callable[[], float]) -> None:
        self._accidents = accidents
        self._note = note
        self._clock_s = clock_s
        self.changed = False
        self.needed: Counter[tuple[str, str]] = Counter()

    def call(
        self,
        operation: str,
        work: Callable[[], T],
        *,
        about: str = "",
        needs: Sequence[str] = (),
        refused: Callable[[], Exception],
        lost: Callable[[], Exception] | None = None,
        raw: Callable[[RawAnswer], Exception] | None = None,
        again: Callable[[], T] | None = None,
    ) -> T:
        """Make a call.

        Args:
            operation: the operation, for the counts.
            about: its subject, for the log.
            needs: the permissions that the caller needs; by default those that the operation always needs.
            work: its effect.
            refused: what the caller gets if it is turned away.
            lost: what the caller gets if the answer is lost; the same without.
            raw: the response if a proxy answers; None for the default.
            again: what a repetition by the client library does and answers; without, it changes nothing.
        """
        process = current()
        if process is None:
            # Users and checks have no accidents.
            return work()
        process.pause()
        self.needed.update((process.function, action) for action in needs or [ACTIONS[operation]])
        accident = self._accidents.next(operation)
        if accident is not Fault.NONE or operation not in READS:
            self._note(process.name, f"{operation} {about}{'' if accident is Fault.NONE else f': {accident}'}")
        if accident is Fault.CRASH_BEFORE:
            raise Killed
        if accident is Fault.SLOW:
            process.sleep_until_s = self._clock_s() + self._accidents.delay_s()
            process.pause()
        if accident in {Fault.REFUSED, Fault.RAW_BEFORE}:
            raise self._error(accident, refused, lost, raw)
        self.changed = self.changed or operation not in READS | BESIDE
        result = work()
        if accident is Fault.SENT_TWICE and again is not None:
            result = again()
        if accident is Fault.CRASH_AFTER:
            raise Killed
        if accident in {Fault.ANSWER_LOST, Fault.RAW_AFTER}:
            raise self._error(accident, refused, lost, raw)
        return result

    def _error(
        self,
        accident: Fault,
        refused: Callable[[], Exception],
        lost: Callable[[], Exception] | None,
        raw: Callable[[RawAnswer], Exception] | None,
    ) -> Exception:
        """What the caller gets in place of an answer."""
        if accident is Fault.ANSWER_LOST and lost is not None:
            return lost()
        if accident in {Fault.RAW_BEFORE, Fault.RAW_AFTER} and raw is not None:
            return raw(self._accidents.raw_answer(after=accident is Fault.RAW_AFTER))
        return refused()


class FaultyTable:
    """A table that is called over an edge.

    Args:
        table: the called table.
        edge: how.
        random: decides how large DynamoDB makes its pages, and how old answers are that need not be consistent.
    """

    def __init__(self, table: MemoryTable, edge: FaultInjector, random: Random) -> None:
        self._table = table
        self._edge = edge
        #: DynamoDB's pages end at 1 MB. Lives have too few items for that.
        self._page = random.choice([3, 1000])
        self._replica = Replica(random)

    def get(self, key: Key) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call("GetItem", lambda: self._table.get(key), refused=_busy)

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`. Between two pages the table may change."""
        found: list[Item] = []
        while len(found) < limit:
            page = self._query(pk, prefix, found[-1]["sk"] if found else after, min(self._page, limit - len(found)))
            found += page
            if len(page) < self._page:
                break
        return tuple(found)

    def _query(self, pk: str, prefix: str, after: str, limit: int) -> tuple[Item, ...]:
        return self._edge.call(
            "Query", lambda: self._table.query(pk, prefix=prefix, after=after, limit=limit), refused=_busy
        )

    def count_before(self, pk: str, sk: str, *, limit: int) -> int:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call("Query", lambda: self._replica.read().count_before(pk, sk, limit=limit), refused=_busy)

    def keys_before(self, pk: str, sk: str, *, limit: int) -> tuple[str, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call("Query", lambda: self._replica.read().keys_before(pk, sk, limit=limit), refused=_busy)

    def tail(self, pk: str, attribute: str, *, limit: int) -> tuple[tuple[str, str], ...]:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call("Query", lambda: self._replica.read().tail(pk, attribute, limit=limit), refused=_busy)

    def tally(self, pk: str, where: Equals, *, before: str = "", limit: int) -> Tally:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call(
            "Query", lambda: self._replica.read().tally(pk, where, before=before, limit=limit), refused=_busy
        )

    def listing(
        self,
        name: str,
        *,
        where: Sequence[Condition],
        after: Mapping[str, str] | None,
        limit: int,
        descending: bool = False,
    ) -> ListingPage:
        """See :class:`headway_service.ports.table.Table`."""

        def work() -> ListingPage:
            page = min(limit, self._page)
            return self._replica.read().listing(name, where=where, after=after, limit=page, descending=descending)

        return self._edge.call("Query", work, refused=_busy)

    def write(self, writes: Sequence[Write]) -> None:
        """See :class:`headway_service.ports.table.Table`.

        A transaction carries a token, so that DynamoDB takes a repetition for the same call. A single write has none:
        repeated, it may meet its own effect in its condition.
        """

        def work() -> None:
            self._table.write(writes)
            self._replica.note(writes)

        operation, again = ("PutItem", work) if len(writes) == 1 else ("TransactWriteItems", None)
        # In a transaction too, each item needs the permission for its operation.
        needs = [f"dynamodb:{ITEM_ACTIONS[type(write)]}" for write in writes]
        self._edge.call(operation, work, about=_about(writes), needs=needs, refused=_busy, again=again)


class FaultyConfiguration:
    """The configuration document, which people change and invocations read.

    Args:
        document: the first one.
        edge: how it is called.
        clock_s: virtual time, s.

    Attributes:
        lag_s: the age from which reads show a version, s: AWS does not document that they are consistent.
    """

    def __init__(self, document: Mapping[str, Any], edge: FaultInjector, clock_s: Callable[[], float]) -> None:
        self._store = MemoryConfiguration(document)
        self._edge = edge
        self._clock_s = clock_s
        self._written_s = clock_s()
        self.lag_s = 0.0

    @property
    def document(self) -> dict[str, Any]:
        """The document as it is."""
        document: dict[str, Any] = json.loads(self._store.text)
        return document

    @property
    def version(self) -> int:
        """The newest version."""
        return self._store.version

    def document_of(self, version: int) -> dict[str, Any] | None:
        """The document of a version; None if there is none."""
        found = self._store.read_version(version)
        document: dict[str, Any] | None = json.loads(found.text) if found else None
        return document

    def edit(self, document: Mapping[str, Any]) -> None:
        """Edit the parameter itself, as in AWS's console."""
        self._write(json.dumps(document))

    def read(self) -> ConfigurationText:
        """See :class:`headway_service.ports.config_store.ConfigurationStore`. It may be an older version."""

        def work() -> ConfigurationText:
            self._store.lag = int(self._clock_s() < self._written_s + self.lag_s)
            return self._store.read()

        return self._edge.call("GetParameter", work, refused=_busy)

    def read_version(self, version: int) -> ConfigurationText | None:
        """See :class:`headway_service.ports.config_store.ConfigurationStore`."""
        return self._edge.call("GetParameter", lambda: self._store.read_version(version), refused=_busy)

    def write(self, text: str) -> int:
        """See :class:`headway_service.ports.config_store.ConfigurationStore`.

        Raises:
            Violated: the writer has read an older document than the one it replaces.
        """

        def work() -> int:
            return self._write(text)

        return self._edge.call("PutParameter", work, refused=_busy, again=work)

    def _write(self, text: str) -> int:
        self._written_s = self._clock_s()
        return self._store.write(text)


class FaultySqs:
    """SQS's client, as far as the wake-up queue needs it."""

    def __init__(self, edge: FaultInjector, deliver: Callable[[str], None]) -> None:
        self._edge = edge
        self._deliver = deliver

    def send_message(self, **message: Any) -> None:
        """Send a wake-up; its id lets SQS drop a repetition."""

        def work() -> None:
            self._deliver(message["MessageBody"])

        self._edge.call("SendMessage", work, refused=_not_sent, raw=lambda answer: client_error(answer, "SendMessage"))


def _not_sent() -> Exception:
    return ClientError({"Error": {"Code": "ServiceUnavailable", "Message": "try again"}}, "SendMessage")


def client_error(answer: RawAnswer, operation: str) -> Exception:
    """What a client of boto3's raises for an answer that AWS did not write, once it was checked."""
    if answer.status < HTTPStatus.MOVED_PERMANENTLY:
        return UnreadableAnswer("an answer that is not AWS's")
    error, metadata = {"Code": str(answer.status), "Message": ""}, {"HTTPStatusCode": answer.status}
    return ClientError({"Error": error, "ResponseMetadata": metadata}, operation)  # type: ignore[typeddict-item]


def _about(writes: Sequence[Write]) -> str:
    """Which items are written, and what becomes of them, in short."""
    kinds = {Put: "=", Update: "~", Delete: "-", Check: "?"}
    keys = [(kinds[type(write)], write.key) for write in writes]
    return " ".join(f"{kind}{key.sk if key.pk in {'ledger', 'config'} else key.pk}" for kind, key in keys)


def _busy() -> Exception:
    return RetryLater("no answer; try again in a moment")


class FaultySageMaker:
    """Answers SageMaker's calls from the fleet, over an edge.

    Args:
        fleet: what answers.
        edge: how it is called.
        clock_s: virtual time, s.
        random: decides how old lists are.
    """

    def __init__(self, fleet: FakeSageMaker, edge: FaultInjector, clock_s: Callable[[], float], random: Random) -> None:
        self._fleet = fleet
        self._edge = edge
        self._clock_s = clock_s
        self._random = random
        #: What a list answered before, from each place on.
        self._listed: dict[str, Mapping[str, Any]] = {}
        #: How often each training job was created, by name.
        self.created: dict[str, int] = {}

    def __call__(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer one call.

        Raises:
            AwsError: what SageMaker would answer.
            RawAnswer: the response of a proxy.
            ReadTimeoutError: there was no answer.
        """
        process = current()
        if operation == "ListTrainingJobs":
            # Lives have too few training jobs for pages of a hundred.
            request = {**request, "MaxResults": PAGE}

        def work() -> Mapping[str, Any]:
            if operation == "StopTrainingJob" and process is not None and process.function == "patrol":
                self._require_allowed(str(request["TrainingJobName"]))
            answer = self._fleet.call(operation, request, now=self._clock_s())
            if operation == "ListTrainingJobs":
                return self._maybe_old(str(request.get("NextToken", "")), answer)
            if operation == "CreateTrainingJob":
                self.created[request["TrainingJobName"]] = self.created.get(request["TrainingJobName"], 0) + 1
            return answer

        return self._edge.call(
            operation,
            work,
            about=str(request.get("TrainingJobName", "")),
            needs=[each.action for each in permissions(operation, request, arn_prefix=self._fleet.arn(""))],
            refused=lambda: AwsError("ThrottlingException", "Rate exceeded", status=400),
            lost=lambda: ReadTimeoutError(endpoint_url="https://sagemaker.invalid"),
            # The client for CreateTrainingJob makes one try (headway_service.bootstrap.ONE_TRY).
            again=None if operation == "CreateTrainingJob" else work,
            raw=lambda answer: answer,
        )

    def _maybe_old(self, place: str, page: Mapping[str, Any]) -> Mapping[str, Any]:
        """The current page, or the one of the last request: lists are not documented to be consistent."""
        before = self._listed.get(place, page)
        self._listed[place] = page
        return self._random.choice([before, page])

    def _require_allowed(self, name: str) -> None:
        """The patrol may stop jobs without a queue's mark, and jobs with this queue's mark (template.yaml)."""
        tags = self._fleet.tags_of(self._fleet.arn(name))
        if JOB_TAG in tags and not tags.get(ATTEMPT_TAG, "").startswith(f"{ENVIRONMENT['HEADWAY_TABLE']}/"):
            raise AwsError("AccessDeniedException", f"not authorized to perform: sagemaker:StopTrainingJob on {name}")


class FaultyCloudWatch:
    """CloudWatch's alarms as functions see them. Answers a :mod:`headway_sandbox.inprocess.stub_client`."""

    def __init__(self, cloudwatch: MemoryCloudWatch, edge: FaultInjector, clock_s: Callable[[], float]) -> None:
        self._cloudwatch = cloudwatch
        self._edge = edge
        self._clock_s = clock_s

    def __call__(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a call.

        Raises:
            AwsError: what CloudWatch would answer.
            RawAnswer: the response of a proxy.
            ReadTimeoutError: there was no answer.
        """

        def work() -> Mapping[str, Any]:
            return self._cloudwatch.call(operation, request, now=self._clock_s())

        return self._edge.call(
            operation,
            work,
            about=str(request.get("AlarmName") or request.get("AlarmNames") or ""),
            refused=lambda: AwsError("ThrottlingException", "Rate exceeded"),
            lost=lambda: ReadTimeoutError(endpoint_url="https://monitoring.invalid"),
            raw=lambda answer: answer,
            again=work,
        )
