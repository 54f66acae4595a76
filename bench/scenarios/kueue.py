"""Kueue's own performance test, replayed in real time through Headway's real tick, launcher and observer.

    make bench-kueue                   replays, prints, and fails if a promise or the goal is not kept

Five cohorts of six queues become five pools of 120 instances that six teams share: each team is guaranteed 20
instances of each pool and may use all 120. Each queue gets 350 small, 100 medium and 50 large jobs at Kueue's
intervals; 15,000 in all (`bench.peers.kueue_jobs`). Jobs last on the wall clock as long as in Kueue's test
(`bench.queues.timed_training_jobs`). Everything runs in one process on the table in memory
(`bench.queues.kueue_queue`), so Headway's own code is measured: no network, no DynamoDB, no SageMaker.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import logging
import pstats
import sys
from pathlib import Path

from bench.metering.machine import describe_machine
from bench.peers.kueue_jobs import submissions
from bench.queues.timed_training_jobs import BrokenPromiseError
from bench.report.kueue_figures import figures_of, table_of
from bench.runs.kueue_replay import Replay
from headway_service.observability.logging import logger

GOAL_S = 75.0
_TOLD = 10


def main() -> int:
    """Replay, print, and return as exit status whether all promises and the goal were kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the jobs; no goal")
    parser.add_argument("--no-teams", action="store_true", help="no guarantees, no limits: one line for each pool")
    parser.add_argument("--runs", type=int, default=1, help="replays, one after the other; each is told (default 1)")
    parser.add_argument("--limit-s", type=int, default=86_400, help="the limit of each job's run time, s")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--profile", action="store_true", help="print where the time goes; slows the run down")
    arguments = parser.parse_args()
    logger.setLevel(logging.WARNING)
    machine = describe_machine()
    print(f"machine: {machine}")
    runs, problems = [], []
    for _ in range(arguments.runs):
        replay = Replay(
            submissions(10 if arguments.quick else 1), teams=not arguments.no_teams, limit_s=arguments.limit_s
        )
        profile = cProfile.Profile() if arguments.profile else None
        problems += replayed(replay, profile)
        runs.append(figures_of(replay))
        print(table_of(runs[-1]))
        if profile:
            pstats.Stats(profile).sort_stats("tottime").print_stats(40)
        elif not arguments.quick and not 0 < replay.wall_s < GOAL_S:
            problems.append(f"the goal of {GOAL_S:.0f} s is missed")
    results = {"machine": machine, "runs": runs, "problems": problems[:_TOLD]}
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
