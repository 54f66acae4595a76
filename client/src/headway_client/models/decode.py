"""Decodes answers of the API."""

from __future__ import annotations

from typing import TypeVar

from headway.api_documents.codec import ApiDocument, WrongDocument
from headway_client.errors import ServerFaultError

_Document = TypeVar("_Document", bound=ApiDocument)


def decode(kind: type[_Document], document: object) -> _Document:
    """Decode an answer.

    Args:
        kind: what the API documents for the call.
        document: the JSON value.

    Raises:
        ServerFaultError: it is something else.
    """
    try:
        return kind.from_document(document)
    except WrongDocument as error:
        raise ServerFaultError(
            f"The endpoint's answer is not one of Headway's API ({error}). Check that the endpoint is Headway's and "
            "that client and server are of the same version."
        ) from error
