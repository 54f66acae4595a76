"""When members of an array are stopped early, as an argument."""

from __future__ import annotations

from typing import Any

import pytest

from headway_client.cli.arguments.early_stopping import parse
from headway_client.errors import UsageError


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("metric=loss,goal=minimize", {"metric": "loss", "goal": "minimize"}),
        ("metric=a=b,minMembers=3,minSteps=0", {"metric": "a=b", "minMembers": 3, "minSteps": 0}),
        ("metric=1,minMembers=1.5", {"metric": "1", "minMembers": "1.5"}),
        (f"minMembers={'9' * 5000}", {"minMembers": "9" * 5000}),
        ('{"metric": "a,b", "minMembers": 3}', {"metric": "a,b", "minMembers": 3}),
    ],
)
def test_pairs_or_json_become_a_document(text: str, document: dict[str, Any]) -> None:
    assert parse(text) == document


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("loss", "has 'loss'; write MEMBER=VALUE"),
        ("metric=loss,", "has ''; write MEMBER=VALUE"),
        ("metric=loss,metric=accuracy", "has metric twice"),
        ("{metric}", "is no JSON"),
        ('{"metric":' * 100_000, "is nested more than"),
    ],
)
def test_what_is_neither_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(text)


def test_a_number_that_is_too_long_is_refused_as_what_it_is() -> None:
    assert parse(f"minSteps={'9' * 5000}") == {"minSteps": "9" * 5000}
