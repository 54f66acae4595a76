"""Placeholders for resources that the sandbox does not have."""

from __future__ import annotations

# ministack treats this access key as the account's root and does not check its signatures.
ROOT = ("test", "test")
# The default VPC endpoint of calls to the private API (`api_gateway.VPC_ENDPOINT_HEADER` sets another).
VPC_ENDPOINT = "vpce-0123456789abcdef0"
