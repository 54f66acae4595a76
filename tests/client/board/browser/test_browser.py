"""The board in a real Chromium, on a queue on virtual time with the real handlers."""

from __future__ import annotations

import hashlib
import math
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from botocore.credentials import Credentials
from playwright.sync_api import Browser, Page, Response, Route, expect

from headway_client.board.web.access import Gate
from headway_client.board.web.server import BoardServer
from headway_client.http.api import HeadwayApi
from headway_client.http.transport import Limits
from tests.client.board.browser.conftest import CHROMIUM, FLAGS
from tests.client.board.browser.pictures import picture
from tests.client.board.fake_aws import Aws
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY

ROOT = Path(__file__).parents[4]
SERVICE_PYTHON = ROOT / ".venv/bin/python"
# The client's environments are tested alone as well, and have no service to serve the board's data.
pytestmark = pytest.mark.skipif(
    not SERVICE_PYTHON.exists(), reason="`make .venv/.made` has not made the service's environment"
)


class Queue:
    """A queue in a process of its own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [SERVICE_PYTHON, "-m", "tests.client.board.browser.queue_process"],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": ""}, text=True, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        self.endpoint = self._line("http")

    def _line(self, begin: str) -> str:
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            if line.startswith(begin):
                return line.strip()
            said.append(line)
        raise AssertionError("".join(said))

    def do(self, *words: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        self._line("done")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        assert self._process.stderr is not None
        self._process.stderr.close()


class Clock:
    """The board's clock, which tests move so that the next call is due."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def queue() -> Iterator[Queue]:
    started = Queue()
    started.do("submit", "low", 1, "vision", 2)
    started.do("tick")
    started.do("pass", 120)
    yield started
    started.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def aws() -> Aws:
    return Aws()


@pytest.fixture
def board(queue: Queue, clock: Clock, aws: Aws) -> Iterator[BoardServer]:
    credentials = Credentials(ACCESS_KEY, SECRET_KEY)
    api = HeadwayApi(queue.endpoint, region=REGION, credentials=credentials, limits=Limits(tries=1))
    server = BoardServer(api, aws.client_of, allow_changes=True, clock=clock)
    thread = threading.Thread(target=server.serve)
    thread.start()
    yield server
    server.stop()
    server.close()
    thread.join()


@pytest.fixture
def page(chromium: Browser, board: BoardServer) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda each: problems.append(each.text) if "Content Security Policy" in each.text else None)
    opened.goto(board.url)
    yield opened
    context.close()
    assert problems == []


def origin_of(board: BoardServer) -> str:
    return board.url.partition("/#")[0]


def secret_of(page: Page) -> str:
    found: str = page.evaluate("sessionStorage.getItem('headway-board')")
    assert found
    return found


def look(page: Page, clock: Clock) -> None:
    """Let the board read the queue again: its next call is due, and the page asks within two seconds."""
    clock.now_s += 61
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_it_opens_without_the_token_in_its_address_and_shows_the_queue(page: Page, board: BoardServer) -> None:
    expect(page.get_by_role("region", name="Running")).to_contain_text("low")
    assert page.url == origin_of(board) + "/"
    assert page.evaluate("document.cookie") == ""
    expect(page.locator("#state")).to_contain_text("1 running")


def test_a_preemption_is_seen_as_it_happens(page: Page, queue: Queue, clock: Clock) -> None:
    running = page.get_by_role("region", name="Running")
    expect(running).to_contain_text("low")
    queue.do("submit", "urgent", 9, "search", 1)
    queue.do("tick")
    look(page, clock)
    expect(running).to_contain_text("preempted for urgent")
    expect(page.get_by_role("region", name="Waiting")).to_contain_text("starts on 1 ml.p5.48xlarge as soon as")
    picture(page, "board-now")
    queue.do("pass", 200)
    queue.do("tick")
    look(page, clock)
    expect(running.get_by_role("row", name="urgent")).to_be_visible()
    expect(page.get_by_role("region", name="Waiting")).to_contain_text("low")
    page.keyboard.press("2")
    attempts = page.get_by_role("img", name="Attempts of ml.p5.48xlarge")
    expect(attempts.locator("rect.preempted")).not_to_have_count(0)
    expect(attempts.locator("rect.planned")).to_have_count(1)
    expect(attempts).to_contain_text("urgent")
    picture(page, "board-timeline")


