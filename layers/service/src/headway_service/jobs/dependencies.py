"""What the dependencies of a submission are now: they may have ended already, or may not be depended on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.dependencies import Ending, is_met
from headway.reasons import unmet
from headway_service.config.authorization import Access, Caller, name_of
from headway_service.errors import FieldError, InvalidRequest, JobNotFound, NotAllowed, RequestError
from headway_service.ports.table import Table
from headway_service.store.records.dependency import DependencyRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_job, find_member
from headway_service.tracking.outputs import OutputsUnusable, fill_in_outputs

MAX_DEPENDANTS = 100
"""The most jobs that may be accepted with a dependency on one job before it ends: its record names them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """The dependencies of a submission as of now.

    Attributes:
        depends_on: the dependencies, each with the end of the job if it has ended.
        awaited: the jobs that have not ended.
        completed: those that have completed.
    """

    depends_on: tuple[DependencyRecord, ...] = ()
    awaited: tuple[JobRecord, ...] = ()
    completed: tuple[JobRecord, ...] = ()

    def fill_in(self, table: Table, request: str, *, beside_bytes: int) -> str:
        """A request with the outputs of the jobs that have completed.

        Those of the others are tried, so that what cannot be filled in is refused now.

        Args:
            request: the CreateTrainingJob request, as JSON.
            beside_bytes: the size of the alternatives that are stored with the request.

        Raises:
            InvalidRequest: they cannot be filled in.
        """
        try:
            for job in self.completed:
                request = fill_in_outputs(table, request, job, beside_bytes=beside_bytes)
            tried = request
            for job in self.awaited:
                tried = fill_in_outputs(table, tried, job, beside_bytes=beside_bytes)
        except OutputsUnusable as error:
            message = f"cannot be filled in: {error}"
            field = "InputDataConfig"
            raise InvalidRequest(f"{field} {message}", [FieldError(field=field, message=message)]) from None
        return request


def resolve(table: Table, dependencies: Sequence[DependencyRecord], caller: Caller, access: Access) -> Resolved:
    """Read the jobs that a submission depends on, and check that it may wait for them.

    Args:
        dependencies: as submitted.
        access: the rules on callers.

    Raises:
        InvalidRequest: a job is not in the queue, can no longer end as required, or has too many dependants.
        NotAllowed: the caller may not see a job.
    """
    found = [_resolve(table, each, caller, access, field=f"dependsOn[{i}].job") for i, each in enumerate(dependencies)]
    return Resolved(
        depends_on=tuple(each for each, _ in found),
        awaited=tuple(job for each, job in found if each.ended is None),
        completed=tuple(job for each, job in found if each.ended is Ending.COMPLETED),
    )


def _resolve(
    table: Table, dependency: DependencyRecord, caller: Caller, access: Access, *, field: str
) -> tuple[DependencyRecord, JobRecord]:
    name = dependency.job_name
    job = _find(table, name, field)
    if job is None:
        why = f"`{name}`, which is not in the queue: submit that job first, or check the name"
        raise _refusal(InvalidRequest, field, why)
    # Of a member of an array it may have another number of leading zeros.
    dependency = dependency.model_copy(update={"job_name": job.job_name})
    if not access.may_see_details(caller, job.owner, job.team):
        why = f"`{name}`, whose details {name_of(caller.arn, caller.account)} may not see (access.details)"
        raise _refusal(NotAllowed, field, why)
    if not job.is_made:
        why = f"`{name}`, which is no job before its turn: depend on `{job.member_of}`, which has it"
        raise _refusal(InvalidRequest, field, why)
    ending = job.ending
    if ending is None:
        if len(job.dependants) >= MAX_DEPENDANTS:
            why = (
                f"`{name}`, which has {MAX_DEPENDANTS} dependants already, the most of one job: depend on one of "
                "those, or submit this job when it has ended"
            )
            raise _refusal(InvalidRequest, field, why)
        return dependency, job
    if not is_met(dependency.condition, ending):
        why = f"`{name}`: {unmet(name, dependency.condition, ending)}; use another condition or job"
        raise _refusal(InvalidRequest, field, why)
    return dependency.model_copy(update={"ended": ending}), job


def _find(table: Table, name: str, field: str) -> JobRecord | None:
    try:
        return find_job(table, name) or find_member(table, name)
    except JobNotFound as error:
        raise _refusal(InvalidRequest, field, f"`{name}`: {error}") from None


def _refusal(kind: type[RequestError], field: str, why: str) -> RequestError:
    # In words, as not every client has a field of this name.
    message = f"the job cannot depend on {why}"
    return kind(message, [FieldError(field=field, message=message)])
