"""Loads a function as Lambda does, in a separate interpreter, and lets it handle one event (`cold_start.py`).

    python -I -S -B cold_child.py SEARCH_PATH [EVENT_FILE]

The last line printed has, for when the function was ready and when it had answered: the time (the machine's monotonic
clock, ns), the processor's time (ns), and the peak memory (KB). This module imports nothing but the standard library
and the given path.
"""

import sys
import time

TYPE_CHECKING = False  # typing's own would be imported, and that is timed
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    """Load, handle the event, print the figures."""
    path, *events = sys.argv[1:]
    handler = load(path) if path else None
    found = {"ready": now()}
    if handler is not None and events:
        answer(handler, events[0])
        found["answered"] = now()
    import json

    print(json.dumps(found))


def now() -> dict[str, int]:
    """The time, and the use so far."""
    return {"ns": time.monotonic_ns(), "cpuNs": time.process_time_ns(), "peakKb": peak_kb()}


def load(path: str) -> "Any":
    """The handler of the app.py on a search path."""
    sys.path[:0] = path.split(":")
    return __import__("app").handler


def peak_kb() -> int:
    """The most memory that this process has held at once, KB. getrusage would count what its parent held before it."""
    with open("/proc/self/status", encoding="utf-8") as status:  # noqa: PTH123 - pathlib would be imported for it
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def answer(handler: "Any", event_file: str) -> None:
    """Let a handler handle an event, with real AWS clients whose requests an empty queue answers at once."""
    import json
    from types import SimpleNamespace

    import boto3
    from botocore.awsrequest import AWSResponse
    from botocore.compat import HTTPHeaders

    answers = {"Query": {"Items": [], "Count": 0, "ScannedCount": 0}}

    def send(request: "Any", event_name: str, **_: "Any") -> AWSResponse:
        body = json.dumps(answers.get(event_name.rpartition(".")[2], {})).encode()
        return AWSResponse(request.url, 200, HTTPHeaders(), SimpleNamespace(stream=lambda: [body]))

    boto3.setup_default_session()
    assert boto3.DEFAULT_SESSION is not None  # noqa: S101 - the line above has made it
    # botocore types handlers as returning nothing, yet takes what this one returns as the answer.
    boto3.DEFAULT_SESSION.events.register("before-send", send)  # type: ignore[arg-type]
    with open(event_file, encoding="utf-8") as file:  # noqa: PTH123
        event = json.load(file)
    context = SimpleNamespace(
        function_name="headway-test",
        memory_limit_in_mb=1024,
        invoked_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:headway-test",
        aws_request_id="c0ffee00-0000-4000-8000-000000000000",
        get_remaining_time_in_millis=lambda: 25_000,
    )
    answered = handler(event, context)
    if answered is not None and answered.get("statusCode", 200) >= 400:
        raise RuntimeError(answered)


if __name__ == "__main__":
    main()
