"""What stands in the sandbox for what it doesn't have."""

from __future__ import annotations

# ministack takes this access key for the account's root, and checks no signature made with it.
ROOT = ("test", "test")
# The VPC endpoint that the private API is reached through, unless a call says otherwise (see emulated_api.py).
VPC_ENDPOINT = "vpce-0123456789abcdef0"
