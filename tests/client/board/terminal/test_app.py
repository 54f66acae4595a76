"""The board in the terminal, driven by textual's Pilot on the fake API."""

from __future__ import annotations

import asyncio
import json
import math
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest
from textual.containers import VerticalScroll
from textual.widgets import DataTable, Input, Static
from textual.worker import WorkerCancelled

from headway_client.board.budget import MAX_READ_BURST
from headway_client.board.poller import Poller
from headway_client.board.terminal import app as terminal
from headway_client.board.terminal.app import Board
from headway_client.board.terminal.dialogs import Question, Sheet
from headway_client.board.terminal.job_screen import JobScreen
from headway_client.errors import NotAllowedError
from headway_client.http.api import HeadwayApi
from tests.client.board.fake_aws import Aws
from tests.client.fakes.log_store import LogStore
from tests.client.fakes.server import ContractServer, Fault

SIZES = [(80, 24), (200, 50)]
PICTURES = os.environ.get("HEADWAY_BOARD_PICTURES")
"""A folder for screenshots; none are taken without it."""

HOSTILE = "\x1b[31mred\u202e[bold]x[/]"


def without_aws(_: str) -> Any:
    raise NotAllowedError("There are no AWS credentials.")


def board(api: HeadwayApi, poller: Poller | None = None, client_of: Callable[[str], Any] = without_aws) -> Board:
    return Board(api, client_of, lambda found: found.note, poller)


def run(app: Board, act: Callable[[Any], Coroutine[Any, Any, None]], size: tuple[int, int] = (80, 24)) -> None:
    async def steps() -> None:
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app._view.summary is not None or bool(app._view.error))
            await act(pilot)

    asyncio.run(steps())


async def all_is_read(pilot: Any, busy: ContractServer) -> None:
    """Wait for the last call of a poller whose time stands still, so that the next one is the test's."""
    await until(pilot, lambda: any("/forecast" in each.target for each in busy.received))


async def until(pilot: Any, holds: Callable[[], bool]) -> None:
    """Wait for what threads do."""
    for _ in range(400):
        # The board's own timer may have begun another read in place of the one that is waited for.
        with suppress(WorkerCancelled):
            await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


def names(app: Board, table: str) -> list[str]:
    found: DataTable[Any] = app.screen_stack[0].query_one(f"#{table}", DataTable)
    return [str(key.value) for key in found.rows]


def text(app: Board, part: str) -> str:
    shown = app.screen_stack[0].query_one(f"#{part}", Static).visual
    return str(shown)


def picture(app: Board, name: str) -> None:
    """Save the screen as an SVG, to be looked at and for the docs."""
    if PICTURES:
        app.save_screenshot(f"board-{name}-{app.size.width}x{app.size.height}.svg", PICTURES)


@pytest.fixture
def busy(server: ContractServer) -> ContractServer:
    server.queue.add("trains", jobState="running", priority=9)
    server.queue.add("first", priority=5, team="vision")
    server.queue.add("second", priority=3, team="search")
    return server


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_board_shows_pools_tables_and_events_at_each_size(
    busy: ContractServer, api: HeadwayApi, size: tuple[int, int]
) -> None:
    app = board(api)

    async def act(pilot: Any) -> None:
        assert names(app, "waiting") == ["first", "second"]
        assert names(app, "running") == ["trains"]
        assert "p5.48xlarge" in text(app, "pools")
        assert "1 running" in text(app, "head")
        assert all(app.query_one(part).size.height > 0 for part in ("#pools", "#waiting", "#running", "#events"))
        assert app.has_class("wide") is (size[0] >= 140)
        picture(app, "terminal")

    run(app, act, size)


def test_the_number_of_held_jobs_is_shown_as_a_job_is_held(busy: ContractServer, api: HeadwayApi) -> None:
    app = board(api)

    async def act(pilot: Any) -> None:
        assert text(app, "head").endswith("0 held")
        await pilot.press("h", "y")
        await until(pilot, lambda: text(app, "head").endswith("1 held"))

    run(app, act)


CHANGES = [
    ("h", "POST", "/v1/jobs/first/hold"),
    ("r", "POST", "/v1/jobs/first/release"),
    ("x", "DELETE", "/v1/jobs/first"),
]


