"""What an error of AWS means: by its HTTP status and its code, and for nothing but AWS's own words a refusal."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    CredentialRetrievalError,
    EndpointConnectionError,
    IncompleteReadError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError
from botocore.retries.standard import ThrottledRetryableChecker, TransientRetryableChecker

from headway_sandbox.inprocess.stub_client import offline_session
from headway_service.aws.error_codes import (
    CREDENTIALS,
    DENIALS,
    FAILED_CALLS,
    INVALID,
    THROTTLING,
    TRANSIENT,
    Verdict,
    classify,
    code_of,
    describe,
    message_of,
)
from headway_service.errors import UnreadableAnswer

SAGEMAKER = offline_session().client("sagemaker")
MODEL = SAGEMAKER.meta.service_model


def error(code: str, status: int = 400, operation: str = "CreateTrainingJob", message: str = "no") -> ClientError:
    """As botocore raises it: in a separate class, if the service declares the code."""
    response: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return SAGEMAKER.exceptions.from_code(code)(response, operation)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 599])
@pytest.mark.parametrize("code", ["500", "ValidationException", "ResourceLimitExceeded", "AccessDeniedException"])
def test_a_server_fault_is_unclear_with_any_code(status: int, code: str) -> None:
    assert classify(error(code, status), MODEL) is Verdict.UNCLEAR


@pytest.mark.parametrize("code", sorted(THROTTLING))
def test_every_throttling_code_is_throttled(code: str) -> None:
    assert classify(error(code), MODEL) is Verdict.THROTTLED


@pytest.mark.parametrize("code", ["429", "SomethingNew", "ResourceLimitExceeded", "AccessDeniedException"])
def test_status_429_is_throttled_whatever_its_code(code: str) -> None:
    assert classify(error(code, 429), MODEL) is Verdict.THROTTLED


def test_no_throttling_or_passing_code_that_botocore_knows_is_missing() -> None:
    assert set(vars(ThrottledRetryableChecker)["_THROTTLED_ERROR_CODES"]) <= THROTTLING
    assert set(vars(TransientRetryableChecker)["_TRANSIENT_ERROR_CODES"]) <= TRANSIENT | THROTTLING


@pytest.mark.parametrize("code", sorted(CREDENTIALS))
def test_errors_of_credentials_and_signatures_do_not_concern_the_request(code: str) -> None:
    assert classify(error(code), MODEL) is classify(error(code, 403), MODEL) is Verdict.NOT_AUTHENTICATED


@pytest.mark.parametrize("found", [NoCredentialsError(), CredentialRetrievalError(provider="x", error_msg="y")])
def test_without_credentials_nothing_was_sent(found: Exception) -> None:
    assert classify(found, MODEL) is Verdict.NOT_AUTHENTICATED


@pytest.mark.parametrize("code", sorted(DENIALS))
def test_a_missing_permission_is_a_denial(code: str) -> None:
    assert classify(error(code), MODEL) is classify(error(code, 403), MODEL) is Verdict.DENIED


@pytest.mark.parametrize("code", sorted(INVALID))
def test_a_common_error_about_the_request_is_a_refusal(code: str) -> None:
    assert classify(error(code), MODEL) is Verdict.REFUSED


@pytest.mark.parametrize("code", sorted(TRANSIENT))
def test_transient_errors_are_unclear_at_any_status(code: str) -> None:
    assert classify(error(code), MODEL) is Verdict.UNCLEAR


def test_transient_errors_are_unclear_even_if_the_service_declares_them() -> None:
    client = offline_session().client("dynamodb")
    response: Any = {"Error": {"Code": "InternalServerError"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    found = client.exceptions.InternalServerError(response, "PutItem")
    assert classify(found) is classify(found, client.meta.service_model) is Verdict.UNCLEAR


@pytest.mark.parametrize(
    ("operation", "code", "verdict"),
    [
        ("CreateTrainingJob", "ResourceInUse", Verdict.REFUSED),
        ("CreateTrainingJob", "ResourceLimitExceeded", Verdict.REFUSED),
        ("CreateTrainingJob", "ResourceNotFound", Verdict.REFUSED),
        ("StopTrainingJob", "ResourceInUse", Verdict.UNCLEAR),
        ("CreateTrainingJob", "ConflictException", Verdict.UNCLEAR),
        ("CreateTrainingJob", "SomethingNew", Verdict.UNCLEAR),
        ("ListTags", "ResourceNotFound", Verdict.UNCLEAR),
    ],
)
def test_a_code_is_a_refusal_if_the_model_declares_it_for_the_operation(
    operation: str, code: str, verdict: Verdict
) -> None:
    assert classify(error(code, operation=operation), MODEL) is verdict


def test_without_a_model_a_code_that_the_service_declares_anywhere_is_a_refusal() -> None:
    assert classify(error("ConflictException")) is Verdict.REFUSED
    assert classify(error("SomethingNew")) is Verdict.UNCLEAR


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 407, 408, 413])
def test_an_answer_that_does_not_come_from_aws_is_unclear(status: int) -> None:
    assert classify(error(str(status), status), MODEL) is Verdict.UNCLEAR


@pytest.mark.parametrize("status", [0, 200, 302])
def test_a_code_counts_with_the_status_of_an_error_only(status: int) -> None:
    assert classify(error("ValidationException", status), MODEL) is Verdict.UNCLEAR


@pytest.mark.parametrize(
    "found",
    [
        ReadTimeoutError(endpoint_url="x"),
        EndpointConnectionError(endpoint_url="x"),
        ConnectionClosedError(endpoint_url="x"),
        IncompleteReadError(actual_bytes=1, expected_bytes=2),
        ResponseParserError("x"),
        UnreadableAnswer("x"),
    ],
)
def test_no_answer_is_unclear(found: Exception) -> None:
    assert isinstance(found, FAILED_CALLS)
    assert classify(found, MODEL) is Verdict.UNCLEAR


@pytest.mark.parametrize("found", [KeyError("x"), TypeError(), AttributeError(), ValueError()])
def test_a_bug_is_not_a_failed_call(found: Exception) -> None:
    assert not isinstance(found, FAILED_CALLS)


def test_an_error_is_described_by_code_status_and_message() -> None:
    assert describe(error("Throttling", 400, message="Rate exceeded")) == "Throttling (HTTP 400): Rate exceeded"
    assert describe(error("Throttling", 400, message="")) == "Throttling (HTTP 400)"
    assert describe(UnreadableAnswer("no body")) == "UnreadableAnswer: no body"


def test_a_page_of_a_proxy_is_not_repeated() -> None:
    page = error("403", 403, message="<html>your token 1234 …</html>")
    assert (code_of(page), message_of(page), describe(page)) == ("403", "", "403 (HTTP 403)")


def test_an_error_without_a_code_has_none() -> None:
    bare = ClientError({}, "CreateTrainingJob")
    assert (code_of(bare), message_of(bare), classify(bare, MODEL)) == ("", "", Verdict.UNCLEAR)
