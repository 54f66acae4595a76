"""Names of jobs that the shell completes."""

from __future__ import annotations

import time

import click
import pytest
from click.shell_completion import ShellComplete

from headway_client.cli import job_names
from headway_client.cli.app import cli
from headway_client.cli.commands.local.completion import VARIABLE
from headway_client.cli.job_names import JobName
from tests.client.command_line import Run, levels
from tests.client.fakes.server import ContractServer, Fault


@pytest.fixture
def jobs(server: ContractServer) -> None:
    server.queue.add("bert-1")
    server.queue.add("bert-2", jobState="running")
    server.queue.add("big-bert", jobState="completed")


def offered(*words: str) -> list[str]:
    *before, last = words
    return [each.value for each in ShellComplete(cli, {}, "headway", VARIABLE).get_completions(before, last)]


@pytest.mark.usefixtures("run", "jobs")
@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["show", ""], ["bert-1", "bert-2", "big-bert"]),
        (["show", "b"], ["bert-1", "bert-2", "big-bert"]),
        (["show", "bert"], ["bert-1", "bert-2"]),
        (["show", "BERT"], []),
        (["stop", "bert-1", ""], ["bert-2", "big-bert"]),
        (["compare", "bert-1", "bert-2", "b"], ["big-bert"]),
        (["results", "big"], ["big-bert"]),
        (["forecast", "bert-1"], ["bert-1"]),
        (["events", "--job", "big"], ["big-bert"]),
        (["what-if", "--withdraw", "bert-2"], ["bert-2"]),
        (["logs", "--follow", "bert-2"], ["bert-2"]),
    ],
)
def test_the_names_of_jobs_are_completed_but_those_that_are_given(words: list[str], names: list[str]) -> None:
    assert offered(*words) == names


@pytest.mark.usefixtures("run", "jobs")
def test_a_completion_asks_the_queue_that_the_options_name_once(server: ContractServer) -> None:
    assert offered("--endpoint", "http://127.0.0.1:1/v1", "show", "b") == []
    assert server.received == []
    assert offered("show", "be", "--endpoint", server.endpoint, "b") == []
    assert offered("logs", "--endpoint", server.endpoint, "b") != []
    assert len(server.received) == 1


@pytest.mark.usefixtures("run", "jobs")
def test_a_queue_that_does_not_answer_has_no_names(server: ContractServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.fail(Fault(status=500, body=b"{}"))
    assert offered("show", "b") == []
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("run", "jobs")
def test_a_queue_that_answers_too_slowly_has_no_names(server: ContractServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_names, "DEADLINE_S", 0.2)
    server.fail(Fault(hang_s=4))
    started = time.monotonic()
    assert offered("show", "b") == []
    assert time.monotonic() - started < 3


def test_without_a_queue_no_name_is_offered() -> None:
    assert offered("show", "b") == []


def test_every_argument_that_is_called_name_is_one_of_a_job(run: Run) -> None:
    for level in levels():
        command: click.Command = cli
        for name in level.path:
            assert isinstance(command, click.Group)
            command = command.commands[name]
        for param in command.params:
            if isinstance(param, click.Argument) and param.name in {"name", "names"}:
                assert isinstance(param.type, JobName), level.name
