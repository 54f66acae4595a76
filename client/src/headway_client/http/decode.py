"""Decode responses of the API."""

from __future__ import annotations

from typing import TypeVar

from headway.api_documents.codec import ApiDocument, WrongDocument
from headway_client.errors import ServerFaultError

_Document = TypeVar("_Document", bound=ApiDocument)


def decode(kind: type[_Document], document: object) -> _Document:
    """Decode a response.

    Args:
        kind: the class of the document that the API specifies for the call.
        document: the JSON value.

    Raises:
        ServerFaultError: the document is not of that class.
    """
    try:
        return kind.from_document(document)
    except WrongDocument as error:
        raise ServerFaultError(
            f"The response is not one of Headway's API ({error}). Check that the endpoint is that of Headway's API and "
            "that client and server have the same version."
        ) from error
