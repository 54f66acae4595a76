"""The functions' handlers outside of Lambda: loaded as Lambda loads them, with events as AWS sends them."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any
from unittest import mock

from headway_sandbox.local.checkout import Checkout


def load_handler(function: str, environment: Mapping[str, str]) -> ModuleType:
    """A new instance of a function's module, e.g. of ``functions/api/app.py``.

    Args:
        function: its folder.
        environment: what ``template.yaml`` would set.
    """
    path = Checkout.here().root / "functions" / function / "app.py"
    spec = importlib.util.spec_from_file_location(f"app_{function}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(os.environ, environment):
        spec.loader.exec_module(module)
    return module


def event(name: str) -> dict[str, Any]:
    """An event of ``events/``, the same that ``sam local invoke`` takes."""
    document: dict[str, Any] = json.loads(_event(name))
    return document


@cache
def _event(name: str) -> str:
    return (Checkout.here().root / "events" / f"{name}.json").read_text("utf-8")


def http_event(
    method: str,
    path: str,
    body: str | None = None,
    query: Mapping[str, list[str]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A call of the API as API Gateway hands it to its function.

    Args:
        method: the HTTP method.
        body: the body; None without one.
        query: the query parameters.
    """
    payload = event("api-submit")
    payload["httpMethod"] = payload["requestContext"]["httpMethod"] = method
    payload["path"] = path
    payload["body"] = body
    payload["multiValueQueryStringParameters"] = query
    payload["queryStringParameters"] = query and {key: values[-1] for key, values in query.items()}
    for name, value in (headers or {}).items():
        payload["headers"][name] = value
        payload["multiValueHeaders"][name] = [value]
    return payload


@dataclass(frozen=True, kw_only=True)
class Context:
    """What Lambda hands to a handler beside the event."""

    function_name: str = "headway-test"
    memory_limit_in_mb: int = 128
    invoked_function_arn: str = "arn:aws:lambda:eu-west-1:123456789012:function:headway-test"
    aws_request_id: str = "c0ffee00-0000-4000-8000-000000000000"
    #: Time that the invocation has left, ms.
    get_remaining_time_in_millis: Callable[[], int]