def test_the_timeline_shows_what_ended_before_the_board_has_seen_it(page: Page, queue: Queue) -> None:
    expect(page.get_by_role("region", name="Running")).to_contain_text("low")
    # The board's clock stands still, so it does not read the summary again.
    queue.do("pass", 3000)
    queue.do("submit", "quick", 3, "search", 1)
    queue.do("tick")
    queue.do("pass", 3000)
    page.keyboard.press("2")
    attempts = page.get_by_role("img", name="Attempts of ml.p5.48xlarge")
    expect(attempts.locator("rect.completed")).to_have_count(1)
    expect(attempts.locator("title", has_text="quick: 1 instances, priority 3, search, completed")).to_have_count(1)


def test_jobs_are_filtered_and_sorted_by_keyboard(page: Page, queue: Queue, clock: Clock) -> None:
    for number in range(4):
        queue.do("submit", f"job-{number}", number, "search" if number % 2 else "vision", 1)
    expect(page.locator("#state")).to_contain_text("running")
    page.keyboard.press("3")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(5)
    page.get_by_role("button", name="Priority").click()
    expect(rows.first).to_contain_text("job-0")
    page.get_by_role("button", name="Priority").click()
    expect(rows.first).to_contain_text("job-3")
    expect(page.get_by_role("columnheader", name="Priority")).to_have_attribute("aria-sort", "descending")
    page.keyboard.press("/")
    page.keyboard.type("search")
    expect(rows).to_have_count(2)
    picture(page, "board-jobs")


def test_held_jobs_are_shown_on_request_and_counted_as_far_as_they_were_read(
    page: Page, queue: Queue, clock: Clock
) -> None:
    for name in ("one", "two"):
        queue.do("submit", name, 1, "search", 1)
    queue.do("hold", "two")
    queue.do("pass", 10)
    clock.now_s += 61
    expect(page.locator("#state")).to_contain_text("1 held")
    page.keyboard.press("3")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_label("State").select_option("held")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("two")
    expect(page.locator("#list-note")).to_have_text("1 held of the 2 that wait")
    page.get_by_label("State").select_option("waiting")
    expect(rows).to_have_count(2)
    expect(page.locator("#list-note")).to_have_text("2 jobs")


def test_a_job_is_opened_and_stopped_after_a_question(page: Page, queue: Queue, clock: Clock) -> None:
    queue.do("submit", "mine", 1, "search", 1)
    look(page, clock)
    page.get_by_role("link", name="mine").first.click()
    expect(page.get_by_role("heading", name="mine")).to_be_visible()
    expect(page.get_by_role("region", name="History")).to_contain_text("pending")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="No").click()
    expect(page.locator("#message")).to_be_empty()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Yes").click()
    expect(page.locator("#message")).to_contain_text("mine: stopped")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)


def open_job(page: Page, name: str) -> None:
    page.goto(page.url.partition("#")[0] + f"#job/{name}")
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()


