from __future__ import annotations

import json
import re

from tests.client.command_line import Run
from tests.client.fakes.server import ContractServer, Fault


def test_dead_letters_are_shown(run: Run, server: ContractServer):
    assert run("dlq", "show") == (0, "No dead letters.\n", "")
    server.queue.bury()
    server.queue.bury(about=None, errorType=None, errorMessage=None, problem="it is no JSON")

    code, out, err = run("dlq", "show")

    assert (code, err) == (0, "")
    header, _, first, second = out.splitlines()
    assert header.split() == ["Queue", "Sent", "About", "Why"]
    assert re.split(" {2,}", first) == ["event", "3 h ago", "job1 Failed", "KeyError: 'TrainingJobStatus'"]
    assert second.endswith("-            can't be redriven: it is no JSON")
    assert "Received" in run("dlq", "show", "-o", "wide")[1]
    assert json.loads(run("dlq", "show", "-o", "json")[1]) == {"letters": server.queue.letters, "more": False}
    server.queue.more_letters = 1
    assert "may be more" in run("dlq", "show")[2]


def test_text_of_a_dead_letter_can_not_move_the_cursor(run: Run, server: ContractServer):
    server.queue.bury(about="a\x1b[2Jb", errorMessage="c\nd\x9b31m", problem="e\u202ef")

    assert "a\\x1b[2Jb" in run("dlq", "show")[1]
    for arguments in (["dlq", "show"], ["dlq", "show", "-o", "wide"], ["dlq", "redrive"]):
        _, out, err = run(*arguments)
        assert (out + err).replace("\n", "").isprintable()


def test_dead_letters_are_redriven_and_counted(run: Run, server: ContractServer):
    server.queue.bury()

    assert run("dlq", "redrive") == (0, "1 redriven, 0 dropped, 0 failed, 0 left.\n", "")
    assert json.loads(run("dlq", "redrive", "-o", "json")[1])["redriven"] == 0


def test_a_failed_redrive_is_reported_and_in_the_exit_code(run: Run, server: ContractServer):
    server.queue.bury(problem="it is no JSON")
    server.queue.more_letters = 7

    assert run("dlq", "redrive") == (
        7,
        "0 redriven, 0 dropped, 1 failed, 8 left.\n",
        "headway: m0 (event) remains: it is no JSON.\nheadway: There are more: redrive again.\n",
    )
    code, out, err = run("dlq", "redrive", "-o", "json")
    assert (code, json.loads(out)["failed"], err) == (7, 1, "")


def test_redundant_wake_ups_are_reported_as_dropped(run: Run, server: ContractServer):
    done = {"redriven": 1, "dropped": 4, "failed": 0, "left": 0, "failures": []}
    server.fail(Fault(status=200, body=json.dumps(done).encode()))

    assert run("dlq", "redrive")[:2] == (
        0,
        "1 redriven, 4 dropped (one wake-up is enough), 0 failed, 0 left.\n",
    )
