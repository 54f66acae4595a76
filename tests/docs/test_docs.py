"""The docs match the code: examples run, diagrams and limits are compared, links resolve."""

from __future__ import annotations

import importlib
import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from headway.accounting.prices import Prices
from headway.api_documents.arrays import MemberPage
from headway.api_documents.batches import BatchResults
from headway.api_documents.codec import json_names
from headway.api_documents.dead_letters import LetterQueue
from headway.api_documents.events import EventPage
from headway.api_documents.forecast import Explanation, Forecast, WhatIf
from headway.api_documents.jobs import DryRun, Job
from headway.api_documents.pools import PoolUse as PoolUseDocument
from headway.api_documents.summary import Summary
from headway.api_documents.usage import HistoryPage, Usage
from headway.lifecycle import ATTEMPT_TRANSITIONS, JOB_TRANSITIONS, TERMINAL, JobState
from headway.reasons import outside
from headway_service import errors
from headway_service.accounting.reader import Step, UsageRow
from headway_service.admission import admit
from headway_service.api.documents.dead_letters import letter_document, redrive_document
from headway_service.api.documents.jobs import job_document
from headway_service.api.documents.pools import pool_document
from headway_service.api.documents.refusals import refusal_body
from headway_service.api.documents.rogue_jobs import rogue_document
from headway_service.api.documents.usage import ended_job_document, usage_document
from headway_service.api.routes.forecast import Changes
from headway_service.config import document as configuration
from headway_service.dead_letters.parser import content_of
from headway_service.dead_letters.redrive import ReadLetter, Redrive
from headway_service.pools.capacity import PoolUse
from headway_service.ports.messaging import DeadLetter
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from tests.service.world import ROOT as CALLER
from tests.service.world import World, on, request

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a page in one language."""
    return [m["text"] for m in BLOCK.finditer((ROOT / page).read_text()) if m["language"] == language]


def test_the_diagram_of_a_job_is_drawn_from_its_transition_table() -> None:
    lines = ["stateDiagram-v2", "    [*] --> pending: submit"]
    lines += [f"    {state} --> {following}: {trigger}" for (state, trigger), following in JOB_TRANSITIONS.items()]
    lines += [f"    {state} --> [*]" for state in JobState if state in TERMINAL]
    assert blocks("docs/reference/semantics.md", "mermaid")[0].splitlines() == lines


def test_the_diagram_of_an_attempt_is_drawn_from_its_transition_table() -> None:
    lines = ["stateDiagram-v2", "    [*] --> launching: intent"]
    lines += [f"    {state} --> {following}: {trigger}" for (state, trigger), following in ATTEMPT_TRANSITIONS.items()]
    lines += ["    ended --> [*]"]
    assert blocks("docs/reference/semantics.md", "mermaid")[1].splitlines() == lines


def limits() -> list[tuple[str, str]]:
    text = (ROOT / "docs/reference/semantics.md").read_text().partition("## Limits")[2]
    rows = re.findall(r"^\| [^|]+ \| (?P<limit>[^|]+) \| `(?P<name>[\w.]+)` \|$", text, re.MULTILINE)
    return [(name, limit.strip()) for limit, name in rows]


@pytest.mark.parametrize(("name", "limit"), limits(), ids=[name for name, _ in limits()])
def test_a_limit_in_the_docs_is_the_limit_in_the_code(name: str, limit: str) -> None:
    module, _, constant = name.rpartition(".")
    assert int(re.findall(r"\d+", limit)[-1]) == getattr(importlib.import_module(module), constant)


def test_every_public_limit_of_the_code_is_in_the_docs() -> None:
    documented = {name for name, _ in limits()}
    # DynamoDB's limits, which the in-memory table imitates; they are not limits of the queue.
    elsewhere = {"headway_service.ports.table.MAX_TRANSACTION_WRITES", "headway_service.ports.table.MAX_ITEM_BYTES"}
    found = set()
    for folder, package in (("core", "headway"), ("service", "headway_service")):
        source = ROOT / "layers" / folder / "src"
        for path in sorted((source / package).rglob("*.py")):
            module = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
            for constant in re.findall(r"^(MAX_\w+) = ", path.read_text(), re.MULTILINE):
                found.add(f"{module}.{constant}")
    assert found - elsewhere <= documented


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_resolves(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_json_block_is_json_and_every_python_block_compiles(page: Path) -> None:
    name = str(page.relative_to(ROOT))
    for text in blocks(name, "json"):
        json.loads(text)
    for text in blocks(name, "python"):
        compile(text, name, "exec")


DAY = date(2026, 1, 1)


def keys(document: Any) -> set[str]:
    """Return the members of a document."""
    return set(document if isinstance(document, dict) else json_names(type(document)).values())


def test_the_documents_of_the_api_page_have_the_fields_of_the_answers() -> None:
    _, job, history, usage, _, _, _, _, _, _, _, _, _, rogue, letter, refusal, document = (
        json.loads(text) for text in blocks("docs/reference/api.md", "json")
    )
    seen = World().submit("a")
    assert keys(job) == keys(job_document(seen))
    assert keys(job["reason"]) == keys(job_document(seen).reason)
    assert keys(history["jobs"][0]) == keys(ended_job_document(seen.job, Prices()))
    (row,) = usage_document("team", DAY, DAY, Step.TOTAL, [UsageRow(name="", period="", parts={})], Prices(), 0).rows
    assert keys(usage["rows"][0]) == keys(row)
    bypassing = RogueJobRecord(
        training_job_name="a", arn="arn", created_ms=1, training_job_status="InProgress", demand={}, limit_ms=1,
        since_ms=1, seen_ms=1, reason=ReasonRecord.of(outside({}, ())), config_version=1,
    )  # fmt: skip
    assert keys(rogue) == keys(rogue_document(bypassing))
    dead = DeadLetter(message_id="m1", receipt="r1", body="{}", attributes={}, sent_ms=0, receive_count=1)
    read = ReadLetter(queue=LetterQueue.EVENT, letter=dead, content=content_of(LetterQueue.EVENT, dead))
    assert keys(letter) == keys(letter_document(read))
    wrong = request("a", RoleArn=None, ResourceConfig=on(0))
    with pytest.raises(errors.InvalidRequest) as raised:
        admit.admit(wrong, configuration.validate(document), CALLER)
    assert refusal == json.loads(refusal_body(raised.value, refusal["requestId"]))


EXAMPLES = [
    MemberPage,
    Job,
    HistoryPage,
    Usage,
    PoolUseDocument,
    BatchResults,
    DryRun,
    Explanation,
    Forecast,
    Changes,
    WhatIf,
    EventPage,
    Summary,
]


@pytest.mark.parametrize(("block", "kind"), list(enumerate(EXAMPLES)), ids=[kind.__name__ for kind in EXAMPLES])
def test_the_examples_of_the_api_page_are_accepted_and_returned_by_the_api(block: int, kind: Any) -> None:
    TypeAdapter(kind).validate_json(blocks("docs/reference/api.md", "json")[block], extra="forbid")


def test_the_page_names_every_field_of_a_pool_and_of_a_redrive_and_every_error_code() -> None:
    page = (ROOT / "docs/reference/api.md").read_text()
    for field in keys(redrive_document(Redrive())):
        assert f'"{field}"' in page
    use = PoolUse(pool="p", size=1, allocated=0, stopping=0, reserved=0, rogue=0, free=1, waiting=0)
    for field in keys(pool_document(use)):
        assert f"`{field}`" in page
    codes = [
        kind.code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.RequestError)
    ]
    for code in codes:
        assert f"`{code}`" in page


def test_the_job_of_the_quickstart_is_accepted_by_the_queue() -> None:
    (text,) = blocks("docs/tutorial/quickstart.md", "json")
    pools = configuration.validate({"pools": {"ml.p5.48xlarge": {"size": 2}}})
    admitted = admit.admit(json.loads(text), pools, CALLER)
    assert admitted.name == "first"


def test_the_makefile_has_every_target_that_the_docs_name() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for target in re.findall(r"`make ([a-z0-9-]+)", page.read_text()):
            assert target in targets, f"{page.name} names make {target}"