def test_the_page_of_a_job_shows_its_attempts_utilization_and_log(
    page: Page, board: BoardServer, queue: Queue, aws: Aws
) -> None:
    queue.do("submit", "urgent", 9, "search", 1)
    queue.do("tick")
    queue.do("pass", 1500)
    wave = [50 + 40 * math.sin(minute / 2) for minute in range(11)]
    aws.values = {
        "GPUUtilization": [None, *(8 * each for each in wave)],
        "GPUMemoryUtilization": [None, *(8 * 71.0 for _ in wave)],
        "CPUUtilization": [*(192 * each / 5 for each in wave[:5]), None, None, *(192 * each / 4 for each in wave[:4])],
        "MemoryUtilization": [20.0 + minute / 2 for minute in range(12)],
    }
    attempt = f"low-{hashlib.sha256(b'low').hexdigest()[:8]}-2"
    now_ms = int(board.picture(hidden=False)[0]["readTime"] * 1000)
    for epoch in range(60):
        line = f"epoch {epoch}: loss 0.{999 - 9 * epoch}"
        aws.logs.write(f"{attempt}/algo-{1 + epoch % 2}-1", now_ms + 9000 * (epoch - 60), line)
    open_job(page, "low")
    attempts = page.get_by_role("region", name="Attempts").locator("tbody tr")
    expect(attempts).to_have_count(2)
    expect(attempts.first).to_contain_text("2 p5.48xlarge")
    expect(attempts.first).to_contain_text("was preempted for `urgent`")
    # All of its ended attempt was lost.
    lost = re.compile(r"Lost\d\.\d\d instance hours, (\d\.\d\d) USD of the cost.*\1 USD for ended")
    expect(page.locator(".facts")).to_contain_text(lost)
    curves = page.get_by_role("region", name="Utilization")
    expect(curves.get_by_role("img")).to_have_count(4)
    expect(curves.get_by_role("img", name="GPU memory: last 71 %, average 71 %")).to_be_visible()
    # The curve of the CPU is interrupted.
    expect(curves.get_by_role("img", name="CPU:").locator("polyline")).to_have_count(2)
    log = page.get_by_role("log")
    expect(log.locator("p")).to_have_count(60)
    log.scroll_into_view_if_needed()
    expect(log.locator("p").last).to_be_in_viewport()
    picture(page, "board-job", full=True)
    # Somebody who reads back in the log is not moved to its end.
    log.evaluate("(each) => { each.scrollTop = 0; }")
    with page.expect_response("**/figures"):
        page.evaluate("window.dispatchEvent(new Event('hashchange'))")
    expect(log.locator("p").first).to_be_in_viewport()


def test_what_a_caller_may_not_read_is_a_sentence_on_the_page_of_a_job(page: Page) -> None:
    open_job(page, "low")
    missing = page.get_by_role("region", name="Not shown")
    expect(missing).to_contain_text("allow cloudwatch:GetMetricData")
    expect(page.get_by_role("region", name="Attempts").locator("tbody tr")).to_have_count(1)


def test_hostile_lines_of_a_log_are_shown_as_text(page: Page, aws: Aws) -> None:
    line = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>\x1b[31m\u202eevil"
    aws.logs.write("low/algo-1-1", 1_767_335_400_000, line)
    open_job(page, "low")
    shown = page.get_by_role("log")
    expect(shown).to_contain_text("<img src=x onerror=")
    expect(shown).to_contain_text("\\x1b[31m\\u202eevil")
    assert page.title() == "Headway"
    assert page.locator("main img, main script").count() == 0


def test_a_hidden_tab_with_an_open_job_causes_no_calls_but_those_of_the_poller(
    page: Page, clock: Clock, board: BoardServer
) -> None:
    open_job(page, "low")
    expect(page.get_by_role("region", name="Not shown")).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true})")
    page.evaluate("window.dispatchEvent(new Event('hashchange'))")
    with page.expect_response("**/api/board?hidden=1"):
        pass
    page.evaluate("window.dispatchEvent(new Event('hashchange'))")
    page.wait_for_timeout(200)
    assert {each.rpartition("/")[2] for each in asked} == {"board?hidden=1"}


def test_a_selection_in_the_log_stays_while_the_page_is_drawn_again(page: Page, aws: Aws, clock: Clock) -> None:
    aws.logs.write("low/algo-1-1", 1_767_335_400_000, "loss 0.25")
    open_job(page, "low")
    page.get_by_text("loss 0.25").select_text()
    with page.expect_response("**/api/board*"):
        look(page, clock)
    page.evaluate("window.dispatchEvent(new Event('hashchange'))")
    assert page.evaluate("document.getSelection().toString()") == "loss 0.25"


