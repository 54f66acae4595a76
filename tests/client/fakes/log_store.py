"""A fake of CloudWatch Logs in memory: the two operations for reading, with pages, tokens and errors."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

LOG_GROUP = "/aws/sagemaker/TrainingJobs"


class LogStore:
    """Streams by name, with the methods of a boto3 client.

    Attributes:
        page_size: maximum number of events on a page.
        gaps: return an empty page before each page with events, as AWS may.
        calls: the names of the calls, each with the stream or the prefix.
    """

    def __init__(self, *, page_size: int = 100, gaps: bool = False) -> None:
        self.streams: dict[str, list[tuple[int, str]]] = {}
        self.page_size = page_size
        self.gaps = gaps
        self.calls: list[str] = []

    def write(self, stream: str, time_ms: int, message: str) -> None:
        self.streams.setdefault(stream, []).append((time_ms, message))

    def describe_log_streams(self, **arguments: Any) -> dict[str, Any]:
        prefix = arguments.get("logStreamNamePrefix", "")
        self.calls.append(f"DescribeLogStreams {prefix}")
        if not self.streams or arguments["logGroupName"] != LOG_GROUP:
            raise _error("ResourceNotFoundException", "The specified log group does not exist.", "DescribeLogStreams")
        names = sorted(name for name in self.streams if name.startswith(prefix))
        first = int(arguments.get("nextToken", "0"))
        end = first + min(arguments.get("limit", 50), 50)
        more = {"nextToken": str(end)} if end < len(names) else {}
        return {"logStreams": [{"logStreamName": name, "storedBytes": 0} for name in names[first:end]], **more}

    def get_log_events(self, **arguments: Any) -> dict[str, Any]:
        name = arguments["logStreamName"]
        self.calls.append(f"GetLogEvents {name}")
        if name not in self.streams or arguments["logGroupName"] != LOG_GROUP:
            raise _error("ResourceNotFoundException", "The specified log stream does not exist.", "GetLogEvents")
        within = [
            (time_ms, message)
            for time_ms, message in self.streams[name]
            if arguments.get("startTime", 0) <= time_ms < arguments.get("endTime", 1 << 60)
        ]
        size = min(arguments.get("limit", self.page_size), self.page_size)
        head = arguments.get("startFromHead", False)
        token = arguments.get("nextToken") or (f"{'f' if head else 'b'}/{0 if head else len(within)}")
        direction, place = token[0], int(token[2:].rstrip("."))
        if token[0] != "fb"[not head] or not token.startswith(("f/", "b/")):
            raise _error("InvalidParameterException", "The specified nextToken is invalid.", "GetLogEvents")
        first, end = (place, min(place + size, len(within))) if direction == "f" else (max(place - size, 0), place)
        if self.gaps and first < end and not token.endswith("."):
            return {"events": [], "nextForwardToken": f"f/{first}.", "nextBackwardToken": f"b/{end}."}
        events = [{"timestamp": at, "message": said, "ingestionTime": at} for at, said in within[first:end]]
        if not events:
            return {"events": [], "nextForwardToken": f"f/{place}", "nextBackwardToken": f"b/{place}"}
        return {"events": events, "nextForwardToken": f"f/{end}", "nextBackwardToken": f"b/{first}"}


def _error(code: str, message: str, operation: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)
