"""Format the verdict of a policy on a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.sanitize import strip_control_characters
from headway_client.cli.output.table import NONE, Table


def rehearsal_sheet(rehearsal: Mapping[str, Any], *, width: int | None = None) -> str:
    """Return the verdict of a policy on a request: by rule, and as a whole.

    Args:
        rehearsal: the document of the verdict.
        width: maximum length of a line; None for no limit.
    """
    rows = [row for verdict in rehearsal["rules"] for row in _verdict_rows(verdict)]
    rows += [[NONE, "invalid", problem["field"], problem["message"]] for problem in rehearsal["problems"]]
    headers = ["Rule", "Result", "Field", "What to change"]
    table = Table(headers=headers, rows=rows).text(width=width) + "\n" if rows else ""
    team = f" of team {rehearsal['team']}" if rehearsal["team"] else ""
    verb = "refuse" if rehearsal["refused"] else "accept"
    return table + strip_control_characters(f"The queue would {verb} this job{team}.")


def _verdict_rows(verdict: Mapping[str, Any]) -> list[list[str]]:
    broken = [[verdict["rule"], "broken", each["field"], each["message"]] for each in verdict["violations"]]
    return broken or [[verdict["rule"], "kept" if verdict["applies"] else "doesn't apply", NONE, NONE]]
