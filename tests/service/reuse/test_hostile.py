"""What one job names harms no other one: whatever it is, each tick decides, and that job computes by itself."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws

from headway.lifecycle import JobState
from headway.reasons import ReasonCode
from headway_service.admission.submission import Submission
from headway_service.aws.s3_objects import S3Objects
from headway_service.launching.report import TickReport
from headway_service.ports.objects import ObjectPage, Objects
from headway_service.testing.memory_objects import MemoryObjects
from tests.service.raw_http import BODIES, RawServer
from tests.service.reuse import hostile
from tests.service.reuse.test_reuse import DATA, OUTPUTS, channel, document, job, submit
from tests.service.world import P5, ROOT, World, on


class ObjectsWorld(World):
    """A world with other objects."""

    def __init__(self, others: Objects) -> None:
        self._others = others
        super().__init__(pools={P5: 8})

    def make_objects(self) -> Objects:
        return self._others


@pytest.fixture
def in_s3() -> Iterator[ObjectsWorld]:
    """A world with the real adapter over botocore."""
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s")
        for bucket in (DATA, OUTPUTS):
            s3.create_bucket(Bucket=bucket)
        s3.put_object(Bucket=DATA, Key="train/a", Body=b"1")
        yield ObjectsWorld(S3Objects(s3))


def in_memory() -> World:
    world = World(pools={P5: 8})
    world.objects.put(OUTPUTS, "other", b"")
    world.objects.put(DATA, "train/a", b"1")
    return world


def compare_in_a_tick(world: World, **changes: Any) -> TickReport:
    """Have `b` compared in a tick, after `a`, while `c` waits to be started. Returns the report of that tick."""
    world.submit("a")
    submit(world, "b", after=[{"job": "a"}], **changes)
    world.tick()
    world.pass_time(1200, tick=False)
    world.submit("c")
    return world.tick()


def require_harmless(world: World, report: TickReport) -> None:
    """All have started, nobody was left alone, and the queue goes on."""
    assert (report.failed, report.decisions > 0) == ([], True)
    assert world.states("b", "c") == {"b": "running", "c": "running"}
    assert job(world, "a").job_state is JobState.COMPLETED
    world.check()


def reason_of(world: World, name: str) -> str:
    """Why a job computes by itself; empty if it does not say."""
    noted = [step.reason for step in job(world, name).history if step.reason.code is ReasonCode.NOT_REUSED]
    return noted[0].message if noted else ""


# ------------------------------------------------------------------------------------------------- hyperparameters


@pytest.mark.parametrize("value", hostile.DIRECTORIES.values(), ids=hostile.DIRECTORIES)
def test_a_hyperparameter_stops_no_tick(in_s3: ObjectsWorld, value: str) -> None:
    report = compare_in_a_tick(in_s3, HyperParameters={"sagemaker_submit_directory": value})
    require_harmless(in_s3, report)


TEXT = st.text(max_size=60)
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)
TAKEN = re.compile(".{0,2500}")
"""What SageMaker takes for a hyperparameter."""


@given(
    st.one_of(
        TEXT,
        ANY_TEXT.map(json.dumps),
        ANY_TEXT.map(lambda text: json.dumps(f"s3://data/{text}")),
        TEXT.map('"s3://data/{}"'.format),
    ).filter(TAKEN.fullmatch)
)
@settings(max_examples=40)
def test_no_hyperparameter_stops_a_tick(value: str) -> None:
    world = in_memory()
    require_harmless(world, compare_in_a_tick(world, HyperParameters={"sagemaker_submit_directory": value}))


# -------------------------------------------------------------------------------------------------------- archives


def with_archive(world: World, content: bytes) -> TickReport:
    world.objects.put(DATA, "code/x.tar.gz", content)
    return compare_in_a_tick(world, HyperParameters={"sagemaker_submit_directory": '"s3://data/code/x.tar.gz"'})


@pytest.mark.parametrize("what", hostile.archives())
def test_an_archive_stops_no_tick(what: str) -> None:
    world = in_memory()
    require_harmless(world, with_archive(world, hostile.archives()[what]))


@given(st.data())
@settings(max_examples=25)
def test_no_archive_stops_a_tick(data: st.DataObject) -> None:
    whole = bytearray(hostile.TARS[data.draw(st.sampled_from(sorted(set(hostile.TARS) - {"too much content"})))][:4096])
    for _ in range(data.draw(st.integers(0, 8))):
        if whole:
            whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    packed = bytearray(gzip.compress(bytes(whole) + hostile.END))
    if data.draw(st.booleans()):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    world = in_memory()
    require_harmless(world, with_archive(world, bytes(packed)))


# ----------------------------------------------------------------------------------------------------- S3's answers


class Surprising(MemoryObjects):
    """Objects whose calls raise what nobody expects, or answer what nobody can use."""

    def __init__(self, error: Callable[[], Exception] | None = None, *, endless: bool = False) -> None:
        super().__init__({DATA: {"train/a": (b"1", 0)}, OUTPUTS: {}})
        self.error = error
        self.endless = endless

    def list(self, bucket: str, prefix: str, token: str | None = None) -> ObjectPage:
        if self.error is not None:
            raise self.error()
        page = super().list(bucket, prefix, token)
        return ObjectPage(objects=(), next_token="more") if self.endless else page


SURPRISES: dict[str, Callable[[], Exception]] = {
    "a text without an encoding": lambda: UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
    "too many calls inside each other": RecursionError,
    "no memory": MemoryError,
    "another error": lambda: ValueError("surprise"),
}


@pytest.mark.parametrize("error", SURPRISES.values(), ids=SURPRISES)
def test_an_error_that_nobody_expects_concerns_one_job_and_the_log_names_it(
    error: Callable[[], Exception], caplog: pytest.LogCaptureFixture
) -> None:
    world = ObjectsWorld(Surprising(error))
    require_harmless(world, compare_in_a_tick(world))
    assert "an error has kept the queue from comparing what it names" in reason_of(world, "b")
    (logged,) = (vars(each) for each in caplog.records if each.message == "a job is not compared with others")
    assert (logged["job"], logged["levelname"]) == ("b", "ERROR")


def test_pages_without_objects_come_to_an_end() -> None:
    world = ObjectsWorld(Surprising(endless=True))
    require_harmless(world, compare_in_a_tick(world))
    assert "it reads more than 5000 objects" in reason_of(world, "b")


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer().running() as server:
        yield server


LISTING = (
    b"<ListBucketResult><Name>data</Name><IsTruncated>false</IsTruncated><Contents><Key>code/a</Key>"
    b"<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>e</ETag><Size>%s</Size></Contents></ListBucketResult>"
)
ANSWERS: dict[str, bytes] = {
    **BODIES,
    "a size that is none": LISTING % b"-1",
    "a size that is no number": LISTING % b"x",
    "a size beyond all": LISTING % (b"9" * 5000),
    "a time that is none": (LISTING % b"1").replace(b"2026-01-01", b"0000-99-99"),
    "an entity inside another": b'<!DOCTYPE a [<!ENTITY b "b"><!ENTITY c "&b;&b;">]>' + (LISTING % b"1"),
    "elements inside each other": b"<a>" * 5000,
}


@pytest.mark.parametrize("status", [200, 403, 503])
@pytest.mark.parametrize("body", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_of_s3_stops_no_tick(server: RawServer, status: int, body: bytes) -> None:
    server.answer(status, body)
    world = ObjectsWorld(S3Objects(server.client("s3")))
    require_harmless(world, compare_in_a_tick(world, InputDataConfig=[channel("s3://data/code", "code")]))
    assert reason_of(world, "b")


class Changing(MemoryObjects):
    """Objects of which one is another one when it is read than when it was listed."""

    def __init__(self, change: Callable[[MemoryObjects], object]) -> None:
        super().__init__({DATA: {"code/a": (b"12", 0)}, OUTPUTS: {}})
        self.change = change

    def read(self, bucket: str, key: str, etag: str, size: int) -> bytes:
        self.change(self)
        return super().read(bucket, key, etag, size)


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it.put(DATA, "code/a", b"13"),
        lambda it: it.put(DATA, "code/a", b"1"),
        lambda it: it.delete(DATA, "code/a"),
    ],
    ids=["another content", "another size", "gone"],
)
def test_a_source_that_changes_while_it_is_read_is_not_compared(change: Callable[[MemoryObjects], object]) -> None:
    world = ObjectsWorld(Changing(change))
    require_harmless(world, compare_in_a_tick(world, InputDataConfig=[channel("s3://data/code", "code")]))
    assert "is not there, or may not be read" in reason_of(world, "b")


# ------------------------------------------------------------------------------------------- where it is compared


def after_its_end(world: World) -> None:
    """Have a tick note the outputs of a job that has completed, while S3 answers with a surprise."""
    objects = Surprising()
    objects.put(OUTPUTS, "output/a/output/model.tar.gz", b"model")
    world.container.objects = objects
    submit(world, "a")
    world.tick()
    world.pass_time(1200, tick=False)
    objects.error = lambda: ValueError("surprise")
    world.submit("c")
    report = world.tick()
    assert (report.failed, report.decisions > 0) == ([], True)
    assert world.states("a", "c") == {"a": "completed", "c": "running"}


def test_the_outputs_of_a_job_that_cannot_be_noted_concern_that_job_alone() -> None:
    after_its_end(World())


def test_a_member_that_cannot_be_compared_computes_and_its_array_goes_on() -> None:
    world = ObjectsWorld(Surprising(lambda: ValueError("surprise")))
    submission = Submission(request=document("s"), sweep={"grid": {"lr": ["1", "2"]}}, reuse=True)
    world.submitter.submit(submission, ROOT)
    world.submit("c", ResourceConfig=on(1))
    report = world.tick()
    assert (report.failed, world.states("s_0", "s_1", "c")) == (
        [],
        {"s_0": "running", "s_1": "running", "c": "running"},
    )
    world.pass_time(1200, tick=False)
    assert world.tick().failed == []
    assert job(world, "s").job_state is JobState.COMPLETED


def test_a_submission_that_cannot_be_compared_is_accepted() -> None:
    world = ObjectsWorld(Surprising(RecursionError))
    assert submit(world, "b").job.job_state is JobState.PENDING


def test_a_job_that_waits_for_an_equal_one_stays_if_they_cannot_be_compared_again() -> None:
    world = World(pools={P5: 1})
    objects = Surprising()
    world.container.objects = objects
    submit(world, "first")
    submit(world, "second")
    objects.error = lambda: ValueError("surprise")
    world.commands.hold("first", ROOT)
    report = world.tick()
    assert (report.failed, report.decisions > 0) == ([], True)
    assert job(world, "second").twin == "first"
