"""Other calls of the API: changes of jobs and pools, the configuration, questions with tokens, times and headers."""

from __future__ import annotations

import base64
import json
from typing import Any

from hypothesis import strategies as st

from headway_sandbox.sagemaker.request_builder import P5
from headway_verification.decoders.decoder import Decoder, Refused
from headway_verification.decoders.inputs.documents import json_texts
from headway_verification.decoders.inputs.samples import CONFIGURATION, request
from headway_verification.decoders.inputs.values import nested, texts
from headway_verification.decoders.queue import Queue
from headway_verification.decoders.stored.submissions import AT_ONCE

_HELD = "a"
"""The job that calls are about: it waits, so that everything about it may be changed."""

_CHANGES: list[Any] = [
    ["PATCH", f"/jobs/{_HELD}", {"priority": 3}],
    ["POST", f"/jobs/{_HELD}/change",
     {"instances": 2, "maxRuntimeSeconds": 3600, "tags": {"project": "b"}, "removeTags": ["priority"]}],
    ["PUT", f"/jobs/{_HELD}/comment", {"comment": "a comment"}],
    ["POST", f"/jobs/{_HELD}/release", None],
    ["POST", "/pools/ml.p5.48xlarge/pause", {"reason": "maintenance"}],
    ["POST", "/pools/ml.p5.48xlarge/drain", {"reason": "maintenance", "stop": True}],
    ["PATCH", "/pools/ml.p5.48xlarge", {"size": 40}],
    ["POST", "/usage/repair", {"by": "owner", "day": "2027-01-14", "revision": 0, "differences": [
        {"name": "x", "figure": "jobs", "stored": 0, "computed": 1}]}],
    ["DELETE", f"/jobs/{_HELD}?reason=x", None],
]  # fmt: skip

_QUESTIONS: list[Any] = [
    ["/jobs", {"state": ["waiting", "running"], "owner": ["a"], "team": ["b"], "nameContains": ["a"], "limit": ["1"],
               "nextToken": ["W10="], "mine": ["true"]}, {}],
    ["/jobs", {"nextToken": ["x"]}, {}],
    ["/history", {"since": ["2026-11-25"], "until": ["2026-11-25T10:00:00Z"], "state": ["failed"], "limit": ["1"],
                  "nextToken": ["x"]}, {}],
    ["/events", {"after": ["0000000000001.0"], "since": ["2026-11-25"], "job": ["a"], "code": ["Entered"],
                 "limit": ["5"]}, {}],
    ["/usage", {"by": ["tag:project"], "from": ["2026-11-25"], "to": ["2026-11-26"], "step": ["day"],
                "predictions": ["true"]}, {}],
    ["/usage", {"by": ["owner"], "from": ["0001-01-01"], "to": ["9999-12-31"]}, {}],
    ["/usage/comparison", {"by": ["owner"], "day": ["2027-01-14"], "nextToken": ["x"]}, {}],
    ["/forecast", {"job": ["a"], "limit": ["1"]}, {}],
    ["/jobs/a/members", {"from": ["0"], "limit": ["1"]}, {}],
    ["/jobs/a", {}, {}],
    ["/jobs/a/explanation", {}, {}],
    ["/summary", {}, {"If-None-Match": '"x"'}],
]  # fmt: skip

_TOKENS = st.one_of(
    st.builds(
        lambda document: base64.urlsafe_b64encode(json.dumps(document).encode()).decode(),
        st.recursive(st.one_of(texts.map(lambda text: text[:50]), st.integers(), st.none()),
                     lambda inner: st.one_of(st.lists(inner, max_size=5),
                                             st.dictionaries(st.text(max_size=9), inner, max_size=3))),
    ),
    nested.map(lambda text: base64.urlsafe_b64encode(text.encode()[:1400]).decode()),
    st.sampled_from([["waiting", None, "x"], ["ended", {"listingKey": "x", "pk": "y"}, "x"], [1, 2, 3], {}, "abc", None,
                     ["job#a", "job", "x", "owner", "2027-01-14"], [None, None, "x", "owner", "2027-01-14"]]).map(
        lambda document: base64.urlsafe_b64encode(json.dumps(document).encode()).decode()
    ),
)  # fmt: skip
"""Tokens of pages, and what looks like them."""


def _value(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise Refused("no call") from None


def _queue() -> Queue:
    queue = Queue()
    queue.ask("POST", "/jobs", json.dumps(request(_HELD)))
    queue.ask("POST", f"/jobs/{_HELD}/hold")
    queue.tick()
    return queue


def _change(content: bytes) -> None:
    """A call that changes a job or a pool: its method, its path and its body."""
    document = _value(content)
    if not isinstance(document, list) or len(document) != 3 or not all(isinstance(each, str) for each in document[:2]):
        raise Refused("no call")
    method, path, body = document
    if not path.startswith("/") or any(len(pair.split("=")) != 2 for pair in path.partition("?")[2].split("&") if pair):
        raise Refused("no path")
    queue = _queue()
    accepted = True
    try:
        queue.ask(method, path, None if body is None else json.dumps(body))
    except Refused:
        accepted = False
    queue.serve_others()
    queue.let_pass(600)
    queue.serve_others()
    queue.ask_about(_HELD)
    if not accepted:
        raise Refused("the call is refused")


def _configuration(content: bytes) -> None:
    """A configuration. One that is accepted may leave no place for others, but ticks decide by it."""
    queue = _queue()
    try:
        queue.ask("PUT", "/config", content.decode("utf-8", "replace"), headers={"If-Match": "*"})
    except Refused:
        queue.serve_others()
        raise
    for _ in range(2):
        queue.tick()
        queue.run_functions()
        queue.let_pass(86_400)


def _question(content: bytes) -> None:
    """A question: its path, its query and its headers."""
    document = _value(content)
    if not isinstance(document, list) or len(document) != 3:
        raise Refused("no question")
    path, query, headers = document
    if not (
        isinstance(path, str)
        and path.startswith("/")
        and isinstance(query, dict)
        and isinstance(headers, dict)
        and all(
            isinstance(each, list) and each and all(isinstance(one, str) for one in each) for each in query.values()
        )
        and all(isinstance(each, str) for each in headers.values())
    ):
        raise Refused("no question")
    _shared().ask("GET", path.replace("?", ""), query=query, headers=headers)


_queues: list[Queue] = []


def _shared() -> Queue:
    """One queue for all questions of a batch: they change nothing."""
    if not _queues:
        queue = _queue()
        for number in range(3):
            queue.ask("POST", "/jobs", json.dumps(request(f"b{number}")))
        queue.serve_others()
        queue.let_pass(7200)
        queue.run_functions()
        _queues.append(queue)
    return _queues[0]


DECODERS = (
    Decoder(
        name="queue changes", inputs=json_texts(_CHANGES, st.sampled_from([P5, "serverless", "a", "bob-1", "*"])),
        decode=_change, refusals=(Refused,), batch=AT_ONCE,
    ),
    Decoder(
        name="queue configuration", inputs=json_texts([CONFIGURATION, {"pools": {P5: {"size": 2}}}]),
        decode=_configuration, refusals=(Refused,), batch=AT_ONCE,
    ),
    Decoder(
        name="queue questions", inputs=json_texts(_QUESTIONS, st.one_of(_TOKENS, texts).map(lambda text: [text])),
        decode=_question, refusals=(Refused,),
    ),
)  # fmt: skip
