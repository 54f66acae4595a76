"""The founding article's scheduler, rewritten: its calls of its table and of SageMaker, in their order.

The source is "A Priority Based Scheduler for Amazon SageMaker Training Jobs" (Chaim Rand with Max Rabin, Towards Data
Science, 8 March 2024), which prints its code and states that it is meant for some dozens of jobs. From there:

- one table; an item is a job: ``jobName`` (its only key), ``entryTime``, ``jobState`` (`pending`, `running` or
  `preempted`), ``priority`` of the tag `priority`, ``jobDetails`` (the request as JSON);
- one Lambda function, invoked for each submission and each training job that is Completed, Failed or Stopped. It notes
  what happened, and then makes a pass over the queue, whatever happened;
- a pass: a Scan for all that does not run, sorted by priority and entry time; ListTrainingJobs for `InProgress` and one
  for `Stopping`; a launch for each free instance (GetItem, CreateTrainingJob under a name with the day and the minute,
  UpdateItem); if a job then waits that no job stops for yet, another Scan for all running jobs, and StopTrainingJob for
  those of the lowest priorities that are lower than those of the first waiting jobs;
- reads are eventually consistent, as DynamoDB's are by default; nothing is conditional, nothing is retried.

Assumed here, each time in the article's favour:

- a Scan reads all its pages. The article's uses the first (1 MB) only: it does not see the rest, and it fails
  with a KeyError if one that runs is not among them;
- the lists ask for the newest 100. The article's take the default, ten and no further page; where SageMaker filters by
  status a page that was cut off before (API reference, ListTrainingJobs), ended jobs can hide running ones;
- a pass that finds fewer running jobs than it would compare preempts no more, where the article's fails with an
  IndexError; and a pass that finds more running jobs than allowed starts and skips none;
- a scanned item costs no time to be made of DynamoDB's JSON, and nothing is printed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bench.metering.table_scans import ScannedTable
from headway_service.ports.table import Delete, Item, Key, Put, Update

_STAMP = "-qstamp-"


class ArticleScheduler:
    """The function.

    Args:
        table: its table.
        sagemaker: boto3's client.
        instances: how many jobs may run at once; a job counts as one instance.
        clock_s: now, s since the epoch.
    """

    def __init__(self, table: ScannedTable, sagemaker: Any, instances: int, clock_s: Callable[[], float]) -> None:
        self._table = table
        self._sagemaker = sagemaker
        self._instances = instances
        self._clock_s = clock_s

    def submit(self, request: Mapping[str, Any]) -> None:
        """Add a job."""
        self._table.write([Put(item=entry(request, self._now()))])

    def ended(self, training_job: str, status: str) -> None:
        """Record the end of a training job. A preempted one stays in the queue."""
        job = _unstamped(training_job)
        if status == "Stopped":
            item = self._table.get_eventually(_key(job))
            if item is not None and item["jobState"] == "preempted":
                return
        self._table.write([Delete(key=_key(job))])

    def make_pass(self) -> None:
        """Start jobs that fit, and preempt for jobs that still wait."""
        waiting = self._waiting()[: self._instances]
        if not waiting:
            return
        running, stopping = self._listed("InProgress"), self._listed("Stopping")
        starts = min(len(waiting), self._instances - len(running) - len(stopping))
        for job in waiting[: max(0, starts)]:
            self._start(job["pk"])
        # As many as are stopping are taken to start soon.
        unserved = waiting[max(0, starts) :][len(stopping) :]
        if unserved:
            self._preempt(unserved, running)

    def _waiting(self) -> list[Item]:
        waiting = [item for item in self._table.scan_all() if item["jobState"] != "running"]
        return sorted(waiting, key=lambda item: (-item["priority"], item["entryTime"]))

    def _listed(self, status: str) -> list[str]:
        answer = self._sagemaker.list_training_jobs(StatusEquals=status, MaxResults=100, SortOrder="Descending")
        return [summary["TrainingJobName"] for summary in answer["TrainingJobSummaries"]]

    def _start(self, job: str) -> None:
        item = self._table.get_eventually(_key(job))
        if item is None:
            return
        request = json.loads(item["jobDetails"])
        self._sagemaker.create_training_job(**{**request, "TrainingJobName": f"{job}{_STAMP}{self._now():%d%H%M}"})
        self._table.write([Update(key=_key(job), sets={"jobState": "running"})])

    def _preempt(self, unserved: Sequence[Item], running: Sequence[str]) -> None:
        priorities = {item["pk"]: item["priority"] for item in self._table.scan_all() if item["jobState"] == "running"}
        lowest_first = sorted(running, key=lambda name: priorities[_unstamped(name)])
        for job, victim in zip(unserved, lowest_first, strict=False):
            if job["priority"] <= priorities[_unstamped(victim)]:
                return
            self._sagemaker.stop_training_job(TrainingJobName=victim)
            self._table.write([Update(key=_key(_unstamped(victim)), sets={"jobState": "preempted"})])

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock_s(), UTC)


def entry(request: Mapping[str, Any], now: datetime) -> Item:
    """The item of a job that was just submitted. Its key is called as the port has it, which is three bytes less."""
    name = request["TrainingJobName"]
    priority = next((int(tag["Value"]) for tag in request["Tags"] if tag["Key"] == "priority"), 0)
    return {
        "pk": name,
        "sk": "",
        "entryTime": f"{now:%Y-%m-%dT%H:%M:%S}",
        "jobState": "pending",
        "priority": priority,
        "jobDetails": json.dumps(request),
    }


def _key(job: str) -> Key:
    return Key(job, "")


def _unstamped(training_job: str) -> str:
    return training_job.partition(_STAMP)[0]
