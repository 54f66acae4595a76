"""The time of Headway's own code for the measurements beside Slurm: warm handlers, with boto3 and without AWS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from bench.queues.virtual_time import sweep_of, usual_request
from bench.queues.warm import WarmQueue
from headway_sandbox.inprocess.lambda_loader import http_event
from headway_service.jobs.submit_batch import MAX_BATCH
from headway_service.store.job_listing import MAX_LISTED

_STEP_S = 60
_MOST_STEPS = 10_000


class OwnTime(WarmQueue):
    """A queue on virtual time whose instances are in use; extends `bench.queues.warm`.

    Args:
        waiting: jobs in the queue, the next one included.
    """

    def empty(self) -> None:
        """Have all jobs end."""
        while running := [job.name for job in self.fleet.jobs(now=self.now_s) if not job.ended]:
            for name in running:
                self.fleet.finish(name, now=self.now_s)
            self.pass_time(_STEP_S)

    def together_ms(self, jobs: int) -> float:
        """The time in which the API's handler accepts a number of short jobs in batches, ms."""
        before_ms = self.handler_ms["api"]
        requests = [usual_request(f"batch-{number:06}", run_s=0) for number in range(jobs)]
        for first in range(0, jobs, MAX_BATCH):
            body = json.dumps({"requests": requests[first : first + MAX_BATCH]})
            told = self._call("POST", "/job-batches", body)
            if any(result["status"] != 201 for result in told["results"]):
                raise RuntimeError(f"not all jobs of a batch were taken: {told}")
        return self.handler_ms["api"] - before_ms

    def array_ms(self, members: int) -> float:
        """The time in which the API's handler accepts an array, which is stopped before a member is made, ms."""
        before_ms = self.handler_ms["api"]
        body = json.dumps({"jobDetails": usual_request("array"), "sweep": sweep_of(members)})
        self._call("POST", "/add-job", body, status=HTTPStatus.CREATED)
        taken_ms = self.handler_ms["api"] - before_ms
        self._call("DELETE", "/jobs/array")
        return taken_ms

    def listing_ms(self, first: int | None) -> float:
        """The handler's time for the pages of the first jobs, or of all (None), ms."""
        before_ms, listed = self.handler_ms["api"], 0
        query = {"limit": [str(MAX_LISTED if first is None else min(first, MAX_LISTED))]}
        while first is None or listed < first:
            page = self._call("GET", "/jobs", query=query)
            listed += len(page["jobs"])
            if page["nextToken"] is None:
                break
            query["nextToken"] = [page["nextToken"]]
        return self.handler_ms["api"] - before_ms

    def cycle_ms(self) -> float:
        """How long the tick takes after a running job has ended, which starts another one, ms."""
        before_ms = self.handler_ms["schedule"]
        self.reaction()
        return self.handler_ms["schedule"] - before_ms

    def drain_ms(self) -> float:
        """How long the handlers take together until all jobs have ended that are in the queue, ms."""
        before_ms = sum(self.handler_ms.values())
        self.come_to_rest()
        for _ in range(_MOST_STEPS):
            if not self.fleet.in_use():
                return sum(self.handler_ms.values()) - before_ms
            self.pass_time(_STEP_S)
        raise RuntimeError("the jobs do not end")

    def _call(
        self,
        method: str,
        path: str,
        body: str | None = None,
        query: Mapping[str, list[str]] | None = None,
        *,
        status: HTTPStatus = HTTPStatus.OK,
    ) -> dict[str, Any]:
        answer = self.invoke("api", http_event(method, path, body, query))
        if answer["statusCode"] != status:
            raise RuntimeError(f"{method} {path} was answered by {answer['statusCode']}: {answer['body']}")
        document: dict[str, Any] = json.loads(answer["body"])
        return document
