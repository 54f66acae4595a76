"""Reads a trace: CSV with a header and one row per job, optionally gzipped."""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import TextIO

from headway.scheduling.ordering import MAX_PRIORITY
from headway_sandbox.simulator.errors import InvalidCapacity, InvalidTrace

GPUS_PER_NODE = 8

_NEEDED = ("submit_s", "duration_s", "gpus")
_LARGEST = 10**12


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceJob:
    """One job of a trace."""

    name: str
    submit_ms: int
    run_ms: int
    pool: str
    count: int
    #: Its virtual cluster, or else its user.
    team: str = ""
    priority: int = 0
    #: The limit that it had; None if the trace does not have it.
    limit_ms: int | None = None


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The runnable jobs of a trace, by submit time, and their pools."""

    source: str
    pools: Mapping[str, int]
    jobs: tuple[TraceJob, ...]
    #: Number of jobs that demand more than their pool's size.
    too_large: int = 0


def read_trace(path: Path, pools: Mapping[str, int], *, mapping: str = "gpus", rows: int | None = None) -> Trace:
    """Read a trace.

    A job's pool is the value of its column ``pool`` if the column exists, else the only pool, else the pool named like
    its ``vc``.

    Args:
        path: A ``.csv`` or ``.csv.gz`` file.
        pools: Sizes by pool.
        mapping: What counts as an instance: `gpus` or `nodes`.
        rows: Largest number of rows to read.

    Raises:
        InvalidTrace: The file cannot be read, or has an invalid row.
        InvalidCapacity: A job's pool is missing, or no job fits.
    """
    with _opened(path) as lines:
        read = [_job(row, where, pools, mapping) for where, row in islice(_rows(lines, path), rows)]
    if not read:
        raise InvalidTrace(f"the trace {path} has no jobs")
    read.sort(key=lambda job: job.submit_ms)
    width = len(str(len(read)))
    named = [
        TraceJob(
            # Padded, so that jobs with equal times are ordered by row.
            name=f"job-{number:0{width}d}",
            submit_ms=job.submit_ms,
            run_ms=job.run_ms,
            pool=job.pool,
            count=job.count,
            team=job.team,
            priority=job.priority,
            limit_ms=job.limit_ms,
        )
        for number, job in enumerate(read, 1)
    ]
    fit = tuple(job for job in named if job.count <= pools[job.pool])
    if not fit:
        least = min(named, key=lambda job: job.count)
        counted = "GPUs (with --nodes: nodes)" if mapping == "gpus" else "nodes (without --nodes: GPUs)"
        raise InvalidCapacity(
            f"no job of {path} fits into its pool; --capacity is in {counted}, and the smallest job needs "
            f"{least.pool}={least.count}: give larger pools"
        )
    return Trace(source=path.name, pools=dict(pools), jobs=fit, too_large=len(named) - len(fit))


def parse_capacity(text: str) -> dict[str, int]:
    """Read ``POOL=N[,POOL=N...]``.

    Raises:
        InvalidCapacity: The text is malformed.
    """
    pools: dict[str, int] = {}
    for part in text.split(","):
        pool, _, size = part.strip().partition("=")
        if not pool or not (size.isascii() and size.isdigit() and len(size) <= 9 and int(size) > 0):
            raise InvalidCapacity(f"{part.strip()!r} is no pool with its size; write for example ml.p5.48xlarge=16")
        if pool in pools:
            raise InvalidCapacity(f"the pool {pool} is given twice; give each pool one size")
        pools[pool] = int(size)
    return pools


def write_trace(trace: Trace, path: Path, *, times: int = 1) -> None:
    """Write a trace as a compressed file that the traces' references read.

    Args:
        path: the file.
        times: what the GPUs of each job are multiplied by.
    """
    with gzip.open(path, "wt", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(["submit_s", "duration_s", "gpus", "nodes", "user", "vc", "status", "priority"])
        for job in trace.jobs:
            row = [job.submit_ms // 1000, job.run_ms // 1000, job.count * times]
            writer.writerow([*row, "", "", job.team, "", job.priority])


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        # Spreadsheets begin UTF-8 with a BOM, which is no part of the first column's name.
        # Bytes that are not UTF-8 are escaped here, so that `_utf8` can name their line.
        with opened(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
            yield lines
    except FileNotFoundError as error:
        raise InvalidTrace(f"there is no file {path}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidTrace(f"cannot read {path}: {error}") from error


def _rows(lines: Iterable[str], path: Path) -> Iterator[tuple[str, dict[str, str | None]]]:
    """The rows, each with where it ends.

    Raises:
        InvalidTrace: The header, or a row, is invalid.
    """
    reader = csv.reader(_utf8(lines, path), strict=True)
    begin = 1
    header: list[str] | None = None
    try:
        for cells in reader:
            where, begin = f"the trace {path}, line {reader.line_num}", reader.line_num + 1
            if header is None:
                header = cells
                _check_header(header, path)
            elif cells:
                yield where, _row(cells, header, where)
    except csv.Error as error:
        raise InvalidTrace(
            f"the trace {path}, line {begin}: the row that begins here is not valid CSV ({error}); close each quote, "
            f"write a quote within quotes twice, and give no cell more than {csv.field_size_limit():,} characters"
        ) from error
    if header is None:
        _check_header([], path)


def _utf8(lines: Iterable[str], path: Path) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            line.encode()
        except UnicodeEncodeError as error:
            raise InvalidTrace(f"the trace {path}, line {number} is not UTF-8; save the file as UTF-8") from error
        yield line


def _check_header(header: list[str], path: Path) -> None:
    missing = [column for column in _NEEDED if column not in header]
    if missing:
        columns = " and no ".join(missing)
        raise InvalidTrace(f"the trace {path} has no column {columns}; its first line must name them")
    # Spreadsheets write columns without names and values.
    repeated = [column for column, count in Counter(header).items() if column and count > 1]
    if repeated:
        raise InvalidTrace(
            f"the trace {path} has two columns {' and '.join(repeated)}; its first line must name each column once"
        )


def _row(cells: list[str], header: list[str], where: str) -> dict[str, str | None]:
    # A decimal comma moves all later values into the wrong columns, so even an empty further cell is refused.
    if len(cells) > len(header):
        raise InvalidTrace(
            f"{where}: the row has {len(cells)} cells, but there are {len(header)} columns; "
            "write numbers with a decimal point, and cells that contain commas in quotes"
        )
    return dict(zip_longest(header, cells))


def _job(row: Mapping[str, str | None], where: str, pools: Mapping[str, int], mapping: str) -> TraceJob:
    gpus = _whole(row, "gpus", where, least=1)
    nodes = _whole(row, "nodes", where, least=1) if row.get("nodes") else math.ceil(gpus / GPUS_PER_NODE)
    priority = _whole(row, "priority", where, most=MAX_PRIORITY) if row.get("priority") else 0
    return TraceJob(
        name="",
        submit_ms=_milliseconds(row, "submit_s", where),
        run_ms=max(1, _milliseconds(row, "duration_s", where)),
        pool=_pool(row, where, pools),
        count=gpus if mapping == "gpus" else nodes,
        team=row.get("vc") or row.get("user") or "",
        priority=priority,
        limit_ms=_milliseconds(row, "limit_s", where) if row.get("limit_s") else None,
    )


def _pool(row: Mapping[str, str | None], where: str, pools: Mapping[str, int]) -> str:
    named = row.get("pool")
    if named is None and len(pools) == 1:
        return next(iter(pools))
    name = named or row.get("vc") or ""
    if name not in pools:
        raise InvalidCapacity(
            f"{where}: the job belongs to the pool {name!r}, which is not among {', '.join(sorted(pools))}; "
            "give --capacity a size for it"
        )
    return name


def _milliseconds(row: Mapping[str, str | None], column: str, where: str) -> int:
    number = _number(row, column)
    if not 0 <= number <= _LARGEST:
        raise _refused(row, column, where, f"a number from 0 to {_LARGEST:,}")
    return round(number * 1000)


def _whole(row: Mapping[str, str | None], column: str, where: str, *, least: int = 0, most: int = _LARGEST) -> int:
    number = _number(row, column)
    if not least <= number <= most or number != int(number):
        raise _refused(row, column, where, f"a whole number from {least} to {most:,}")
    return int(number)


def _refused(row: Mapping[str, str | None], column: str, where: str, expected: str) -> InvalidTrace:
    return InvalidTrace(f"{where}: {column} is {row.get(column) or ''!r}; it must be {expected}")


def _number(row: Mapping[str, str | None], column: str) -> float:
    """The number in a cell; not a number if there is none."""
    try:
        return float(row.get(column) or "")
    except ValueError:
        return math.nan