@pytest.mark.parametrize(("key", "method", "target"), CHANGES, ids=[row[0] for row in CHANGES])
def test_a_change_is_made_after_a_question_and_not_before(
    busy: ContractServer, api: HeadwayApi, key: str, method: str, target: str
) -> None:
    app = board(api)

    def made() -> bool:
        return any((each.method, each.target) == (method, target) for each in busy.received)

    async def act(pilot: Any) -> None:
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, Question))
        assert not made()
        await pilot.press("n")
        await pilot.pause()
        assert not made()
        await pilot.press(key, "y")
        await until(pilot, made)

    run(app, act)


def test_a_priority_is_changed_after_a_question(busy: ContractServer, api: HeadwayApi) -> None:
    app = board(api)

    async def act(pilot: Any) -> None:
        await pilot.press("p")
        await until(pilot, lambda: bool(app.screen.query(Input)))
        await pilot.press("4", "2", "enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("y")
        await until(pilot, lambda: busy.queue.jobs["first"]["priority"] == 42)

    run(app, act)


def test_a_priority_that_is_none_is_refused_without_a_call(busy: ContractServer, api: HeadwayApi) -> None:
    app = board(api)

    async def act(pilot: Any) -> None:
        await pilot.press("p", "x", "enter")
        await pilot.pause()
        assert not isinstance(app.screen, Question)
        assert not any(each.method == "PATCH" for each in busy.received)

    run(app, act)


def test_a_refused_change_is_reported_and_the_board_stays(busy: ContractServer, api: HeadwayApi) -> None:
    app = board(api, Poller(api, clock=lambda: 0.0))

    async def act(pilot: Any) -> None:
        await all_is_read(pilot, busy)
        refusal = {"error": {"code": "NotAllowed", "message": "only its owner may", "fields": []}}
        busy.fail(Fault(status=403, body=json.dumps(refusal).encode()))
        await pilot.press("x", "y")
        await until(pilot, lambda: any("only its owner may" in each.message for each in app._notifications))
        assert names(app, "waiting") == ["first", "second"]

    run(app, act)


def test_keys_show_a_job_and_why_it_waits(busy: ContractServer, api: HeadwayApi) -> None:
    app = board(api)

    async def act(pilot: Any) -> None:
        await pilot.press("s")
        await until(pilot, lambda: "state      pending" in page(app))
        await pilot.press("escape", "tab", "s")
        await until(pilot, lambda: "state      running" in page(app))
        await pilot.press("escape", "w")
        await until(pilot, lambda: any("/explanation" in each.target for each in busy.received))

    run(app, act)


def page(app: Board) -> str:
    """The text of the open page of a job; empty if none is open."""
    return str(app.screen.query_one("#job-text", Static).visual) if isinstance(app.screen, JobScreen) else ""


ATTEMPT = {
    "attemptName": "trains", "number": 1, "attemptState": "live", "trainingJobStatus": "InProgress",
    "secondaryStatus": "Training", "startedTime": "2026-01-02T06:00:00.000Z", "endedTime": None, "failureReason": None,
    "reason": None, "demand": {"ml.p5.48xlarge": 1},
}  # fmt: skip


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_page_of_a_job_has_its_attempts_and_the_last_lines_of_its_log(
    busy: ContractServer, api: HeadwayApi, size: tuple[int, int]
) -> None:
    busy.queue.jobs["trains"]["attempts"] = [ATTEMPT]
    store = LogStore()
    store.write("trains/algo-1-1", 1_767_335_400_000, HOSTILE)

    def client_of(service: str) -> Any:
        return store if service == "logs" else without_aws(service)

    app = board(api, client_of=client_of)

    async def act(pilot: Any) -> None:
        await pilot.press("tab", "enter")
        await until(pilot, lambda: "LAST LINES OF THE LOG OF trains" in page(app))
        assert "1 p5.48xlarge  Training  01-02 06:00:00 to now" in page(app)
        assert "\\x1b[31mred\\u202e[bold]x[/]" in page(app)
        assert "There are no AWS credentials." in page(app)
        assert max(map(len, page(app).splitlines())) <= size[0]

    run(app, act, size)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_page_of_a_job_has_its_utilization_as_lines(
    busy: ContractServer, api: HeadwayApi, size: tuple[int, int]
) -> None:
    reason = {"code": "ReturnedToLine", "message": "was preempted for `urgent` and waits again in its old place"}
    ended = {"secondaryStatus": "Stopped", "startedTime": "2026-01-02T04:00:00.000Z", "reason": reason}
    ended["endedTime"] = "2026-01-02T05:10:00.000Z"
    busy.queue.jobs["trains"].update(
        attempts=[{**ATTEMPT, **ended}, {**ATTEMPT, "attemptName": "trains-2", "number": 2}],
        reason={"code": "Started", "message": "started on 1 ml.p5.48xlarge"},
        team="vision",
        limitSeconds=36_000,
        preemptions=1,
        lostSeconds=4200,
        lostCost=64.21,
        cost=64.21,
        currency="USD",
        prices=[{"pool": "ml.p5.48xlarge", "from": "2026-01-01", "perHour": 55.04}],
    )
    aws = Aws()
    aws.values = {
        "GPUUtilization": [None, None, *(8 * (50 + 45 * math.sin(minute / 3)) for minute in range(28))],
        "GPUMemoryUtilization": [None, None, *(8 * 71.0 for _ in range(28))],
        "CPUUtilization": [192 * (10.0 + minute) for minute in range(30)],
    }
    for epoch in range(8):
        aws.logs.write(
            "trains-2/algo-1-1", 1_767_335_000_000 + 40_000 * epoch, f"epoch {epoch}: loss 0.{99 - 7 * epoch}"
        )
    app = board(api, client_of=aws.client_of)

    async def act(pilot: Any) -> None:
        await pilot.press("tab", "enter")
        await until(pilot, lambda: "GPU memory" in page(app))
        assert "last 71 %, average 71 %" in page(app)
        assert "█" in page(app)
        assert max(map(len, page(app).splitlines())) <= size[0]
        picture(app, "terminal-job")
        if size == SIZES[0]:
            app.screen.query_one(VerticalScroll).scroll_end(animate=False)
            await pilot.pause()
            picture(app, "terminal-job-end")

    run(app, act, size)


def test_a_page_of_a_job_is_read_again_while_somebody_looks_and_within_the_limit(
    busy: ContractServer, api: HeadwayApi
) -> None:
    app = board(api)

    def reads() -> int:
        return sum(each.target == "/v1/jobs/first" for each in busy.received)

    async def act(pilot: Any) -> None:
        await pilot.press("s")
        await until(pilot, lambda: "priority   5" in page(app))
        busy.queue.jobs["first"]["priority"] = 7
        await pilot.press("f5")
        await until(pilot, lambda: "priority   7" in page(app))
        before = reads()
        app.on_app_blur()
        await pilot.press("f5")
        await until(pilot, lambda: True)
        assert reads() == before
        app.on_app_focus()
        for _ in range(MAX_READ_BURST):
            await pilot.press("f5")
            await until(pilot, lambda: True)
        assert reads() == MAX_READ_BURST

    run(app, act)


def test_a_page_that_waits_for_cloudwatch_is_not_read_again_and_can_be_closed(
    busy: ContractServer, api: HeadwayApi
) -> None:
    busy.queue.jobs["trains"]["attempts"] = [ATTEMPT]
    answered = threading.Event()

    def client_of(service: str) -> Any:
        answered.wait(10)
        return without_aws(service)

    app = board(api, client_of=client_of)

    async def act(pilot: Any) -> None:
        await pilot.press("tab", "s")
        for _ in range(400):
            await pilot.pause(0.01)
            if "are read …" in page(app):
                break
        await pilot.press("f5", "f5")
        await pilot.pause(0.2)
        assert sum(each.target == "/v1/jobs/trains" for each in busy.received) == 1
        await pilot.press("escape")
        answered.set()
        await until(pilot, lambda: not isinstance(app.screen, JobScreen))

    run(app, act)


def test_a_page_of_a_job_that_cannot_be_read_again_stays_and_says_so(busy: ContractServer, api: HeadwayApi) -> None:
    app = board(api, Poller(api, clock=lambda: 0.0))

    async def act(pilot: Any) -> None:
        await all_is_read(pilot, busy)
        await pilot.press("s")
        await until(pilot, lambda: "priority   5" in page(app))
        refusal = {"error": {"code": "NotAllowed", "message": "no longer yours", "fields": []}}
        busy.fail(Fault(status=403, body=json.dumps(refusal).encode()))
        await pilot.press("f5")
        await until(pilot, lambda: "no longer yours" in str(app.screen.query_one("#job-head", Static).visual))
        assert "priority   5" in page(app)

    run(app, act)


def test_keys_of_the_board_do_nothing_on_the_page_of_a_job(busy: ContractServer, api: HeadwayApi) -> None:
    app = board(api)

    async def act(pilot: Any) -> None:
        await pilot.press("s")
        await until(pilot, lambda: bool(page(app)))
        await pilot.press("x", "h")
        await pilot.pause()
        assert isinstance(app.screen, JobScreen)

    run(app, act)


def test_a_job_that_is_in_no_table_is_reached_by_its_name(busy: ContractServer, api: HeadwayApi) -> None:
    busy.queue.add("kept", held=True)
    app = board(api)

    async def act(pilot: Any) -> None:
        await pilot.press("g", *"kept", "enter", "r", "y")
        await until(pilot, lambda: busy.queue.jobs["kept"]["held"] is False)

    run(app, act)


def test_rows_are_filtered_and_sorted(busy: ContractServer, api: HeadwayApi) -> None:
    app = board(api)

    async def act(pilot: Any) -> None:
        await pilot.press("slash", *"SEARCH", "enter")
        await until(pilot, lambda: names(app, "waiting") == ["second"])
        await pilot.press("slash", *(["backspace"] * 6), "enter")
        await until(pilot, lambda: names(app, "waiting") == ["first", "second"])
        # By priority, then by team.
        await pilot.press("o", "o")
        await until(pilot, lambda: names(app, "waiting") == ["second", "first"])

    run(app, act)


def test_the_selected_job_stays_selected_when_others_come(busy: ContractServer, api: HeadwayApi) -> None:
    app = board(api)

    async def act(pilot: Any) -> None:
        await pilot.press("down")
        busy.queue.jobs = {"zero": busy.queue.add("zero", priority=9), **busy.queue.jobs}
        await pilot.press("f5")
        await until(pilot, lambda: len(names(app, "waiting")) == 3)
        assert app._job() == "second"

    run(app, act)


def test_a_lost_connection_is_shown_and_the_last_picture_stays_until_it_is_back(
    busy: ContractServer, api: HeadwayApi
) -> None:
    api._transport._limits = type(api._transport._limits)(tries=1)
    app = board(api, Poller(api, clock=lambda: 0.0))

    async def act(pilot: Any) -> None:
        await all_is_read(pilot, busy)
        busy.fail(Fault(drop=True))
        await pilot.press("f5")
        await until(pilot, lambda: "NOT CONNECTED" in text(app, "head"))
        assert names(app, "waiting") == ["first", "second"]
        await pilot.press("f5")
        await until(pilot, lambda: "NOT CONNECTED" not in text(app, "head"))

    run(app, act)


def test_hostile_names_and_messages_do_not_reach_the_terminal(server: ContractServer, api: HeadwayApi) -> None:
    server.queue.add("evil", team=HOSTILE, reason={"code": "X", "message": HOSTILE})
    app = board(api)

    async def act(pilot: Any) -> None:
        table: DataTable[Any] = app.query_one("#waiting", DataTable)
        shown = " ".join(str(cell) for cell in table.get_row_at(0))
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "[bold]x[/]" in shown

    run(app, act)


def test_the_help_names_every_key(busy: ContractServer, api: HeadwayApi) -> None:
    app = board(api)

    async def act(pilot: Any) -> None:
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, Sheet))
        shown = str(app.screen.query_one("#sheet-text", Static).visual)
        for binding in app.BINDINGS:
            key = binding.key_display or binding.key
            assert f" {key.upper() if len(key) == 2 else key} " in f" {shown} ".replace(",", " ").replace("\n", " ")

    run(app, act)


def test_a_board_without_focus_calls_twice_a_minute(
    busy: ContractServer, api: HeadwayApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The board's own timer would cancel a read that the test waits for.
    monkeypatch.setattr(terminal, "TICK_S", 3600)
    now = [1000.0]
    poller = Poller(api, clock=lambda: now[0])
    app = board(api, poller)

    async def act(pilot: Any) -> None:
        app.on_app_blur()
        before = len(busy.received)
        for _ in range(60):
            now[0] += 1
            app._read()
            await pilot.app.workers.wait_for_complete()
        assert len(busy.received) - before == 2

    run(app, act)
