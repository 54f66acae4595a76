"""How a script is preempted, and when. Pure."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from headway_sandbox.rehearsal.baseline import Baseline
from headway_sandbox.rehearsal.errors import CannotRehearse

MAX_MOMENTS = 20
"""Chosen moments, and random ones."""

_FORM = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([s%])", re.ASCII)
# Random moments leave time before the end: a script that ends during the grace period is not preempted.
_FIRST_PART, _LAST_PART = 0.1, 0.8


class Disturbance(StrEnum):
    """What happens to a script."""

    SIGTERM = "SIGTERM"
    """To process 1 of each host, as on SageMaker; SIGKILL after the grace period."""
    SIGTERM_TO_ALL = "SIGTERM to all"
    """To all processes, as launchers pass it on; SIGKILL after the grace period."""
    LOST_IN_WRITE = "lost in a write"
    """SIGKILL to all processes while a checkpoint is being written."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A chosen moment."""

    text: str
    """As it was given."""
    number: float
    is_percentage: bool
    """Whether the number is a part of the run time, not seconds."""

    def at_s(self, run_s: float) -> float:
        """Return the moment, s since the start of the script.

        Args:
            run_s: Run time of the undisturbed script, s.

        Raises:
            CannotRehearse: It is after the end.
        """
        at_s = run_s * self.number / 100 if self.is_percentage else self.number
        if at_s >= run_s:
            raise CannotRehearse(
                f"--preempt-after {self.text} is after the end of the undisturbed run, which takes {run_s:.1f} s. "
                "Choose an earlier moment."
            )
        return at_s


@dataclass(frozen=True, kw_only=True)
class Case:
    """One preemption."""

    disturbance: Disturbance
    at_s: float
    """When, s since the start of the script; for a loss in a write: the earliest moment."""
    after_upload: bool = False
    """Whether the loss waits for a complete checkpoint in S3, to which the script can go back."""
    on_sigterm: bool = False
    """Whether the write is expected after SIGTERM only."""


def parse_moments(text: str) -> list[Moment]:
    """Read moments such as `20s,50%`.

    Raises:
        CannotRehearse: One has another form, or there are too many.
    """
    moments = []
    for part in text.split(","):
        found = _FORM.fullmatch(part.strip())
        if found is None:
            raise CannotRehearse(
                f"--preempt-after {text}: '{part.strip()}' is neither seconds such as 20s nor a part of the run time "
                "such as 50%."
            )
        moments.append(Moment(text=found[0], number=float(found[1]), is_percentage=found[2] == "%"))
    if len(moments) > MAX_MOMENTS:
        raise CannotRehearse(f"--preempt-after has {len(moments)} moments, more than {MAX_MOMENTS}. Leave some out.")
    return moments


def cases(moments: Sequence[Moment], *, times: int, seed: int, baseline: Baseline) -> list[Case]:
    """Return the preemptions: both signals at each moment, and one loss in a write.

    Random moments are after the first checkpoint of the undisturbed run, so that there is something to lose.

    Args:
        moments: The chosen moments.
        times: How many random moments there are besides.
        seed: Draws them.
        baseline: The undisturbed runs.

    Raises:
        CannotRehearse: A chosen moment is after the end.
    """
    run_s, drawn = baseline.run_s, random.Random(seed)
    latest_s = _LAST_PART * run_s
    earliest_s = max(_FIRST_PART * run_s, min(baseline.first_checkpoint_s or 0.0, latest_s))
    at_s = [
        *(moment.at_s(run_s) for moment in moments),
        *(drawn.uniform(earliest_s, latest_s) for _ in range(times)),
    ]
    terminated = [
        Case(disturbance=disturbance, at_s=each)
        for each in at_s
        for disturbance in (Disturbance.SIGTERM, Disturbance.SIGTERM_TO_ALL)
    ]
    return [*terminated, _loss(baseline)]


def _loss(baseline: Baseline) -> Case:
    # With one upload there may be no write after it, with none there is a write after SIGTERM at most.
    return Case(
        disturbance=Disturbance.LOST_IN_WRITE,
        at_s=0.0 if baseline.uploads == 1 else baseline.run_s / 2,
        after_upload=baseline.uploads > 1,
        on_sigterm=baseline.uploads == 0,
    )
