"""What a script prints, the metrics in it, and the reason of its failure."""

from __future__ import annotations

import io
import threading
import time
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_sandbox.training.platform import failure_reason, output_lines
from headway_sandbox.training.platform.metric_definitions import LIMIT_S, MetricDefinitions, Reading


def definitions(*pairs: tuple[str, str], limit_s: float = LIMIT_S) -> MetricDefinitions:
    listed: list[dict[str, Any]] = [{"Name": name, "Regex": regex} for name, regex in pairs]
    return MetricDefinitions({"AlgorithmSpecification": {"MetricDefinitions": listed}}, limit_s)


def values(line: str, *pairs: tuple[str, str]) -> list[tuple[str, float]]:
    with closing(definitions(*pairs)) as found:
        return found.read(line).values


def test_the_first_group_of_each_match_is_a_value():
    found = values("step 3: loss=0.5, loss=1e-3", ("loss", r"loss=([0-9.e-]+)"), ("step", r"step (\d+)"))
    assert found == [("loss", 0.5), ("loss", 0.001), ("step", 3.0)]


@pytest.mark.parametrize("line", ["loss=nan", "loss=inf", "loss=high", "loss="])
def test_what_is_no_finite_number_is_no_value(line: str):
    assert values(line, ("loss", "loss=(.*)")) == []


def test_a_pattern_that_takes_too_long_is_given_up_and_the_others_go_on():
    with closing(definitions(("slow", "(a+)+$"), ("loss", "loss=(.*)"), limit_s=0.05)) as found:
        first = found.read("a" * 40 + "! loss=1")
        assert first.values == [("loss", 1.0)]
        assert [complaint.partition(" takes")[0] for complaint in first.complaints] == ["MetricDefinition slow"]
        assert found.read("a" * 40 + "! loss=2") == Reading(values=[("loss", 2.0)], complaints=[])


def test_the_end_of_a_job_does_not_wait_for_a_pattern():
    # If it did, the pattern would be given up first, which is a complaint.
    found, readings = definitions(("slow", "(a+)+$"), limit_s=5), list[Reading]()
    reader = threading.Thread(target=lambda: readings.append(found.read("a" * 40 + "!")))
    reader.start()
    while found._matcher is None:
        time.sleep(0.01)
    found.close()
    reader.join()
    assert readings == [Reading(values=[], complaints=[])]


@pytest.mark.parametrize("ended", ["killed", "closed"])
def test_without_its_process_a_line_holds_nothing(ended: str):
    with closing(definitions(("loss", "loss=(.*)"))) as found:
        assert found.read("loss=1").values
        if ended == "killed":
            assert found._matcher is not None
            found._matcher.kill()
            found._matcher.wait()
        else:
            found.close()
        assert found.read("loss=1") == Reading(values=[], complaints=[])


@pytest.mark.parametrize(
    ("regex", "message"),
    [
        ("(", "is not a regular expression"),
        ("(a{99999999999999999999})", "is not a regular expression"),
        ("(" * 5000 + ")" * 5000, "is not a regular expression"),
        ("loss", "has no group"),
    ],
)
def test_a_regular_expression_that_finds_nothing_is_reported(regex: str, message: str):
    assert message in definitions(("loss", regex)).invalid[0]


@given(st.binary(max_size=2000))
def test_any_output_becomes_lines_of_text(output: bytes):
    lines = list(output_lines.lines(io.BytesIO(output)))
    assert all(line and "\0" not in line and "\n" not in line for line in lines)
    assert len(lines) == len(io.BytesIO(output).readlines())


def test_a_long_line_is_split_and_output_beyond_the_limit_is_dropped():
    output = io.BytesIO(b"x" * (3 * output_lines.MAX_LINE_BYTES) + b"\nlast\n")
    lines = list(output_lines.lines(output, most_bytes=output_lines.MAX_LINE_BYTES + 1))
    assert [len(line) for line in lines[:2]] == [output_lines.MAX_LINE_BYTES] * 2
    assert lines[2].startswith("The sandbox keeps ")
    assert (len(lines), output.read()) == (3, b"")


@given(st.text(), st.text(), st.integers(min_value=1, max_value=255))
def test_a_reason_has_at_most_1024_characters_and_ends_with_the_exit_code(failure: str, last_line: str, code: int):
    reason = failure_reason.of_script(code, failure=failure, last_line=last_line, host="algo-1")
    assert len(reason) <= failure_reason.LONGEST
    assert reason.startswith("AlgorithmError: ")
    assert reason.endswith(f", exit code: {code}")


def test_the_failure_file_comes_before_the_last_line():
    def reason(failure: str) -> str:
        return failure_reason.of_script(1, failure=failure, last_line="ValueError", host="algo-2")

    assert reason("why\n") == "AlgorithmError: why, exit code: 1"
    assert "algo-2 wrote no /opt/ml/output/failure. Its last line: ValueError" in reason(" ")
