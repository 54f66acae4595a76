"""Checks of a signature's scope and body hash, which the emulator lacks.

Source: IAM user guide, "Elements of an AWS API request signature". The wording is that of SageMaker and API Gateway in
public issue threads. Unsigned bodies are documented for S3 only ("Authenticating Requests: Using the Authorization
Header") and not documented for other services, so a switch decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

CODE = "InvalidSignatureException"

_SCOPE = re.compile(r"Credential=[^/\s,]+/[^/]+/(?P<region>[^/]+)/(?P<service>[^/]+)/")
_UNSIGNED = "UNSIGNED-PAYLOAD"

MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)


def error_in(headers: Mapping[str, str], *, region: str, service: str, unsigned_payload: bool) -> str | None:
    """Return the error in a request's signature, without the signer's key; None if it is valid or missing.

    Args:
        headers: The request's headers, with names in lower case.
        region: Region of the called service.
        service: The called service, as named in signatures.
        unsigned_payload: Whether a signature may omit the body.
    """
    scope = _SCOPE.search(headers.get("authorization", ""))
    if scope is None:
        return None
    wrong = []
    if scope["region"] != region:
        wrong.append("Credential should be scoped to a valid region. ")
    if scope["service"] != service:
        wrong.append(f"Credential should be scoped to correct service: '{service}'. ")
    if wrong:
        return "".join(wrong)
    if headers.get("x-amz-content-sha256") == _UNSIGNED and not unsigned_payload:
        return MISMATCH
    return None
