"""What the service needs of the world, as protocols.

A table, SageMaker, a wake-up call, the configuration, and the dead-letter queues with those whom their letters are for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from headway.jobpolicy.utilization import Alarm

Item = Mapping[str, Any]
"""An item of the table: text, whole numbers, booleans, lists and maps of these. It holds ``pk`` and ``sk``."""

MAX_TRANSACTION_WRITES = 100
"""DynamoDB's limit of a TransactWriteItems call (service quota)."""

MAX_ITEM_BYTES = 400 * 1024
"""DynamoDB's limit of an item (service quota)."""


class Key(NamedTuple):
    """The primary key of an item: partition and sort key."""

    pk: str
    sk: str


@dataclass(frozen=True, slots=True)
class Absent:
    """The item does not exist."""


@dataclass(frozen=True, slots=True)
class Equals:
    """The item exists and its attribute has this value."""

    attribute: str
    value: str | int


@dataclass(frozen=True, slots=True)
class AllEqual:
    """The item exists and each of these attributes has its value."""

    values: tuple[tuple[str, str | int], ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The item exists and its number is at least this."""

    attribute: str
    value: int


@dataclass(frozen=True, slots=True)
class OneOf:
    """The item exists and its attribute has one of these values."""

    attribute: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contains:
    """The item exists and its text holds this one, in the same case."""

    attribute: str
    text: str


Condition = Absent | Equals | AllEqual | AtLeast | OneOf | Contains


@dataclass(frozen=True, kw_only=True, slots=True)
class Put:
    """Write a whole item."""

    item: Item
    requires: Condition | None = None

    @property
    def key(self) -> Key:
        """The key inside the item."""
        return Key(self.item["pk"], self.item["sk"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """Set attributes of an item, and add to numbers of it."""

    key: Key
    sets: Mapping[str, Any] = field(default_factory=dict)
    adds: Mapping[str, int] = field(default_factory=dict)
    requires: Condition | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Delete:
    """Remove an item; no error if it does not exist, unless a condition says so."""

    key: Key
    requires: Condition | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """Write nothing, but let the transaction fail unless the condition holds."""

    key: Key
    requires: Condition


Write = Put | Change | Delete | Check


LISTED = (
    *("jobName", "jobState", "priority", "entryTime", "handicapMs", "demand", "team", "limitMs", "owner"),
    *("requestDigest", "attemptCount", "liveAttempt", "notBeforeMs", "heldBy", "reason", "endedMs", "schema"),
    *("held", "preemptionCount", "usage"),
)
"""Attributes of a job that a listing holds beside its keys; not its history and ended attempts, which may be large.

There is no room for more: DynamoDB takes 20 in one index (API reference, Projection).
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListingPage:
    """A page of the listing and where the next begins (None at the end). Items hold their keys and :data:`LISTED`."""

    items: tuple[Item, ...]
    after: Mapping[str, str] | None


def position_of(item: Item) -> Mapping[str, str]:
    """Where a listing goes on that has come to this item of it."""
    return {"listingKey": item["listingKey"], "pk": item["pk"]}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """How many items there are, and of how many of these what was asked for holds."""

    items: int
    matching: int


class Table(Protocol):
    """One table with strongly consistent reads by key and all-or-nothing conditional writes.

    What is only told to people, or bounds something roughly, is read eventually consistent, which costs half.

    Every method may raise :class:`headway_service.errors.Busy` when the table cannot answer now, or its answer was
    lost. A write that ends so may have been carried out.
    """

    def get(self, key: Key) -> Item | None:
        """The item, strongly consistent, or None."""

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        """Items of a partition by ascending sort key, strongly consistent.

        Args:
            pk: the partition.
            prefix: only sort keys that begin so.
            after: only sort keys greater than this (exclusive).
            limit: at most so many items; the call reads as many pages as that takes.
        """

    def count_before(self, pk: str, sk: str, *, limit: int) -> int:
        """How many items of a partition have a lesser sort key, eventually consistent.

        Args:
            pk: the partition.
            sk: only lesser sort keys count.
            limit: at most so many are counted.
        """

    def keys_before(self, pk: str, sk: str, *, limit: int) -> tuple[str, ...]:
        """The lesser sort keys of a partition, ascending, eventually consistent.

        Args:
            pk: the partition.
            sk: only lesser ones.
            limit: at most so many.
        """

    def tail(self, pk: str, attribute: str, *, limit: int) -> tuple[tuple[str, str], ...]:
        """The greatest sort keys of a partition, ascending, each with a text of its item; eventually consistent.

        Args:
            pk: the partition.
            attribute: what holds the text; where an item has none, it is empty.
            limit: at most so many.
        """

    def tally(self, pk: str, where: Equals, *, before: str = "", limit: int) -> Tally:
        """Count the items of a partition, and those of them of which something holds; eventually consistent.

        Args:
            pk: the partition.
            where: what holds of those that are counted apart.
            before: only lesser sort keys count; all without it.
            limit: looks no further once it has seen so many, by ascending sort key; a page may hold a few more.
        """

    def listing(
        self,
        name: str,
        *,
        where: Sequence[Condition],
        after: Mapping[str, str] | None,
        limit: int,
        descending: bool = False,
    ) -> ListingPage:
        """Jobs of one listing in the order of their listing key, eventually consistent.

        Args:
            name: the listing: ``holding``, ``waiting`` or ``ended``.
            where: only jobs of which all of this holds; on attributes of :data:`LISTED`, and at least one condition.
            after: where to go on, from an earlier page, or from :func:`position_of` a job of one.
            limit: looks at so many items. A page may hold fewer and still have a successor.
            descending: whether the greatest listing key comes first.
        """

    def write(self, writes: Sequence[Write]) -> None:
        """Apply all writes or none.

        Raises:
            Conflict: a condition did not hold; nothing was written. Or it was, by an earlier try whose answer was lost:
                a single write that was repeated meets its own effect. What the table holds now says which.
        """


LIVE = frozenset({"InProgress", "Stopping"})
"""Statuses of training jobs that count against the quotas."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sighting:
    """What SageMaker said of a training job at one moment, in an event or an answer."""

    attempt: str
    #: TrainingJobStatus: InProgress, Completed, Failed, Stopping, Stopped or Deleting.
    status: str
    secondary_status: str
    #: LastModifiedTime, ms.
    modified_ms: int
    arn: str = ""
    failure_reason: str | None = None
    #: How often spot instances were taken from it so far.
    interruptions: int = 0
    #: While it trains: since when, ms.
    training_since_ms: int | None = None
    #: Once it has ended: for how long it trained, ms.
    trained_ms: int | None = None

    @property
    def ended(self) -> bool:
        """Whether this is a final status. SageMaker's final statuses are never left (but by deletion)."""
        return self.status in {"Completed", "Failed", "Stopped", "Deleting"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """All that DescribeTrainingJob says of a training job."""

    name: str
    arn: str
    #: TrainingJobStatus.
    status: str
    #: CreationTime, ms. A name may come again after DeleteTrainingJob; with this it is one training job for good.
    created_ms: int
    #: The whole answer.
    document: Mapping[str, Any]

    @property
    def live(self) -> bool:
        """Whether it counts against the quotas: it has not ended."""
        return self.status in LIVE


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """What ListTrainingJobs says of a training job. It may be as old as SageMaker's index."""

    name: str
    #: TrainingJobStatus.
    status: str
    #: None where the list does not tell it: the service model does not require it.
    secondary_status: str | None
    #: LastModifiedTime, ms: when its status last changed (service model, TrainingJobSummary).
    modified_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LivePage:
    """The live ones among a page of all training jobs, and where the next page begins (None at the end)."""

    jobs: tuple[Listed, ...]
    token: str | None


class TrainingJobs(Protocol):
    """SageMaker's training jobs."""

    def create(self, request: Mapping[str, Any]) -> None:
        """CreateTrainingJob.

        Raises:
            NameTaken: a training job of that name exists, perhaps made by an earlier call of ours.
            LaunchPostponed: not now, for a quota, a permission or the queue's credentials.
            LaunchRefused: never.
            Throttled: turned away.
            Unclear: it may or may not have been created.
        """

    def stop(self, name: str) -> None:
        """StopTrainingJob. Stopping a job that is stopping is no error.

        Raises:
            TrainingJobEnded: it has ended, or is stopping already.
            TrainingJobNotFound: SageMaker says that there is none of that name.
            LacksPermission: the queue may not stop this one.
            Unclear: it may or may not have been asked.
        """

    def describe(self, name: str) -> Sighting | None:
        """DescribeTrainingJob; None if there is no such job.

        Raises:
            Unclear: no answer.
        """

    def mark_of(self, arn: str) -> str | None:
        """The value of the tag ``headway:attempt`` on the training job of that ARN; None without it.

        Raises:
            Unclear: no answer.
        """


class AllTrainingJobs(TrainingJobs, Protocol):
    """SageMaker's training jobs, with what has to be known of those that are not the queue's."""

    def described(self, name: str) -> Description | None:
        """DescribeTrainingJob, with all that it says; None if there is no such job.

        Raises:
            Unclear: no answer.
        """

    def tags_of(self, arn: str) -> Mapping[str, str]:
        """ListTags of the training job of that ARN.

        Raises:
            Unclear: no answer.
        """

    def live(self, created_after_ms: int, token: str | None) -> LivePage:
        """A page of ListTrainingJobs, newest first, less those that have ended.

        Raises:
            ListingExpired: the token is not taken any more.
            Unclear: no answer.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenAlarm:
    """An alarm of the queue's as it is there."""

    name: str
    #: What it looks at; None if that is nothing that the queue would look at.
    alarm: Alarm | None
    firing: bool


class Alarms(Protocol):
    """The alarms on running jobs. Every method may raise :class:`headway_service.errors.Busy`."""

    def put(self, alarm: Alarm) -> None:
        """Make an alarm, or change the one for the same host and watch."""

    def delete(self, names: Iterable[str]) -> None:
        """Remove alarms. Those that do not exist are no error."""

    def seen(self, attempt: str | None = None) -> tuple[SeenAlarm, ...]:
        """The queue's alarms with their states now; with ``attempt`` only those on that."""

    def attempt_of(self, name: str) -> str | None:
        """The attempt that an alarm of this name is for; None if it is none of the queue's."""


Wake = Callable[[str], None]
"""Asks for a tick soon, and says why, for the log. Asking twice is harmless."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigurationText:
    """The configuration document as it is stored, perhaps invalid."""

    text: str
    #: Counts the writes of the document, by anybody.
    version: int
    #: When it was written, by the store's clock, ms; 0 if the store does not say.
    modified_ms: int = 0


class ConfigurationStore(Protocol):
    """Where operators keep the configuration document.

    Every method may raise :class:`headway_service.errors.Busy` when the store cannot answer now.
    """

    def read(self) -> ConfigurationText:
        """The stored document. It may be an older one than the newest: AWS does not say that reads are consistent."""

    def read_version(self, version: int) -> ConfigurationText | None:
        """The document of one version; None if the store does not have it, or does not show it."""

    def write(self, text: str) -> int:
        """Store a document, whatever is stored, and return its version. After Busy it may be stored or not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    """A message of a dead-letter queue, as it was received."""

    message_id: str
    #: By which it is removed or given back.
    receipt: str
    body: str
    #: The message's attributes that are text, such as EventBridge's ``ERROR_CODE``.
    attributes: Mapping[str, str]
    sent_ms: int
    #: How often it was received, be it only to be looked at.
    receive_count: int


class DeadLetterQueue(Protocol):
    """One dead-letter queue."""

    def take(self, most: int) -> Sequence[DeadLetter]:
        """Letters to work on, which nobody else is handed meanwhile; none if there are no more.

        Args:
            most: no more than this; there may be fewer, and the next call gives further ones.
        """

    def remove(self, letter: DeadLetter) -> None:
        """Remove a letter that was taken."""

    def give_back(self, letters: Sequence[DeadLetter]) -> None:
        """Let others take these again at once. What is not given back comes back by itself after a while."""

    def count(self) -> int:
        """How many letters there are, taken ones too: roughly, and as of a moment ago."""


class Recipients(Protocol):
    """Those whom dead letters are for. Each call may raise :class:`headway_service.errors.NotHandedOver`."""

    def observe(self, event: Mapping[str, Any]) -> None:
        """Hand an event to the observer, as if it had just come. What becomes of it is not waited for."""

    def wake(self, why: str) -> None:
        """Ask for a tick, as :data:`Wake` does."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of the things that were sent, by their indexes: those that are not named here were taken."""

    #: May be taken if they are sent once more.
    again: frozenset[int] = frozenset()
    #: Will never be taken.
    refused: frozenset[int] = frozenset()


_T_contra = TypeVar("_T_contra", contravariant=True)


class Outlet(Protocol[_T_contra]):
    """Somewhere that changes are told."""

    def send(self, items: Sequence[_T_contra]) -> Sent:
        """Send up to ten, which is as many as EventBridge and SNS take at once (service quotas).

        Raises:
            Busy: none may have been taken, and all may be sent again.
        """
