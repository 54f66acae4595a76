"""Repairs of sums of usage: only by comparisons that have all jobs, in requests that the service takes."""

from __future__ import annotations

from typing import Any

import pytest

from headway.accounting.differences import OTHER, Difference
from headway_client.cli.usage_comparison import MAX_REPAIRED, Comparison, repair
from headway_client.errors import ConflictError
from headway_client.models import UsageRepair
from tests.client.command_line import Run
from tests.client.fakes.server import ContractServer

FOUND = Difference(name="red", figure="attempts", stored=2, computed=1)


def comparison(**changes: Any) -> Comparison:
    exact: dict[str, Any] = {"by": "team", "day": "2026-11-24", "differences": [FOUND]}
    return Comparison(**{**exact, "incomplete": [], "unreadable": [], "keeps_earlier": True, "revision": 3, **changes})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"incomplete": ["a", "b\x1b"]}, r"a, b\\x1b"),
        ({"unreadable": ["c\x1b"]}, r"damaged: c\\x1b; correct"),
        ({"keeps_earlier": False}, "may have been forgotten"),
        ({"differences": [FOUND, Difference(name=OTHER, figure="w.1", stored=2, computed=1)]}, "several names"),
    ],
    ids=["exact", "attempts are missing", "jobs are damaged", "jobs may be missing", "names share a sum"],
)
def test_a_comparison_in_which_something_may_be_missing_is_not_repaired(
    changes: dict[str, Any], reason: str | None
) -> None:
    if reason is None:
        comparison(**changes).require_exact()
    else:
        with pytest.raises(ConflictError, match=reason):
            comparison(**changes).require_exact()


class Api:
    """Counts repairs like the service."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def repair_usage(self, by: str, day: str, revision: int, differences: list[Difference]) -> UsageRepair:
        self.calls.append((revision, len(differences)))
        return UsageRepair(by=by, day=day, repaired=len(differences), revision=revision + 1)


def test_a_repair_of_many_figures_is_several_requests_one_after_the_other() -> None:
    api = Api()
    repair(api, comparison(differences=[FOUND] * (2 * MAX_REPAIRED + 1)))  # type: ignore[arg-type]
    assert api.calls == [(3, MAX_REPAIRED), (4, MAX_REPAIRED), (5, 1)]


def test_nothing_is_repaired_before_all_comparisons_are_exact_and_confirmed(run: Run, server: ContractServer) -> None:
    for arguments in (["2026-11-23"], ["2026-11-24", "--yes"], ["2026-11-22", "--yes"]):
        code, out, _ = run("recount", "--repair", *arguments)
        assert code != 0
        assert "too much" in out
    assert {each.method for each in server.received} == {"GET"}
