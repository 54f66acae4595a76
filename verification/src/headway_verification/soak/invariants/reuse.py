"""The invariants of jobs that are answered by equal ones, checked on the raw items of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headway_verification.soak.violations import require

_Jobs = Mapping[str, Mapping[str, Any]]

_ENDS = frozenset({"completed", "failed", "stopped"})
_CLOCKS_MS = 5000
"""More than the clocks of two functions differ by."""

_OWN = ("TrainingJobName", "Tags", "StoppingCondition", "EnableManagedSpotTraining")
"""Members in which equal jobs may differ."""

_OWN_RESOURCES = ("KeepAlivePeriodInSeconds", "TrainingPlanArn")


def reused_from(job: Mapping[str, Any]) -> str:
    """Return the job whose outputs a job has; empty for none."""
    return str(_reuse(job).get("jobName", ""))


class ReuseInvariants:
    """Checks that equal jobs are computed once, and from the same inputs.

    Attributes:
        input_reads: when the input of jobs with reuse was read, virtual time, ms, in order.
        input_writes: when it was written, the same.
    """

    def __init__(self) -> None:
        self.input_reads: Sequence[int] = ()
        self.input_writes: Sequence[int] = ()
        #: When the input was last read before a job began to compute for others, ms, by job and by what it has seen: a
        #: job that was held is compared again before it computes.
        self._read_ms: dict[tuple[str, str], int] = {}

    def check(self, jobs: _Jobs, request_of: Callable[[str], Mapping[str, Any]]) -> None:
        """Check that a job has the outputs of a job that has completed the same, and that no two compute the same.

        Args:
            jobs: the jobs, by name.
            request_of: the stored request of a job.

        Raises:
            Violated: an invariant does not hold.
        """
        computing: dict[str, str] = {}
        for name, job in jobs.items():
            if reused_from(job) or not (key := _reuse(job).get("key")):
                continue
            self._read_ms.setdefault(_seen_by(name, job), max(self.input_reads, default=0))
            if job["jobState"] not in _ENDS:
                require(key not in computing, f"{name} and {computing.get(key)} compute the same")
                computing[key] = name
        for name, job in jobs.items():
            if reused_from(job):
                self._check_answer(name, jobs, request_of)

    def _check_answer(self, name: str, jobs: _Jobs, request_of: Callable[[str], Mapping[str, Any]]) -> None:
        job = jobs[name]
        source = reused_from(job)
        other = jobs[source]
        require(job["jobState"] == "completed", f"{name} has the outputs of {source}, but is {job['jobState']}")
        require(not job.get("attempts"), f"{name} has the outputs of {source}, and an attempt")
        require(other["jobState"] == "completed", f"{name} has the outputs of {source}, which has not completed")
        require(not reused_from(other), f"{name} has the outputs of {source}, which has none of its own")
        require(job.get("team") == other.get("team"), f"{name} has the outputs of {source}, a job of another team")
        require(
            _reuse(job)["attemptName"] == other["attempts"][-1]["attemptName"],
            f"{name} has the outputs of another attempt than the last of {source}",
        )
        began_ms, ended_ms = self._read_ms[_seen_by(source, other)], other["summary"]["endedMs"] - _CLOCKS_MS
        during = any(began_ms < written_ms < ended_ms for written_ms in self.input_writes)
        unchanged = not (during and request_of(source).get("InputDataConfig"))
        require(unchanged, f"{name} has the outputs of {source}, whose input was written while it ran")
        one, two = (_compared(request_of(each)) for each in (name, source))
        require(one == two, f"{name} has the outputs of {source}, which computes something else")


def _seen_by(name: str, job: Mapping[str, Any]) -> tuple[str, str]:
    return name, str(_reuse(job).get("seen", ""))


def _reuse(job: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = job.get("summary", {}).get("reuse", {})
    return found


def _compared(request: Mapping[str, Any]) -> dict[str, Any]:
    kept = {member: value for member, value in request.items() if member not in _OWN}
    resources = kept.get("ResourceConfig", {})
    return {**kept, "ResourceConfig": {k: v for k, v in resources.items() if k not in _OWN_RESOURCES}}
