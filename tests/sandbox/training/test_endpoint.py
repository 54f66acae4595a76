from __future__ import annotations

import pytest

from headway_sandbox.training.endpoint import signer_of


@pytest.mark.parametrize(
    ("target", "authorization", "signer"),
    [
        ("/bucket/key", "AWS4-HMAC-SHA256 Credential=KEY/20260101/eu-west-1/s3/aws4_request, Signature=s", "KEY"),
        ("/bucket/key?X-Amz-Credential=KEY%2F20260101%2Feu-west-1%2Fs3%2Faws4_request", "", "KEY"),
        ("/bucket?X-Amz-Credential=OTHER%2F1", "AWS4-HMAC-SHA256 Credential=KEY/1", "KEY"),
        ("/_headway/health", "", ""),
        ("/bucket", "Bearer KEY", ""),
    ],
)
def test_the_signer_is_found_in_the_header_or_in_a_presigned_url(target: str, authorization: str, signer: str):
    assert signer_of(target, authorization) == signer
