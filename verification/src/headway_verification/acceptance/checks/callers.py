"""Who may call the API, and what the scheduler's role may do."""

from __future__ import annotations

from headway_service.sagemaker_api.tags import ATTEMPT_TAG
from headway_verification.acceptance.evidence import ACCEPTED, Callers, Permissions, Runs
from headway_verification.acceptance.verdict import Finding, decided, is_false, unchecked

FORBIDDEN = 403
ALLOWED = "allowed"

CREATE_MARKED = "CreateTrainingJob with the queue's mark"
CREATE_UNMARKED = "CreateTrainingJob without it"
TAG_AT_CREATION = "AddTags of the mark by CreateTrainingJob"
TAG_LATER = "AddTags of the mark to another job"
STOP_MARKED = "StopTrainingJob of a marked job"
STOP_UNMARKED = "StopTrainingJob of another job"
RELEASE_MARKED = "UpdateTrainingJob that ends a marked job's warm pool"
CHANGE_MARKED = "UpdateTrainingJob that changes anything else of it"


def stranger_is_refused(callers: Callers) -> Finding:
    """Whether API Gateway refuses a role that no policy lets in."""
    return decided(
        f"GET /version of a role without a policy: {callers.stranger}", true=callers.stranger.status == FORBIDDEN
    )


def user_is_let_in(callers: Callers) -> Finding:
    """Whether UserPolicy alone lets a role of the account in."""
    said = f"GET /version of a role with UserPolicy: {callers.user} after {callers.waited_s:.0f} s"
    if callers.user.status != ACCEPTED and callers.caller_arns != "*":
        return unchecked(f"{said}; CallerArns admits {callers.caller_arns} only, and not the role of this check")
    return decided(said, true=callers.user.status == ACCEPTED)


def marked_creation(permissions: Permissions) -> Finding:
    """Whether the scheduler's role may create marked training jobs, and no others."""
    return _split(permissions, yes=(CREATE_MARKED,), no=(CREATE_UNMARKED,))


def tag_at_creation(permissions: Permissions) -> Finding:
    """Whether it may tag what it creates, and nothing else."""
    return _split(permissions, yes=(TAG_AT_CREATION,), no=(TAG_LATER,))


def marked_control(permissions: Permissions) -> Finding:
    """Whether it may stop marked training jobs and end their warm pools, and change no others and nothing else."""
    return _split(permissions, yes=(STOP_MARKED, RELEASE_MARKED), no=(STOP_UNMARKED, CHANGE_MARKED))


def _split(permissions: Permissions, *, yes: tuple[str, ...], no: tuple[str, ...]) -> Finding:
    said = {question: permissions.decisions[question] for question in (*yes, *no)}
    right = all(said[each] == ALLOWED for each in yes) and all(said[each] != ALLOWED for each in no)
    return decided("; ".join(f"{question}: {decision}" for question, decision in said.items()), true=right)


def launched_with_mark(runs: Runs) -> Finding:
    """Whether SageMaker created the training job under these conditions, with its mark."""
    run = runs.works
    if not run.attempt:
        said = "; ".join(run.reasons)
        return is_false(said) if "AccessDenied" in said else unchecked(f"no training job was launched: {said}")
    mark = run.tags.get(ATTEMPT_TAG, "")
    return decided(f"{run.attempt} has {ATTEMPT_TAG}={mark or 'nothing'}", true=mark.startswith(f"{runs.table}/"))
