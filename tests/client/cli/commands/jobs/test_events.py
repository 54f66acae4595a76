"""`headway events`: the feed as lines, page by page, and followed with pauses that grow while nothing happens."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from headway_client.cli.commands.jobs import events
from tests.client.command_line import Run, answers
from tests.client.fakes.contract_events import Feed
from tests.client.fakes.server import ContractServer


@pytest.fixture
def feed(server: ContractServer) -> Feed:
    """A feed with three events, one of them hostile."""
    found = server.queue.feed
    found.record("job1", "Entered", team="nlp")
    found.record("job2", "Failed", message="=1\x1b[2J")
    found.record("beside", "OutsideTheQueue", trainingJobName="beside", trainingJobStatus="InProgress")
    return found


CONTINUES = "headway: `headway events --after 3` continues.\n"


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            [],
            [
                "2026-01-02 03:04:05 UTC job1 Entered job1 has changed",
                "2026-01-02 03:04:05 UTC job2 Failed =1\\x1b[2J",
                "2026-01-02 03:04:05 UTC beside OutsideTheQueue beside has changed",
            ],
        ),
        (["--type", "Failed"], ["2026-01-02 03:04:05 UTC job2 Failed =1\\x1b[2J"]),
        (["--job", "job1"], ["2026-01-02 03:04:05 UTC job1 Entered job1 has changed"]),
        (
            ["--team", "nlp", "--type", "Entered", "--type", "Failed"],
            ["2026-01-02 03:04:05 UTC job1 Entered job1 has changed"],
        ),
        (["--after", "2"], ["2026-01-02 03:04:05 UTC beside OutsideTheQueue beside has changed"]),
        (["--after", "3"], []),
    ],
)
def test_events_are_shown_as_lines_with_the_cursor_to_continue_from(
    run: Run, feed: Feed, arguments: list[str], lines: list[str]
):
    assert run("events", *arguments) == (0, "".join(f"{line}\n" for line in lines), CONTINUES)


def test_all_pages_are_read(run: Run, feed: Feed):
    for _ in range(205):
        feed.record("many", "Entered")

    _, out, _ = run("events", "--job", "many")

    assert len(out.splitlines()) == 205
    assert [query.get("after") for query in feed.queries] == [None, ["103"], ["203"]]


def test_a_message_that_has_no_room_stands_below_its_job(run: Run, feed: Feed, monkeypatch: pytest.MonkeyPatch):
    feed.record("job3", "Failed", message="the instance has run out of memory while it read the data of the job")
    monkeypatch.setenv("COLUMNS", "50")
    assert run("events", "--after", "3")[1].splitlines() == [
        "2026-01-02 03:04:05 UTC job3 Failed",
        "    the instance has run out of memory while it",
        "    read the data of the job",
    ]
    assert len(run("events", "--after", "3", "-o", "wide")[1].splitlines()) == 1
    monkeypatch.delenv("COLUMNS")
    assert len(run("events", "--after", "3")[1].splitlines()) == 1


def test_wide_lines_have_state_team_owner_and_cursor(run: Run, feed: Feed):
    line = run("events", "-o", "wide", "--job", "job1")[1]
    assert line.endswith(
        "jobState=pending team=nlp owner=arn:aws:sts::123456789012:assumed-role/researcher/ada cursor=1\n"
    )


def test_programs_get_events_as_json_lines_without_notes_or_as_csv_without_formulas(run: Run, feed: Feed):
    code, out, err = run("events", "-o", "json")
    assert (code, err) == (0, "")
    assert [json.loads(line) for line in out.splitlines()] == feed.events

    rows = list(csv.reader(io.StringIO(run("events", "-o", "csv")[1])))
    assert rows[0] == ["Time", "Job", "Code", "State", "Team", "Owner", "Message", "Cursor"]
    assert rows[2][1:5] == ["job2", "Failed", "pending", ""]
    assert rows[2][6].startswith("'=1")
    assert rows[3][1:4] == ["beside", "OutsideTheQueue", "InProgress"]


def test_a_reader_is_notified_of_events_that_may_have_expired(run: Run, feed: Feed):
    feed.missed = True
    err = run("events", "--after", "1", "-o", "json")[2]
    assert err == "headway: Events after 1 may have expired, as they are kept for 7 days only.\n"


@pytest.mark.parametrize(
    ("arguments", "is_limited"),
    [
        ([], True),
        (["--since", "2h"], True),
        (["--since", "2026-11-25"], True),
        (["--after", "0"], False),
        (["--after", "0", "--since", "2h"], True),
    ],
)
def test_events_of_the_last_hour_are_shown_unless_since_or_after_says_otherwise(
    run: Run, feed: Feed, arguments: list[str], is_limited: bool
):
    run("events", *arguments)
    assert ("since" in feed.queries[0]) is is_limited


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--type", "Exploded"], 2), (["--since", "soon"], 2), (["--after", "never"], 3)],
)
def test_what_is_not_valid_is_refused(run: Run, feed: Feed, arguments: list[str], code: int):
    assert run("events", *arguments)[0] == code


@pytest.fixture
def at_each_pause(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Apply the next change in each pause of `headway events --follow`, and press Ctrl-C after the last one."""

    def at_each_pause(*steps: Callable[[], object]) -> list[float]:
        coming = list(steps)
        pauses: list[float] = []
        monkeypatch.setattr(events, "_clock", lambda: sum(pauses))

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if not coming:
                raise KeyboardInterrupt
            coming.pop(0)()

        monkeypatch.setattr(events, "_pause", pause)
        return pauses

    return at_each_pause


