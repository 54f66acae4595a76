"""boto3 clients whose calls a function answers, so that adapters, botocore and the service models take part."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

import boto3
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.raw_answers import RawAnswer


def stub_client(service: str, call: Callable[[str, Mapping[str, Any]], Mapping[str, Any]]) -> Any:
    """A client of a service.

    Whatever the service's protocol, requests and answers are documents as in AWS's JSON: timestamps are epoch seconds.

    Args:
        service: as boto3 names it.
        call: takes the operation and the request, and gives the answer; may raise :class:`AwsError` or
            :class:`RawAnswer`.
    """
    client = offline_session().client(service, config=Config(retries={"total_max_attempts": 1}))
    serializer, parser = create_serializer("json"), create_parser("json")
    name = client.meta.service_model.service_id.hyphenize()

    def remember(params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> None:
        context["headway_params"] = params

    def answer(model: Any, context: Mapping[str, Any], **_: Any) -> tuple[AWSResponse, Any]:
        request = json.loads(serializer.serialize_to_request(context["headway_params"], model)["body"])
        headers = HTTPHeaders.from_dict({"x-amzn-requestid": "stub"})
        try:
            status, body = 200, json.dumps(call(model.name, request)).encode()
        except AwsError as error:
            status, body = error.status, json.dumps({"__type": error.code, "message": error.message}).encode()
        except RawAnswer as answer:
            status, body, headers = answer.status, answer.body, HTTPHeaders()
        response = AWSResponse(f"https://{service}.invalid", status, headers, None)
        # As botocore.endpoint goes on from here.
        raw = {"body": body, "headers": headers, "status_code": status, "context": {"operation_name": model.name}}
        told: dict[str, Any] = {}
        client.meta.events.emit(
            f"before-parse.{name}.{model.name}", operation_model=model, response_dict=raw, customized_response_dict=told
        )
        return response, {**parser.parse(raw, model.output_shape), **told}

    client.meta.events.register(f"before-parameter-build.{name}", remember)
    # botocore types handlers as returning nothing, yet takes what a before-call handler returns as the answer.
    client.meta.events.register(f"before-call.{name}", cast("Callable[..., None]", answer))
    return client


@cache
def offline_session() -> Any:
    """One for all: a session reads the service models that its clients share, and that takes longest.

    Untyped, as the name of a service is a literal type in boto3's stubs, one per service.
    """
    return boto3.Session(
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - no real credentials: nothing leaves this process
        region_name="eu-west-1",
    )
