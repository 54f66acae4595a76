"""A script that trains in steps and keeps checkpoints, as a user would write it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

STEP_S = 0.05
"""Duration of a step."""

_SCRIPT = """
import pathlib, signal, sys, time
folder = pathlib.Path("/opt/ml/checkpoints")
found = sorted(folder.glob("step-*"), key=lambda path: int(path.name[5:]))
step = int(found[-1].name[5:]) if found else 0
print("begins at", step)
def save():
    draft = folder / "draft"
    draft.write_text("weights")
    draft.rename(folder / f"step-{step}")
# A handler may run within a line that is being printed, so it only notes the signal.
signals = []
if HANDLES_SIGTERM:
    signal.signal(signal.SIGTERM, lambda *_: signals.append("SIGTERM"))
while step < LAST:
    time.sleep(STEP_S)
    step += 1
    print("step", step)
    if signals:
        save()
        print("saved", step)
        sys.exit(0)
    if step % EVERY == 0:
        save()
pathlib.Path("/opt/ml/model/steps").write_text(str(step))
"""


def steps(*, last: int, every: int, handles_sigterm: bool = False) -> str:
    """Return the script: it ends at a step, and saves a checkpoint every few steps.

    Args:
        last: The last step.
        every: Steps between two checkpoints.
        handles_sigterm: Whether it also saves one when it receives SIGTERM.
    """
    settings = {"LAST": last, "EVERY": every, "HANDLES_SIGTERM": handles_sigterm, "STEP_S": STEP_S}
    return "".join(f"{name} = {value}\n" for name, value in settings.items()) + _SCRIPT


def lost_steps(lines: Iterable[str]) -> list[int]:
    """Return how many steps were done again after each restart of the script, from what all runs have printed.

    Raises:
        AssertionError: The steps of a run do not follow its begin without a gap.
    """
    runs: list[list[int]] = []
    for line in lines:
        # Python writes the parts of a line one after the other: one that SIGKILL cuts off has no number.
        if found := re.fullmatch(r"begins at (\d+)", line):
            runs.append([int(found[1])])
        elif found := re.fullmatch(r"step (\d+)", line):
            runs[-1].append(int(found[1]))
    for run in runs:
        assert run == list(range(run[0], run[-1] + 1)), runs
    return [before[-1] - after[0] for before, after in pairwise(runs)]
