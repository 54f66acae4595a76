"""Pools and their use, and the configuration that says which there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_client.models.reading import list_of, mapping, optional_text, text, whole


@dataclass(frozen=True, kw_only=True)
class Pause:
    """Why nothing starts in a pool.

    Attributes:
        by: who paused it.
        since: when, as the API writes it.
        reason: why.
        everything: whether all pools are paused, not this one alone.
        stops: whether what runs is stopped and put back into the line.
    """

    by: str
    since: str
    reason: str
    everything: bool
    stops: bool

    @classmethod
    def from_document(cls, document: object) -> Pause:
        """Read a pause; raises `ServerFaultError` on anything else."""
        pause = mapping(document)
        return cls(
            by=text(pause, "by"),
            since=text(pause, "since"),
            reason=text(pause, "reason"),
            everything=pause.get("everything") is True,
            stops=pause.get("stops") is True,
        )


@dataclass(frozen=True, kw_only=True)
class PoolUse:
    """How a pool's instances are used; every number counts instances, `waiting` counts jobs.

    `stopping` is part of `allocated`; `rogue` is taken by training jobs that did not come through the queue. `pause` is
    None unless the pool, or everything, is paused.
    """

    pool: str
    size: int
    allocated: int
    stopping: int
    reserved: int
    rogue: int
    free: int
    waiting: int
    pause: Pause | None
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> PoolUse:
        """Read how a pool is used; raises `ServerFaultError` on anything else."""
        pool = mapping(document)
        numbers = ("size", "allocated", "stopping", "reserved", "rogue", "free", "waiting")
        # An older server knows of no pauses.
        pause = None if pool.get("pause") is None else Pause.from_document(pool["pause"])
        counts = {key: whole(pool, key) for key in numbers}
        return cls(pool=text(pool, "pool"), **counts, pause=pause, document=pool)


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The pools and their use, with the document they were read from."""

    pools: tuple[PoolUse, ...]
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> Capacity:
        """Read the capacity; raises `ServerFaultError` on anything else."""
        capacity = mapping(document)
        return cls(pools=tuple(PoolUse.from_document(item) for item in list_of(capacity, "pools")), document=capacity)

    @classmethod
    def of_pool(cls, document: object) -> Capacity:
        """Read the use of the only pool that an answer is about; raises `ServerFaultError` on anything else."""
        pool = PoolUse.from_document(document)
        return cls(pools=(pool,), document=pool.document)


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The document that says which pools there are and what the policy is.

    Attributes:
        settings: the document as it was put.
        version: counts up with each change.
        problem: a sentence on why the stored document can't be used; None if it can.
        document: the whole answer as it came.
    """

    settings: Mapping[str, Any]
    version: int
    problem: str | None
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> Configuration:
        """Read the configuration; raises `ServerFaultError` on anything else."""
        answer = mapping(document)
        return cls(
            settings=mapping(answer.get("document") or {}),
            version=whole(answer, "version"),
            problem=optional_text(answer, "problem"),
            document=answer,
        )
