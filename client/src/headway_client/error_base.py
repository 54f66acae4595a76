"""The base of the client's errors (`headway_client.errors`), for the values that have errors in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from headway.errors import HeadwayError
from headway.sanitize import strip_control_characters


@dataclass(frozen=True, kw_only=True)
class FieldMessage:
    """A problem with one field of a request.

    Attributes:
        field: the field's path in the request, such as ``ResourceConfig.InstanceCount``.
        message: a sentence that says what to change.
    """

    field: str
    message: str


class ClientError(HeadwayError):
    """Base class of the client's errors.

    Attributes:
        code: a short name for programs; the server's own code if the server responded.
        message: a sentence that says what to change.
        fields: the problems by field, in the server's order; empty if the problem is not in a field.
        status: the HTTP status of the response, or None without a response.
        request_id: the server's id of the request, as in its logs; None without a response.
    """

    default_code: ClassVar[str] = "Unexpected"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        fields: Iterable[FieldMessage] = (),
        status: int | None = None,
        request_id: str | None = None,
    ) -> None:
        self.code = code or self.default_code
        self.message = message
        self.fields = tuple(fields)
        self.status = status
        self.request_id = request_id
        # Tracebacks and loggers do not escape the text, and the server's sentences quote other users' text.
        super().__init__(strip_control_characters(self.full_message()))

    def unlisted_fields(self) -> tuple[FieldMessage, ...]:
        """Return the fields that the message does not tell of: it has their sentence, and which field is meant."""
        sentences = Counter(item.message for item in self.fields)
        return tuple(
            item
            for item in self.fields
            if item.message not in self.message or (item.field not in self.message and sentences[item.message] > 1)
        )

    def full_message(self) -> str:
        """Return the message on one line, followed by the fields that it does not contain."""
        details = "; ".join(f"{item.field}: {item.message}" for item in self.unlisted_fields())
        return f"{self.message} {details}" if details else self.message

    def to_document(self) -> dict[str, Any]:
        """Return the error as an error document of the queue's API."""
        return {
            "error": {
                "code": self.code,
                "message": self.message,
                "fields": [{"field": item.field, "message": item.message} for item in self.fields],
            },
            "requestId": self.request_id,
        }
