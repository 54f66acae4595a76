"""What a restore of the table needs beside AWS's own commands. docs/how-to/restore.md walks through it.

    python deploy/restore.py copy sagemaker-queue-restored sagemaker-queue --second 2026-11-22T09:30:00Z
    python deploy/restore.py guard sagemaker-queue
    python deploy/restore.py unknown sagemaker-queue --since 2026-11-22T09:30:00Z

`copy` makes a table's items those of another one; the table itself stays, with its stream, its name and its settings.
First it pauses everything: the queue launches nothing before its patrol has looked at all training jobs. `guard` does
only that, for a table that was restored under its own name. `unknown` lists the training jobs that the queue has
started since the state that was restored, and prints what happens to each.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import boto3
from boto3.dynamodb.conditions import Attr, Key
from botocore.config import Config

from headway_service.pools.apply_config import KEY as CONFIGURATION
from headway_service.pools.apply_config import not_applied
from headway_service.sagemaker_api.names import attempt_name
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.store import marks
from headway_service.store.records.base import LEDGER
from headway_service.store.records.capacity.ledger import PauseRecord, PoolRecord
from headway_service.store.records.job import JobRecord

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table
    from mypy_boto3_sagemaker import SageMakerClient

Item = dict[str, Any]
_KEYS = ("pk", "sk")
_EVERYTHING = (PauseRecord.key(PauseRecord.EVERYTHING).pk, PauseRecord.key(PauseRecord.EVERYTHING).sk)
_MARK_KEY = (marks.KEY.pk, marks.KEY.sk)
CONFIGURATION_KEY = (CONFIGURATION.pk, CONFIGURATION.sk)
_COUNTED = ("pauses", "pausesFromMs")
# Lists are long, and the calls' rates are limited per account.
PATIENT = Config(retries={"mode": "adaptive", "total_max_attempts": 10})


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; 1 if training jobs are unknown."""
    parser = argparse.ArgumentParser(description="Put the queue's table back to an earlier state.")
    commands = parser.add_subparsers(dest="command", required=True)
    copying = commands.add_parser("copy", help="make a table's items those of another one")
    copying.add_argument("source")
    copying.add_argument("target")
    copying.add_argument(
        "--with-configuration", action="store_true", help="copy the configuration too, such as one that is damaged"
    )
    guarding = commands.add_parser("guard", help="let the queue launch nothing before its patrol has gone round")
    guarding.add_argument("table")
    for command in (copying, guarding):
        command.add_argument(
            "--second", type=datetime.fromisoformat, help="the time the table was put back to, for people"
        )
    finding = commands.add_parser("unknown", help="list training jobs of the queue that the table does not know")
    finding.add_argument("table")
    finding.add_argument(
        "--since", type=datetime.fromisoformat, required=True, help="the time the table was put back to"
    )
    args = parser.parse_args(argv)
    tables = boto3.resource("dynamodb", config=PATIENT)
    if args.command == "copy":
        source, target = tables.Table(args.source), tables.Table(args.target)
        done = copy(read_items(source), target, args.second, keeps_configuration=not args.with_configuration)
        print(f"{done.written} items written, {done.removed} removed, {done.kept} were as they should be")
        return 0
    if args.command == "guard":
        guard(tables.Table(args.table), args.second)
        print("The queue launches nothing before its patrol has looked at all training jobs.")
        return 0
    training_jobs = list(read_marked(boto3.client("sagemaker", config=PATIENT), args.since, args.table))
    found = list(find_unknown(training_jobs, read_items(tables.Table(args.table))))
    print(*found or ["The table knows every training job of the queue."], sep="\n")
    return 1 if found else 0


@dataclass(frozen=True, kw_only=True)
class Copied:
    """What a copy did, in items."""

    written: int
    removed: int
    kept: int


def copy(
    items: Iterable[Item], target: Table, second: datetime | None = None, *, keeps_configuration: bool = False
) -> Copied:
    """Make the items of a table these ones. It can be repeated: equal items are skipped.

    Args:
        items: those of the table as it was.
        target: the queue's table.
        second: the time that it is put back to, for people.
        keeps_configuration: whether the configuration of the queue stays, with its history, if it has one. The next
            tick has the pools and teams follow it.
    """
    wanted = {key_of(item): item for item in items}
    if not wanted:
        raise SystemExit("there are no items to copy: is the table restored yet?")
    present = {key_of(item): item for item in read_items(target)}
    if _MARK_KEY in present:
        # By it the training jobs are recognised that were launched since.
        wanted.setdefault(_MARK_KEY, present[_MARK_KEY])
    if keeps_configuration and CONFIGURATION_KEY in present:
        wanted = {key: item for key, item in wanted.items() if key[0] != CONFIGURATION_KEY[0]}
        wanted |= {key: item for key, item in present.items() if key[0] == CONFIGURATION_KEY[0]}
        wanted[CONFIGURATION_KEY] = dict(not_applied(wanted[CONFIGURATION_KEY]))
    _guard(target, second, restored=wanted.pop(_EVERYTHING, None), present=present.pop(_EVERYTHING, None))
    wanted = {key: _uncounted(item) for key, item in wanted.items()}
    present = {key: _uncounted(item) for key, item in present.items()}
    written = [item for key, item in wanted.items() if present.get(key) != item]
    removed = present.keys() - wanted.keys()
    with target.batch_writer() as batch:
        for key in removed:
            batch.delete_item(Key=dict(zip(_KEYS, key, strict=True)))
        for item in written:
            batch.put_item(Item=item)
    return Copied(written=len(written), removed=len(removed), kept=len(wanted) - len(written))


