"""The permissions that people lose by a configuration, entry by entry."""

from __future__ import annotations

import pytest

from headway_service.config.authorization import Access, Details, People, TrainingRoles
from headway_service.effects.rights import lost_rights

ADA, BOB = "user/ada", "user/bob"
RESEARCH = TrainingRoles(roles=["arn:a"], teams=["red"])
OTHERS = TrainingRoles(roles=["arn:b", "arn:c"], callers=["*"])


def red(*members: str, leads: tuple[str, ...] = ()) -> Access:
    return Access(teams={"red": People(members=members, leads=leads)})


# name, before, after, what is lost
CASES: list[tuple[str, Access, Access, list[str]]] = [
    ("nothing changes", red(ADA), red(ADA), []),
    ("an administrator goes", Access(admins=[ADA, BOB]), Access(admins=[BOB]), ["access.admins: user/ada"]),
    ("an administrator comes", Access(), Access(admins=[ADA]), []),
    ("a member goes", red(ADA, BOB), red(BOB), ["teams.red.members: user/ada"]),
    ("a member becomes a lead", red(ADA, BOB), red(BOB, leads=(ADA,)), []),
    ("a lead becomes a member", red(BOB, leads=(ADA,)), red(ADA, BOB), ["teams.red.leads: user/ada"]),
    ("a team is opened", red(ADA, leads=(BOB,)), red(), ["teams.red.leads: user/bob"]),
    (
        "the last open team is closed",
        red(),
        red(ADA),
        ["teams: callers who are in no team may no longer submit", "teams.red: every caller's submissions"],
    ),
    (
        "a team is removed",
        red(ADA, leads=(BOB,)),
        Access(),
        ["teams.red.leads: user/bob", "teams.red.members: user/ada"],
    ),
    ("the first team lists people", Access(), red(ADA), ["teams: callers who are in no team may no longer submit"]),
    ("an open team is added", Access(), red(), []),
    ("a pattern covers who was named", Access(admins=[ADA]), Access(admins=["user/*"]), []),
    (
        "fewer see details",
        Access(details=Details.EVERYONE),
        Access(details=Details.OWNER),
        ["access.details: everyone"],
    ),
    ("more see details", Access(details=Details.OWNER), Access(details=Details.TEAM), []),
    (
        "roles are granted for the first time",
        Access(),
        Access(training_roles=[RESEARCH]),
        ["access.trainingRoles: every job with every role"],
    ),
    (
        "a grant goes",
        Access(training_roles=[RESEARCH, OTHERS]),
        Access(training_roles=[RESEARCH]),
        ["access.trainingRoles.1: arn:b, arn:c"],
    ),
    ("all grants go, so every role may be used", Access(training_roles=[RESEARCH]), Access(), []),
]


@pytest.mark.parametrize(("before", "after", "lost"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_what_goes_is_told(before: Access, after: Access, lost: list[str]) -> None:
    found = lost_rights(before, after)
    assert [name for each in found for name in each.names] == lost
    if lost:
        assert found[0].count == len(lost)
        assert found[0].message.endswith(" would be taken away")
