from __future__ import annotations

import os
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_sandbox import call_recorder
from headway_sandbox.call_recorder import Call, Calls, Decision, Run, RunRecorder, common_prefix
from headway_sandbox.errors import SandboxError

JOBS = "arn:aws:sagemaker:eu-west-1:123456789012:training-job/"


def call(action="sagemaker:StopTrainingJob", resource=f"{JOBS}a", **more) -> Call:
    return Call(role="role", action=action, decision=Decision.ALLOWED, sid="Jobs", resource=resource, **more)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("a", "a", "a"),
        ("job-1", "job-2", "job-*"),
        ("job-*", "job-1", "job-*"),
        ("a*", "ab*", "a*"),
        ("job1", "job10", "job1*"),
    ],
)
def test_two_resources_are_recorded_by_their_common_prefix(one, other, both):
    assert common_prefix(one, other) == common_prefix(other, one) == both


names = st.text("ab/", max_size=6)


@given(st.lists(names, min_size=1), st.randoms(use_true_random=False))
def test_the_common_prefix_of_resources_does_not_depend_on_their_order(resources, random):
    def kept(listed):
        noted = Calls()
        for resource in listed:
            noted.add(call(resource=resource))
        return noted.all()

    shuffled = random.sample(resources, len(resources))
    assert kept(resources) == kept(shuffled)
    (one,) = kept(resources)
    assert one.count == len(resources)
    assert all(resource.startswith(one.resource.removesuffix("*")) for resource in resources)


def test_equal_calls_are_one_record_without_the_names_of_jobs():
    noted = Calls()
    for name in ("one", "two", "three"):
        noted.add(call(resource=f"{JOBS}{name}"))
    noted.add(call("sagemaker:DescribeTrainingJob"))
    assert [(each.action, each.resource, each.count) for each in noted.all()] == [
        ("sagemaker:DescribeTrainingJob", f"{JOBS}a", 1),
        ("sagemaker:StopTrainingJob", f"{JOBS}*", 3),
    ]


def test_a_record_is_bounded_and_counts_dropped_calls(monkeypatch):
    monkeypatch.setattr(call_recorder, "MAX_CALLS", 2)
    noted = Calls()
    for number in range(5):
        noted.add(call(f"s3:Action{number}"))
    noted.add(call("s3:Action0"))
    assert [each.count for each in noted.all()] == [2, 1]
    assert noted.dropped == 3
    noted.replace([call()])
    assert (noted.all(), noted.dropped) == ([call()], 0)


def test_a_record_round_trips(tmp_path):
    run = Run(name="sandbox", sources="abc", calls=(call(), call("s3:GetObject")), dropped=2)
    call_recorder.write(tmp_path / "new" / "sandbox-1.jsonl", run)
    assert list(call_recorder.read(tmp_path / "new")) == [run]
    assert list(call_recorder.read(tmp_path / "nowhere")) == []
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["sandbox-1.jsonl"]


def test_the_oldest_records_are_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr(call_recorder, "MAX_RUNS", 2)
    for number in range(4):
        path = tmp_path / f"run-{number}.jsonl"
        call_recorder.write(path, Run(name=str(number), sources="", calls=()))
        os.utime(path, (number, number))
    assert [run.name for run in call_recorder.read(tmp_path)] == ["2", "3"]


def test_a_record_is_written_for_each_new_kind_of_call_and_at_the_end(tmp_path):
    record = RunRecorder(tmp_path, name="sandbox", sources="abc")
    record.write_if_new()
    assert list(call_recorder.read(tmp_path)) == []
    for count in (1, 2):
        record.calls.add(call())
        record.write_if_new()
        assert [run.calls[0].count for run in call_recorder.read(tmp_path)] == [1], count
    record.write()
    assert [run.calls[0].count for run in call_recorder.read(tmp_path)] == [2]


def test_no_record_is_written_without_a_folder_and_an_unwritable_folder_fails_no_run(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    for folder in (None, tmp_path / "file"):
        record = RunRecorder(folder, name="sandbox", sources="abc")
        record.calls.add(call())
        record.write()
    assert "cannot write the record" in caplog.text


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"name": "a", "sources": "b"}\n{"role": 1}', "no JSON"])
def test_a_file_that_is_not_a_record_is_named(tmp_path, text):
    (tmp_path / "odd.jsonl").write_text(text)
    with pytest.raises(SandboxError, match=r"odd\.jsonl is not a record of calls"):
        list(call_recorder.read(tmp_path))


def test_a_call_goes_over_the_wire_and_back():
    assert call_recorder.call_from_document(asdict(call(position=1, count=7))) == call(position=1, count=7)