def test_a_job_is_explained_on_request(page: Page, queue: Queue, clock: Clock) -> None:
    queue.do("submit", "mine", 1, "search", 1)
    look(page, clock)
    page.get_by_role("link", name="mine").first.click()
    page.get_by_role("button", name="Why").click()
    why = page.get_by_role("region", name="Why")
    expect(why).to_contain_text("Expected start")
    expect(why.get_by_role("row", name="low running")).to_be_visible()


def test_an_explanation_has_the_likely_start(page: Page, queue: Queue, clock: Clock) -> None:
    def predicted(route: Route) -> None:
        answer = route.fetch()
        times = {"about": "07:30", "from": "07:00", "until": "08:30"}
        likely = {name: f"2026-01-02T{time}:00.000Z" for name, time in times.items()}
        route.fulfill(response=answer, json={**answer.json(), "predictedStart": likely})

    queue.do("submit", "mine", 1, "search", 1)
    look(page, clock)
    page.route("**/explanation", predicted)
    page.get_by_role("link", name="mine").first.click()
    page.get_by_role("button", name="Why").click()
    why = page.get_by_role("region", name="Why")
    expect(why).to_contain_text(re.compile("Likely start about .*07:30.*, between .*07:00.* and .*08:30.* UTC"))


def test_an_array_shows_its_members(page: Page, queue: Queue, clock: Clock) -> None:
    queue.do("sweep", "search-rates", 3)
    page.goto(page.url.partition("#")[0] + "#job/search-rates")
    members = page.get_by_role("region", name="Members")
    expect(members.locator("tbody tr")).to_have_count(3)
    expect(members).to_contain_text("0.1")
    page.keyboard.press("5")
    expect(page.get_by_role("row", name="search-rates 3")).to_be_visible()


def test_a_priority_is_changed(page: Page, queue: Queue, clock: Clock) -> None:
    queue.do("submit", "mine", 1, "search", 1)
    look(page, clock)
    page.get_by_role("link", name="mine").first.click()
    page.get_by_role("button", name="Priority").click()
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    expect(page.locator("#message")).to_contain_text("mine: pending")
    expect(page.get_by_role("row", name="Priority 7")).to_be_visible()


@pytest.mark.parametrize("name", ["%", "%E9", "50%-of"])
def test_an_address_that_is_no_name_of_a_job_is_told_and_the_page_goes_on(
    page: Page, queue: Queue, clock: Clock, name: str
) -> None:
    page.goto(page.url.partition("#")[0] + f"#job/{name}")
    expect(page.locator("#reading")).to_contain_text("The board has no such page")
    queue.do("submit", "urgent", 9, "search", 1)
    clock.now_s += 61
    expect(page.locator("#state")).to_contain_text("1 waiting")


def test_a_lost_connection_is_shown_and_comes_back(page: Page, queue: Queue, clock: Clock) -> None:
    expect(page.locator("#state")).to_contain_text("1 running")
    queue.do("refuse", "on")
    look(page, clock)
    expect(page.locator("#state")).to_contain_text("Not connected")
    expect(page.get_by_role("region", name="Running")).to_contain_text("low")
    queue.do("refuse", "off")
    look(page, clock)
    expect(page.locator("#state")).to_contain_text("1 running")


@pytest.mark.parametrize(
    ("address", "path", "shown"),
    [
        ("job/low", "jobs/low", "History"),
        ("timeline", "timeline", "From"),
        ("jobs", "jobs", "low"),
        ("workflows", "jobs", "Dependencies"),
    ],
)
def test_a_page_that_has_to_wait_shows_the_wait_instead_of_the_page_before_and_is_read_by_itself(
    page: Page, address: str, path: str, shown: str
) -> None:
    expect(page.get_by_role("region", name="Pools")).to_be_visible()
    is_full = True

    def answer(route: Route) -> None:
        if is_full:
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "there is room in 1 s"})
        else:
            route.fallback()

    page.route(f"**/api/{path}", answer)
    page.goto(page.url.partition("#")[0] + f"#{address}")
    expect(page.locator("main")).to_have_text("there is room in 1 s")
    is_full = False
    expect(page.locator("main")).to_contain_text(shown)
    expect(page.locator("#reading")).to_have_count(0)


