"""Whether a script survives a preemption, and what to change if it does not. Pure.

A script survives if it finds a checkpoint, continues from it, and ends as the undisturbed runs did. How it came to its
checkpoint does not matter: it may write one every few steps, or when it receives SIGTERM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean

from headway_sandbox.rehearsal.attempt import Attempt
from headway_sandbox.rehearsal.baseline import Baseline
from headway_sandbox.rehearsal.cases import Case, Disturbance

_SHOWN_FILES = 3


class Verdict(StrEnum):
    """The result of a case."""

    SURVIVES = "survives"
    FAILS = "fails"
    NOT_JUDGED = "not judged"


class Problem(StrEnum):
    """The first thing that went wrong in a case."""

    ENDED_FIRST = "ended before the preemption"
    NO_WRITE = "no checkpoint was being written"
    NO_CHECKPOINT_CONFIG = "no CheckpointConfig"
    NOT_WRITTEN = "no checkpoint written"
    WRITTEN_ELSEWHERE = "checkpoint in another folder"
    FAILED_AFTER = "failed at the restart"
    BEGAN_AGAIN = "began at the first step again"
    HALF_WRITTEN = "half-written checkpoint"
    TIMED_OUT = "did not end after the restart"
    OTHER_LAST_STEP = "ended at another step"
    OTHER_METRIC = "other metric"


_Found = tuple[Problem, str]
_NOT_JUDGED = {Problem.ENDED_FIRST, Problem.NO_WRITE}


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """What is asked of a script."""

    folder: str
    """Its checkpoint folder; empty if its request has no CheckpointConfig."""
    tolerance: float = 0.0
    """How much the metric may differ, besides the spread of the undisturbed runs."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One case with its result."""

    case: Case
    before: Attempt
    """The preempted run."""
    after: Attempt | None
    """The run after it; None if nothing was to be continued."""
    problem: Problem | None = None
    """None: it survives."""
    sentence: str = ""
    """What went wrong, and what to change."""
    stride: int = 1

    @property
    def verdict(self) -> Verdict:
        """Whether the script survived."""
        if self.problem is None:
            return Verdict.SURVIVES
        return Verdict.NOT_JUDGED if self.problem in _NOT_JUDGED else Verdict.FAILS

    @property
    def lost_steps(self) -> int | None:
        """Steps that were trained twice; None if one of the runs printed none."""
        if self.after is None or self.after.first_step is None or self.before.last_step is None:
            return None
        return max(0, self.before.last_step + self.stride - self.after.first_step)


def is_preempted(before: Attempt) -> bool:
    """Return whether a run was preempted before it ended, so that the next one has to continue it."""
    return before.preempted_s is not None and not before.trained


def judge(case: Case, before: Attempt, after: Attempt | None, *, baseline: Baseline, criteria: Criteria) -> Judged:
    """Return the result of a case.

    Args:
        case: The preemption.
        before: The preempted run.
        after: The run after it; None if the first one ended before it was preempted.
        baseline: The undisturbed runs.
        criteria: What is asked of the script.
    """
    found: _Found | None
    if after is None:
        found = _why_nothing_to_continue(case, before, criteria)
    else:
        found = (
            _not_kept(case, before, baseline, criteria)
            or _not_continued(case, before, after, baseline, criteria)
            or _other_end(before, after, baseline, criteria)
        )
    problem, sentence = found or (None, "")
    return Judged(case=case, before=before, after=after, problem=problem, sentence=sentence, stride=baseline.stride)


def _why_nothing_to_continue(case: Case, before: Attempt, criteria: Criteria) -> _Found:
    if case.disturbance is not Disturbance.LOST_IN_WRITE:
        return Problem.ENDED_FIRST, (
            "The script ended before it was preempted, as it was faster than in the undisturbed runs. "
            "Choose an earlier --preempt-after."
        )
    if not before.uploaded:
        return _not_written(before, criteria)
    return Problem.NO_WRITE, (
        "No checkpoint was being written in the part of the run in which one was waited for. "
        "Write checkpoints more often, or let the script train longer."
    )


def _not_kept(case: Case, before: Attempt, baseline: Baseline, criteria: Criteria) -> _Found | None:
    """Return why no checkpoint was kept; None if one was, or if the script may not have come to its first one."""
    if before.uploaded or before.written_in:
        return None
    expected_s = baseline.first_checkpoint_s
    if expected_s is not None and case.at_s < expected_s:
        return None
    return _not_written(before, criteria)


