"""Refuses what a web page sends: no page may call the sandbox, which runs code as its user.

A page's requests have an Origin or say where they come from, and one that has its own name resolved to this machine
(DNS rebinding) names itself as the host. Source: Fetch standard, "Origin header"; W3C, "Fetch Metadata Request
Headers".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from headway_sandbox.errors import AwsError

# SDKs address buckets and APIs as hosts below that of the endpoint; every name below localhost is this machine's
# (RFC 6761, 6.3).
_OWN_HOST = r"(?:127\.0\.0\.1|(?:[a-z0-9][a-z0-9-]*\.(?:s3\.|execute-api\.)?)?localhost)"
_TYPED = "none"
"""Value of Sec-Fetch-Site for a URL that the user has typed."""


def check(headers: Mapping[str, str], *, port: int) -> None:
    """Raise an error if a page has sent a request.

    Args:
        headers: The request's headers, with names in lower case.
        port: The server's port.

    Raises:
        AwsError: The request has an Origin, comes from a page, or is for another host.
    """
    if "origin" in headers or headers.get("sec-fetch-site", _TYPED) != _TYPED:
        raise AwsError("AccessDenied", "Web pages may not call the sandbox.", status=403)
    if re.fullmatch(rf"{_OWN_HOST}:{port}", headers.get("host", "")) is None:
        raise AwsError("AccessDenied", f"The host is not the sandbox's: call 127.0.0.1:{port}.", status=403)
