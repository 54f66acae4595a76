"""The local server of the board, over HTTP."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from headway_client.board.budget import MAX_READ_BURST, MAX_READS
from headway_client.board.web.access import SECRET_HEADER
from headway_client.board.web.server import AGE_HEADER, RETRY_AFTER_S, BoardServer
from headway_client.errors import NotAllowedError
from headway_client.http.api import HeadwayApi
from tests.client.fakes.log_store import LogStore
from tests.client.fakes.server import ContractServer, Fault


class Browser:
    """A browser: keeps the secret, and sends what browsers and pages send.

    Args:
        server: the board's server.
    """

    def __init__(self, server: BoardServer) -> None:
        self.server = server
        self.origin, _, self.token = server.url.partition("/#token=")
        self.host = self.origin.removeprefix("http://")
        self.secret: str | None = None

    def open(self) -> int:
        status, answer = self.change("/api/session", {"token": self.token})
        self.secret = answer.get("secret")
        return status

    def send(
        self, method: str, path: str, body: bytes | None = None, /, **headers: Any
    ) -> tuple[http.client.HTTPResponse, bytes]:
        sent = {
            "Host": self.host,
            SECRET_HEADER: self.secret,
            **{name.replace("_", "-"): each for name, each in headers.items()},
        }
        connection = http.client.HTTPConnection(self.host, timeout=10)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def get(self, path: str) -> tuple[int, Any]:
        response, content = self.send("GET", path)
        return response.status, json.loads(content)

    def change(self, path: str, body: Any = None, **headers: str | None) -> tuple[int, Any]:
        content = None if body is None else json.dumps(body).encode()
        own: dict[str, str | None] = {
            "Origin": self.origin,
            "Content-Type": "application/json" if body is not None else None,
        }
        response, answer = self.send("POST", path, content, **{**own, **headers})
        return response.status, json.loads(answer)


def without_aws(_: str) -> Any:
    raise NotAllowedError("There are no AWS credentials.")


@contextmanager
def serving(api: HeadwayApi, client_of: Callable[[str], Any] = without_aws, **options: Any) -> Iterator[Browser]:
    server = BoardServer(api, client_of, **options)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield Browser(server)
    finally:
        server.stop()
        server.close()
        thread.join()


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(server: ContractServer) -> ContractServer:
    server.queue.add("trains", jobState="running", priority=9, team="vision")
    server.queue.add("first", priority=5)
    return server


@pytest.fixture
def browser(queue: ContractServer, api: HeadwayApi, clock: Clock) -> Iterator[Browser]:
    api._transport._limits = type(api._transport._limits)(tries=1)
    with serving(api, clock=clock, allow_changes=True) as opened:
        opened.open()
        yield opened


def test_the_link_becomes_a_secret_once(browser: Browser) -> None:
    with serving(browser.server._calls._api) as other:  # type: ignore[arg-type]
        assert other.get("/api/board")[0] == 403
        assert other.open() == 200
        assert other.get("/api/board")[0] == 200
        assert other.open() == 403


def test_the_file_with_the_link_is_there_until_the_link_is_used(browser: Browser) -> None:
    with serving(browser.server._calls._api) as other:  # type: ignore[arg-type]
        addresses: list[str] = []

        def browse(address: str) -> bool:
            addresses.append(address)
            return True

        assert other.server.open(browse)
        folder = Path(urlsplit(addresses[0]).path).parent
        assert other.change("/api/session", {"token": "wrong"})[0] == 403
        assert folder.exists()
        assert other.open() == 200
        assert not folder.exists()


@pytest.mark.parametrize("body", [None, {}, {"token": 1}, {"token": None}, ["x"], {"token": "x", "more": 1}])
def test_a_body_without_a_token_is_refused(browser: Browser, body: Any) -> None:
    status, answer = browser.change("/api/session", body)
    assert status == 400
    assert "token" in answer["error"]


PAGES = ("/", "/board.css", "/board.js", "/dom.js", "/job.js", "/pages.js", "/session.js", "/timeline.js")


def test_the_pages_are_served_to_everybody_and_have_no_secret(browser: Browser) -> None:
    assert browser.secret
    for path in PAGES:
        response, content = browser.send("GET", path, **{SECRET_HEADER: None, "Sec-Fetch-Site": "cross-site"})
        assert (response.status, bool(content)) == (200, True)
        for secret in (browser.secret, browser.token):
            assert secret.encode() not in content
            assert secret not in str(response.headers)
        assert browser.send("GET", path, Host="evil.example")[0].status == 421


def test_no_response_sets_a_cookie_and_no_cookie_is_worth_anything(browser: Browser, queue: ContractServer) -> None:
    with serving(browser.server._calls._api) as other:  # type: ignore[arg-type]
        response, content = other.send(
            "POST", "/api/session", json.dumps({"token": other.token}).encode(),
            **{"Origin": other.origin, "Content-Type": "application/json"},
        )  # fmt: skip
        assert response.status == 200
        assert response.headers["Set-Cookie"] is None
        secret = json.loads(content)["secret"]
        before = len(queue.received)
        port = other.host.partition(":")[2]
        for name in (f"headway-board-{port}", SECRET_HEADER, "secret"):
            assert other.send("GET", "/api/board", Cookie=f"{name}={secret}")[0].status == 403
        assert len(queue.received) == before


def test_the_picture_is_served(browser: Browser) -> None:
    status, picture = browser.get("/api/board")
    assert status == 200
    assert [each["jobName"] for each in picture["summary"]["waiting"]] == ["first"]
    assert picture["allowsChanges"] is True


def test_every_response_forbids_what_the_pages_do_not_need(browser: Browser) -> None:
    for path in ("/", "/board.js", "/api/board", "/nothing"):
        headers = browser.send("GET", path)[0].headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert not [name for name in headers if name.lower().startswith("access-control")]


WRONG = [
    ("another host", {"Host": "evil.example"}, 421),
    ("another origin", {"Origin": "http://evil.example"}, 403),
    ("no secret", {SECRET_HEADER: None}, 403),
    ("a wrong secret", {SECRET_HEADER: "x"}, 403),
    ("a secret that is no ASCII", {SECRET_HEADER: "\xff"}, 403),
    ("another site", {"Sec-Fetch-Site": "cross-site"}, 403),
]


@pytest.mark.parametrize("path", ["/api/board", "/api/timeline", "/api/jobs/first", "/api/jobs/trains/figures"])
@pytest.mark.parametrize(("headers", "status"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_stranger_reads_nothing_and_causes_no_call(
    browser: Browser, queue: ContractServer, path: str, headers: dict[str, str | None], status: int
) -> None:
    before = len(queue.received)
    assert browser.send("GET", path, **headers)[0].status == status
    assert len(queue.received) == before
    assert browser.server._calls._figures._clients == {}


CHANGES = [
    ("hold", "/api/jobs/first/hold", None, ("POST", "/v1/jobs/first/hold")),
    ("release", "/api/jobs/first/release", None, ("POST", "/v1/jobs/first/release")),
    ("stop", "/api/jobs/first/stop", None, ("DELETE", "/v1/jobs/first")),
    ("priority", "/api/jobs/first/priority", {"priority": 7}, ("PATCH", "/v1/jobs/first")),
]


@pytest.mark.parametrize(("path", "body", "call"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_a_change_of_its_own_page_is_made_with_the_users_signature(
    browser: Browser, queue: ContractServer, path: str, body: Any, call: tuple[str, str]
) -> None:
    assert browser.change(path, body)[0] == 200
    assert (queue.received[-1].method, queue.received[-1].target) == call


STRANGE = [
    *WRONG,
    ("no origin", {"Origin": None}, 403),
    ("a form", {SECRET_HEADER: None, "Content-Type": "application/x-www-form-urlencoded"}, 403),
]


@pytest.mark.parametrize(("headers", "status"), [row[1:] for row in STRANGE], ids=[row[0] for row in STRANGE])
def test_a_stranger_changes_nothing(
    browser: Browser, queue: ContractServer, headers: dict[str, str | None], status: int
) -> None:
    before = len(queue.received)
    assert browser.change("/api/jobs/first/stop", **headers)[0] == status
    assert len(queue.received) == before


def test_a_read_only_board_changes_nothing(queue: ContractServer, api: HeadwayApi) -> None:
    with serving(api) as browser:
        browser.open()
        before = len(queue.received)
        status, answer = browser.change("/api/jobs/first/stop")
        assert (status, len(queue.received)) == (403, before)
        assert "--allow-changes" in answer["error"]
        assert browser.get("/api/board")[1]["allowsChanges"] is False


ELSEWHERE = [
    "/nothing", "/../board.py", "/api", "/api/config", "/api/capacity", "/api/dead-letters", "/api/jobs/..",
    "/api/jobs/a%2Fb", "/api/jobs/first/logs", "/api/jobs/first/figures?x=1", "/api/jobs/a%2Fb/figures", "/api/figures",
    "/api/jobs?owner=x", "/api/jobs/first?x=1", "/api/openapi.json", "/pages/board.js", "//evil.example", "//[",
    "//[/api/jobs", "http://[", "http://[/api/board",
]  # fmt: skip


@pytest.mark.parametrize("path", ELSEWHERE)
def test_only_listed_reads_are_passed_on(browser: Browser, queue: ContractServer, path: str) -> None:
    before = len(queue.received)
    assert browser.send("GET", path)[0].status == 404
    assert len(queue.received) == before


NO_CHANGES = [
    ("/api/jobs/first/comment", {"comment": "x"}, 404),
    ("/api/jobs", {"TrainingJobName": "x"}, 404),
    ("/api/config", {}, 404),
    ("/api/pools/ml.p5.48xlarge/pause", None, 404),
    ("/api/jobs/first/stop", {"reason": "x"}, 404),
    ("/api/jobs/first/priority", {"priority": True}, 404),
    ("/api/jobs/first/priority", {"priority": 10_000}, 404),
    ("/api/jobs/first/priority", {"priority": 1, "more": 1}, 404),
    ("/api/jobs/first/priority", "x" * 2000, 413),
]


@pytest.mark.parametrize(("path", "body", "status"), NO_CHANGES)
def test_only_listed_changes_are_passed_on(
    browser: Browser, queue: ContractServer, path: str, body: Any, status: int
) -> None:
    before = len(queue.received)
    assert browser.change(path, body)[0] == status
    assert len(queue.received) == before


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"])
def test_no_other_method_is_answered(browser: Browser, queue: ContractServer, method: str) -> None:
    before = len(queue.received)
    response, _ = browser.send(method, "/api/jobs/first")
    assert response.status == 501
    assert len(queue.received) == before


NO_BODIES = [
    (b"{", "application/json", 400, "is no JSON"),
    (b"\xff", "application/json", 400, "is no JSON"),
    (b"[" * 1000, "application/json", 400, "nested more than"),
    (b'{"priority":' + b"[" * 400 + b"]" * 400 + b"}", "application/json", 400, "nested more than"),
    (b'{"a":' * 199 + b"1" + b"}" * 4, "application/json", 400, "is no JSON"),
    (b"1" * 1000, "application/json", 404, "no such change"),
    (b"{}", "text/plain", 415, "has to be JSON"),
]


@pytest.mark.parametrize(("body", "kind", "status", "told"), NO_BODIES)
@pytest.mark.parametrize("path", ["/api/jobs/first/priority", "/api/session"])
def test_a_body_that_is_no_json_is_refused_without_a_traceback(
    browser: Browser, capfd: pytest.CaptureFixture[str], path: str, body: bytes, kind: str, status: int, told: str
) -> None:
    if path == "/api/session" and status == 404:
        status, told = 400, "token"
    response, content = browser.send("POST", path, body, Origin=browser.origin, Content_Type=kind)
    assert response.status == status
    assert told in json.loads(content)["error"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "1e3", "x", "", "1001"])
def test_a_length_that_is_none_or_too_large_is_refused_without_a_traceback(
    browser: Browser, capfd: pytest.CaptureFixture[str], length: str
) -> None:
    response, _ = browser.send("POST", "/api/jobs/first/hold", Origin=browser.origin, Content_Length=length)
    assert response.status == 413
    assert capfd.readouterr().err == ""


def test_all_tabs_share_one_poller_and_a_minute_has_few_calls(
    browser: Browser, queue: ContractServer, clock: Clock
) -> None:
    browser.get("/api/board")
    for _ in range(3):
        before = len(queue.received)
        for _ in range(60):
            clock.now_s += 1
            for _ in range(3):
                browser.get("/api/board")
        assert 1 <= len(queue.received) - before <= 7


def test_hidden_tabs_cause_two_calls_a_minute(browser: Browser, queue: ContractServer, clock: Clock) -> None:
    browser.get("/api/board")
    clock.now_s += 60
    browser.get("/api/board?hidden=1")
    before = len(queue.received)
    for _ in range(60):
        clock.now_s += 1
        browser.get("/api/board?hidden=1")
    assert len(queue.received) - before == 2


def test_a_user_who_looks_through_many_jobs_does_not_wait_and_the_average_is_limited(
    browser: Browser, queue: ContractServer, clock: Clock
) -> None:
    for number in range(100):
        queue.queue.add(f"job-{number}")
    statuses = []
    for number in range(100):
        clock.now_s += 2
        statuses.append(browser.get(f"/api/jobs/job-{number}")[0])
    minutes = 100 * 2 / 60
    assert statuses[:MAX_READ_BURST] == [200] * MAX_READ_BURST
    assert statuses.count(200) <= MAX_READ_BURST + minutes * MAX_READS
    assert statuses.count(429) == 100 - statuses.count(200)


def test_a_read_without_room_says_when_there_is_room_and_what_was_read_before_is_shown_at_once(
    browser: Browser, queue: ContractServer, clock: Clock
) -> None:
    browser.get("/api/jobs/first")
    for number in range(MAX_READ_BURST):
        queue.queue.add(f"job-{number}")
        browser.get(f"/api/jobs/job-{number}")
    response, content = browser.send("GET", "/api/jobs/trains")
    wait_s = int(response.headers["Retry-After"])
    assert (response.status, wait_s) == (429, 60 / MAX_READS)
    assert f"in {wait_s} s" in json.loads(content)["error"]
    clock.now_s += wait_s - 1
    assert browser.get("/api/jobs/trains")[0] == 429
    assert browser.get("/api/jobs/first")[0] == 200
    clock.now_s += 1
    assert browser.get("/api/jobs/trains")[0] == 200


def test_a_read_is_kept_for_all_tabs_until_a_change(browser: Browser, queue: ContractServer) -> None:
    def shown() -> int:
        return sum(each.target == "/v1/jobs/first" and each.method == "GET" for each in queue.received)

    for _ in range(3):
        assert browser.get("/api/jobs/first")[0] == 200
    assert shown() == 1
    browser.change("/api/jobs/first/hold")
    assert browser.get("/api/jobs/first")[1]["held"] is True
    assert shown() == 2


class Aws:
    """CloudWatch with a line in the log of a host, and without metrics; counts what is made and called."""

    def __init__(self) -> None:
        self.services: list[str] = []
        self.metric_calls = 0
        self.logs = LogStore()
        self.logs.write("trains/algo-1-1", 1_767_335_000_000, "<b>epoch 1</b>\u202e")

    def client_of(self, service: str) -> Any:
        self.services.append(service)
        return self.logs if service == "logs" else self

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self, **arguments: Any) -> list[dict[str, Any]]:
        self.metric_calls += 1
        results = [{"Id": each["Id"], "Timestamps": [], "Values": []} for each in arguments["MetricDataQueries"]]
        return [{"MetricDataResults": results}]


ATTEMPT = {
    "attemptName": "trains", "number": 1, "attemptState": "live", "trainingJobStatus": "InProgress",
    "secondaryStatus": "Training", "startedTime": "2026-01-02T06:00:00.000Z", "endedTime": None, "failureReason": None,
    "reason": None, "demand": {"ml.p5.48xlarge": 1},
}  # fmt: skip


def test_the_figures_of_a_job_are_read_with_the_callers_credentials_and_shared_by_all_tabs(
    queue: ContractServer, api: HeadwayApi, clock: Clock
) -> None:
    queue.queue.jobs["trains"]["attempts"] = [ATTEMPT]
    aws = Aws()
    with serving(api, aws.client_of, clock=clock) as browser:
        browser.open()
        browser.get("/api/jobs/trains")
        before = len(queue.received)
        answers = [browser.get("/api/jobs/trains/figures") for _ in range(3)]
        assert {status for status, _ in answers} == {200}
        figures = answers[-1][1]
        assert [line["text"] for line in figures["lines"]] == ["<b>epoch 1</b>\\u202e"]
        assert (figures["attempt"], figures["notes"]) == ("trains", [])
        assert (aws.metric_calls, len(aws.logs.calls), aws.services) == (1, 2, ["cloudwatch", "logs"])
        # The job that the page has is used.
        assert len(queue.received) == before


def test_an_open_page_of_a_job_takes_three_reads_a_minute(
    browser: Browser, queue: ContractServer, clock: Clock
) -> None:
    browser.get("/api/jobs/trains")
    before = len(queue.received)
    for _ in range(60):
        clock.now_s += 1
        browser.get("/api/jobs/trains")
        assert browser.get("/api/jobs/trains/figures")[0] == 200
    assert len(queue.received) - before == 3


def test_missing_credentials_are_a_sentence_on_the_page(browser: Browser, queue: ContractServer) -> None:
    queue.queue.jobs["trains"]["attempts"] = [ATTEMPT]
    status, figures = browser.get("/api/jobs/trains/figures")
    assert (status, figures["notes"]) == (200, ["There are no AWS credentials."] * 2)


def test_the_figures_of_a_job_that_may_not_be_read_are_not_read(queue: ContractServer, api: HeadwayApi) -> None:
    aws = Aws()
    with serving(api, aws.client_of) as browser:
        browser.open()
        assert browser.get("/api/jobs/unknown/figures")[0] == 404
        assert aws.services == []


def test_an_unchanged_picture_is_not_sent_again(browser: Browser) -> None:
    browser.get("/api/board")
    # The second one has the forecast.
    response, _ = browser.send("GET", "/api/board")
    again, content = browser.send("GET", "/api/board", If_None_Match=response.headers["ETag"])
    assert (again.status, content) == (304, b"")
    assert float(again.headers[AGE_HEADER]) == 0


def test_a_lost_connection_is_reported_and_the_last_picture_stays(
    browser: Browser, queue: ContractServer, clock: Clock
) -> None:
    browser.get("/api/board")
    queue.fail(Fault(drop=True))
    clock.now_s += 10
    status, picture = browser.get("/api/board")
    assert status == 200
    assert picture["error"]
    assert picture["summary"]["waiting"]
    clock.now_s += 20
    assert browser.get("/api/board")[1]["error"] == ""


def test_a_refusal_of_the_queue_is_passed_on(browser: Browser) -> None:
    response, content = browser.send("GET", "/api/jobs/unknown")
    assert (response.status, response.headers["Retry-After"]) == (404, str(RETRY_AFTER_S))
    assert "unknown" in json.loads(content)["error"]


@pytest.mark.parametrize("name", ["sweep_0", "sweep_9999", "a-b-c"])
def test_members_of_arrays_are_shown_like_other_jobs(browser: Browser, queue: ContractServer, name: str) -> None:
    assert browser.get(f"/api/jobs/{name}")[0] == 404
    assert queue.received[-1].target == f"/v1/jobs/{name}"


def test_jobs_are_listed_by_state_team_and_name(browser: Browser, queue: ContractServer) -> None:
    assert browser.get("/api/jobs?state=running")[1]["jobs"][0]["jobName"] == "trains"
    assert "state=running" in queue.received[-1].target
    assert "limit=100" in queue.received[-1].target


def test_the_timeline_has_the_attempts_that_were_seen(browser: Browser) -> None:
    browser.get("/api/board")
    (bar,) = browser.get("/api/timeline")[1]["bars"]
    assert (bar["job"], bar["pool"], bar["outcome"]) == ("trains", "ml.p5.48xlarge", "running")


def test_the_server_listens_on_this_machine_only(browser: Browser) -> None:
    assert browser.server._http.server_address[0] == "127.0.0.1"


def test_a_browser_that_closes_its_connection_prints_no_traceback(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ended = threading.Event()
    close = browser.server._http.shutdown_request

    def closed(request: Any) -> None:
        close(request)
        ended.set()

    monkeypatch.setattr(browser.server._http, "shutdown_request", closed)
    host, _, port = browser.host.partition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"GET / HT")
        # The close is a reset.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert ended.wait(10)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(("error", "printed"), [(BrokenPipeError(), False), (ZeroDivisionError(), True)])
def test_only_the_servers_own_errors_are_printed(
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    error: Exception,
    printed: bool,
) -> None:
    monkeypatch.setattr(sys, "exception", lambda: error)
    browser.server._http.handle_error(None, ("127.0.0.1", 1))
    assert ("Exception" in capfd.readouterr().err) == printed