def nothing() -> None:
    pass


def test_following_prints_new_events_once_and_says_how_to_continue(
    run: Run, feed: Feed, at_each_pause: Callable[..., list[float]]
):
    pauses = at_each_pause(*[nothing] * 5, lambda: feed.record("job1", "Started"), nothing)

    code, out, err = run("events", "--follow", "--after", "1", "-o", "json")

    assert code == 130
    assert [json.loads(line)["cursor"] for line in out.splitlines()] == ["2", "3", "4"]
    assert err == "headway: interrupted; `headway events --after 4` continues.\n"
    assert pauses == [1, 2, 4, 8, 10, 10, 1, 2]


def test_an_interrupt_while_events_are_shown_continues_before_them(
    run: Run, feed: Feed, monkeypatch: pytest.MonkeyPatch
):
    def interrupted(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(events, "_plain", interrupted)

    code, out, err = run("events", "--after", "1")

    assert (code, out) == (130, "")
    assert err == "headway: interrupted; `headway events --after 1` continues.\n"


def test_pages_that_are_there_are_read_without_a_pause(run: Run, feed: Feed, at_each_pause: Callable[..., list[float]]):
    for _ in range(205):
        feed.record("many", "Entered")
    pauses = at_each_pause()

    _, out, _ = run("events", "--follow", "--after", "0")

    assert len(out.splitlines()) == 208
    assert pauses == [1]


def test_following_begins_with_what_happens_from_now_on(
    run: Run, feed: Feed, at_each_pause: Callable[..., list[float]]
):
    at_each_pause(nothing)
    run("events", "--follow")
    run("events")
    first, second, of_the_last_hour = feed.queries
    begin, hour_ago = (datetime.fromisoformat(each["since"][0]) for each in (first, of_the_last_hour))
    assert timedelta(minutes=59) < begin - hour_ago < timedelta(minutes=61)
    assert second["since"] == first["since"]
    assert second["after"] == ["3"]


def test_following_continues_while_the_queue_does_not_respond(
    run: Run, server: ContractServer, feed: Feed, at_each_pause: Callable[..., list[float]]
):
    pauses = at_each_pause(nothing, nothing)
    server.faults += [answers(503)] * 4

    code, out, err = run("events", "--follow", "--after", "2")

    assert code == 130
    assert len(out.splitlines()) == 1
    assert "There is no response; retrying" in err
    assert pauses == [10, 1, 2]


def test_following_ends_after_a_long_outage(
    run: Run, server: ContractServer, feed: Feed, at_each_pause: Callable[..., list[float]]
):
    at_each_pause(*[nothing] * 200)
    server.faults += [answers(503)] * 1000
    assert run("events", "--follow", "--after", "2")[0] == 7
