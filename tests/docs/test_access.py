"""The access page: its configuration is loaded and tested, and its tables equal the code and the template."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.template import expanded
from headway_service.admission.admit import admit
from headway_service.config import access
from headway_service.config.authorization import Caller, Details
from headway_service.config.document import Configuration, validate
from headway_service.errors import InvalidRequest, NotAllowed
from tests.docs.test_docs import ROOT, blocks
from tests.service.world import ACCOUNT, ADA, BOB, on, request
from tests.template.security.test_people import calls

PAGE = (ROOT / "docs/reference/access.md").read_text()
(_POLICY, DOCUMENT) = (json.loads(text) for text in blocks("docs/reference/access.md", "json"))


def caller(name: str) -> Caller:
    return Caller(arn=f"arn:aws:sts::{ACCOUNT}:{name}", account=ACCOUNT)


PEOPLE = {
    "the owner": ADA,
    "a lead of the job's team": caller("user/lea"),
    "an administrator": caller("assumed-role/AWSReservedSSO_Platform_0123456789abcdef/adam@example.com"),
    "another member of the team": caller("assumed-role/Research/bea@example.com"),
    "any other caller": BOB,
}


def table(heading: str) -> dict[str, list[str]]:
    """Return the rows of the first table below a heading, by their first cell."""
    text = PAGE.partition(f"## {heading}\n")[2]
    rows = re.search(r"((?:^\|.*\|\n)+)", text, re.MULTILINE)
    assert rows is not None
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[1].splitlines()]
    return {first.strip("| `"): [cell.strip(" |") for cell in rest] for first, *rest in cells[2:]}


def configured(details: Details = Details.TEAM) -> Configuration:
    return validate({**DOCUMENT, "access": {**DOCUMENT["access"], "details": details}})


def held(cell: str, details: Details) -> bool:
    """Return whether a cell means yes, for a team that lists its members."""
    named = re.findall(r"`(everyone|team|owner)`", cell)
    return cell == "yes" or details in named


@pytest.mark.parametrize("who", PEOPLE)
def test_users_have_the_permissions_of_the_table(who: str) -> None:
    submits, changes, sees = table("Which jobs")[who]
    for details in Details:
        rules = configured(details).access_rules()
        assert rules.may_change(PEOPLE[who], ADA.arn, "research") is held(changes, details)
        assert rules.may_see_details(PEOPLE[who], ADA.arn, "research") is held(sees, details)
    if who != "the owner":
        rules = configured().access_rules()
        assert rules.may_submit(PEOPLE[who], "research") is (submits == "yes")


def test_the_table_has_all_users() -> None:
    assert table("Which jobs").keys() == PEOPLE.keys()


@pytest.mark.parametrize(
    ("who", "role", "team", "taken"),
    [
        (ADA, "research/Vision", None, True),
        (ADA, "Products", None, False),
        (BOB, "Products", None, True),
        (BOB, "research/Vision", None, False),
        (BOB, "Products", "research", False),
        (PEOPLE["an administrator"], "research/Vision", "research", True),
        (PEOPLE["an administrator"], "Products", "research", False),
        (caller("user/eve"), "Products", "products", False),
    ],
)
def test_the_example_permits_each_team_its_own_roles(who: Caller, role: str, team: str | None, taken: bool) -> None:
    asked = request(
        "a",
        RoleArn=f"arn:aws:iam::{ACCOUNT}:role/{role}",
        ResourceConfig=on(1, "ml.g5.xlarge"),
        Tags=[{"Key": "team", "Value": team}] if team else [],
    )
    if taken:
        admit(asked, configured(), who)
    else:
        with pytest.raises((NotAllowed, InvalidRequest)):
            admit(asked, configured(), who)


def test_permission_sets_with_a_common_prefix_are_distinguished() -> None:
    rules = configured().access_rules()
    assert rules.is_admin(PEOPLE["an administrator"])
    assert not rules.is_admin(caller("assumed-role/AWSReservedSSO_Platform_Readers_0123456789abcdef/eve@example.com"))


POLICIES = ("UserPolicy", "LeadPolicy", "OnCallPolicy", "OperatorPolicy", "AdminPolicy")


@pytest.fixture(scope="module")
def statements() -> dict[str, list[dict[str, Any]]]:
    """Return the statements of the managed policies."""
    template: dict[str, Any] = expanded(Checkout.here())
    return {name: template["Resources"][name]["Properties"]["PolicyDocument"]["Statement"] for name in POLICIES}


def test_the_table_of_calls_tells_which_policy_has_which_statement(statements) -> None:
    said: dict[str, list[str]] = {}
    for i, name in enumerate(POLICIES):
        for statement in statements[name]:
            said.setdefault(statement["Sid"], ["no"] * len(POLICIES))[i] = "yes"
    assert {sid: cells[1:] for sid, cells in table("Which calls").items()} == said


def test_the_table_of_calls_has_each_call_of_a_statement_and_no_other(statements) -> None:
    granted = {statement["Sid"]: set(calls(statement)) for statement in statements["AdminPolicy"]}
    assert {sid: set(named_calls(cells[0])) for sid, cells in table("Which calls").items()} == granted


def named_calls(cell: str) -> Iterator[str]:
    """Return the calls that a cell names: a path without a method has that of the one before."""
    method = ""
    for call in re.findall(r"`([^`]+)`", cell):
        named, _, path = call.rpartition(" ")
        method = named or method
        yield method + path


def test_the_page_names_every_field() -> None:
    for kind in (access.Access, access.TrainingRoles):
        for name, field in kind.model_fields.items():
            assert re.search(rf"`(access\.)?{field.alias or name}`", PAGE), name
