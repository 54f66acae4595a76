"""Where the credentials for signing come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials


class CredentialsSource(Protocol):
    """The part of botocore's `Credentials` that signing needs; refreshable credentials renew themselves."""

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """Return the credentials that are valid now."""
