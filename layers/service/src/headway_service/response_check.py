"""Takes only what AWS can have written for an answer: a proxy's page or half a document is no success."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import from_json

from headway_service.errors import UnreadableAnswer

if TYPE_CHECKING:
    from botocore.client import BaseClient

C = TypeVar("C", bound="BaseClient")

_JSON = {"json", "rest-json"}
_XML = {"query"}
_XML_ANSWER = re.compile(rb"\s*(?:<\?xml[^>]*\?>\s*)?<(\w+Response)[\s>].*</\1>\s*", re.DOTALL)
_XML_ERROR = b"<ErrorResponse><Error><Code>%d</Code></Error></ErrorResponse>"


def check_answers(client: C) -> C:
    """Make a client raise :class:`headway_service.errors.UnreadableAnswer` for responses that are not AWS's.

    botocore reads a body that it cannot parse as a response without members, and does not read the body of an operation
    without output; so a proxy's page would be a success. The body of an error that is not an error document is emptied:
    botocore then uses the HTTP status as its code.

    Returns:
        The client.
    """
    service = client.meta.service_model.service_id.hyphenize()
    # Registered last: a handler that has read the body has checked it, and left an empty document.
    client.meta.events.register_last(f"before-parse.{service}", _check, unique_id="headway-answer-check")
    return client


def member(answer: Mapping[str, Any], name: str) -> Any:
    """A member of an answer.

    Args:
        answer: the response.
        name: the name of the member.

    Raises:
        UnreadableAnswer: the answer does not have it.
    """
    if name not in answer:
        raise UnreadableAnswer(f"an answer without {name}")
    return answer[name]


def document_in(body: bytes) -> dict[str, Any]:
    """The JSON object in a body.

    Raises:
        UnreadableAnswer: there is none.
    """
    try:
        # Twice as quick as the standard library, for a page of a listing.
        document = from_json(body)
    except ValueError as error:
        raise UnreadableAnswer("an answer that is no JSON") from error
    if not isinstance(document, dict):
        raise UnreadableAnswer("an answer that is no JSON object")
    return document


def _check(*, operation_model: Any, response_dict: dict[str, Any], **_: Any) -> None:
    protocol, failed = operation_model.service_model.resolved_protocol, response_dict["status_code"] >= _FIRST_ERROR
    if operation_model.has_streaming_output and not failed:
        return
    if protocol in _JSON:
        _check_json(operation_model, response_dict, failed=failed)
    elif protocol in _XML and not _XML_ANSWER.fullmatch(response_dict["body"]):
        if not failed:
            raise UnreadableAnswer("an answer that is no XML of AWS's")
        response_dict["body"] = _XML_ERROR % response_dict["status_code"]


_FIRST_ERROR = HTTPStatus.MOVED_PERMANENTLY
"""From this status on botocore reads an error (botocore.parsers)."""


def _check_json(operation_model: Any, response_dict: dict[str, Any], *, failed: bool) -> None:
    body = response_dict["body"]
    if failed:
        try:
            code = document_in(body).get("__type", "")
        except UnreadableAnswer:
            code = None
        if not isinstance(code, str):
            response_dict["body"] = b""
    elif body:
        document_in(body)
    elif operation_model.output_shape is not None:
        raise UnreadableAnswer("a response without a body")
    elif "x-amzn-requestid" not in response_dict["headers"]:
        # The only difference between AWS's response without a body and another server's.
        raise UnreadableAnswer("a response with neither a body nor a request ID")
