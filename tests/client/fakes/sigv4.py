"""AWS Signature Version 4, implemented from its specification to verify the client's requests.

It shares no code with the client: no botocore, only hashlib. Source: the IAM guide, "Create a signed AWS API
request". API Gateway, as all services but S3, has each path segment encoded once more than it is on the wire.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from urllib.parse import quote

ALGORITHM = "AWS4-HMAC-SHA256"
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<date>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, "
    r"SignedHeaders=(?P<signed>[a-z0-9;-]+), Signature=(?P<signature>[0-9a-f]{64})"
)


class WrongSignature(Exception):
    """The request's signature is missing or wrong; the message says how."""


def scope(headers: Mapping[str, str]) -> dict[str, str]:
    """Parse the Authorization header: key, date, region, service, signed, signature."""
    match = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
    if match is None:
        raise WrongSignature("Missing Authentication Token")
    return match.groupdict()


def check(
    method: str, target: str, headers: Mapping[str, str], body: bytes, *, secrets: Mapping[str, str]
) -> dict[str, str]:
    """Verify the signature of a received request and return its scope.

    Args:
        method: the HTTP method.
        target: path and query, unchanged from the wire.
        headers: by lower-case name.
        body: the body's bytes.
        secrets: secret access keys by access key id.
    """
    said = scope(headers)
    if said["key"] not in secrets:
        raise WrongSignature("The security token included in the request is invalid.")
    signed = said["signed"].split(";")
    if "host" not in signed or "x-amz-date" not in signed:
        raise WrongSignature("host and x-amz-date have to be signed")
    path, _, query = target.partition("?")
    canonical = "\n".join(
        [
            method,
            quote(path, safe="/-_.~"),
            "&".join(sorted(pair if "=" in pair else f"{pair}=" for pair in query.split("&") if pair)),
            *[f"{name}:{' '.join(headers[name].split())}" for name in signed],
            "",
            said["signed"],
            hashlib.sha256(body).hexdigest(),
        ]
    )
    credential_scope = f"{said['date']}/{said['region']}/{said['service']}/aws4_request"
    to_sign = "\n".join(
        [ALGORITHM, headers["x-amz-date"], credential_scope, hashlib.sha256(canonical.encode()).hexdigest()]
    )
    key = f"AWS4{secrets[said['key']]}".encode()
    for part in (said["date"], said["region"], said["service"], "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    if hmac.digest(key, to_sign.encode(), "sha256").hex() != said["signature"]:
        raise WrongSignature("The request signature we calculated does not match the signature you provided.")
    return said
