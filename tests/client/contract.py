"""The queue's API as the client sees it, in memory: the words and codes of its answers, and no scheduling."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs, unquote

NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
ENDED = ("completed", "failed", "stopped")
OWNER = "arn:aws:sts::123456789012:assumed-role/researcher/ada"

Reply = tuple[int, dict[str, Any]]


def problem(status: int, code: str, message: str, **fields: str) -> Reply:
    listed = [{"field": name, "message": text} for name, text in fields.items()]
    return status, {"error": {"code": code, "message": message, "fields": listed}, "requestId": "req-1"}


class Queue:
    """Jobs by name, and the answers to requests on them. Jobs only wait, unless a test changes them."""

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.settings: dict[str, Any] = {"pools": {"ml.p5.48xlarge": {"size": 2}}}
        self.version = 1
        self.page_size = 100
        self.rogues: list[dict[str, Any]] = []
        self.more_rogues = False
        #: Of letters with a problem, a redrive leaves each where it is.
        self.letters: list[dict[str, Any]] = []
        self.more_letters = 0

    def answer(self, method: str, target: str, body: bytes) -> Reply:
        path, _, query = target.partition("?")
        document = json.loads(body) if body else {}
        match (method, [unquote(part) for part in path.strip("/").split("/")]):
            case ("POST", ["jobs"]):
                return self._submit(document)
            case ("GET", ["jobs"]):
                return self._list(parse_qs(query))
            case ("GET" | "DELETE" | "PATCH", ["jobs", name]):
                return self._on_job(method, name, document)
            case ("GET", [("capacity" | "rogue-jobs") as what]):
                return 200, self._use() if what == "capacity" else self._bypassing()
            case ("GET", ["config"]):
                return 200, self._config()
            case ("PUT", ["config"]):
                return self._put_config(document)
            case ("GET", ["dead-letters"]) | ("POST", ["dead-letters", "redrive"]):
                return 200, self._dead_letters() if method == "GET" else self._redrive()
            case _:
                return 403, {"message": "Missing Authentication Token"}

    def add(self, name: str, **changes: Any) -> dict[str, Any]:
        """Put a job straight into the queue and return it, for a test to change."""
        self._submit(request(name))
        self.jobs[name].update(changes)
        return self.jobs[name]

    def _submit(self, document: dict[str, Any]) -> Reply:
        name = document.get("TrainingJobName", "")
        if not NAME.fullmatch(name):
            return problem(
                400,
                "InvalidRequest",
                "The request is not valid.",
                TrainingJobName=f"has {len(name)} characters; use 1 to 63 letters, digits and hyphens.",
                **({} if document.get("RoleArn") else {"RoleArn": "is missing; name the role of the job."}),
            )
        resources = document["ResourceConfig"]
        pool, count = resources["InstanceType"], resources["InstanceCount"]
        size = self.settings["pools"].get(pool, {"size": 0})["size"]
        if count > size:
            return problem(
                422,
                "ImpossibleDemand",
                f"{count} {pool} can never be had; the pool has {size}.",
                **{"ResourceConfig.InstanceCount": f"ask for at most {size}."},
            )
        if name in self.jobs:
            if self.jobs[name]["request"] == document:
                return 200, self._job(name)
            return problem(409, "NameInUse", f"{name} is in use by another request; choose another name.")
        tags = {tag["Key"]: tag["Value"] for tag in document.get("Tags", [])}
        self.jobs[name] = {
            "jobName": name,
            "jobState": "pending",
            "priority": int(tags.get("priority", tags.get("headway:priority", "0"))),
            "entryTime": f"2026-01-02T03:04:05.{len(self.jobs):03}Z",
            "demand": {pool: count},
            "owner": OWNER,
            "reason": {"code": "PoolFull", "message": f"Waits for {count} {pool}."},
            "attemptCount": 0,
            "liveAttempt": None,
            "endedTime": None,
            "attempts": [],
            "history": [],
            "watches": [],
            "request": document,
        }
        return 201, self._job(name)

    def _list(self, query: dict[str, list[str]]) -> Reply:
        states = query.get("state")
        chosen = [
            name
            for name, job in self.jobs.items()
            if (job["jobState"] in states if states else job["jobState"] not in ENDED)
        ]
        start = int(query.get("nextToken", ["0/+="])[0].removesuffix("/+="))
        end = start + min(int(query.get("limit", ["100"])[0]), self.page_size)
        # The token holds characters that a client has to quote.
        following = f"{end}/+=" if end < len(chosen) else None
        return 200, {"jobs": [self._job(name) for name in chosen[start:end]], "nextToken": following}

    def _on_job(self, method: str, name: str, document: dict[str, Any]) -> Reply:
        if name not in self.jobs:
            return problem(404, "JobNotFound", f"There is no job {name}.")
        if method == "DELETE":
            return self._stop(self.jobs[name])
        if method == "PATCH":
            return self._set_priority(self.jobs[name], document)
        return 200, self._job(name, whole=True)

    def _stop(self, job: dict[str, Any]) -> Reply:
        if job["jobState"] in {"completed", "failed"}:
            return problem(409, "JobEnded", f"{job['jobName']} has ended already.")
        if job["jobState"] in {"running", "stopping"}:
            job["jobState"] = "stopping"
            return 202, self._job(job["jobName"])
        job.update(jobState="stopped", reason={"code": "UserStopped", "message": "Stopped by its owner."})
        return 200, self._job(job["jobName"])

    def _set_priority(self, job: dict[str, Any], change: dict[str, Any]) -> Reply:
        if job["jobState"] in ENDED:
            return problem(409, "JobEnded", f"{job['jobName']} has ended already.")
        job["priority"] = change["priority"]
        return 200, self._job(job["jobName"])

    def _job(self, name: str, *, whole: bool = False) -> dict[str, Any]:
        job = self.jobs[name]
        waiting = [other for other, it in self.jobs.items() if it["jobState"] in {"pending", "preempted"}]
        place = waiting.index(name) + 1 if name in waiting else None
        hidden = set() if whole else {"attempts", "history", "watches", "request"}
        return {key: value for key, value in {**job, "place": place}.items() if key not in hidden}

    def _use(self) -> dict[str, Any]:
        return {"pools": [self._pool(name) for name in sorted(self.settings["pools"])]}

    def _bypassing(self) -> dict[str, Any]:
        return {"rogueJobs": self.rogues, "more": self.more_rogues}

    def _pool(self, name: str) -> dict[str, Any]:
        size = self.settings["pools"][name]["size"]
        return {
            "pool": name, "size": size, "allocated": 1, "stopping": 1, "reserved": 0, "rogue": 1,
            "free": size - 2, "waiting": 7,
        }  # fmt: skip

    def bypass(self, name: str, **changes: Any) -> dict[str, Any]:
        """Put a training job beside the queue and return it."""
        rogue = {
            "trainingJobName": name,
            "trainingJobStatus": "InProgress",
            "demand": {"ml.p5.48xlarge": 1},
            "charged": {"ml.p5.48xlarge": 1},
            "team": None,
            "createdTime": "2026-01-02T03:04:05.678Z",
            "seenTime": "2026-01-02T03:04:06.678Z",
            "reason": {"code": "OutsideTheQueue", "message": "did not come through the queue"},
            **changes,
        }
        self.rogues.append(rogue)
        return rogue

    def _config(self) -> dict[str, Any]:
        return {"document": self.settings, "version": self.version, "problem": None}

    def bury(self, **changes: Any) -> dict[str, Any]:
        """Put a letter among the dead ones and return it."""
        letter = {
            "id": f"m{len(self.letters)}",
            "queue": "event",
            "sentTime": "2026-01-02T03:04:05.678Z",
            "receiveCount": 2,
            "about": "job1 Failed",
            "errorType": "KeyError",
            "errorMessage": "'TrainingJobStatus'",
            "problem": None,
            **changes,
        }
        self.letters.append(letter)
        return letter

    def _dead_letters(self) -> dict[str, Any]:
        return {"letters": self.letters, "more": self.more_letters > 0}

    def _redrive(self) -> dict[str, Any]:
        stuck = [letter for letter in self.letters if letter["problem"]]
        redriven = len(self.letters) - len(stuck)
        self.letters = stuck
        return {
            "redriven": redriven,
            "dropped": 0,
            "failed": len(stuck),
            "left": len(stuck) + self.more_letters,
            "failures": [{key: letter[key] for key in ("id", "queue", "about", "problem")} for letter in stuck],
        }

    def _put_config(self, document: dict[str, Any]) -> Reply:
        if "pools" not in document:
            return problem(400, "InvalidRequest", "The document is not valid.", pools="is missing.")
        self.settings = document
        self.version += 1
        return 200, self._config()


def request(name: str = "job1", **changes: Any) -> dict[str, Any]:
    """Return a whole CreateTrainingJob request."""
    return {
        "TrainingJobName": name,
        "RoleArn": "arn:aws:iam::123456789012:role/training",
        "AlgorithmSpecification": {
            "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
            "TrainingInputMode": "File",
        },
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
        "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1, "VolumeSizeInGB": 10},
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        **changes,
    }