def test_what_was_asked_for_a_page_that_was_left_is_not_shown(page: Page) -> None:
    expect(page.get_by_role("region", name="Pools")).to_be_visible()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/timeline", hold)
    page.keyboard.press("2")
    expect(page.locator("main")).to_have_text("Reading timeline …")
    page.keyboard.press("4")
    expect(page.locator("main")).to_contain_text("vision")
    teams = page.locator("main").inner_text()
    with page.expect_response("**/api/timeline"):
        held[0].continue_()
    page.wait_for_timeout(100)
    assert page.locator("main").inner_text() == teams


def test_jobs_of_another_state_are_not_shown_under_the_chosen_one(page: Page) -> None:
    page.keyboard.press("3")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.route("**/api/jobs?*", lambda route: route.fulfill(status=502, json={"error": "not reached"}))
    page.get_by_label("State").select_option("ended")
    expect(page.locator("#reading")).to_have_text("not reached")
    expect(page.locator("tbody tr")).to_have_count(0)
    page.unroute("**/api/jobs?*")
    page.get_by_label("State").select_option("running")
    expect(page.locator("tbody tr")).to_have_count(1)


def test_teams_and_workflows_are_shown(page: Page, queue: Queue) -> None:
    queue.do("after", "train", "low")
    queue.do("after", "evaluate", "train")
    expect(page.locator("#state")).to_contain_text("running")
    page.keyboard.press("4")
    expect(page.get_by_role("row", name="vision ml.g5.xlarge 2")).to_be_visible()
    picture(page, "board-teams")
    page.keyboard.press("5")
    graph = page.get_by_role("group", name="Dependencies")
    expect(graph).to_contain_text("evaluate")
    expect(graph.locator("path.edge")).to_have_count(2)
    picture(page, "board-workflows")


def test_hostile_text_is_shown_as_text(page: Page, queue: Queue, clock: Clock) -> None:
    hostile = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>\u202eevil"
    queue.do("submit", "mine", 1, "search", 1)
    page.route("**/api/jobs/mine", lambda route: route.fulfill(json={**route.fetch().json(), "comment": hostile}))
    page.goto(page.url.partition("#")[0] + "#job/mine")
    expect(page.get_by_role("row", name="Comment")).to_contain_text("<img src=x")
    expect(page.get_by_role("row", name="Comment")).to_contain_text("\\u202eevil")
    assert page.title() == "Headway"
    assert page.locator("main img, main script").count() == 0


def test_the_pages_load_nothing_from_elsewhere(chromium: Browser, board: BoardServer) -> None:
    context = chromium.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(board.url)
    for key in "12345":
        page.keyboard.press(key)
        page.wait_for_timeout(100)
    context.close()
    origin = origin_of(board)
    assert asked
    assert all(each.startswith(origin) for each in asked)


CONTRAST = """(names) => {
  const style = getComputedStyle(document.documentElement);
  const light = (name) => {
    const hex = style.getPropertyValue(name).trim();
    const parts = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
    const [r, g, b] = parts.map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return names.map(([a, b]) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  });
}"""
"""The contrast of pairs of colors (WCAG 2.2, contrast ratio)."""

