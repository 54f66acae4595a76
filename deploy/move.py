"""Moves a queue to another account or region: its table to a file, and from it. docs/how-to/move.md walks through it.

    python -m deploy.move save sagemaker-queue queue.json.gz
    python -m deploy.move load sagemaker-queue queue.json.gz --second 2026-11-22T09:30:00Z --replace us-east-1=eu-west-1

`save` writes all items of a table to a file, as DynamoDB's own exports have them (developer guide, "DynamoDB table
export output format"). `load` makes the items of a table those of such files, as `restore.py copy` does, with other
names in the requests. Then it requeues each job whose training job stays behind: the queue would take it for deleted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from boto3.dynamodb.types import TypeDeserializer

from deploy.restore import PATIENT, Item, copy
from headway.errors import HeadwayError
from headway_service.aws.dynamodb_table import DynamoDBTable
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import find_applied
from headway_service.ports.table import Table
from headway_service.store.ledger import read_ledger
from headway_service.tracking.ends import left_behind
from headway_service.tracking.observer import Observer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

RETENTION_DAYS = 30
"""The default of the template's parameter RetentionDays."""

_DAY_S = 86_400
_REQUEST_TEXTS = ("jobDetails", "alternatives", "sweep")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; 1 if an attempt could not be ended."""
    parser = argparse.ArgumentParser(description="Move a queue's table to another account or region.")
    commands = parser.add_subparsers(dest="command", required=True)
    saving = commands.add_parser("save", help="write a table's items to a file")
    saving.add_argument("table")
    saving.add_argument("file", type=Path)
    loading = commands.add_parser("load", help="make a table's items those of files, and requeue what ran")
    loading.add_argument("table")
    loading.add_argument("files", type=Path, nargs="+", metavar="file")
    loading.add_argument("--second", type=datetime.fromisoformat, help="the time of the saved state")
    loading.add_argument(
        "--retention-days", type=int, default=RETENTION_DAYS, help="the parameter RetentionDays of the stack"
    )
    loading.add_argument(
        "--replace",
        type=_replacement,
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="write NEW in place of OLD in all requests; may be repeated",
    )
    args = parser.parse_args(argv)
    client = boto3.client("dynamodb", config=PATIENT)
    if args.command == "save":
        print(f"{save(client, args.table, args.file)} items saved")
        return 0
    items = (with_replaced(item, args.replace) for item in read_files(args.files))
    done = copy(items, boto3.resource("dynamodb", config=PATIENT).Table(args.table), args.second)
    print(f"{done.written} items written, {done.removed} removed, {done.kept} were as they should be")
    left_ms = None if args.second is None else int(args.second.timestamp() * 1000)
    table = DynamoDBTable(client, args.table)
    requeued, problems = requeue(table, left_ms, retention_s=args.retention_days * _DAY_S)
    print(f"{len(requeued)} training jobs stay behind", *requeued, sep="\n  ")
    for problem in problems:
        print(f"✗ {problem}: correct the item in the table, and run this command again", file=sys.stderr)
    return 1 if problems else 0


def save(client: DynamoDBClient, table: str, file: Path) -> int:
    """Write all items of a table, as they are now. The file is for its owner only: requests may have secrets.

    Returns:
        How many there are.
    """
    count = 0
    file.touch(mode=0o600)
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        for page in client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
            for item in page["Items"]:
                lines.write(json.dumps({"Item": item}, ensure_ascii=False, separators=(",", ":")) + "\n")
                count += 1
    return count


def read_files(files: Iterable[Path]) -> Iterator[Item]:
    """The items of files of :func:`save`, or of the data files of a DynamoDB export.

    Raises:
        SystemExit: a file is no such file, or was cut off.
    """
    deserialize = TypeDeserializer().deserialize
    for file in files:
        line_number = 0
        try:
            with gzip.open(file, "rt", encoding="utf-8") as lines:
                for line in lines:
                    line_number += 1
                    item = json.loads(line)["Item"]
                    yield {name: deserialize(value) for name, value in item.items()}
        except (OSError, EOFError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise SystemExit(f"{file} cannot be read in line {line_number}: {error!r}") from error


def with_replaced(item: Item, replacements: Iterable[tuple[str, str]]) -> Item:
    """An item with other names in its request, if it is the request of a job.

    Args:
        replacements: texts, each with what is written in place of it, in their order.
    """
    if "jobDetails" not in item:
        return item
    texts = {name: item[name] for name in _REQUEST_TEXTS if name in item}
    for old, new in replacements:
        texts = {name: text.replace(old, new) for name, text in texts.items()}
    return {**item, **texts}


def requeue(table: Table, left_ms: int | None, *, retention_s: int) -> tuple[list[str], list[str]]:
    """End the attempts, whose training jobs stay behind. A job is requeued, or has stopped if somebody asked for that.

    Args:
        left_ms: the time of the saved state, ms, until which its instances count as used; None for now.
        retention_s: for how long an ended job is kept, s.

    Returns:
        A line on each attempt that has ended, and one on each that cannot be ended.
    """
    applied = find_applied(table)
    if applied is None:
        raise SystemExit("the table has no configuration: is it that of a queue?")
    now_ms = int(time.time() * 1000)
    observer = Observer(table, retention_s, lambda: applied.configuration, lambda: now_ms)
    ledger, ended = read_ledger(table), []
    problems = [f"{each.kind} {each.name} cannot be read ({each.problem})" for each in ledger.unreadable]
    for attempt in ledger.attempts:
        ended_ms = max(attempt.since_ms, now_ms if left_ms is None else left_ms)
        end, sighting = left_behind(attempt, ended_ms)
        try:
            observer.end(attempt, end, sighting, ended_ms)
        except HeadwayError as error:
            problems.append(f"attempt {attempt.attempt_name} cannot be ended ({error})")
        else:
            ended.append(f"{attempt.attempt_name}: {end.reason.message}")
    return ended, problems


def _replacement(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not old or not equals or set(text) & {'"', "\\"}:
        raise argparse.ArgumentTypeError('must be OLD=NEW, without " and \\')
    return old, new


if __name__ == "__main__":
    # What functions log and measure is for CloudWatch.
    logger.setLevel("WARNING")
    os.environ["POWERTOOLS_METRICS_DISABLED"] = "true"
    sys.exit(main())
