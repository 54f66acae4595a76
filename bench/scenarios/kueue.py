"""Kueue's own performance test, replayed in real time through Headway's real tick, launcher and observer.

    make bench-kueue                   replays, prints, and fails if a promise or the goal is not kept

Five cohorts of six queues become five pools of 120 instances that six teams share: each team is guaranteed 20
instances of each pool and may use all 120. Each queue gets 350 small, 100 medium and 50 large jobs at Kueue's
intervals; 15,000 in all (`bench.peers.kueue_jobs`). Jobs last on the wall clock as long as in Kueue's test
(`bench.queues.timed_training_jobs`). Each replay runs twice: with the default policy, and with one that preempts no job
in the first second of its run. With the default policy, preemption by priority alone takes most of the time of the goal
(`bench.queues.kueue_without_latency`), so it is not held to it. Everything runs in one process on the table in memory
(`bench.queues.kueue_queue`), so Headway's own code is measured: no network, no DynamoDB, no SageMaker.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import io
import json
import logging
import pstats
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from bench.metering.machine import describe_machine
from bench.peers.kueue_jobs import submissions
from bench.queues.kueue_without_latency import without_latency_s
from bench.queues.timed_training_jobs import BrokenPromiseError
from bench.report.kueue_figures import figures_of, table_of
from bench.runs.kueue_replay import Replay
from headway_service.observability.logging import logger

GOAL_S = 75.0
"""Time in which all jobs are done where running jobs are protected, s."""

PROTECTED_S = 1
"""For how long they are, s: as long as the longest of them runs."""

_TOLD = 10


def main() -> int:
    """Replay, print, and return as exit status whether all promises and the goal were kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the jobs; no goal")
    parser.add_argument("--no-teams", action="store_true", help="no guarantees, no limits: one line for each pool")
    parser.add_argument("--runs", type=int, default=1, help="replays with each policy (default 1)")
    parser.add_argument("--limit-s", type=int, default=86_400, help="the limit of each job's run time, s")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--profile", action="store_true", help="print where the time goes; slows the run down")
    arguments = parser.parse_args()
    logger.setLevel(logging.WARNING)
    machine = describe_machine()
    print(f"machine: {machine}")
    jobs = submissions(10 if arguments.quick else 1)
    runs: dict[str, list[dict[str, Any]]] = {"runs": [], "protected": []}
    problems: list[str] = []
    for _ in range(arguments.runs):
        for policy, min_run_time_s in (("runs", 0), ("protected", PROTECTED_S)):
            replay = Replay(
                jobs, teams=not arguments.no_teams, limit_s=arguments.limit_s, min_run_time_s=min_run_time_s
            )
            profile = cProfile.Profile() if arguments.profile else None
            problems += replayed(replay, profile)
            runs[policy].append(figures_of(replay))
            print(f"jobs run for at least {min_run_time_s} s")
            print(table_of(runs[policy][-1]))
            if profile:
                pstats.Stats(profile).sort_stats("tottime").print_stats(40)
            elif not arguments.quick and min_run_time_s and not 0 < replay.wall_s < GOAL_S:
                problems.append(f"the goal of {GOAL_S:.0f} s is missed")
    least_s = round(without_latency_s(jobs), 1)
    print(f"the default policy, if nothing took any time: {least_s} s")
    results = {"machine": machine, **runs, "withoutLatencySeconds": least_s, "problems": problems[:_TOLD]}
    print(json.dumps(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    for problem in problems[:_TOLD]:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


def replayed(replay: Replay, profile: cProfile.Profile | None) -> list[str]:
    """Replay, and return the broken promises and the jobs that are not done."""
    # What there is before the run is not looked through again by each collection during it.
    gc.freeze()
    try:
        # The handlers print their metrics.
        with redirect_stdout(io.StringIO()):
            if profile:
                profile.runcall(replay.run)
            else:
                replay.run()
        return replay.problems()
    except BrokenPromiseError as error:
        replay.wall_s = replay.elapsed_s()
        return [str(error)]
    finally:
        gc.unfreeze()


if __name__ == "__main__":
    sys.exit(main())
