"""Names of users and roles."""

from __future__ import annotations


def short_name(arn: str | None) -> str | None:
    """Return who an ARN names in one word: ``ada`` for ``arn:aws:sts::123456789012:assumed-role/Research/ada``.

    Two principals may have the same; only the ARN tells them apart.
    """
    return None if arn is None else arn.rpartition(":")[2].rpartition("/")[2] or arn
