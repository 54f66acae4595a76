"""What must hold of the versions of records: each change makes the next one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headway_service.ports.table import Key
from headway_verification.soak.violations import require

_Item = Mapping[str, Any] | None


def check_versions(written: Iterable[tuple[Key, _Item, _Item]]) -> None:
    """Check that no change was made from a version that had been changed already: that other change would be lost.

    Args:
        written: what was written, in order: key, item before, item after. Each write has changed something.

    Raises:
        Violated: a change is lost.
    """
    for key, before, after in written:
        if before is not None and after is not None and "version" in after:
            number = after["version"]
            require(before.get("version") != number, f"two changes have made version {number} of {key.pk} {key.sk}")