def guard(table: Table, second: datetime | None = None) -> None:
    """Let the queue launch nothing before its patrol has looked at all training jobs.

    Args:
        table: the queue's table, restored under its own name.
        second: the time that it was put back to, for people.
    """
    item = table.get_item(Key=dict(zip(_KEYS, _EVERYTHING, strict=True)), ConsistentRead=True).get("Item")
    _guard(table, second, restored=item, present=None)


def _guard(table: Table, second: datetime | None, *, restored: Item | None, present: Item | None) -> None:
    found = [PauseRecord.parse(item) if item else None for item in (restored, present)]
    record = guarded(int(time.time() * 1000), second, restored=found[0], present=found[1])
    key = PauseRecord.key(record.pool)
    table.put_item(Item={"pk": key.pk, "sk": key.sk, **record.fields()})
    _stop_counting(table)


def _stop_counting(table: Table) -> None:
    """Have starts look for the pause, those too that were decided before it. `reconcile` counts pauses again."""
    pools = Key("pk").eq(LEDGER) & Key("sk").begins_with(PoolRecord.key("").sk)
    for item in table.query(KeyConditionExpression=pools, ConsistentRead=True)["Items"]:
        table.update_item(
            Key={name: item[name] for name in _KEYS},
            UpdateExpression=f"REMOVE {', '.join(_COUNTED)}",
            ConditionExpression=Attr("pk").exists(),
        )


def _uncounted(item: Item) -> Item:
    return {name: value for name, value in item.items() if name not in _COUNTED}


def guarded(
    now_ms: int, second: datetime | None, *, restored: PauseRecord | None, present: PauseRecord | None = None
) -> PauseRecord:
    """The pause of everything since a restore.

    Args:
        now_ms: now.
        second: the time that the table is put back to, if that is known.
        restored: the pause of all pools at that time, if there was one. It continues afterwards.
        present: the current one. If it is from an earlier run of this script, and all pools were paused
            since, that pause continues too.
    """
    stays = None
    if restored is not None and (restored.restored_ms is None or restored.stays):
        stays = restored
    elif present is not None and present.stays:
        stays = present
    if stays is not None:
        return stays.model_copy(update={"restored_ms": now_ms, "stays": True})
    state = f" to its state of {second.isoformat(timespec='seconds')}" if second else ""
    return PauseRecord(
        pool=PauseRecord.EVERYTHING,
        by="restore",
        reason=f"the table was restored{state}",
        since_ms=now_ms,
        restored_ms=now_ms,
    )


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


def read_marked(sagemaker: SageMakerClient, since: datetime, queue: str) -> Iterator[TrainingJob]:
    """The training jobs with a mark of the queue that were created since then.

    Args:
        sagemaker: SageMaker.
        since: the time that the table was put back to.
        queue: the name of the queue's table.
    """
    for page in sagemaker.get_paginator("list_training_jobs").paginate(CreationTimeAfter=since):
        for each in page["TrainingJobSummaries"]:
            listed = sagemaker.get_paginator("list_tags").paginate(ResourceArn=each["TrainingJobArn"])
            tags = {tag["Key"]: tag["Value"] for tags in listed for tag in tags["Tags"]}
            if tags.get(ATTEMPT_TAG, "").startswith(f"{queue}/"):
                name, status = each["TrainingJobName"], each["TrainingJobStatus"]
                yield TrainingJob(name=name, job=tags.get(JOB_TAG, ""), status=status)


def find_unknown(training_jobs: Iterable[TrainingJob], items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A line on each training job without an item, with what happens to it."""
    jobs = {job.job_name: job for job in (JobRecord.parse(item) for item in items if item["sk"] == "job")}
    for each in training_jobs:
        job = jobs.get(each.job)
        if job is not None and each.name in {attempt_name(job.job_name, n + 1) for n in range(job.attempt_count)}:
            continue
        yield f"{each.name} ({each.status}), job {each.job}: {_outlook(each, job)}"


def _outlook(training_job: TrainingJob, job: JobRecord | None) -> str:
    awaited = (
        job is not None and job.is_queued and attempt_name(job.job_name, job.attempt_count + 1) == training_job.name
    )
    stop = f"`headway stop --rogue {training_job.name}` stops it"
    if training_job.live and job is None:
        return f"the job is forgotten; it is charged to its pools and listed as a rogue job until it ends; {stop}"
    if training_job.status == "InProgress" and awaited:
        return "its job waits for it; the patrol makes it the live attempt of the job"
    if training_job.live:
        return f"a later attempt than its job waits for; it is charged and listed as a rogue job until it ends; {stop}"
    if training_job.status == "Completed" and job is not None and awaited:
        return "it has trained; the job completes when it is started next"
    if training_job.status == "Completed" and job is not None:
        return "it has trained, but its job may be trained again; stop the job if that is not needed"
    return "it has ended; nothing to do"


if __name__ == "__main__":
    sys.exit(main())
