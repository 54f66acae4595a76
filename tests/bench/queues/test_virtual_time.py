"""The stream comes in batches as on AWS: of a shard, and of what was written within the window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.queues import virtual_time
from bench.queues.virtual_time import BATCH, SHARDS, WINDOW_S, MeteredQueue, usual_request


class Watched(MeteredQueue):
    """Notes the batches of the stream: the keys of the items, and when each was written, s."""

    def __init__(self) -> None:
        super().__init__(8)
        self.batches: list[list[tuple[str, int]]] = []

    def invoke(self, function: str, payload: Mapping[str, Any], remaining_ms: int = 25_000) -> Any:
        if function == "tell":
            records = [each["dynamodb"] for each in payload["Records"]]
            self.batches.append(
                [(each["Keys"]["pk"]["S"], int(each["ApproximateCreationDateTime"])) for each in records]
            )
        return super().invoke(function, payload, remaining_ms)


def together(*, run_s: tuple[int, ...]) -> Watched:
    """Jobs that are submitted at once and run for so long."""
    world = Watched()
    world.minute()
    world.submit_at_once(usual_request(f"job-{number}", run_s=each) for number, each in enumerate(run_s))
    return world


def test_the_window_and_the_batch_are_those_of_the_template() -> None:
    template = (Path(__file__).parents[3] / "template.yaml").read_text(encoding="utf-8")
    (stream,) = re.findall(r"Stream: !GetAtt JobsTable.StreamArn\n((?: {12}.*\n)+)", template)
    assert f"BatchSize: {BATCH}\n" in stream
    assert f"MaximumBatchingWindowInSeconds: {WINDOW_S}\n" in stream


def test_what_is_written_within_a_second_comes_in_one_batch_of_each_shard() -> None:
    world = together(run_s=(600,) * 8)
    assert 1 < len(world.batches) <= SHARDS
    keys = [{key for key, _ in batch} for batch in world.batches]
    assert sum(map(len, keys)) == len(set[str]().union(*keys)) == 8, "all changes of a job are in one shard"
    world.batches.clear()
    world.pass_time(3600)
    assert len(world.batches) == len(keys), "they all end in the same second"


def test_what_is_written_later_comes_in_another_batch() -> None:
    world = together(run_s=(600, 601, 602, 603))
    world.batches.clear()
    world.pass_time(3600)
    assert len(world.batches) == 4
    assert all(len({at_s for _, at_s in batch}) == 1 for batch in world.batches)


def test_no_batch_has_more_records_than_the_template_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "BATCH", 3)
    world = together(run_s=(600,) * 8)
    assert {len(batch) for batch in world.batches} <= {1, 2, 3}
    assert sum(map(len, world.batches)) == 16
