"""The options that set fields of a submission."""

from __future__ import annotations

import re
from collections.abc import Mapping

OPTIONS: Mapping[str, str] = {
    "alternatives": "--alternative",
    "waitAtMostSeconds": "--wait-at-most",
    "portableCheckpoint": "--portable-checkpoint",
    "dependsOn": "--after",
    "sweep": "--sweep",
    "atOnce": "--at-once",
    "maxFailures": "--max-failures",
    "earlyStopping": "--early-stopping",
    "reuse": "--reuse",
    "reuseUnpinned": "--reuse-unpinned",
}
"""The option of each member that a submission has beside its CreateTrainingJob request."""


def with_option(path: str) -> str:
    """Return the path of a field with the option that sets it, such as ``dependsOn[0].job (--after)``."""
    option = OPTIONS.get(re.split(r"[.\[]", path, maxsplit=1)[0])
    return path if option is None else f"{path} ({option})"