TEXTS = ["--text", "--soft", "--link", "--failed"]
MARKS = ["--busy", "--stopping", "--reserved", "--warm", "--outside", "--completed", "--stopped", "--planned"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_have_the_contrast_of_level_aa(chromium: Browser, board: BoardServer, scheme: Any) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(board.url)
    expect(page.get_by_role("region", name="Running")).to_contain_text("low")
    pairs = [(name, back) for name in TEXTS for back in ("--back", "--panel")]
    assert min(page.evaluate(CONTRAST, pairs)) >= 4.5
    marks = [(name, back) for name in MARKS for back in ("--back", "--panel")]
    assert min(page.evaluate(CONTRAST, marks)) >= 3
    # The names of jobs are written on the bars of the timeline.
    assert min(page.evaluate(CONTRAST, [(name, "--back") for name in MARKS])) >= 4.5
    picture(page, f"board-{scheme}")
    context.close()


def test_another_browser_that_knows_the_address_or_the_used_link_reads_nothing(
    chromium: Browser, page: Page, board: BoardServer
) -> None:
    expect(page.locator("#state")).to_contain_text("running")
    context = chromium.new_context()
    for address, told in ((board.url, "used already"), (origin_of(board), "Open the link")):
        other = context.new_page()
        answers: list[Response] = []
        other.on("response", lambda each, kept=answers: kept.append(each))
        other.goto(address)
        expect(other.get_by_text(told).first).to_be_visible()
        expect(other.locator("#state")).to_contain_text("Open the link")
        assert {each.status for each in answers if "/api/" in each.url} == {403}
        other.close()
    context.close()


def test_the_page_is_loaded_again_and_other_tabs_of_the_browser_see_the_queue(page: Page, board: BoardServer) -> None:
    running = expect(page.get_by_role("region", name="Running"))
    running.to_contain_text("low")
    page.reload()
    running.to_contain_text("low")
    page.goto("about:blank")
    page.goto(f"{origin_of(board)}/#jobs")
    expect(page.locator("tbody tr")).to_have_count(1)
    other = page.context.new_page()
    other.goto(origin_of(board))
    expect(other.get_by_role("region", name="Running")).to_contain_text("low")
    # It has it for itself now.
    page.close()
    other.reload()
    expect(other.get_by_role("region", name="Running")).to_contain_text("low")
    assert secret_of(other) not in other.url


def test_a_board_that_was_started_again_is_opened_by_its_new_link_in_old_tabs_too(
    page: Page, board: BoardServer
) -> None:
    state = expect(page.locator("#state"))
    state.to_contain_text("1 running")
    known = secret_of(page)
    board.gate = Gate(int(origin_of(board).rpartition(":")[2]), allow_changes=True)
    with page.expect_response(lambda each: each.status == 403):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    state.to_contain_text("Open the link")
    other = page.context.new_page()
    other.goto(board.url)
    expect(other.locator("#state")).to_contain_text("1 running")
    state.to_contain_text("1 running")
    assert secret_of(page) == secret_of(other) != known
    # A link that is pasted into the address of an open tab changes its fragment only.
    board.gate = Gate(int(origin_of(board).rpartition(":")[2]), allow_changes=True)
    page.goto(board.url)
    state.to_contain_text("1 running")
    assert page.url == origin_of(board) + "/"


class Neighbour:
    """A server of another user of the machine, on another port, which keeps what it gets."""

    def __init__(self, page: bytes) -> None:
        self.got: list[str] = []
        neighbour = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                neighbour.got.append(f"{self.path} {self.headers}")
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever)
        self._thread.start()
        self.origin = f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


TRIES = """async (origin) => {
  const tried = async (options) => {
    try { return `read ${(await fetch(`${origin}/api/board`, options)).status}`; } catch { return "blocked"; }
  };
  const later = (resolve) => setTimeout(resolve, 1000, "nothing");
  const frame = document.createElement("iframe");
  frame.src = origin;
  const loaded = new Promise((resolve) => { frame.onload = resolve; later(resolve); });
  document.body.append(frame);
  await loaded;
  let inside = "";
  try { inside = frame.contentWindow.sessionStorage.length; } catch { inside = "blocked"; }
  const tabs = new BroadcastChannel("headway-board");
  const told = new Promise((resolve) => { tabs.onmessage = ({ data }) => resolve(data.secret); later(resolve); });
  tabs.postMessage({});
  return {
    credentials: await tried({ credentials: "include" }),
    header: await tried({ headers: { "X-Headway-Board": "x" } }),
    simple: await tried({ method: "POST", body: "{}", credentials: "include" }),
    opaque: await tried({ mode: "no-cors", credentials: "include" }),
    inside, stored: sessionStorage.length + localStorage.length, cookie: document.cookie, told: await told,
  };
}"""
"""What a page of another origin can try."""


