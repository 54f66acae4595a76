"""The training jobs of a sandbox whose saved state somebody else has changed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.errors import JournalDamaged, JournalOfOtherVersion
from headway_sandbox.journal.journal import Journal
from headway_sandbox.sagemaker.request_builder import P5, training_request
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.state_machine import SageMakerSettings
from headway_sandbox.server.saved_fleet import JOBS, SavedFleet, load_fleet


@pytest.fixture
def path(tmp_path: Path) -> Path:
    journal = Journal(tmp_path / "journal")
    fleet = FakeSageMaker()
    saved = SavedFleet(fleet, journal)
    fleet.call("CreateTrainingJob", training_request("a", [(P5, 1)], run_s=60), now=1000.0)
    saved.put_changes()
    journal.close()
    return tmp_path / "journal"


def load(path: Path, collection: str = "", name: str = "", document: Any = None) -> FakeSageMaker:
    journal = Journal(path)
    if collection:
        journal.put(collection, name, document)
        journal.commit()
    try:
        return load_fleet(journal, SageMakerSettings(), random.Random(1))
    finally:
        journal.close()


def test_saved_training_jobs_are_loaded(path: Path) -> None:
    assert [job.name for job in load(path).jobs(now=1000.0)] == ["a"]


@pytest.mark.parametrize(
    ("collection", "name", "document"),
    [
        ("fleet", "state", []),
        ("fleet", "state", {}),
        ("fleet", "state", {"account": "123456789012", "region": "eu-west-1", "faults": 1}),
        (JOBS, "a", None),
        (JOBS, "a", {"name": "a"}),
        (JOBS, "a", {"name": "a", "created": "soon"}),
        (JOBS, "a", "text"),
    ],
)
def test_a_state_that_no_server_has_saved_is_refused(path: Path, collection: str, name: str, document: Any) -> None:
    with pytest.raises(JournalDamaged, match="Remove the state directory"):
        load(path, collection, name, document)


@pytest.mark.parametrize(
    ("collection", "name", "member", "value"),
    [(JOBS, "a", "script", 1), ("fleet", "state", "faults", {"warm_pool_choice": "x"})],
)
def test_a_saved_document_with_another_value_is_refused(
    path: Path, collection: str, name: str, member: str, value: Any
) -> None:
    journal = Journal(path)
    document = journal.read(collection)[name]
    journal.close()
    assert member in document
    with pytest.raises(JournalDamaged, match="Remove the state directory"):
        load(path, collection, name, {**document, member: value})


def test_the_state_of_another_account_is_refused(path: Path) -> None:
    with pytest.raises(JournalOfOtherVersion, match="account 1 in x"):
        load(path, "fleet", "state", {"account": "1", "region": "x"})
