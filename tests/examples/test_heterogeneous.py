"""The images of examples/heterogeneous, how they are made ahead, and how they get to the trainer."""

from __future__ import annotations

import itertools
import json
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import heterogeneous
from examples.heterogeneous import images, train
from examples.heterogeneous.images import Batch, augmented
from examples.heterogeneous.prefetch import SourceEnded, prefetched
from tests.examples.environments import run_with
from tests.sandbox.waiting import until

GROUPS = [
    {"instance_group_name": "trainer", "instance_type": "ml.g5.xlarge", "hosts": ["algo-1"]},
    {"instance_group_name": "data", "instance_type": "ml.c5.2xlarge", "hosts": ["algo-2", "algo-3"]},
]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "AUGMENT_S", 0.0)
    monkeypatch.setattr(train, "STEP_S", 0.0)


def test_a_batch_is_the_same_after_its_way_to_the_trainer():
    batch = next(augmented(1, 0))
    received = Batch.from_bytes(batch.to_bytes())
    assert np.array_equal(received.images, batch.images)
    assert np.array_equal(received.labels, batch.labels)


def test_each_worker_makes_other_images_which_depend_on_the_seed_only():
    first, again, other = (next(augmented(1, worker)).images for worker in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_about_half_of_the_images_are_flipped(monkeypatch: pytest.MonkeyPatch):
    plain = np.arange(images.BATCH * 2 * 2 * 3, dtype=np.uint8).reshape(images.BATCH, 2, 2, 3)
    flipped = images._flipped(plain, np.random.default_rng(0))
    same = [np.array_equal(a, b) for a, b in zip(plain, flipped, strict=True)]
    assert all(keeps or np.array_equal(a[:, ::-1], b) for keeps, a, b in zip(same, plain, flipped, strict=True))
    assert images.BATCH / 4 < sum(same) < images.BATCH * 3 / 4


@settings(max_examples=20)
@given(sources=st.integers(1, 5), ahead=st.integers(1, 5), count=st.integers(1, 50))
def test_the_items_of_each_source_arrive_in_its_order_and_without_gaps(sources: int, ahead: int, count: int):
    seen = defaultdict(list)
    each = [zip(itertools.repeat(source), itertools.count(), strict=False) for source in range(sources)]
    with closing(prefetched(each, ahead=ahead)) as items:
        for source, number in islice(items, count):
            seen[source].append(number)
    assert all(numbers == list(range(len(numbers))) for numbers in seen.values())


def test_sources_make_no_more_than_the_items_ahead():
    made = []

    def source() -> Iterator[int]:
        for number in itertools.count():
            made.append(number)
            yield number

    with closing(prefetched([source()], ahead=3)) as items:
        assert list(islice(items, 2)) == [0, 1]
        until(lambda: len(made) >= 2 + 3)
        assert len(made) <= 2 + 3 + 1  # one more waits for its place


def test_the_threads_end_with_the_consumer():
    before = set(threading.enumerate())
    with closing(prefetched([itertools.count(), itertools.count()], ahead=1)) as items:
        next(items)
        workers = set(threading.enumerate()) - before
        assert len(workers) == 2
    until(lambda: not any(worker.is_alive() for worker in workers))


def test_a_source_that_fails_is_an_error_of_the_consumer():
    def source() -> Iterator[int]:
        yield 1
        raise OSError("host is gone")

    items = prefetched([source()], ahead=5)
    assert next(items) == 1
    with pytest.raises(SourceEnded, match="source 0") as raised:
        next(items)
    assert isinstance(raised.value.__cause__, OSError)


def test_a_source_that_ends_is_an_error_of_the_consumer():
    with pytest.raises(SourceEnded):
        list(prefetched([iter([1])], ahead=5))


@pytest.mark.parametrize(
    ("resources", "hosts"),
    [({"instance_groups": GROUPS}, ["algo-2", "algo-3"]), ({"instance_groups": GROUPS[:1]}, []), ({}, [])],
    ids=["with the group", "without it", "without groups"],
)
def test_the_data_hosts_are_those_of_the_group(resources: dict[str, Any], hosts: list[str]):
    assert train.hosts_of(resources, "data") == hosts


def test_no_two_workers_of_a_job_make_the_same_images():
    each = [
        next(worker).images.tobytes()
        for host in ("algo-1", "algo-2")
        for worker in train.workers_of({"hosts": ["algo-1", "algo-2"], "current_host": host}, 2, seed=1)
    ]
    assert len(set(each)) == 4


def test_the_training_learns_and_prints_its_throughput(capsys: pytest.CaptureFixture[str]):
    weights = train.train(augmented(1, 0), steps=60, warm_up=5)
    _, loss = train.train_step(weights, next(augmented(2, 0)))
    assert loss < np.log(images.CLASSES) * 0.9
    assert "images_per_s=" in capsys.readouterr().out


def test_the_steps_of_the_warm_up_do_not_count_in_the_throughput(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    now_s = 0.0

    def arriving() -> Iterator[Batch]:
        nonlocal now_s
        for number, batch in enumerate(augmented(1, 0)):
            now_s += 10.0 if number < 3 else 0.5
            yield batch

    monkeypatch.setattr(time, "perf_counter", lambda: now_s)
    train.train(arriving(), steps=7, warm_up=3)
    assert f"images_per_s={images.BATCH / 0.5:.1f} waiting=1.00" in capsys.readouterr().out


class DataService:
    """In place of the module of that name, which needs gRPC: notes who serves and from whom batches are received."""

    def __init__(self) -> None:
        self.serving: list[str] = []
        self.received_from: list[str] = []

    def serve(self, host: str, batches: Callable[[], Iterator[Batch]]) -> None:
        self.serving.append(host)
        next(batches())

    def receive(self, hosts: Sequence[str], *, ahead: int) -> Iterator[Batch]:
        self.received_from += hosts
        return prefetched([augmented(1, 0)], ahead=ahead)


@pytest.mark.parametrize(
    ("host", "group", "groups", "serving", "received_from"),
    [
        ("algo-1", "homogeneousCluster", [], [], []),
        ("algo-1", "trainer", GROUPS, [], ["algo-2", "algo-3"]),
        ("algo-3", "data", GROUPS, ["algo-3"], []),
    ],
    ids=["without groups", "the trainer", "a data host"],
)
def test_a_host_does_what_its_group_does(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    group: str,
    groups: list[dict[str, Any]],
    serving: list[str],
    received_from: list[str],
):
    service = DataService()
    monkeypatch.setattr(heterogeneous, "data_service", service, raising=False)
    monkeypatch.setitem(sys.modules, "examples.heterogeneous.data_service", service)
    hosts = ["algo-1", "algo-2", "algo-3"]
    resources = {"current_host": host, "current_group_name": group, "hosts": hosts, "instance_groups": groups}
    (tmp_path / "resourceconfig.json").write_text(json.dumps(resources))
    options = {
        "steps": 3,
        "warm-up": 1,
        "trainer-workers": 2,
        "data-workers": 2,
        "model-dir": tmp_path,
        "resources": tmp_path / "resourceconfig.json",
    }
    monkeypatch.setattr(sys, "argv", ["train", *(f"--{key}={value}" for key, value in options.items())])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    train.main()
    assert (service.serving, service.received_from) == (serving, received_from)
    assert (tmp_path / "model.npz").exists() == (not serving)


SERVICE = """
from itertools import islice
from threading import Thread
from examples.heterogeneous import data_service, images
from examples.heterogeneous.data_service import receive, serve
images.AUGMENT_S = 0
host = "127.0.0.1"
"""


@pytest.mark.parametrize(
    ("code", "output", "error"),
    [
        (
            """
server = Thread(target=serve, args=(host, lambda: images.augmented(1, 0)))
server.start()
batches = receive([host], ahead=2)
print(sum(len(batch.labels) for batch in islice(batches, 5)))
batches.close()
server.join(timeout=30)
print("serves" if server.is_alive() else "ended")
""",
            "160\nended\n",
            "",
        ),
        ("serve(host, lambda: images.augmented(1, 0), timeout_s=0.2)", "", "No trainer has called 127.0.0.1"),
        ("next(receive([host], ahead=2, timeout_s=0.2))", "", "The data host 127.0.0.1 was not there within 0.2 s."),
        (
            """
Thread(target=serve, args=(host, lambda: islice(images.augmented(1, 0), 2)), daemon=True).start()
list(receive([host], ahead=2))
""",
            "",
            "SourceEnded: source 0 has ended",
        ),
    ],
    ids=["hangs up", "no trainer", "no data host", "a data host ends"],
)
def test_the_trainer_and_its_data_hosts_notice_when_the_other_side_is_gone(code: str, output: str, error: str):
    port = f"data_service.PORT = {20_000 + threading.get_native_id() % 10_000}\n"
    ended = run_with("examples", SERVICE + port + code)
    assert (ended.stdout, ended.returncode) == (output, 1 if error else 0), ended.stderr
    assert error in ended.stderr
