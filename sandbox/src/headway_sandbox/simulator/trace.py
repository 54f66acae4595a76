"""Reads a trace: CSV with a header and one row per job, optionally gzipped."""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from headway.scheduling.ordering import MAX_PRIORITY
from headway_sandbox.simulator.errors import InvalidCapacity, InvalidTrace

GPUS_PER_NODE = 8
MAPPINGS = ("gpus", "nodes")
"""What an instance of the pool is in the trace: a GPU, or a node."""

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
        mapping: One of `MAPPINGS`.
        rows: Largest number of rows to read.

    Raises:
        InvalidTrace: The file cannot be read, or has an invalid row.
        InvalidCapacity: A job's pool is missing, or no job fits.
    """
    with _opened(path) as lines:
        reader = csv.DictReader(lines, strict=True)
        missing = [column for column in _NEEDED if column not in (reader.fieldnames or [])]
        if missing:
            columns = " and no ".join(missing)
            raise InvalidTrace(f"the trace {path} has no column {columns}; its first line must name them")
        read = [_job(row, path, reader.line_num, pools, mapping) for row in _first(reader, rows)]
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
        raise InvalidCapacity(f"no job of {path} fits into its pool; give --capacity larger pools")
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


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
                yield lines
        else:
            with path.open(encoding="utf-8", newline="") as lines:
                yield lines
    except FileNotFoundError as error:
        raise InvalidTrace(f"there is no file {path}") from error
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise InvalidTrace(f"cannot read {path}: {error}") from error


def _first(reader: Iterable[dict[str, str]], rows: int | None) -> Iterator[dict[str, str]]:
    for number, row in enumerate(reader):
        if rows is not None and number >= rows:
            return
        yield row


def _job(row: Mapping[str, str | None], path: Path, line: int, pools: Mapping[str, int], mapping: str) -> TraceJob:
    where = f"the trace {path}, line {line}"
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
    return round(_number(row, column, where) * 1000)


def _whole(row: Mapping[str, str | None], column: str, where: str, *, least: int = 0, most: int = _LARGEST) -> int:
    number = _number(row, column, where)
    if number != int(number) or not least <= number <= most:
        raise InvalidTrace(f"{where}: {column} is {row.get(column)!r}; it must be a whole number of at least {least}")
    return int(number)


def _number(row: Mapping[str, str | None], column: str, where: str) -> float:
    text = row.get(column) or ""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= _LARGEST:
        raise InvalidTrace(f"{where}: {column} is {text!r}; it must be a number of 0 or more")
    return number
