"""What a restore of the table needs beside AWS's own commands. docs/restore.md walks through it.

    python deploy/restore.py copy sagemaker-queue-restored sagemaker-queue
    python deploy/restore.py unknown sagemaker-queue --since 2026-11-22T09:30:00Z

`copy` makes a table's items those of another one; the table itself stays, with its stream, its name and its settings.
`unknown` lists the training jobs that the queue has started since the state that the table was put back to.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from headway_service.admission import JOB_TAG
from headway_service.naming import attempt_name
from headway_service.records import JobRecord

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table
    from mypy_boto3_sagemaker import SageMakerClient

Item = dict[str, Any]
_KEYS = ("pk", "sk")
# The lists are long and the calls' rates are limited per account.
_PATIENT = Config(retries={"mode": "adaptive", "total_max_attempts": 10})


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the two commands; 1 if training jobs are unknown."""
    parser = argparse.ArgumentParser(description="Put the queue's table back to an earlier state.")
    commands = parser.add_subparsers(dest="command", required=True)
    copying = commands.add_parser("copy", help="make a table's items those of another one")
    copying.add_argument("source")
    copying.add_argument("target")
    finding = commands.add_parser("unknown", help="list training jobs of the queue that the table does not know")
    finding.add_argument("table")
    finding.add_argument(
        "--since", type=datetime.fromisoformat, required=True, help="the time the table was put back to"
    )
    args = parser.parse_args(argv)
    tables = boto3.resource("dynamodb", config=_PATIENT)
    if args.command == "copy":
        done = copy(tables.Table(args.source), tables.Table(args.target))
        print(f"{done.written} items written, {done.removed} removed, {done.kept} were as they should be")
        return 0
    training_jobs = list(read_marked(boto3.client("sagemaker", config=_PATIENT), args.since))
    found = list(find_unknown(training_jobs, read_items(tables.Table(args.table))))
    print(*found or ["The table knows every training job of the queue."], sep="\n")
    return 1 if found else 0


@dataclass(frozen=True, kw_only=True)
class Copied:
    """What a copy did, in items."""

    written: int
    removed: int
    kept: int


def copy(source: Table, target: Table) -> Copied:
    """Make the target's items those of the source. It can be run again: what is alike is left alone."""
    wanted = {key_of(item): item for item in read_items(source)}
    present = {key_of(item): item for item in read_items(target)}
    if not wanted:
        raise SystemExit(f"{source.name} is empty: is it restored yet?")
    written = [item for key, item in wanted.items() if present.get(key) != item]
    removed = present.keys() - wanted.keys()
    with target.batch_writer() as batch:
        for key in removed:
            batch.delete_item(Key=dict(zip(_KEYS, key, strict=True)))
        for item in written:
            batch.put_item(Item=item)
    return Copied(written=len(written), removed=len(removed), kept=len(wanted) - len(written))


def key_of(item: Item) -> tuple[str, str]:
    """An item's key."""
    return str(item["pk"]), str(item["sk"])


def read_items(table: Table) -> Iterator[Item]:
    """All items, as they are now."""
    last: dict[str, Any] = {}
    while True:
        page = table.scan(ConsistentRead=True, **last)
        yield from page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        last = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """A training job that the queue has started."""

    name: str
    job: str
    status: str

    @property
    def live(self) -> bool:
        """Whether it holds its instances."""
        return self.status in {"InProgress", "Stopping"}


def read_marked(sagemaker: SageMakerClient, since: datetime) -> Iterator[TrainingJob]:
    """The training jobs with the queue's mark that were created since then."""
    for page in sagemaker.get_paginator("list_training_jobs").paginate(CreationTimeAfter=since):
        for each in page["TrainingJobSummaries"]:
            tags = sagemaker.list_tags(ResourceArn=each["TrainingJobArn"])["Tags"]
            for tag in tags:
                if tag["Key"] == JOB_TAG:
                    name, status = each["TrainingJobName"], each["TrainingJobStatus"]
                    yield TrainingJob(name=name, job=tag["Value"], status=status)


def find_unknown(training_jobs: Iterable[TrainingJob], items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """For each training job that the items do not know of: a line that says what to do about it."""
    jobs = {job.job_name: job for job in (JobRecord.parse(item) for item in items if item["sk"] == "job")}
    for each in training_jobs:
        job = jobs.get(each.job)
        if job is not None and each.name in {attempt_name(job.job_name, n + 1) for n in range(job.attempt_count)}:
            continue
        yield f"{each.name} ({each.status}), job {each.job}: {_advice(each, job)}"


def _advice(training_job: TrainingJob, job: JobRecord | None) -> str:
    if training_job.live and job is not None:
        return "stop it and wait for its end, or the queue starts the job a second time beside it"
    if training_job.live:
        return "the job is forgotten; let it end, or stop it and submit the job again under another name"
    if job is not None and training_job.status == "Completed":
        return "it has trained; stop the job in the queue, or it is trained once more"
    return "nothing to do: the queue tries the job again" if job is not None else "nothing to do"


if __name__ == "__main__":
    sys.exit(main())
