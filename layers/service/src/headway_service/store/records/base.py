"""What all records have in common: how they become items, and items become records."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from headway.reasons import Reason, ReasonCode
from headway_service.errors import UnreadableRecord
from headway_service.ports.table import Item
from headway_service.store.schema_version import name_of, stamp, upgrade

LEDGER = "ledger"


_ASKED_FOR = ("version", "starts")
"""What conditions of writes ask for is always written, whatever it is."""


class Record(BaseModel):
    """An item of the table as a frozen value; the attributes of the item are in camel case."""

    # Validators are built at their first use, as one invocation needs few of them; pydantic locks that.
    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        hide_input_in_errors=True,
        defer_build=True,
    )

    @classmethod
    def parse(cls, item: Item) -> Self:
        """The record in an item.

        Raises:
            UnreadableRecord: the item is damaged, or of another schema version.
        """
        try:
            return cls.model_validate(cls.unfolded(upgrade(item)))
        except TypeError as error:
            # What is folded is no map.
            raise UnreadableRecord(f"{name_of(item)} is damaged: {error}") from error
        except ValidationError as error:
            wrong = ", ".join(sorted({".".join(map(str, each["loc"])) for each in error.errors()}))
            raise UnreadableRecord(f"{name_of(item)} is damaged: {wrong}") from error

    @classmethod
    def unfolded(cls, item: Item) -> Item:
        """The attributes of an item, where they are not stored as they are."""
        return item

    def fields(self) -> dict[str, Any]:
        """The attributes of the item without keys, omitting attributes equal to their defaults.

        An item is paid for by its size: a usual job keeps within the kilobyte of a write unit until it ends.
        """
        said = self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
        fields = vars(self)
        asked_for = {name: fields[name] for name in _ASKED_FOR if name in fields}
        return stamp(said | asked_for)


class ReasonRecord(Record):
    """A :class:`headway.reasons.Reason` as it is kept."""

    code: ReasonCode
    message: str
    jobs: tuple[str, ...] = ()

    @classmethod
    def of(cls, reason: Reason) -> ReasonRecord:
        """The record of a reason."""
        return cls(code=reason.code, message=reason.message, jobs=reason.jobs)

    def reason(self) -> Reason:
        """The reason in the record."""
        return Reason(code=self.code, message=self.message, jobs=self.jobs)
