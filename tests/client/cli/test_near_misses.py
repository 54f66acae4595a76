"""A name that no job has is answered with the nearest one."""

from __future__ import annotations

import json

import pytest

from tests.client.command_line import Run
from tests.client.fakes.server import ContractServer, Fault


@pytest.fixture
def jobs(server: ContractServer) -> None:
    server.queue.add("bert-large")
    server.queue.add("vision", jobState="completed")


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "bert-lage"], "There is no job bert-lage. Did you mean bert-large?"),
        (["why", "Bert-large"], "There is no job Bert-large. Did you mean bert-large?"),
        (["show", "vison"], "There is no job vison. Did you mean vision?"),
        (["stop", "bert-larg"], "There is no job bert-larg. Did you mean bert-large?"),
        (["compare", "vision", "bert-larg"], "There is no job bert-larg. Did you mean bert-large?"),
        (["show", "something-else"], "There is no job something-else."),
    ],
)
def test_the_error_names_a_job_whose_name_is_near(run: Run, words: list[str], said: str) -> None:
    assert run(*words) == (4, "", f"headway: {said}\n")
    assert json.loads(run(*words, "-o", "json")[2])["error"]["message"] == said


@pytest.mark.usefixtures("jobs")
def test_each_of_several_names_has_its_own_and_the_names_are_requested_once(run: Run, server: ContractServer) -> None:
    code, out, err = run("hold", "bert-larg", "bert-large", "visio", "x")
    assert (code, out.split()[0]) == (4, "bert-large")
    assert err.splitlines() == [
        "headway: There is no job bert-larg. Did you mean bert-large?",
        "headway: There is no job visio. Did you mean vision?",
        "headway: There is no job x.",
    ]
    assert len([each for each in server.received if "jobs?" in each.target]) == 1


@pytest.mark.usefixtures("jobs")
def test_without_an_error_no_names_are_requested(run: Run, server: ContractServer) -> None:
    assert run("show", "vision")[0] == 0
    assert len(server.received) == 1


@pytest.mark.usefixtures("jobs")
def test_the_error_stays_if_the_names_can_not_be_read(run: Run, server: ContractServer) -> None:
    server.fail(Fault(status=404, body=b'{"error": {"code": "JobNotFound", "message": "There is no job vison."}}'))
    server.fail(Fault(status=500, body=b"{}"))
    assert run("show", "vison") == (4, "", "headway: There is no job vison.\n")
