"""The formats of the output beside tables: YAML, names of jobs, rows without headers."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headway_client.cli.arguments.yaml_documents import parse_yaml
from headway_client.cli.output.table import Table
from headway_client.cli.output.yaml_text import to_yaml
from tests.client.command_line import Run, Write
from tests.client.fakes.contract import request
from tests.client.fakes.server import ContractServer

TEXTS = st.text() | st.sampled_from(
    [
        "1e-4",
        "1e5",
        "007",
        "0o17",
        "no",
        "Yes",
        "null",
        "~",
        "",
        "2026-01-01",
        "12:30",
        "=",
        ".inf",
        "a\nb",
        "\x7f",
        "\u202e",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_yaml_is_read_as_the_same_document_by_parsers_of_both_versions(document: Any) -> None:
    text = to_yaml(document)
    assert text.isascii()
    assert not {each for each in text if not each.isprintable()} - {"\n"}
    assert parse_yaml(text, "x").value == document
    assert yaml.safe_load(text) == document


def test_a_value_that_occurs_twice_is_written_twice() -> None:
    shared = {"a": 1}
    assert to_yaml([shared, shared]) == "---\n- a: 1\n- a: 1"


@pytest.fixture
def jobs(server: ContractServer) -> None:
    server.queue.add("a")
    server.queue.add("b", jobState="running")
    server.queue.add("done", jobState="completed", endedTime="2026-01-02T05:00:00.000Z")
    server.queue.bypass("rogue")


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    "command",
    [
        ["queue"],
        ["queue", "--all"],
        ["history"],
        ["show", "a"],
        ["capacity"],
        ["config", "show"],
        ["usage"],
        ["why", "a"],
        ["version"],
    ],
    ids=" ".join,
)
def test_yaml_has_the_document_that_json_has(run: Run, command: list[str]) -> None:
    code, out, err = run(*command, "-o", "yaml")
    assert (code, err) == (0, "")
    assert yaml.safe_load(out) == json.loads(run(*command, "-o", "json")[1])


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize("words", [["show", "nobody"], ["queue", "--columns", "x"], ["show"]])
@pytest.mark.parametrize("option", [["-o", "yaml"], ["-oyaml"], ["--output=yaml"]])
def test_errors_are_yaml_too(run: Run, words: list[str], option: list[str]) -> None:
    _, _, err = run(*words, *option)
    assert yaml.safe_load(err) == json.loads(run(*words, "-o", "json")[2])


@pytest.mark.usefixtures("jobs")
def test_each_error_of_several_jobs_is_a_document(run: Run) -> None:
    out = run("stop", "x", "y", "-o", "yaml")[1]
    assert [error["jobName"] for error in yaml.safe_load(out)["errors"]] == ["x", "y"]
    events = list(yaml.safe_load_all(run("events", "-o", "yaml")[1]))
    assert events == [json.loads(line) for line in run("events", "-o", "json")[1].splitlines()]


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("command", "names"),
    [
        (["queue"], ["a", "b"]),
        (["queue", "--all"], ["a", "b", "done"]),
        (["queue", "--sort=-name"], ["b", "a"]),
        (["history"], ["done"]),
        (["history", "--since", "2026-01-01"], ["done"]),
        (["queue", "--team", "nobody"], []),
        (["hold", "a"], ["a"]),
        (["comment", "a", "b", "x"], ["a", "b"]),
        (["stop", "a", "nobody", "done"], ["a"]),
        (["stop", "--rogue", "rogue"], ["rogue"]),
        (["wait", "done"], ["done"]),
    ],
)
def test_names_of_jobs_are_printed_one_a_line(run: Run, command: list[str], names: list[str]) -> None:
    assert run(*command, "-o", "name")[1].splitlines() == names


def test_a_submission_prints_the_names_of_the_jobs(run: Run, request_file: Write) -> None:
    assert run("submit", request_file(request("a")), "--output", "name")[1] == "a\n"
    assert run("submit", request_file([request("b"), request("c")]), "-o", "name")[1] == "b\nc\n"
    assert run("submit", request_file(request("d")), "--dry-run", "-o", "name")[1] == "d\n"


@pytest.mark.parametrize("command", [["show", "a"], ["capacity"], ["usage"], ["compare", "a", "b"]])
def test_a_command_that_lists_no_jobs_has_no_names(run: Run, server: ContractServer, command: list[str]) -> None:
    code, out, err = run("-o", "name", *command)
    assert (code, out, server.received) == (2, "", [])
    assert "does not support --output name" in err


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["--columns", "name"], "--columns does not support --output name"),
        (["--watch"], "--watch does not support --output name"),
    ],
)
def test_names_have_no_columns_and_are_not_watched(run: Run, words: list[str], refusal: str) -> None:
    code, _, err = run("queue", "-o", "name", *words)
    assert (code, refusal in err) == (2, True)


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["queue", "-O", "name,state"], ["a  pending", "b  running"]),
        (["queue", "-O", "name,state", "-o", "csv"], ["a,pending", "b,running"]),
        (["queue", "--team", "nobody"], []),
        (["queue", "--team", "nobody", "-o", "csv"], []),
        (["events", "-o", "csv"], []),
    ],
)
def test_without_headers_there_are_rows_only(run: Run, words: list[str], lines: list[str]) -> None:
    assert run(*words, "--no-headers")[1].splitlines() == lines
    assert run("--no-headers", *words)[1].splitlines() == lines


def test_without_headers_there_are_no_notes() -> None:
    table = Table(headers=["A long header", "B"], rows=[["1", "2"]], note=["a note"])
    assert table.text(headers=False) == "1  2"
    assert table.text(headers=False, width=10) == "1  2"
    assert table.csv(headers=False) == "1,2\r\n"
