"""docs/reference/events.md and its schema match the code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from headway.reasons.remedies import REMEDIES
from headway_service.config.document import validate
from headway_service.events.job_events import EVENTS, JobChange, JobEvent, schema
from headway_service.events.notifications import message_of
from tests.docs.test_docs import blocks

DOCS = Path(__file__).parents[2] / "docs/reference"
PAGE = (DOCS / "events.md").read_text()

REGENERATE = """from headway_service.events.job_events import schema
import json, pathlib
pathlib.Path("docs/reference/events.schema.json").write_text(json.dumps(schema(), indent=2) + "\\n")"""


def examples() -> list[tuple[type[JobEvent], dict[str, Any]]]:
    documents = [json.loads(text) for text in blocks("docs/reference/events.md", "json")]
    return list(zip(EVENTS, documents[: len(EVENTS)], strict=True))


def test_the_schema_is_that_of_the_code() -> None:
    told = json.loads((DOCS / "events.schema.json").read_text())
    assert told == schema(), f"write it anew: {REGENERATE}"


@pytest.mark.parametrize(("kind", "document"), examples())
def test_an_example_of_an_event_is_complete_and_valid(kind: type[JobEvent], document: dict[str, Any]) -> None:
    assert kind.model_validate(document).document() == document


@pytest.mark.parametrize("kind", EVENTS)
def test_the_page_names_every_kind_of_event_and_every_field(kind: type[JobEvent]) -> None:
    assert f"`{kind.DETAIL_TYPE}`" in PAGE
    for field in schema()["$defs"][kind.__name__]["required"]:
        assert f"`{field}`" in PAGE or f'"{field}"' in PAGE


def test_the_table_of_reasons_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (yes|no) \| (.+) \|$", PAGE.partition("## Reasons")[2], re.MULTILINE)
    assert rows == [
        (str(code), "yes" if remedy.notify else "no", remedy.text or "-") for code, remedy in REMEDIES.items()
    ]


def test_the_example_of_a_message_equals_a_sent_message() -> None:
    (text,) = blocks("docs/reference/events.md", "text")
    subject, _, body = text.partition("\n\n")
    failed = JobChange.model_validate(
        {
            **examples()[0][1],
            "code": "Failed",
            "message": re.findall(r"^Why: (.*)\.$", text, re.MULTILINE)[0],
            "remedy": REMEDIES[next(code for code in REMEDIES if code == "Failed")].text,
            "jobState": "failed",
            "previousState": "running",
        }
    )
    message = message_of(failed)
    assert (f"Subject: {message.subject}", message.text) == (subject, body)


def test_the_attributes_for_subscription_filters_are_documented() -> None:
    for name in message_of(JobChange.model_validate(examples()[0][1])).attributes:
        assert f"`{name}`" in PAGE.partition("Subscribers choose")[2]


def test_the_example_of_a_policy_is_accepted_by_the_queue() -> None:
    document = json.loads(blocks("docs/reference/events.md", "json")[-1])
    assert validate(document).notifications.tell("Failed", "research")
