"""The configuration document: the pools and the rules, kept in SSM Parameter Store, changed without a redeploy."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from headway.ordering import MAX_PRIORITY
from headway_service.errors import FieldError, InvalidConfiguration

MAX_DOCUMENT_CHARS = 4096
"""The largest document: what a standard SSM parameter holds (API reference, PutParameter)."""

MAX_POOLS = 50
"""Each pool costs a tick one query."""

MAX_POOL_SIZE = 10_000

InstanceType = Annotated[str, StringConstraints(pattern=r"^ml\.[a-z0-9-]{1,40}\.[a-z0-9-]{1,20}$")]


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Pool(_Document):
    """One pool."""

    #: Instances in the pool. 0 lets what runs finish and starts nothing.
    size: int = Field(ge=0, le=MAX_POOL_SIZE)


class Priorities(_Document):
    """Rules on priorities."""

    #: Priority of a job whose request carries none.
    default: int = Field(default=0, ge=0, le=MAX_PRIORITY)
    #: The highest priority that a request may carry.
    maximum: int = Field(default=MAX_PRIORITY, ge=0, le=MAX_PRIORITY)

    @model_validator(mode="after")
    def _default_is_allowed(self) -> Priorities:
        if self.default > self.maximum:
            raise ValueError(f"default ({self.default}) must not be above maximum ({self.maximum})")
        return self


class Configuration(_Document):
    """The whole document, e.g. ``{"pools": {"ml.p5.48xlarge": {"size": 2}}}``."""

    pools: dict[InstanceType, Pool] = Field(min_length=1, max_length=MAX_POOLS)
    priority: Priorities = Priorities()


def parse(text: str) -> Configuration:
    """Read a document.

    Raises:
        InvalidConfiguration: it is no JSON, too long, or not a valid document; says what to change, field by field.
    """
    if len(text) > MAX_DOCUMENT_CHARS:
        raise InvalidConfiguration(f"the document has {len(text)} characters; at most {MAX_DOCUMENT_CHARS} can be kept")
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InvalidConfiguration(f"the document is no JSON: {error}") from None
    return validate(document)


def validate(document: Any) -> Configuration:
    """Check a decoded document.

    Raises:
        InvalidConfiguration: as :func:`parse`.
    """
    try:
        return Configuration.model_validate(document)
    except ValidationError as error:
        fields = [
            FieldError(
                field=".".join(str(part) for part in problem["loc"] if part != "[key]") or "(the document)",
                message=problem["msg"].removeprefix("Value error, "),
            )
            for problem in error.errors(include_url=False)
        ]
        first = fields[0]
        more = f" (and {len(fields) - 1} more)" if len(fields) > 1 else ""
        raise InvalidConfiguration(f"{first.field}: {first.message}{more}", fields) from None


def text_of(configuration: Configuration) -> str:
    """The document as it is kept."""
    return json.dumps(configuration.model_dump(mode="json"), indent=2, sort_keys=True)
