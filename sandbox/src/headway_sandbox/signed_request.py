"""The credentials of a request, read in one way only. Pure.

A request has exactly one signature of version 4 (AWS4-HMAC-SHA256), in its header or in its query. All that stand
before the emulator read it here. The emulator reads credentials in many other ways, each of which a request could use
to be one caller for the check and another one for the emulator: such requests are refused, and so are unsigned ones.

Source: IAM user guide, "Elements of an AWS API request signature" and "Create a signed AWS API request".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl

from headway_sandbox.errors import AwsError

ALGORITHM = "AWS4-HMAC-SHA256"
LONGEST_EXPIRY_S = 604_800
"""A presigned URL is valid for at most this time, s. Source: S3 user guide, "Download and upload objects with presigned
URLs"."""

_SCOPE = r"(?P<key>[A-Za-z0-9]{4,128})/(?P<date>[0-9]{8})/(?P<region>[a-z0-9-]+)/(?P<service>[a-z0-9-]+)/aws4_request"
_NAMES = r"(?P<names>[a-z0-9-]+(?:;[a-z0-9-]+)*)"
_VALUE = r"(?P<value>[0-9a-f]{64})"
_HEADER = re.compile(rf"{ALGORITHM} Credential={_SCOPE}, *SignedHeaders={_NAMES}, *Signature={_VALUE}")
_QUERY = {
    "X-Amz-Algorithm": re.compile(ALGORITHM),
    "X-Amz-Credential": re.compile(_SCOPE),
    "X-Amz-Date": re.compile(r"(?P<at>[0-9]{8}T[0-9]{6}Z)"),
    "X-Amz-Expires": re.compile(r"(?P<expires>[0-9]{1,6})"),
    "X-Amz-SignedHeaders": re.compile(_NAMES),
    "X-Amz-Signature": re.compile(_VALUE),
}
_TOKEN = "X-Amz-Security-Token"  # noqa: S105  the name of a header and of a parameter
_AT = re.compile(r"[0-9]{8}T[0-9]{6}Z")
# Parameters of signatures of version 2, which nobody who uses this server needs.
_VERSION_2 = {"awsaccesskeyid", "signature", "signaturemethod", "signatureversion"}
_CREDENTIALS = {name.lower() for name in (*_QUERY, _TOKEN)} | _VERSION_2
# S3 takes uploads of pages as forms, whose fields are credentials, too (S3 API reference, "POST Object").
_FORM = "multipart/form-data"
# Whoever reads another one of several would read another request.
_ONCE = {"authorization", "content-length", "host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"}
_FORBIDDEN = 403


@dataclass(frozen=True, kw_only=True)
class Signature:
    """The signature of a request, which nobody has checked yet."""

    access_key: str
    at: str
    """When the request was signed: `20260102T030405Z`."""
    region: str
    service: str
    signed_headers: tuple[str, ...]
    value: str
    token: str
    """The session token; empty if there is none."""
    expires_s: int | None
    """For how long a presigned URL is valid, s; None for a signature in the header."""

    @property
    def presigned(self) -> bool:
        """Whether it is in the query."""
        return self.expires_s is not None


def read(query: str, headers: Iterable[tuple[str, str]]) -> Signature:
    """Return the signature of a request.

    Args:
        query: All that follows the first question mark of its target.
        headers: All of its headers, in the order in which they were sent.

    Raises:
        AwsError: It has none, more than one, one of another kind, or a malformed one.
    """
    sent = [(name.lower(), value) for name, value in headers]
    several = sorted(name for name, count in Counter(name for name, _ in sent).items() if count > 1 and name in _ONCE)
    if several:
        raise _refused("IncompleteSignature", f"The request has several headers {several[0]}; send one.")
    if any(name == "content-type" and _FORM in value.lower() for name, value in sent):
        raise _refused("IncompleteSignature", "Forms have credentials of their own; send the content itself.")
    found = dict(sent)
    parameters = _credentials_in(query)
    if "authorization" in found:
        signature = _in_header(found, parameters)
    elif parameters:
        signature = _in_query(found, parameters)
    else:
        raise _refused("MissingAuthenticationToken", f"The request is not signed: sign it with {ALGORITHM}.")
    _check_signed_headers(signature, found)
    return signature


def _credentials_in(query: str) -> list[tuple[str, str]]:
    """Return the parameters of a query that are credentials of any kind, by whatever spelling."""
    if not query.isascii() or "#" in query:
        raise _refused("IncompleteSignature", "The query has characters that are not encoded; encode them.")
    return [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name.lower() in _CREDENTIALS]


def _in_header(headers: dict[str, str], parameters: list[tuple[str, str]]) -> Signature:
    if parameters:
        raise _refused("IncompleteSignature", "The request has credentials in its header and in its query; send one.")
    parts, at = _HEADER.fullmatch(headers["authorization"]), headers.get("x-amz-date", "")
    if parts is None:
        raise _refused("IncompleteSignature", f"The header Authorization is no well-formed {ALGORITHM}.")
    if not _AT.fullmatch(at) or not at.startswith(parts["date"]):
        raise _refused(
            "IncompleteSignature",
            "The header X-Amz-Date is not of the form 20260102T030405Z on the date of Credential.",
        )
    return Signature(
        access_key=parts["key"],
        at=at,
        region=parts["region"],
        service=parts["service"],
        signed_headers=tuple(parts["names"].split(";")),
        value=parts["value"],
        token=headers.get(_TOKEN.lower(), ""),
        expires_s=None,
    )


def _in_query(headers: dict[str, str], parameters: list[tuple[str, str]]) -> Signature:
    given = dict(parameters)
    known = set(given) <= {*_QUERY, _TOKEN}
    if not known or len(given) < len(parameters) or _TOKEN.lower() in headers:
        raise _refused("IncompleteSignature", f"The request has credentials of several kinds, or none of {ALGORITHM}.")
    read_parts: dict[str, str] = {}
    for name, pattern in _QUERY.items():
        matched = pattern.fullmatch(given.get(name, ""))
        if matched is None:
            raise _refused("IncompleteSignature", f"The parameter {name} is missing or malformed.")
        read_parts |= matched.groupdict()
    if not read_parts["at"].startswith(read_parts["date"]):
        raise _refused("IncompleteSignature", "The parameter X-Amz-Date is of another date than X-Amz-Credential.")
    if not 1 <= (expires_s := int(read_parts["expires"])) <= LONGEST_EXPIRY_S:
        raise _refused("IncompleteSignature", f"The parameter X-Amz-Expires is not between 1 and {LONGEST_EXPIRY_S}.")
    return Signature(
        access_key=read_parts["key"],
        at=read_parts["at"],
        region=read_parts["region"],
        service=read_parts["service"],
        signed_headers=tuple(read_parts["names"].split(";")),
        value=read_parts["value"],
        token=given.get(_TOKEN, ""),
        expires_s=expires_s,
    )


def _check_signed_headers(signature: Signature, headers: dict[str, str]) -> None:
    """Raise an error if the signature does not cover what decides about the request: its host and AWS's headers."""
    needed = {"host", *(name for name in headers if name.startswith("x-amz-"))}
    if missing := sorted(needed - set(signature.signed_headers)):
        raise _refused("AccessDenied", f"The header {missing[0]} was not signed; sign it.")


def _refused(code: str, message: str) -> AwsError:
    return AwsError(code, message, status=_FORBIDDEN)
