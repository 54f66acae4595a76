"""Hooks for schemathesis: signing of calls, and requests that may be accepted.

Runs in ``.envs/fuzz``, where Headway is not installed: a caller knows only the API's document.
"""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import requests
import schemathesis
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from schemathesis import Case, GenerationMode, HookContext

from tests.security.fuzz_queue import NAMES, POOLS, request

NAME_CHARS = (64, 1025, 2049, 4000)
"""Lengths beyond those of names, and of DynamoDB's keys."""

TOKENS = ("after", "nextToken")
"""What only an answer gives: any other value is refused."""

DAYS_BACK = 60
"""Within what the queue keeps sums of days for."""


class Signature(requests.auth.AuthBase):
    """SigV4 with the keys in the environment."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Sign a request as it is sent: its path, query, body and content type."""
        keys = Credentials(os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"])
        signed = {name: value for name, value in request.headers.items() if name.lower() == "content-type"}
        asked = AWSRequest(request.method, request.url, data=request.body, headers=signed)
        SigV4Auth(keys, "execute-api", os.environ["AWS_REGION"]).add_auth(asked)
        request.headers.update(dict(asked.headers.items()))
        return request


schemathesis.auth.set_from_requests(Signature())


@schemathesis.hook
def map_case(context: HookContext, case: Case) -> Case:
    """Change most valid cases so that they pass validation: existing jobs, and acceptable requests."""
    # Drawn from the case alone, so that a seed reproduces the run.
    draw = random.Random(repr((case.path_parameters, case.query, case.body)))
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        for given in (case.path_parameters or {}, case.query or {}):
            for name in ("name", "job"):
                if name in given and draw.random() < 0.2:
                    given[name] = "x" * draw.choice(NAME_CHARS)
        return case
    if "name" in (case.path_parameters or {}) and draw.random() < 0.8:
        case.path_parameters["name"] = draw.choice(NAMES)
    if case.query and draw.random() < 0.8:
        case.query = _usable(case.query, draw)
    if isinstance(case.body, dict) and draw.random() < 0.8:
        case.body = _likely(case.method, case.path, case.body, draw)
    if (case.method, case.path) == ("PUT", "/config") and draw.random() < 0.7:
        # Without the newest version it would always be refused.
        case.headers["If-Match"] = "*"
    return case


def _likely(method: str, path: str, body: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    match method, path:
        case "POST", "/jobs" | "/add-job":
            return _request(body, draw)
        case "POST", "/job-batches":
            return {**body, "requests": [_request({}, draw), *body.get("requests", [])][:100]}
        case "POST", "/what-if":
            submit = {"change": "submit", "request": _request({}, draw)}
            return {**body, "changes": [submit, *body.get("changes", [])][:10]}
        case ("PUT", "/config") | ("POST", "/config/effects"):
            # The pool stays in any case: without it no request would be accepted.
            return {**(body if draw.random() < 0.3 else {}), "pools": POOLS}
        case _:
            return body


def _usable(query: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """Return a query without tokens that no answer gave, and with times that the queue knows something of."""
    usable = {name: value for name, value in query.items() if name not in TOKENS}
    now = datetime.now(UTC)
    back = sorted((draw.randrange(DAYS_BACK) for _ in range(2)), reverse=True)
    begin, end = ((now - timedelta(days=days)).date().isoformat() for days in back)
    times = {"since": begin, "until": end, "from": begin, "to": end, "day": begin}
    return {name: times.get(name, value) for name, value in usable.items()}


def _request(body: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """Return a CreateTrainingJob request; in every third one a member is arbitrary."""
    job = request(
        draw.choice(NAMES),
        os.environ["FUZZ_ROLE_ARN"],
        instances=draw.choice([1, 1, 2, 3]),
        priority=draw.randrange(10),
    )
    if body and draw.random() < 0.33:
        job[draw.choice(list(job))] = draw.choice(list(body.values()))
    return job
