"""A queue to be measured lives as long as its block, and no longer if it cannot be made ready."""

from __future__ import annotations

from typing import Any

import pytest

from bench.queues import deployed
from bench.queues.deployed import DeployedQueue
from headway_sandbox.sagemaker.request_builder import P5


class FakeSandbox:
    """Whether it runs, and the number of instances in use."""

    def __init__(self, *, durations: Any, parameters: dict[str, str]) -> None:
        self.parameters = parameters
        self.runs: list[bool] = []
        self.used = 0
        self.busy = [True, False, True]

    def __enter__(self) -> FakeSandbox:
        self.runs.append(True)
        return self

    def __exit__(self, *_: object) -> None:
        self.runs.append(False)

    def in_use(self) -> dict[str, int]:
        return {P5: self.used}

    def functions(self) -> list[dict[str, Any]]:
        return [{"busy": self.busy.pop(0) if self.busy else False}]


class Queue(DeployedQueue):
    """One that can fail."""

    def __init__(self, failure: BaseException | None = None) -> None:
        super().__init__(3, {"ApiRateLimit": "7"})
        self.failure = failure
        self.fake: Any = self.sandbox

    def prepare(self) -> None:
        if self.failure:
            raise self.failure


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployed, "Sandbox", FakeSandbox)
    monkeypatch.setattr(deployed, "_LOOK_S", 0)


def test_the_sandbox_runs_while_the_block_does():
    with Queue() as queue:
        assert queue.fake.runs == [True]
    assert queue.fake.runs == [True, False]
    assert queue.fake.parameters == {"PoolInstanceType": P5, "PoolSize": "3", "ApiRateLimit": "7"}


@pytest.mark.parametrize("failure", [RuntimeError("no such pool"), KeyboardInterrupt()])
def test_a_sandbox_whose_queue_is_not_made_ready_is_stopped(failure):
    queue = Queue(failure)
    with pytest.raises(type(failure)), queue:
        pytest.fail("the block was entered")
    assert queue.fake.runs == [True, False]


@pytest.mark.parametrize(("used", "full"), [(2, False), (3, True)])
def test_it_is_full_when_all_instances_are_in_use(used, full):
    queue = Queue()
    queue.fake.used = used
    assert queue.is_full() is full


def test_it_has_settled_when_no_function_was_busy_for_several_looks():
    queue = Queue()
    queue.come_to_rest()
    assert queue.fake.busy == []
