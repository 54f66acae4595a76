"""Shows jobs, and training jobs that did not come through the queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headway.jobpolicy.utilization import Coverage
from headway.sweeps import member_name
from headway_service.admission.policy_view import utilization_coverage
from headway_service.config.authorization import Caller
from headway_service.config.document import Configuration
from headway_service.errors import InvalidRequest
from headway_service.jobs.position import JobView, PositionExplainer
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table
from headway_service.sagemaker_api.redaction import Shown, shown
from headway_service.store.job_filter import JobFilter
from headway_service.store.job_listing import list_jobs
from headway_service.store.records.array import MemberResultRecord
from headway_service.store.records.base import LEDGER
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.store.records.job import JobRecord, StoredRequest
from headway_service.store.records.listed_job import ListedJob
from headway_service.store.records.member import described_member, is_made
from headway_service.store.repository import find_job, find_live_attempt, find_stored_request, get_job

MAX_LISTED_MEMBERS = 1000
"""Members of an array in one answer. Those that have ended are read with one query, others one by one."""

MAX_ROGUE_JOBS = 100
"""Training jobs that did not come through the queue, in one answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MemberView:
    """A member of an array.

    Attributes:
        index: which one it is.
        parameters: the hyperparameters that the sweep gives it, if the caller may see them and the table has them.
        result: what it has given, once it has ended and the array knows.
        job: the member itself before that.
    """

    index: int
    parameters: Mapping[str, str]
    result: MemberResultRecord | None
    job: JobRecord | None


class JobQueries:
    """Answers questions about jobs.

    Args:
        clocks: training time and machine time.
        configuration: the configuration in effect.
    """

    def __init__(
        self,
        *,
        table: Table,
        clocks: Clocks,
        configuration: Callable[[], Configuration],
    ) -> None:
        self._table = table
        self._configuration = configuration
        self._explainer = PositionExplainer(table, clocks, lambda: configuration().policy())

    def show(
        self, name: str, caller: Caller
    ) -> tuple[JobView[JobRecord], AttemptRecord | None, Shown, tuple[Coverage, ...], MemberView | None]:
        """A job.

        Args:
            name: of the job.

        Returns:
            The job, its live attempt, its request as the caller may see it, how the use of that attempt is monitored,
            and what it is as a member of an array, None if it is in none.

        Raises:
            JobNotFound: there is none of that name.
        """
        job = get_job(self._table, name)
        attempt = find_live_attempt(self._table, job)
        stored = find_stored_request(self._table, job.job_name, job.accepted_time) or StoredRequest(first={})
        configuration = self._configuration()
        covered = utilization_coverage(attempt, stored.of(attempt.alternative), configuration) if attempt else ()
        details = self._may_see_details(caller, job)
        return (
            self._explainer.explain([job])[0],
            attempt,
            shown(stored.first, stored.alternatives, details=details),
            covered,
            self._of_member(job, caller),
        )

    def members(
        self, name: str, begin: int, limit: int, caller: Caller
    ) -> tuple[JobRecord, list[MemberView], int | None]:
        """A page of the members of an array, by index.

        Args:
            name: of the array.
            begin: the first index.
            limit: the most members of a page.

        Returns:
            The array, its members, and the first index of the next page, None at the end.

        Raises:
            JobNotFound: there is no job of that name.
            InvalidRequest: it is no array.
        """
        array = get_job(self._table, name)
        if array.array is None:
            raise InvalidRequest(f"`{name}` is no array, so it has no members: show the job itself")
        end = min(begin + limit, array.array.count)
        return array, self._members(array, begin, end, caller), end if end < array.array.count else None

    def _members(self, array: JobRecord, begin: int, end: int, caller: Caller) -> list[MemberView]:
        """A range of the members of an array, as a caller may see them."""
        stored = find_stored_request(self._table, array.job_name)
        # The table may forget the request of an array that has ended before the array.
        sweep = stored.sweep if stored is not None and self._may_see_details(caller, array) else None
        results = self._results(array, begin, end)
        return [
            MemberView(
                index=index,
                parameters=sweep.values(index) if sweep is not None else {},
                result=results.get(index),
                job=None if index in results else self._member(array, index),
            )
            for index in range(begin, end)
        ]

    def _results(self, array: JobRecord, begin: int, end: int) -> dict[int, MemberResultRecord]:
        """What the members of a range that have ended have given."""
        if begin >= end:
            return {}
        first = MemberResultRecord.key(array.job_name, begin)
        before = MemberResultRecord.key(array.job_name, begin - 1).sk if begin else ""
        items = self._table.query(first.pk, prefix=MemberResultRecord.PREFIX, after=before, limit=end - begin)
        records = map(MemberResultRecord.parse, items)
        return {each.index: each for each in records if each.index < end and each.accepted_ms == array.accepted_time}

    def _member(self, array: JobRecord, index: int) -> JobRecord:
        if not is_made(array, index):
            return described_member(array, index)
        return get_job(self._table, member_name(array.job_name, index, array.array.count if array.array else 0))

    def _of_member(self, job: JobRecord, caller: Caller) -> MemberView | None:
        """A member of an array as a caller may see it; None for other jobs, and if the array is forgotten."""
        array = find_job(self._table, job.member_of) if job.member_of else None
        # The table forgets an array and its members in any order, and another array may have the name since.
        if array is None or array.accepted_time != job.accepted_time:
            return None
        index = job.index or 0
        (member,) = self._members(array, index, index + 1, caller)
        return member

    def _may_see_details(self, caller: Caller, job: JobRecord) -> bool:
        return self._configuration().access_rules().may_see_details(caller, job.owner, job.team)

    def jobs(self, wanted: JobFilter, limit: int, token: str | None) -> tuple[Sequence[JobView[ListedJob]], str | None]:
        """A page of jobs, explained. Arguments and errors are those of :func:`store.job_listing.list_jobs`.

        Args:
            wanted: the filter.
            limit: the most jobs of a page.
            token: the token of the page; None for the first.
        """
        jobs, following = list_jobs(self._table, wanted, limit, token)
        return self._explainer.explain(jobs), following

    def rogue_jobs(self) -> tuple[list[RogueJobRecord], bool]:
        """The training jobs that did not come through the queue, strongly consistent.

        Returns:
            The first :data:`MAX_ROGUE_JOBS` by name, and whether there are more.
        """
        found = self._table.query(LEDGER, prefix=RogueJobRecord.key("").sk, limit=MAX_ROGUE_JOBS + 1)
        records = [RogueJobRecord.parse(item) for item in found[:MAX_ROGUE_JOBS]]
        return records, len(found) > MAX_ROGUE_JOBS
