"""The undisturbed runs, which preempted ones are compared with. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway_sandbox.rehearsal.attempt import Attempt
from headway_sandbox.rehearsal.errors import CannotRehearse


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """What the undisturbed runs have in common."""

    run_s: float
    """Run time of the shorter one, s."""
    first_step: int
    last_step: int
    stride: int
    """The smallest difference between two consecutive steps."""
    first_checkpoint_s: float | None
    """When the later of their first checkpoints was in S3, s since the start of the script; None: one wrote none."""
    uploads: int
    """How often changed files of checkpoints were uploaded, in the run with fewer uploads."""
    metrics: tuple[float, ...]
    """The metric at the end of each; empty if none is compared."""

    @property
    def spread(self) -> float:
        """The difference between the metrics."""
        return max(self.metrics, default=0.0) - min(self.metrics, default=0.0)

    @classmethod
    def of(cls, runs: Sequence[Attempt]) -> Baseline:
        """Return what the runs have in common.

        Raises:
            CannotRehearse: One of them failed, or they cannot be compared.
        """
        firsts, lasts, metrics = [], [], []
        for run in runs:
            if not run.trained:
                raise CannotRehearse(_why_not_trained(run))
            if run.first_step is None or run.last_step is None:
                raise CannotRehearse(
                    "The script prints nothing that --step-regex finds, so its steps cannot be followed. "
                    "Print each step, such as `step 12`, or give a regular expression whose first group is the step."
                )
            if run.first_step == run.last_step:
                raise CannotRehearse(
                    f"The script prints one step only, {run.last_step}, so nothing shows whether it continues. "
                    "Let it train and print more steps."
                )
            if run.metric_name and run.metric is None:
                raise CannotRehearse(
                    f"The script prints no value of the metric {run.metric_name}. Print it, such as "
                    f"`{run.metric_name}=0.25`, or give --metric-regex, whose first group is the value."
                )
            firsts.append(run.first_step)
            lasts.append(run.last_step)
            metrics += [] if run.metric is None else [run.metric]
        if len(set(firsts)) > 1 or len(set(lasts)) > 1:
            raise CannotRehearse(
                f"Two undisturbed runs differ: their first steps are {_listed(firsts)}, their last {_listed(lasts)}. "
                "Let the script train the same number of steps in each run."
            )
        seen = [run.first_upload_s for run in runs if run.first_upload_s is not None]
        return cls(
            run_s=min(run.run_s for run in runs),
            first_step=firsts[0],
            last_step=lasts[0],
            stride=min(run.stride for run in runs),
            first_checkpoint_s=max(seen) if len(seen) == len(runs) else None,
            uploads=min(run.uploads for run in runs),
            metrics=tuple(metrics),
        )


def _why_not_trained(run: Attempt) -> str:
    if run.timed_out:
        return (
            "The script does not end within --timeout, also when it is not preempted. Give more time, or fewer steps."
        )
    return f"The script fails also when it is not preempted: {run.failure}"


def _listed(steps: Sequence[int]) -> str:
    return " and ".join(map(str, steps))
