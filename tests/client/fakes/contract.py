"""A fake of the queue's API in memory: its responses and codes, without scheduling."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

from tests.client.fakes import contract_actions as actions
from tests.client.fakes import contract_arrays as arrays
from tests.client.fakes import contract_config as configs
from tests.client.fakes import contract_foresight as foresight
from tests.client.fakes import contract_summary as summaries
from tests.client.fakes import contract_usage as usage
from tests.client.fakes.contract_events import Feed
from tests.client.fakes.contract_foresight import ENDED, Reply, problem

NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
OWNER = "arn:aws:sts::123456789012:assumed-role/researcher/ada"


class Queue:
    """Jobs by name, and the responses to requests. Jobs stay pending unless a test changes them."""

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.settings: dict[str, Any] = {"pools": {"ml.p5.48xlarge": {"size": 2}}}
        self.version = 1
        #: By pool: its pause, and members that differ from the defaults.
        self.pauses: dict[str, dict[str, Any]] = {}
        self.teams: list[dict[str, Any]] = []
        self.budgets: list[dict[str, Any]] = []
        self.uses: dict[str, dict[str, Any]] = {}
        self.page_size = 100
        self.rogues: list[dict[str, Any]] = []
        self.more_rogues = False
        #: Dead letters; a redrive leaves those with a problem.
        self.letters: list[dict[str, Any]] = []
        self.more_letters = 0
        #: The server's version in responses; None for a server from before responses had a version.
        self.server_version: str | None = "0.1.0"
        #: Members of predictions, by the name of the job or of the call, that replace the defaults.
        self.foresight: dict[str, dict[str, Any]] = {}
        #: The effects of each configuration that changes anything.
        self.effects: list[dict[str, Any]] = []
        self.sees_all = True
        #: The number of requests of a batch for which the server has time.
        self.batch_size = 100
        self.feed = Feed()
        #: Arrays by their name.
        self.arrays: dict[str, arrays.Array] = {}
        self._keys: dict[str, str] = {}
        #: By version: the settings and the reason of each configuration.
        self.configs: dict[int, dict[str, Any]] = {}
        self.actions: list[dict[str, Any]] = []
        configs.record(self)

    def answer(self, method: str, target: str, body: bytes, headers: Mapping[str, str] | None = None) -> Reply:
        path, _, query = target.partition("?")
        document = json.loads(body) if body else {}
        key, match = ((headers or {}).get(name) for name in ("idempotency-key", "if-match"))
        segments = [unquote(part) for part in path.strip("/").split("/")]
        if self.server_version is not None:
            reply = summaries.answer(self, method, segments, headers or {})
            reply = reply or configs.answer(self, method, segments, parse_qs(query), document)
            reply = reply or actions.answer(self, method, segments, parse_qs(query))
            reply = reply or self._answer_new(method, segments, parse_qs(query), document, key)
            if reply is not None:
                return reply
        return self._answer_old(method, segments, parse_qs(query), document, key, match)

    def _answer_old(
        self,
        method: str,
        segments: list[str],
        query: dict[str, list[str]],
        document: Any,
        key: str | None,
        match: str | None,
    ) -> Reply:
        match (method, segments):
            case ("POST", ["jobs" | "add-job"]):
                return arrays.submitted(self, document, self._submit(document.get("jobDetails", document), key))
            case ("GET", ["jobs"]):
                return self._list(query)
            case ("GET" | "DELETE" | "PATCH", ["jobs", name]):
                return self._on_job(method, name, document, query)
            case ("GET", [("capacity" | "rogue-jobs") as what]):
                return 200, self._use() if what == "capacity" else self._bypassing()
            case ("GET", ["config"]):
                return 200, self._config()
            case ("PUT", ["config"]):
                return self._put_config(document, match, query.get("reason", [""])[0])
            case ("GET", ["dead-letters"]) | ("POST", ["dead-letters", "redrive"]):
                return 200, self._dead_letters() if method == "GET" else self._redrive()
            case _:
                return 403, {"message": "Missing Authentication Token"}

    def _answer_new(
        self, method: str, segments: list[str], query: dict[str, list[str]], document: Any, key: str | None
    ) -> Reply | None:
        match (method, segments):
            case ("POST", ["job-batches"]):
                return self._submit_batch(document, key)
            case ("POST", ["jobs", name, ("hold" | "release" | "change")]) | ("PUT", ["jobs", name, "comment"]):
                return self._alter(name, segments[2], document)
            case ("POST", ["pools", pool, ("pause" | "drain" | "resume") as action]):
                return self._on_pool(pool, action, document)
            case ("PATCH", ["pools", pool]):
                if pool in self.settings["pools"]:
                    self.settings["pools"][pool]["size"] = document["size"]
                return self._on_pool(pool, "", document)
            case ("POST", [("pause" | "resume") as action]):
                for pool in self.settings["pools"]:
                    self._on_pool(pool, action, document, everything=True)
                return 200, self._use()
            case ("DELETE", ["rogue-jobs", name]):
                return self._stop_bypassing(name)
            case ("GET", ["version"]):
                return 200, {"version": self.server_version, "api": 1}
            case _:
                predicted = foresight.answer(self, method, segments, query, document)
                return (
                    predicted
                    or usage.answer(self.jobs, method, segments, query, document)
                    or arrays.answer(self, method, segments, query)
                    or self.feed.answer(method, segments, query)
                )

    def add(self, name: str, **changes: Any) -> dict[str, Any]:
        """Add a job and return its document, which the test may change."""
        self._submit(request(name))
        self.jobs[name].update(changes)
        return self.jobs[name]

    def _submit(self, document: dict[str, Any], key: str | None = None) -> Reply:
        reply = self.checked(document)
        if reply is not None:
            return reply
        name = document["TrainingJobName"]
        if name in self.jobs:
            if self.jobs[name]["request"] != document:
                return problem(409, "NameInUse", f"{name} is in use by another request; choose another name.")
            return (201 if key is not None and self._keys.get(name) == key else 200), self.job(name)
        if key is not None:
            self._keys[name] = key
        self.jobs[name] = self.entered(document)
        return 201, self.job(name)

    def checked(self, document: dict[str, Any]) -> Reply | None:
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
        return None

    def entered(self, document: dict[str, Any]) -> dict[str, Any]:
        tags = {tag["Key"]: tag["Value"] for tag in document.get("Tags", [])}
        resources = document["ResourceConfig"]
        pool, count = resources["InstanceType"], resources["InstanceCount"]
        return {
            "jobName": document["TrainingJobName"],
            "jobState": "pending",
            "priority": int(tags.get("priority", tags.get("headway:priority", "0"))),
            "entryTime": f"2026-01-02T03:04:05.{len(self.jobs):03}Z",
            "demand": {pool: count},
            "team": tags.get("team"),
            "owner": OWNER,
            "reason": {"code": "PoolFull", "message": f"Waits for {count} {pool}."},
            "attemptCount": 0,
            "liveAttempt": None,
            "endedTime": None,
            "held": False,
            "startedTime": None,
            "preemptions": 0,
            "instanceSeconds": {},
            "attempts": [],
            "history": [],
            "watches": [],
            "request": document,
        }

    def _submit_batch(self, document: dict[str, Any], key: str | None) -> Reply:
        results = []
        for number, each in enumerate(document["requests"]):
            busy = problem(503, "Busy", "There was no time for it; send it again.")
            status, told = self._submit(each, key) if number < self.batch_size else busy
            results.append({"status": status, **({"job": told} if status < 300 else {"error": told["error"]})})
        return 200, {"results": results}

    def _alter(self, name: str, action: str, document: dict[str, Any]) -> Reply:
        if name not in self.jobs:
            return problem(404, "JobNotFound", f"There is no job {name}.")
        job = self.jobs[name]
        if action == "comment":
            job["comment"] = document["comment"] or None
            return 200, self.job(name)
        if action == "change" and job["jobState"] in {"pending", "preempted"}:
            if "instances" in document:
                job["demand"] = dict.fromkeys(job["demand"], document["instances"])
            job["limitSeconds"] = document.get("maxRuntimeSeconds", job.get("limitSeconds"))
            tags = {tag["Key"]: tag["Value"] for tag in job["request"].get("Tags", [])} | document.get("tags", {})
            kept = [key for key in tags if key not in document.get("removeTags", [])]
            job["request"] = {**job["request"], "Tags": [{"Key": key, "Value": tags[key]} for key in kept]}
            return 200, self.job(name)
        held = action == "hold"
        if job["jobState"] in ENDED:
            return problem(409, "JobEnded", f"{name} has ended already.")
        if action != "release" and job["jobState"] in {"running", "stopping"}:
            return problem(409, "NotWaiting", f"{name} holds instances; only a job that waits can be held or changed.")
        job["held"] = held
        reason = ("Held", "is held until it is released") if held else ("PoolFull", "Waits for 1 ml.p5.48xlarge.")
        job["reason"] = dict(zip(("code", "message"), reason, strict=True))
        return 200, self.job(name)

    def _list(self, query: dict[str, list[str]]) -> Reply:
        states = query.get("state")
        chosen = [
            name
            for name, job in self.jobs.items()
            if (job["jobState"] in states if states else job["jobState"] not in ENDED) and self._fits(job, query)
        ]
        start = int(query.get("nextToken", ["0/+="])[0].removesuffix("/+="))
        end = start + min(int(query.get("limit", ["100"])[0]), self.page_size)
        # The token contains characters that a client has to quote.
        following = f"{end}/+=" if end < len(chosen) else None
        return 200, {"jobs": [self.job(name) for name in chosen[start:end]], "nextToken": following}

    def _fits(self, job: dict[str, Any], query: dict[str, list[str]]) -> bool:
        if self.server_version is None:
            return True
        wanted = {name: values[0] for name, values in query.items()}
        return (
            (wanted.get("mine") != "true" or job["owner"] == OWNER)
            and job["owner"] == wanted.get("owner", job["owner"])
            and job["team"] == wanted.get("team", job["team"])
            and wanted.get("nameContains", "") in job["jobName"]
        )

    def _on_job(self, method: str, name: str, document: dict[str, Any], query: dict[str, list[str]]) -> Reply:
        if name not in self.jobs:
            return problem(404, "JobNotFound", f"There is no job {name}.")
        if method == "DELETE":
            return self._stop(self.jobs[name], *query.get("reason", []))
        if method == "PATCH":
            return self._set_priority(self.jobs[name], document)
        return 200, self.job(name, whole=True)

    def _stop(self, job: dict[str, Any], why: str = "") -> Reply:
        if job["jobState"] in {"completed", "failed"}:
            return problem(409, "JobEnded", f"{job['jobName']} has ended already.")
        if job["jobState"] in {"running", "stopping"}:
            job["jobState"] = "stopping"
            return 202, self.job(job["jobName"])
        message = f"stopped by its owner: {why}" if why else "Stopped by its owner."
        job.update(jobState="stopped", reason={"code": "UserStopped", "message": message})
        return 200, self.job(job["jobName"])

    def _set_priority(self, job: dict[str, Any], change: dict[str, Any]) -> Reply:
        if job["jobState"] in ENDED:
            return problem(409, "JobEnded", f"{job['jobName']} has ended already.")
        job["priority"] = change["priority"]
        return 200, self.job(job["jobName"])

    def job(self, name: str, *, whole: bool = False) -> dict[str, Any]:
        job = self.jobs[name]
        waiting = [
            other for other, it in self.jobs.items() if it["jobState"] in {"pending", "preempted"} and not it["held"]
        ]
        place = waiting.index(name) + 1 if name in waiting else None
        hidden = set() if whole else {"attempts", "history", "watches", "request"}
        if self.server_version is None:
            hidden |= {"held", "startedTime", "preemptions", "instanceSeconds", "comment"}
        return {key: value for key, value in {**job, "place": place}.items() if key not in hidden}

    def _use(self) -> dict[str, Any]:
        pools = [self.pool(name) for name in sorted(self.settings["pools"])]
        return {"pools": pools, "teams": self.teams, "budgets": self.budgets}

    def _on_pool(self, name: str, action: str, document: dict[str, Any], *, everything: bool = False) -> Reply:
        if name not in self.settings["pools"]:
            return problem(404, "PoolNotFound", f"There is no pool {name}; there are: ml.p5.48xlarge.")
        if action == "resume":
            self.pauses.pop(name, None)
        elif action:
            self.pauses[name] = {
                "everything": everything, "by": "user/ada", "since": "2026-01-02T03:04:05.678Z",
                "reason": document["reason"], "stops": document.get("stop", False),
            }  # fmt: skip
        return 200, self.pool(name)

    def _bypassing(self) -> dict[str, Any]:
        return {"rogueJobs": self.rogues, "more": self.more_rogues}

    def _stop_bypassing(self, name: str) -> Reply:
        for rogue in self.rogues:
            if rogue["trainingJobName"] == name:
                rogue["stopAskedBy"] = rogue["stopAskedBy"] or "user/ada"
                return 202, rogue
        return problem(404, "RogueJobNotFound", f"The queue knows no live training job {name}.")

    def pool(self, name: str) -> dict[str, Any]:
        size = self.settings["pools"][name]["size"]
        return {
            "pool": name, "size": size, "allocated": 1, "stopping": 1, "reserved": 0, "rogue": 1,
            "free": size - 2, "waiting": 7, "pause": self.pauses.get(name), **self.uses.get(name, {}),
        }  # fmt: skip

    def bypass(self, name: str, **changes: Any) -> dict[str, Any]:
        """Add a rogue training job and return its document."""
        rogue = {
            "trainingJobName": name,
            "trainingJobStatus": "InProgress",
            "demand": {"ml.p5.48xlarge": 1},
            "charged": {"ml.p5.48xlarge": 1},
            "team": None,
            "createdTime": "2026-01-02T03:04:05.678Z",
            "seenTime": "2026-01-02T03:04:06.678Z",
            "stopAskedBy": None,
            "reason": {"code": "OutsideTheQueue", "message": "did not come through the queue"},
            **changes,
        }
        self.rogues.append(rogue)
        return rogue

    def _config(self) -> dict[str, Any]:
        own = {} if self.server_version is None else {"version": self.version}
        return {"document": {**self.settings, **own}, "version": self.version, "problem": None}

    def bury(self, **changes: Any) -> dict[str, Any]:
        """Add a dead letter and return its document."""
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

    def _put_config(self, document: dict[str, Any], match: str | None, reason: str) -> Reply:
        if self.server_version is None and "version" in document:
            return problem(400, "InvalidConfiguration", "The document is not valid.", version="not permitted")
        if "pools" not in document:
            return problem(400, "InvalidRequest", "The document is not valid.", pools="is missing.")
        if self.server_version is not None and match != "*":
            if match is None and "version" not in document:
                return problem(428, "VersionRequired", "The document does not say which version it was made from.")
            if (match or f'"{document["version"]}"') != f'"{self.version}"':
                change = {"pools.ml.p5.48xlarge.size": "2 → 3"}
                return problem(412, "ConfigurationChanged", "The configuration has changed.", **change)
        self.settings = {name: value for name, value in document.items() if name != "version"}
        self.version += 1
        configs.record(self, reason)
        return 200, self._config()


def request(name: str = "job1", **changes: Any) -> dict[str, Any]:
    """Return a complete CreateTrainingJob request."""
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
