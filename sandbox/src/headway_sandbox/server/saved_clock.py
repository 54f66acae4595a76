"""The clock of a sandbox, which is the same after a restart."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from headway_sandbox.sagemaker.clock import Clock

FILE = "clock.json"


def clock_of(state_dir: Path, *, speed: float | None, now_s: float) -> Clock:
    """Return the clock of a state directory, and save it there. Training time goes on while no server runs.

    Args:
        state_dir: The state directory.
        speed: Its speed from now on; None: the saved one, or 1.
        now_s: The machine time, s since the epoch.

    Raises:
        SystemExit: The saved clock cannot be read.
    """
    path = state_dir / FILE
    saved = _read(path)
    clock = Clock.starting(speed or 1.0, now_s) if saved is None else saved.at_speed(speed or saved.speed, now_s)
    if clock != saved:
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps(asdict(clock)) + "\n", encoding="utf-8")
        draft.replace(path)
    return clock


def _read(path: Path) -> Clock | None:
    try:
        return Clock(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, RecursionError) as error:
        raise SystemExit(f"{path} is not a clock of the sandbox ({error}). Remove the state directory.") from error
