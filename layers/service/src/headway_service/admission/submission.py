"""What a caller submits: a CreateTrainingJob request, and what else the job can run on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headway_service.errors import FieldError
from headway_service.sagemaker_api.alternatives import MAX_ALTERNATIVES, MEMBERS, with_members
from headway_service.sagemaker_api.training_request import is_serverless

MAX_WAIT_AT_MOST_S = 2_592_000
"""The longest wait for a better alternative, s: 30 days."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """A request with its alternatives, as decoded from JSON.

    Attributes:
        request: the CreateTrainingJob request: what the job prefers.
        alternatives: for each further alternative, in the order of preference, the members of the request that it
            replaces; None for none.
        wait_at_most_s: for how long after its entry the job waits for a better alternative, s.
        portable_checkpoint: whether a checkpoint that was written on one alternative can be read on the others.
        depends_on: the jobs that have to end first; see :mod:`headway_service.admission.dependencies`.
        sweep: of an array, what its members differ in; see :mod:`headway_service.admission.arrays`.
        at_once: how many members may be in the queue or run at once; None for any number.
        max_failures: how many members may fail before no further one starts; None for any number.
        early_stopping: when members are stopped early; None for never.
        reuse: whether an equal job may answer it; see :mod:`headway_service.admission.reuse`.
        reuse_unpinned: whether an image without a digest counts as the same then.
    """

    request: Any
    alternatives: Any = None
    wait_at_most_s: Any = 0
    portable_checkpoint: Any = False
    depends_on: Any = None
    sweep: Any = None
    at_once: Any = None
    max_failures: Any = None
    early_stopping: Any = None
    reuse: Any = False
    reuse_unpinned: Any = False

    @classmethod
    def of(cls, submitted: Any) -> Submission:
        """A submission, or a request without alternatives, as a submission."""
        return submitted if isinstance(submitted, Submission) else cls(request=submitted)

    def further_requests(self) -> list[dict[str, Any]]:
        """The complete request of each further alternative; none if these have not the right shape."""
        if self.alternatives is None or any(self.errors()):
            return []
        return [with_members(self.request, members) for members in self.alternatives]

    def errors(self) -> Iterator[FieldError]:
        """What is wrong with the alternatives, apart from the requests that they make."""
        if self.alternatives is None:
            for field, value in (
                ("waitAtMostSeconds", self.wait_at_most_s),
                ("portableCheckpoint", self.portable_checkpoint),
            ):
                if value:
                    yield FieldError(
                        field=field, message="is for jobs with alternatives: add alternatives, or remove it"
                    )
            return
        listed = self.alternatives if isinstance(self.alternatives, list) else []
        if not 1 <= len(listed) <= MAX_ALTERNATIVES:
            message = f"has to be a list of 1 to {MAX_ALTERNATIVES} objects; a job without alternatives has none"
            yield FieldError(field="alternatives", message=message)
            return
        for i, members in enumerate(listed):
            yield from _member_errors(f"alternatives[{i}]", members)
        wait_s = self.wait_at_most_s
        if isinstance(wait_s, bool) or not isinstance(wait_s, int) or not 0 <= wait_s <= MAX_WAIT_AT_MOST_S:
            message = f"is {wait_s!r:.40}; it is a whole number of seconds from 0 to {MAX_WAIT_AT_MOST_S}"
            yield FieldError(field="waitAtMostSeconds", message=message)
        if not isinstance(self.portable_checkpoint, bool):
            message = f"is {self.portable_checkpoint!r:.40}; it is true or false"
            yield FieldError(field="portableCheckpoint", message=message)
        if is_serverless(self.request):
            message = "are for jobs on instances, and this one is serverless: remove them, or ServerlessJobConfig"
            yield FieldError(field="alternatives", message=message)
        resources = self.request.get("ResourceConfig")
        if isinstance(resources, Mapping) and "InstancePreferences" in resources:
            yield _preferences("ResourceConfig.InstancePreferences")


def as_alternatives(submission: Submission) -> Submission:
    """The submission with an alternative for each further preference, so that each of its requests names one type.

    It stays as it is without preferences, with alternatives of its own, and if they have not the right shape.
    """
    request = submission.request
    resources = request.get("ResourceConfig")
    preferences = resources.get("InstancePreferences") if isinstance(resources, Mapping) else None
    if submission.alternatives is not None or not isinstance(preferences, list):
        return submission
    if not 1 <= len(preferences) <= 1 + MAX_ALTERNATIVES or not all(isinstance(each, Mapping) for each in preferences):
        return submission
    shared = {name: value for name, value in resources.items() if name != "InstancePreferences"}
    first, *others = ({**shared, **each} for each in preferences)
    return replace(
        submission,
        request={**request, "ResourceConfig": first},
        alternatives=[{"ResourceConfig": each} for each in others] or None,
    )


def _member_errors(field: str, members: Any) -> Iterator[FieldError]:
    known = ", ".join(MEMBERS)
    if not isinstance(members, Mapping) or not members:
        message = f"has to be an object with members of CreateTrainingJob that replace those of the request: {known}"
        yield FieldError(field=field, message=message)
        return
    for name in sorted(set(members) - set(MEMBERS)):
        message = f"cannot differ between alternatives; members that can: {known}"
        yield FieldError(field=f"{field}.{name}", message=message)
    resources = members.get("ResourceConfig")
    if isinstance(resources, Mapping) and "InstancePreferences" in resources:
        yield _preferences(f"{field}.ResourceConfig.InstancePreferences")


def _preferences(field: str) -> FieldError:
    message = "cannot be combined with alternatives: give each instance type an alternative with its ResourceConfig"
    return FieldError(field=field, message=message)