def _not_written(before: Attempt, criteria: Criteria) -> _Found:
    if not criteria.folder:
        return Problem.NO_CHECKPOINT_CONFIG, (
            "The request has no CheckpointConfig, so nothing that the script writes is kept. "
            'Add one, such as {"S3Uri": "s3://BUCKET/PREFIX"}, and write checkpoints to /opt/ml/checkpoints.'
        )
    if before.elsewhere:
        return Problem.WRITTEN_ELSEWHERE, (
            f"It wrote no checkpoint to {criteria.folder}, but {', '.join(before.elsewhere[:_SHOWN_FILES])}, "
            f"which is lost with the instance. Write checkpoints to {criteria.folder}."
        )
    return Problem.NOT_WRITTEN, (
        f"It wrote no checkpoint to {criteria.folder}. Write one there every few steps; "
        "then it needs no handler for SIGTERM."
    )


def _not_continued(
    case: Case, before: Attempt, after: Attempt, baseline: Baseline, criteria: Criteria
) -> _Found | None:
    lost = case.disturbance is Disturbance.LOST_IN_WRITE
    rename = (
        f"A kill left half of {before.written_in}. Write a checkpoint under another name and rename it when it is "
        "complete (os.replace), so that the folder never has half of one."
    )
    if after.timed_out:
        return Problem.TIMED_OUT, (
            "The next attempt did not end within --timeout. Let the script end at the same step after a restart, "
            "or give more time."
        )
    if not after.trained:
        if lost:
            return Problem.HALF_WRITTEN, f"The next attempt failed: {after.failure}. {rename}"
        return Problem.FAILED_AFTER, (
            f"The next attempt failed: {after.failure}. It found {_files(after.restored)} in {criteria.folder}: "
            "let the script load what it has saved."
        )
    complete = before.uploaded > 0
    if not complete or after.first_step is None or after.first_step > baseline.first_step:
        return None
    if lost:
        return Problem.HALF_WRITTEN, f"The next attempt began at step {after.first_step} again. {rename}"
    return Problem.BEGAN_AGAIN, _began_again(after, criteria)


def _began_again(after: Attempt, criteria: Criteria) -> str:
    return (
        f"It found {_files(after.restored)} in {criteria.folder} and began at step {after.first_step} again. "
        "Load the newest checkpoint at the start, and continue from its step."
    )


def _other_end(before: Attempt, after: Attempt, baseline: Baseline, criteria: Criteria) -> _Found | None:
    # An attempt that finds the checkpoint of the last step has no step to train.
    last_step = before.last_step if after.last_step is None else after.last_step
    if last_step != baseline.last_step:
        return Problem.OTHER_LAST_STEP, (
            f"It ended at step {last_step}, not at {baseline.last_step}. "
            "Save the step with the checkpoint, and train up to the same last step after a restart."
        )
    if not baseline.metrics or after.last_step is None:
        return None
    if after.metric is None:
        return Problem.OTHER_METRIC, (
            f"It printed no finite value of {after.metric_name} after the restart. "
            "Save all of the state with the checkpoint, and print the metric as in a run without a preemption."
        )
    expected = fmean(baseline.metrics)
    if abs(after.metric - expected) <= criteria.tolerance + baseline.spread:
        return None
    return Problem.OTHER_METRIC, (
        f"{after.metric_name} is {after.metric:g}, not {expected:g}: the difference is more than "
        f"--tolerance {criteria.tolerance:g} and the undisturbed runs' own {baseline.spread:g}. Save all of the state "
        "with the checkpoint: the optimizer, the random numbers, the position in the data."
    )


def with_common_cause(judged: Sequence[Judged], criteria: Criteria) -> list[Judged]:
    """Return the cases with one cause where they have one: a script that never continues is not stopped by half a file.

    Args:
        judged: All cases of a rehearsal.
        criteria: What is asked of the script.
    """
    never_continues = any(each.problem is Problem.BEGAN_AGAIN for each in judged)
    return [
        replace(each, problem=Problem.BEGAN_AGAIN, sentence=_began_again(each.after, criteria))
        if never_continues and each.problem is Problem.HALF_WRITTEN and each.after is not None and each.after.trained
        else each
        for each in judged
    ]


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}" if count else "no files"