def test_another_server_of_this_machine_gets_no_secret_and_reads_nothing(page: Page, board: BoardServer) -> None:
    expect(page.get_by_role("region", name="Running")).to_contain_text("low")
    secret = secret_of(page)
    neighbour = Neighbour(b"<!doctype html><body><p>neighbour")
    try:
        # As a link or a redirect does, in a tab of the board and in another one, while the board is open.
        fresh, own = page.context.new_page(), page.context.new_page()
        own.goto(origin_of(board))
        expect(own.get_by_role("region", name="Running")).to_contain_text("low")
        assert secret_of(own) == secret
        for tab in (fresh, own):
            tab.goto(neighbour.origin)
            found = tab.evaluate(TRIES, origin_of(board))
            assert {found[each] for each in ("credentials", "header", "simple")} == {"blocked"}
            # What this one is answered, a page cannot see.
            assert found["opaque"] in {"read 0", "blocked"}
            assert found["inside"] == "blocked"
            assert (found["stored"], found["cookie"], found["told"]) == (0, "", "nothing")
        assert len(neighbour.got) >= 2
        assert secret not in "".join(neighbour.got)
        assert "cookie:" not in "".join(neighbour.got).lower()
        own.goto(origin_of(board))
        expect(own.get_by_role("region", name="Running")).to_contain_text("low")
        assert secret_of(own) == secret
    finally:
        neighbour.close()


def test_the_arguments_of_the_browser_have_no_token_and_it_shows_the_board(
    board: BoardServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What other users of the machine see of a process is read there; macOS has no such place.
    if CHROMIUM is None or not Path("/proc/self/cmdline").exists():
        pytest.skip("the machine has no Chromium, or no /proc")
    exchanged = threading.Event()
    gate = board.gate
    exchange = gate.exchange

    def counted(headers: Mapping[str, str], token: str) -> str:
        secret = exchange(headers, token)
        exchanged.set()
        return secret

    monkeypatch.setattr(gate, "exchange", counted)
    token = board.url.partition("#token=")[2]
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else []), "--headless", f"--user-data-dir={tmp_path}"]
    started: list[subprocess.Popen[bytes]] = []

    def browse(address: str) -> bool:
        command = [CHROMIUM, *flags, "--remote-debugging-port=0", address]
        started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return True

    assert board.open(browse)
    seen: set[bytes] = set()
    try:
        # What any user of the machine sees, until the browser has used the link.
        while not exchanged.wait(0.01) and started[0].poll() is None:
            seen |= arguments_of_all_processes()
    finally:
        started[0].terminate()
        started[0].wait(timeout=30)
    assert exchanged.is_set()
    assert any(b"file:///" in each and str(tmp_path).encode() in each for each in seen)
    assert not [each for each in seen if token.encode() in each]


def arguments_of_all_processes() -> set[bytes]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.add(path.read_bytes())
    return found


def test_a_page_of_another_site_reads_and_changes_nothing(page: Page, board: BoardServer, chromium: Browser) -> None:
    origin = origin_of(board)
    foreign = page.context.new_page()
    foreign.route("http://evil.example/**", lambda route: route.fulfill(body="<p>evil", content_type="text/html"))
    foreign.goto("http://evil.example/")
    tried = """async (url) => {
      const headers = {"X-Headway-Board": "change"};
      try { await fetch(url, {method: "POST", credentials: "include", headers}); return "sent"; }
      catch { return "blocked"; }
    }"""
    assert foreign.evaluate(tried, f"{origin}/api/jobs/low/stop") == "blocked"
    page.reload()
    expect(page.get_by_role("region", name="Running")).to_contain_text("low")
