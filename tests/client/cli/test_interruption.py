"""The last line after Ctrl-C is true for the command."""

from __future__ import annotations

import pytest

from headway_client.cli.commands.jobs import wait
from headway_client.http.api import HeadwayApi
from tests.client.command_line import Run
from tests.client.fakes.server import ContractServer


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "method", "words"),
    [
        (["show", "job1"], "get_job", "nothing was changed."),
        (["queue"], "list_jobs", "nothing was changed."),
        (["capacity"], "capacity", "nothing was changed."),
        (["stop", "job1"], "stop_job", "a request already sent may still be carried out."),
        (["stop", "job1", "job2"], "stop_job", "0 of 2 jobs are finished; the request for job1 may still"),
        (["resize", "ml.p5.48xlarge", "3"], "resize", "a request already sent may still be carried out."),
    ],
)
def test_the_last_line_says_what_may_have_changed(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], method: str, words: str
):
    monkeypatch.setattr(HeadwayApi, method, interrupt)

    code, _, err = run(*arguments)

    assert code == 130
    assert err.splitlines()[-1].startswith(f"headway: interrupted; {words}")


def test_an_interrupted_wait_says_that_the_job_continues(
    run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    server.queue.add("job1")
    monkeypatch.setattr(wait, "_pause", interrupt)

    code, _, err = run("wait", "job1")

    assert code == 130
    assert err.splitlines()[-1].startswith("headway: interrupted; job1 stays in the queue; `headway wait job1`")


def test_an_interrupted_wait_names_all_jobs_that_have_not_ended(
    run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    server.queue.add("job1", jobState="completed")
    server.queue.add("job2")
    server.queue.add("job3")
    monkeypatch.setattr(wait, "_pause", interrupt)

    code, _, err = run("wait", "job1", "job2", "job3")

    assert code == 130
    assert err.splitlines()[-1] == (
        "headway: interrupted; 2 jobs stay in the queue until they end; `headway wait job2 job3` waits again, "
        "`headway stop job2 job3` stops them"
    )
