"""What a signature has to be scoped to and to cover, which the emulator does not ask.

Source: IAM user guide, "Elements of an AWS API request signature". The words are those that users quote from SageMaker
and API Gateway in public issue threads. That a signature may leave the body out is documented for S3 only
("Authenticating Requests: Using the Authorization Header"), and of other services nothing is said; so a switch decides.
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


def fault(headers: Mapping[str, str], *, region: str, service: str, unsigned_payload: bool) -> str | None:
    """What is wrong with a request's signature before it is known who signed; None if nothing is, or it has none.

    Args:
        headers: of the request, their names in lower case.
        region: that it came to.
        service: that it came to, as signatures name it.
        unsigned_payload: whether a signature may leave the body out.
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
