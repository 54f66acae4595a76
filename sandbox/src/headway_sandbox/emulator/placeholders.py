"""Placeholders for resources that the sandbox does not have."""

from __future__ import annotations

# The default VPC endpoint of calls to the private API (`api_gateway.VPC_ENDPOINT_HEADER` sets another).
VPC_ENDPOINT = "vpce-0123456789abcdef0"
