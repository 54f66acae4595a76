"""What a replay of Kueue's test found, as figures and beside Kueue's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.peers.kueue_jobs import KINDS, POOL_SIZE, POOLS
from bench.runs.kueue_replay import Replay

KUEUE_S, WORK_S = 351.1, 66.0
"""How long Kueue's own run took, and how long the work alone takes if no instance is ever idle."""
KUEUE_ADMISSION_S = {"large": 16.5, "medium": 76.8, "small": 215.5}


def figures_of(replay: Replay) -> dict[str, Any]:
    """The figures of a run, also of one that was broken off."""
    queue, training_jobs, wall_s = replay.queue, replay.training_jobs, replay.wall_s
    waited: dict[str, list[float]] = {kind.name: [] for kind in KINDS}
    for job in replay.jobs:
        launched_ms = training_jobs.first_launch_ms.get(job.name)
        if launched_ms is not None:
            waited[job.kind.name].append((launched_ms - job.due_ms) / 1000)
    done = training_jobs.completed
    work_s = sum(job.kind.demand * job.kind.run_ms for job in replay.jobs if job.name in done) / 1000
    capacity_s = len(POOLS) * POOL_SIZE * wall_s
    ticks = sorted(queue.tick_ms) or [0.0]
    return {
        "jobs": len(replay.jobs),
        "completed": len(done),
        "wallSeconds": round(wall_s, 1),
        "jobsPerSecond": round(len(done) / wall_s, 1) if wall_s else 0.0,
        "averageAdmissionSeconds": {name: round(sum(times) / len(times), 2) for name, times in waited.items() if times},
        "usefulUtilisation": _share(work_s, capacity_s),
        "heldUtilisation": _share(replay.held_ms / 1000, capacity_s),
        "lostToPreemption": _share(training_jobs.wasted_ms / 1000, capacity_s),
        "preemptions": queue.preemptions,
        "reservationsReleased": queue.releases,
        "ticks": len(queue.tick_ms),
        "rounds": queue.rounds,
        "tickMs": {"median": round(ticks[len(ticks) // 2], 1), "max": round(ticks[-1], 1)},
        "secondsIn": {what: round(seconds, 1) for what, seconds in replay.busy_s.items()},
    }


def table_of(figures: Mapping[str, Any]) -> str:
    """The figures beside Kueue's, for people."""
    admission = figures["averageAdmissionSeconds"]
    rows = [
        ("", "Headway", "Kueue"),
        ("jobs", f"{figures['completed']} of {figures['jobs']}", "15000"),
        ("wall time, s", f"{figures['wallSeconds']}", f"{KUEUE_S}"),
        ("jobs per second", f"{figures['jobsPerSecond']}", f"{15_000 / KUEUE_S:.1f}"),
        *(
            (f"average admission, {name}, s", f"{admission.get(name, '-')}", f"{seconds}")
            for name, seconds in KUEUE_ADMISSION_S.items()
        ),
        ("instances held", f"{figures['heldUtilisation']:.1%}", "55.9%"),
        ("instances at work that counted", f"{figures['usefulUtilisation']:.1%}", f"{WORK_S / KUEUE_S:.1%}"),
        ("lost to preemption", f"{figures['lostToPreemption']:.1%}", ""),
        ("preemptions", f"{figures['preemptions']}", ""),
        ("ticks (rounds)", f"{figures['ticks']} ({figures['rounds']})", ""),
        ("tick, ms: median, max", f"{figures['tickMs']['median']}, {figures['tickMs']['max']}", ""),
    ]
    return "\n".join(f"{name:<34}{ours:>18}{theirs:>10}" for name, ours, theirs in rows)


def _share(used_s: float, capacity_s: float) -> float:
    return round(used_s / capacity_s, 3) if capacity_s else 0.0
