"""The table of teams says what each used lately where that counts, and is as before where it does not."""

from __future__ import annotations

import pytest

from headway_client.cli.output.teams import team_rows
from headway_client.models import TeamUse

P5 = "ml.p5.48xlarge"


def team(name: str, lately: float | None = None) -> TeamUse:
    return TeamUse(
        team=name, weight=1, guaranteed={}, limit={}, used={P5: 2}, borrowed={P5: 1}, waiting={}, used_lately=lately
    )


@pytest.mark.parametrize(
    ("teams", "columns", "first"),
    [
        ([team("a")], "Team Weight Pool Guaranteed Used Borrowed Waiting", f"a 1 {P5} 0 2 1 0"),
        (
            [team("a", 0.614), team("b")],
            "Team Weight Lately Pool Guaranteed Used Borrowed Waiting",
            f"a 1 61% {P5} 0 2 1 0",
        ),
    ],
)
def test_the_columns(teams: list[TeamUse], columns: str, first: str):
    found = team_rows(teams)
    assert found.headers == columns.split()
    assert found.rows[0] == first.split()
