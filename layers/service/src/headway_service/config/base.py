"""How all of the configuration document is written: in camel case, with nothing that is not known."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel

from headway_service.validation_messages import explained

Name = Annotated[
    str,
    StringConstraints(
        pattern=explained(
            r"^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$",
            "a name of up to 63 letters, digits and . _ -, the first a letter or a digit",
        )
    ),
]
"""The name of a team, a rule or a watch."""


class ConfigModel(BaseModel):
    """A part of the document."""

    # Validators are built at their first use, as one invocation needs few of them; pydantic locks that.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        serialize_by_alias=True,
        defer_build=True,
    )
