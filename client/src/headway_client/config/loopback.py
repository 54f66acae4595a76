"""Which URLs are of this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(endpoint: str) -> bool:
    """Return whether a URL's host is this machine.

    Args:
        endpoint: the URL; what is none is no URL of this machine.
    """
    try:
        host = urlsplit(endpoint).hostname or ""
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
