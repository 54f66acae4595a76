"""How many training jobs a second are launched, and how soon 500 that end at once or within a minute are followed.

    python -m bench.scenarios.launches              measures and prints
    python -m bench.scenarios.launches --quick      small sizes

Two parts. *A tick*, in real time: the real scheduling function launches on free instances, in threads and through
boto3, while stand-ins for DynamoDB and SageMaker let it wait as long as AWS is assumed to (`bench.queues.waiting_aws`).
*Ends* of running attempts, at once and within a minute, on virtual time (`bench.queues.timed_queue`), with any number
of calls allowed and with 5 a second. Each with one launch at a time and with several. The exit code is 1 if a job is
lost or a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from bench.metering.machine import describe_machine
from bench.metering.partitions import READ, WRITTEN
from bench.queues.timed_queue import TimedQueue
from bench.queues.waiting_aws import WaitingQueue
from bench.queues.warm import percentile
from headway_service.bootstrap.settings import Settings
from headway_service.observability.logging import logger

AT_ONCE = (1, Settings(table="", retention_s=0, first_configuration="").launches_at_once)
"""One launch at a time, and as many at once as a deployment has unless it says otherwise."""

ALLOWED = (None, 5)
"""Calls of CreateTrainingJob that are allowed a second. AWS does not document it."""

WITHIN_S, AT_ONE_MOMENT_S = 60, 0
"""The time within which jobs end, s."""

TRANSACTION_MS = (5, 20)
"""Assumed times of a transaction, ms: that of any call of DynamoDB in the other scenarios, and one that is slow."""

ENDS, STARTS = 500, 100
GOAL_A_SECOND, GOAL_FOLLOWED_S, GOAL_CALLS = 30.0, 20.0, 1.1
"""Starts a second; the longest time until an end is followed; calls for each job if they are throttled."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print; 1 if a job is lost or a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="small sizes; no goals")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args(arguments)
    logger.setLevel(logging.WARNING)
    part = 10 if options.quick else 1
    found = {"machine": describe_machine(), **measure(ENDS // part, STARTS // part)}
    for problem in (problems := lost(found) + ([] if options.quick else missed(found))):
        sys.stdout.write(f"FAILED: {problem}\n")
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return int(bool(problems))


def measure(ends: int, starts: int) -> dict[str, Any]:
    """The figures.

    Args:
        ends: the running jobs that end, and as many that wait.
        starts: the jobs that one tick starts.
    """
    return {
        "starts": [
            {"atOnce": at_once, "transactionMs": ms, **starts_of(starts, at_once, ms)}
            for ms in TRANSACTION_MS
            for at_once in AT_ONCE
        ],
        "ends": [
            {"within": within_s, "atOnce": at_once, "allowed": allowed, **ends_of(ends, within_s, at_once, allowed)}
            for within_s in (AT_ONE_MOMENT_S, WITHIN_S)
            for allowed in ALLOWED
            for at_once in AT_ONCE
        ],
    }


def starts_of(jobs: int, at_once: int, transaction_ms: float) -> dict[str, Any]:
    """Let one tick start jobs on free instances, in real time.

    Args:
        jobs: how many wait.
        at_once: the launches that may be in flight.
        transaction_ms: how long a transaction takes.
    """
    queue = WaitingQueue(jobs, at_once=at_once, transaction_ms=transaction_ms)
    took_s, cpu_s = queue.tick_s()
    return {
        "jobs": jobs,
        "launched": queue.launched(),
        "seconds": round(took_s, 2),
        "aSecond": round(jobs / took_s, 1),
        "processorMsEach": round(cpu_s / jobs * 1000, 1),
    }


def ends_of(ends: int, within_s: float, at_once: int, allowed: int | None, *, seed: int = 1) -> dict[str, Any]:
    """Simulate ends within a time; all promises are checked after each pass.

    Args:
        ends: the running jobs with one instance each, and as many that wait.
        within_s: the time, s.
        at_once: the launches that may be in flight.
        allowed: the calls of CreateTrainingJob that are allowed a second; None for any number.
        seed: of the moments at which they end.
    """
    queue = TimedQueue(ends, Random(seed), at_once=at_once, allowed_a_second=allowed)
    queue.fill()
    began_s = queue.now_s
    waits_s = queue.end_all(within_s)
    used = {
        kind: sum(number for (_, each), number in queue.used.items() if each.startswith(f"DynamoDB {kind}"))
        for kind in (f"{WRITTEN}ledger", f"{READ}ledger")
    }
    states = [job["jobState"] for job in queue.jobs()]
    took_s = max(queue.launched_s) - began_s
    return {
        "ended": states.count("completed"),
        "launched": len(waits_s),
        "lost": len(queue.accepted) - len(states),
        "calls": queue.calls,
        "passes": queue.passes,
        "secondsUntilLaunched": {
            "median": round(statistics.median(waits_s), 1),
            "p99": round(percentile(waits_s, 99), 1),
            "max": round(max(waits_s), 1),
        },
        "secondsUntilAllLaunched": round(took_s, 1),
        "aSecond": round(len(waits_s) / took_s, 1),
        "oldestWakeSeconds": round(queue.oldest_wake_s, 1),
        "mostInstancesIdle": queue.most_idle,
        "ledgerUnitsASecond": {
            "written": round(used[f"{WRITTEN}ledger"] / took_s, 1),
            "read": round(used[f"{READ}ledger"] / took_s, 1),
        },
    }


def lost(found: Mapping[str, Any]) -> list[str]:
    """What was lost, in words."""
    problems = [
        f"{each['ended']} ended, {each['launched']} were launched, {each['lost']} are not kept"
        for each in found["ends"]
        if each["lost"] or each["ended"] != each["launched"]
    ]
    return problems + [
        f"{each['launched']} of {each['jobs']} were launched"
        for each in found["starts"]
        if each["launched"] != each["jobs"]
    ]


def missed(found: Mapping[str, Any]) -> list[str]:
    """The goals that are missed, in words."""
    return [f"{goal} ({value:g})" for goal, value, kept in goals(found) if not kept]


def goals(found: Mapping[str, Any]) -> Iterator[tuple[str, float, bool]]:
    """The goals, the figures and whether they are kept, with as many launches at once as a deployment has."""
    for each in found["starts"]:
        if each["atOnce"] > 1:
            told = f"starts a second in real time, with transactions of {each['transactionMs']} ms"
            yield f"{told}: at least {GOAL_A_SECOND:g}", each["aSecond"], each["aSecond"] >= GOAL_A_SECOND
    for each in found["ends"]:
        if each["atOnce"] == 1:
            continue
        if each["allowed"] is not None:
            calls = each["calls"] / each["launched"]
            told = f"calls for each launch after {each['ended']} ends {when(each['within'])}"
            told = f"{told}, {each['allowed']} a second allowed: at most {GOAL_CALLS:g}"
            yield told, calls, calls <= GOAL_CALLS
        elif each["within"] == WITHIN_S:
            longest_s = each["secondsUntilLaunched"]["max"]
            told = f"{each['ended']} ends {when(each['within'])} are each followed within {GOAL_FOLLOWED_S:g} s"
            yield told, longest_s, longest_s <= GOAL_FOLLOWED_S
        else:
            told = f"starts a second after {each['ended']} ends {when(each['within'])}: at least {GOAL_A_SECOND:g}"
            yield told, each["aSecond"], each["aSecond"] >= GOAL_A_SECOND


def when(within_s: float) -> str:
    """Within which time jobs end, in words."""
    return "within a minute" if within_s == WITHIN_S else "at once"


if __name__ == "__main__":
    raise SystemExit(main())
