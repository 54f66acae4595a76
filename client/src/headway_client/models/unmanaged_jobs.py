"""Training jobs that did not come through the queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_client.models.reading import list_of, mapping, optional_text, text, wholes
from headway_client.models.reason import Reason


@dataclass(frozen=True, kw_only=True)
class RogueJob:
    """A SageMaker training job that did not come through the queue.

    Attributes:
        name: its name in SageMaker.
        status: SageMaker's TrainingJobStatus as last seen.
        demand: instances per type.
        charged: the part of them that is missing in the pools.
        team: the team that its tags name, if any.
        created_time: when it was created, ISO 8601 in UTC.
        stop_asked_by: the operator who asked for it to be stopped, if one did.
        reason: what is wrong with it, and whether it is being stopped.
        document: its part of the answer as it came.
    """

    name: str
    status: str
    demand: Mapping[str, int]
    charged: Mapping[str, int]
    team: str | None
    created_time: str
    stop_asked_by: str | None
    reason: Reason
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> RogueJob:
        """Read a rogue job; raises `ServerFaultError` on anything else."""
        rogue = mapping(document)
        return cls(
            name=text(rogue, "trainingJobName"),
            status=text(rogue, "trainingJobStatus"),
            demand=wholes(rogue, "demand"),
            charged=wholes(rogue, "charged"),
            team=optional_text(rogue, "team"),
            created_time=text(rogue, "createdTime"),
            stop_asked_by=optional_text(rogue, "stopAskedBy"),
            reason=Reason.from_document(rogue.get("reason")),
            document=rogue,
        )


@dataclass(frozen=True, kw_only=True)
class RogueJobs:
    """The training jobs that did not come through the queue, by name, and whether there are more of them."""

    jobs: tuple[RogueJob, ...]
    more: bool

    @classmethod
    def from_document(cls, document: object) -> RogueJobs:
        """Read rogue jobs; raises `ServerFaultError` on anything else."""
        answer = mapping(document)
        jobs = tuple(RogueJob.from_document(item) for item in list_of(answer, "rogueJobs"))
        return cls(jobs=jobs, more=bool(answer.get("more")))
