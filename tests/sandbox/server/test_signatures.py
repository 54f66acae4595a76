"""Signatures refused before the signer is identified."""

from __future__ import annotations

import pytest

from headway_sandbox.server.signatures import MISMATCH, error_in

HERE = "AWS4-HMAC-SHA256 Credential=AKIA/20260101/{}/{}/aws4_request, SignedHeaders=host, Signature=0"
REGION = "Credential should be scoped to a valid region. "
SERVICE = "Credential should be scoped to correct service: 'execute-api'. "


@pytest.mark.parametrize(
    ("region", "service", "expected"),
    [
        ("eu-west-1", "execute-api", None),
        ("us-east-1", "execute-api", REGION),
        ("eu-west-1", "sagemaker", SERVICE),
        ("us-east-1", "lambda", REGION + SERVICE),
    ],
)
def test_credentials_are_scoped_to_the_region_and_the_service_that_are_called(region, service, expected):
    headers = {"authorization": HERE.format(region, service)}
    assert error_in(headers, region="eu-west-1", service="execute-api", unsigned_payload=False) == expected


@pytest.mark.parametrize(("accepted", "expected"), [(True, None), (False, MISMATCH)])
def test_a_signature_without_the_body_is_accepted_or_refused_as_configured(accepted, expected):
    headers = {"authorization": HERE.format("eu-west-1", "sagemaker"), "x-amz-content-sha256": "UNSIGNED-PAYLOAD"}
    assert error_in(headers, region="eu-west-1", service="sagemaker", unsigned_payload=accepted) == expected


@pytest.mark.parametrize("authorization", ["", "Bearer abc", "AWS4-HMAC-SHA256 nonsense"])
def test_unsigned_requests_pass_to_services_that_require_no_signature(authorization):
    headers = {"authorization": authorization, "x-amz-content-sha256": "UNSIGNED-PAYLOAD"}
    assert error_in(headers, region="eu-west-1", service="sagemaker", unsigned_payload=False) is None
