"""Actions on jobs that options select."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from headway_client.cli import selection
from tests.client.command_line import Run
from tests.client.fakes.server import ContractServer, Fault


@pytest.fixture
def jobs(server: ContractServer) -> None:
    server.queue.add("sweep-1")
    server.queue.add("sweep-2", team="nlp", jobState="running")
    server.queue.add("Sweep-3", owner="arn:aws:iam::111111111111:user/bob")
    server.queue.add("sweep-4", held=True)
    server.queue.add("sweep-5", jobState="completed")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Answer each question on a pretended terminal, after an action, and collect the questions."""

    def use(*, answer: bool, meanwhile: Callable[[], object] = lambda: None) -> list[str]:
        asked: list[str] = []

        def confirm(question: str, **_: object) -> bool:
            asked.append(question)
            meanwhile()
            return answer

        monkeypatch.setattr("click.confirm", confirm)
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        return asked

    return use


def changed(server: ContractServer) -> set[str]:
    return {each.target.split("/")[3] for each in server.received if each.method != "GET"}


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--mine"], {"sweep-1", "sweep-2", "sweep-4"}),
        (["--owner", "arn:aws:iam::111111111111:user/bob"], {"Sweep-3"}),
        (["--team", "nlp"], {"sweep-2"}),
        (["--name", "sweep-[12]"], {"sweep-1", "sweep-2"}),
        (["--name", "sweep-*"], {"sweep-1", "sweep-2", "sweep-4"}),
        (["--state", "running"], {"sweep-2"}),
        (["--state", "held"], {"sweep-4"}),
        (["--state", "pending"], {"sweep-1", "Sweep-3", "sweep-4"}),
        (["--state", "held", "--state", "running"], {"sweep-2", "sweep-4"}),
        (["--mine", "--state", "running", "--name", "*-1"], set()),
    ],
)
def test_all_the_options_select_jobs_that_have_not_ended(
    run: Run, server: ContractServer, options: list[str], expected: set[str]
):
    code, out, err = run("stop", *options, "--yes")

    assert code == 0
    assert changed(server) == expected
    assert len(out.splitlines()) == len(expected)
    assert all(name in err for name in expected)
    assert ("No job matches." in err) == (not expected)


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("command", "field", "value"),
    [(["hold"], "held", True), (["release"], "held", False), (["priority", "7"], "priority", 7)],
)
def test_each_command_acts_on_selected_jobs(
    run: Run, server: ContractServer, command: list[str], field: str, value: object
):
    assert run(*command, "--name", "sweep-[14]", "-y")[0] == 0
    assert [server.queue.jobs[name][field] for name in ("sweep-1", "sweep-4")] == [value, value]
    assert changed(server) == {"sweep-1", "sweep-4"}


@pytest.mark.usefixtures("jobs")
def test_the_result_of_each_selected_job_is_reported(run: Run):
    code, out, err = run("hold", "--mine", "--yes")

    assert code == 5
    assert [line.split()[0] for line in out.splitlines()] == ["sweep-4", "sweep-1"]
    assert "headway: sweep-2 holds instances" in err
    shown = json.loads(run("hold", "--mine", "--yes", "-o", "json")[1])
    assert (len(shown["jobs"]), len(shown["errors"])) == (2, 1)


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_without_a_terminal_a_selection_needs_yes(run: Run, server: ContractServer, output: str):
    code, out, err = run("stop", "--mine", "-o", output)

    assert (code, out) == (2, "")
    assert "--yes" in err
    assert changed(server) == set()


@pytest.mark.usefixtures("jobs")
def test_a_refusal_changes_nothing(run: Run, server: ContractServer, terminal: Callable[..., list[str]]):
    asked = terminal(answer=False)

    assert run("stop", "--mine")[0] == 2
    assert asked == ["Stop 3 jobs?"]
    assert changed(server) == set()


@pytest.mark.usefixtures("jobs")
def test_only_the_jobs_that_were_shown_and_have_not_changed_are_touched(
    run: Run, server: ContractServer, terminal: Callable[..., list[str]]
):
    def meanwhile() -> None:
        server.queue.add("sweep-6")
        server.queue.jobs["sweep-1"]["jobState"] = "running"

    terminal(answer=True, meanwhile=meanwhile)

    code, _, err = run("stop", "--name", "sweep-*")

    assert code == 0
    assert changed(server) == {"sweep-2", "sweep-4"}
    assert "sweep-1 has changed since it was shown" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["stop"], "Name a job, or select jobs"),
        (["stop", "a", "--mine"], "not both"),
        (["priority", "7"], "Name a job, or select jobs"),
        (["stop", "--rogue", "--mine"], "--rogue needs the names"),
        (["stop", "--state", "completed"], "completed"),
    ],
)
def test_a_selection_is_by_names_or_by_options(run: Run, server: ContractServer, arguments: list[str], words: str):
    code, _, err = run(*arguments)

    assert code == 2
    assert words in err
    assert server.received == []


@pytest.mark.usefixtures("jobs")
def test_a_selection_of_too_many_jobs_touches_none(run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(selection, "MAX_SELECTED_JOBS", 2)

    assert "More than 2 jobs match" in run("stop", "--mine", "--yes")[2]
    assert changed(server) == set()
    assert run("stop", "--state", "running", "--yes")[0] == 0


@pytest.fixture
def waiting_line(server: ContractServer) -> None:
    add = server.queue.add
    add("runs", jobState="running", liveAttempt="runs")
    for name in ("first", "second", "third"):
        add(name)
    progress = {"count": 2, "atOnce": 1, "maxFailures": None, "unmade": 1, "completed": 1, "failed": 0, "stopped": 0}
    add("array", jobState="running", array=progress)
    add("held", held=True)


@pytest.mark.usefixtures("waiting_line")
@pytest.mark.parametrize("command", ["stop", "hold"])
@pytest.mark.parametrize("chosen", [["--mine", "--yes"], ["first", "runs", "held", "second", "array", "third"]])
def test_jobs_are_stopped_and_held_from_the_end_of_the_queue_so_that_none_of_them_starts_before_its_turn(
    run: Run, server: ContractServer, command: str, chosen: list[str]
):
    run(command, *chosen)
    assert acted_on(server) == ["array", "held", "third", "second", "first", "runs"]


@pytest.mark.usefixtures("waiting_line")
def test_the_names_of_unknown_jobs_come_last_and_fail(run: Run, server: ContractServer):
    code, _, err = run("stop", "nobody", "first", "second")
    assert code == 4
    assert "There is no job nobody." in err
    assert acted_on(server) == ["second", "first", "nobody"]


@pytest.mark.usefixtures("waiting_line")
def test_a_job_that_cannot_be_read_comes_last_and_keeps_none_of_the_others(run: Run, server: ContractServer):
    server.fail(None, Fault(status=500))
    assert run("stop", "first", "third", "second")[0] == 0
    assert acted_on(server) == ["second", "first", "third"]


def acted_on(server: ContractServer) -> list[str]:
    return [each.target.split("/")[3] for each in server.received if each.method in {"DELETE", "POST"}]
