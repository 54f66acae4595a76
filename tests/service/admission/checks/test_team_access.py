"""The team that a caller's job is charged to, and all that is said of a team or a role that is not the caller's."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.admission.checks.team_access import access_errors, default_team, named_errors
from headway_service.config.authorization import Caller
from headway_service.config.document import Configuration, validate
from tests.service.admission.drafts import draft, tagged, told
from tests.service.world import ACCOUNT, ADA, BOB, P5

ROLE = "arn:aws:iam::123456789012:role/HeadwayTrainingRole"
ZOE = Caller(arn=f"arn:aws:iam::{ACCOUNT}:user/zoe", account=ACCOUNT)


def configured(teams: dict[str, Any] | None = None, roles: list[dict[str, Any]] | None = None) -> Configuration:
    return validate({"pools": {P5: {"size": 2}}, "teams": teams or {}, "access": {"trainingRoles": roles or []}})


CLOSED = {
    "red": {"members": ["user/ada"]},
    "blue": {"members": ["user/ada"], "leads": ["user/bob"]},
}
OPEN = {**CLOSED, "open": {}}


@pytest.mark.parametrize(
    ("caller", "teams", "expected"),
    [
        (ADA, CLOSED, ""),
        (BOB, CLOSED, "blue"),
        (ZOE, CLOSED, "default"),
        (None, CLOSED, "default"),
        (ADA, {}, "default"),
    ],
    ids=["several list the caller", "one lists the caller", "none does", "no caller", "no teams"],
)
def test_the_team_of_a_job_that_names_none(caller: Caller | None, teams: dict[str, Any], expected: str) -> None:
    assert default_team(caller, configured(teams)) == expected


NAMED: list[tuple[str, Caller | None, dict[str, Any], dict[str, Any], str, list[tuple[str, str]]]] = [
    ("a team that takes the job", ADA, OPEN, tagged(("team", "red")), "", []),
    ("a team that does not, which is another check's", BOB, OPEN, tagged(("team", "red")), "", []),
    ("no team, but one of its own", BOB, OPEN, {}, "blue", []),
    ("without teams the tags are just tags", ADA, {}, tagged(("team", "x"), ("headway:team", "y")), "", []),
    (
        "no team, and several list the caller",
        ADA,
        OPEN,
        {},
        "",
        [("Tags", "names no team, and you belong to several: add the tag 'team' with one of blue, red")],
    ),
    (
        "no team, and none lists the caller",
        ZOE,
        OPEN,
        {},
        "default",
        [("Tags", "names no team: add the tag 'team' with one of open")],
    ),
    (
        "no team, whoever the caller is",
        None,
        OPEN,
        {},
        "default",
        [("Tags", "names no team: add the tag 'team' with one of blue, open, red")],
    ),
    ("no team, and none takes the job, which is another check's", ZOE, CLOSED, {}, "default", []),
    (
        "an unknown team",
        ADA,
        OPEN,
        tagged(("k", "v"), ("team", "x")),
        "",
        [("Tags[1].Value", "is 'x', which is no team: use one of blue, open, red")],
    ),
    (
        "an unknown team of a caller whom none takes",
        ZOE,
        CLOSED,
        tagged(("team", "x")),
        "default",
        [("Tags[0].Value", "is 'x', which is no team")],
    ),
    (
        "an unknown team with a long name",
        ZOE,
        CLOSED,
        tagged(("team", "x" * 200)),
        "default",
        [("Tags[0].Value", f"is '{'x' * 79}, which is no team")],
    ),
    (
        "two teams",
        ADA,
        OPEN,
        tagged(("team", "red"), ("headway:team", "blue")),
        "",
        [("Tags", "names two different teams: keep one of 'team', 'headway:team'")],
    ),
    ("one team twice", ADA, OPEN, tagged(("team", "red"), ("headway:team", "red")), "", []),
    (
        "two unknown teams",
        BOB,
        CLOSED,
        tagged(("team", "x"), ("headway:team", "y")),
        "blue",
        [
            ("Tags[0].Value", "is 'x', which is no team: use one of blue"),
            ("Tags[1].Value", "is 'y', which is no team: use one of blue"),
            ("Tags", "names two different teams: keep one of 'team', 'headway:team'"),
        ],
    ),
]


@pytest.mark.parametrize(
    ("caller", "teams", "changes", "home", "expected"), [row[1:] for row in NAMED], ids=[row[0] for row in NAMED]
)
def test_what_is_said_of_how_a_request_names_its_team(
    caller: Caller | None,
    teams: dict[str, Any],
    changes: dict[str, Any],
    home: str,
    expected: list[tuple[str, str]],
) -> None:
    assert told(named_errors(draft(configured(teams), caller, home, **changes))) == expected


MANY = [f"arn:aws:iam::*:role/R{number:02}" for number in range(11)]
TEN = ", ".join(MANY[:10])
RED_ROLE = "arn:aws:iam::*:role/Red-*"
OF_RED = [{"roles": [RED_ROLE], "teams": ["red"]}]
NOBODYS = "takes your jobs: ask an administrator of the queue to make you a member (user/zoe)"
NO_MEMBER = "user/bob is not a member of team"
NOT_WITH = "which your jobs may not run with"
ALLOW = "an administrator of the queue can allow it"
ACCESS: list[tuple[str, Caller | None, dict[str, Any], list[dict[str, Any]], dict[str, Any], list[tuple[str, str]]]] = [
    ("a member", ADA, CLOSED, [], tagged(("team", "red")), []),
    ("an open team", ZOE, OPEN, [], tagged(("team", "open")), []),
    ("no teams and no roles", ZOE, {}, [], {}, []),
    ("a review that restricts no caller", None, CLOSED, OF_RED, tagged(("team", "red")), []),
    (
        "a caller whom no team takes",
        ZOE,
        CLOSED,
        [],
        tagged(("k", "v"), ("team", "red")),
        [("Tags[1].Value", f"names a team, but none {NOBODYS}")],
    ),
    (
        "a caller whom no team takes, and who names none",
        ZOE,
        CLOSED,
        [],
        {},
        [("Tags", f"names no team, and none {NOBODYS}")],
    ),
    (
        "another team",
        BOB,
        OPEN,
        [],
        tagged(("k", "v"), ("headway:team", "red")),
        [
            (
                "Tags[1].Value",
                f"{NO_MEMBER} red: use one of blue, open, or ask a lead of red or an administrator of the queue",
            )
        ],
    ),
    (
        "the default team, which is another one",
        BOB,
        {**CLOSED, "default": {"members": ["user/ada"]}},
        [],
        {},
        [
            (
                "Tags",
                f"{NO_MEMBER} default: use one of blue, or ask a lead of default or an administrator of the queue",
            )
        ],
    ),
    ("a role of the team", ADA, CLOSED, [{"roles": [ROLE], "teams": ["red"]}], tagged(("team", "red")), []),
    ("a role of the caller", ADA, {}, [{"roles": [ROLE], "callers": ["user/ada"]}], {}, []),
    (
        "a role that is not the team's",
        ADA,
        CLOSED,
        OF_RED,
        tagged(("team", "red")),
        [
            (
                "RoleArn",
                f"is '{ROLE}', which your jobs of the team red may not run with: use one of {RED_ROLE}; {ALLOW}",
            )
        ],
    ),
    (
        "no role at all, without a team",
        ADA,
        {},
        [{"roles": [ROLE], "callers": ["user/bob"]}],
        {},
        [
            (
                "RoleArn",
                f"is '{ROLE}', {NOT_WITH}; {ALLOW}",
            )
        ],
    ),
    (
        "a long role, and more roles than are named",
        ADA,
        {},
        [{"roles": MANY, "callers": ["user/ada"]}],
        {"RoleArn": f"arn:aws:iam::123456789012:role/{'x' * 200}"},
        [
            (
                "RoleArn",
                f"is 'arn:aws:iam::123456789012:role/{'x' * 88}, {NOT_WITH}: use one of {TEN}; {ALLOW}",
            )
        ],
    ),
    (
        "neither the team nor the role",
        ZOE,
        CLOSED,
        OF_RED,
        tagged(("team", "blue")),
        [
            ("Tags[0].Value", f"names a team, but none {NOBODYS}"),
            (
                "RoleArn",
                f"is '{ROLE}', which your jobs of the team blue may not run with; {ALLOW}",
            ),
        ],
    ),
]


@pytest.mark.parametrize(
    ("caller", "teams", "roles", "changes", "expected"), [row[1:] for row in ACCESS], ids=[row[0] for row in ACCESS]
)
def test_what_is_said_of_what_a_caller_may_not_do(
    caller: Caller | None,
    teams: dict[str, Any],
    roles: list[dict[str, Any]],
    changes: dict[str, Any],
    expected: list[tuple[str, str]],
) -> None:
    assert told(access_errors(draft(configured(teams, roles), caller, **changes))) == expected
