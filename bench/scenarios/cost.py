"""Counts what an idle queue, 1,000 jobs, a preemption and an hour of a running job use, and prices it.

    make bench-cost                    measures, prints, writes bench/results/cost.json and docs/explanation/cost.md

The real handlers run; items have their real sizes; counts are the same in each run. Only the handlers' time is
this machine's, and the time of calls to AWS is assumed (ASSUMED_CALL_MS).
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.metering.dynamodb_units import item_bytes
from bench.metering.itemized_units import KIND, ItemizedTable
from bench.metering.machine import describe_machine
from bench.metering.prices import DATE, HOURS_A_MONTH, PRICES, REGION
from bench.queues.virtual_time import LAMBDA, MeteredQueue, usual_request
from bench.report.cost_tables import filled, tables_of

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "bench" / "results" / "cost.json"
PAGE = ROOT / "docs" / "explanation" / "cost.md"

IDLE_MINUTES, JOBS, POOL_SIZE = 60, 40, 8
MINUTES_A_MONTH = HOURS_A_MONTH * 60
MB = {"api": 1024, "schedule": 1024, "observe": 512, "reconcile": 512, "patrol": 512, "watch": 512, "tell": 512}
"""The functions' memory (template.yaml)."""
ASSUMED_CALL_MS = {"DynamoDB calls": 5, "SQS requests": 10, "EventBridge calls": 20}
ASSUMED_CALL_MS |= {"SNS messages": 20, "CloudWatch requests": 50, "SageMaker calls": 200}
"""How long an invocation waits for an answer: assumed, as there is no AWS here."""
POLLS_A_MINUTE = 5 * 60 // 20
"""Lambda polls an empty queue with five parallel long polls of 20 s each (AWS's compute blog, "Estimating cost
for Amazon SQS message processing using AWS Lambda"). It may be fewer for a FIFO queue with one group."""

IDLE_CASES: dict[str, dict[str, str]] = {
    "idle month": {},
    "idle month, watched in full": {"Alarms": "all", "CreateDashboard": "true"},
}
"""The parameters of each, beside the template's defaults."""

ZONES = 2
"""The zones of deploy/network.yaml; an endpoint is billed in each."""

Use = dict[str, float]


def main() -> int:
    """Measure, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--print", action="store_true", help="write nothing")
    args = parser.parse_args()
    result = measured()
    tables = tables_of(result)
    print("\n\n".join(f"{name}\n{table}" for name, table in tables.items()))
    if not args.print:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps(result, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
    return 0


def measured() -> dict[str, Any]:
    """The use, by case and kind."""
    warm = MeteredQueue(POOL_SIZE)
    warm.minute()
    _live(warm, 1)
    idle, metrics = idle_minute()
    return {
        "machine": describe_machine(),
        "prices": {"region": REGION, "date": DATE},
        **{
            case: _rounded({**_times(idle, MINUTES_A_MONTH), **standing(metrics, **parameters)})
            for case, parameters in IDLE_CASES.items()
        },
        "interface endpoints": endpoints(),
        "write units of a job": itemized(JOBS),
        "1,000 jobs": _rounded(_times(jobs(JOBS), 1000 / JOBS)),
        "1,000 preemptions": _rounded(_times(preemption(), 1000)),
        "1,000 hours of a running job": _rounded(_times(running_hour(idle), 1000)),
    }


def idle_minute() -> tuple[Use, int]:
    """The use of an idle minute, and the number of its metrics."""
    world = MeteredQueue(POOL_SIZE)
    world.first_hour()
    world.reset()
    for _ in range(IDLE_MINUTES):
        world.pass_time(60)
        world.minute()
    minute = _times(use_of(world), 1 / IDLE_MINUTES)
    minute["SQS requests"] += POLLS_A_MINUTE
    return minute, len(world.metrics)


def standing(metrics: int, **parameters: str) -> Use:
    """The fixed monthly use, with these parameters and the defaults of the others.

    An alarm is billed by the metrics that it evaluates (CloudWatch's pricing page, "Alarms").
    """
    # Conditions of the form that the two for alarms and the dashboard have; what has another one is not counted here.
    simple = re.findall(r'^  (\w+): !Equals \[!Ref (\w+), "?(\w+)"?\]$', _template(), re.MULTILINE)
    holding = {name for name, of, value in simple if parameters.get(of, default_of(of)) == value}
    made = [
        resource
        for resource in re.split(r"^  (?=\w+:$)", _template(), flags=re.MULTILINE)
        if holding.issuperset(re.findall(r"^    Condition: (\w+)$", resource, re.MULTILINE))
    ]

    def of_type(kind: str) -> list[str]:
        return [each for each in made if re.search(rf"^    Type: {kind}$", each, re.MULTILINE)]

    return {
        "CloudWatch metrics": metrics,
        "CloudWatch alarms": sum(
            len(re.findall(r"\bMetricName: ", each)) for each in of_type("AWS::CloudWatch::Alarm")
        ),
        "CloudWatch dashboards": len(of_type("AWS::CloudWatch::Dashboard")),
        "KMS keys": len(of_type("AWS::KMS::Key")),
    }


def endpoints() -> Use:
    """The hours of interface endpoints in a month, with the parameters of deploy/network.yaml."""
    network = (ROOT / "deploy" / "network.yaml").read_text(encoding="utf-8")
    (services,) = re.findall(r"^  Services:\n(?:    .*\n)*?    Default: (.*)$", network, re.MULTILINE)
    own = [
        each
        for each in re.findall(r"^  (\w+):\n    Type: AWS::EC2::VPCEndpoint$", network, re.MULTILINE)
        if "Gateway" not in each
    ]
    counts = {"functions outside the VPC": 1, "functions in the VPC": len(own) + len(services.split(","))}
    return {case: count * ZONES * HOURS_A_MONTH for case, count in counts.items()}


def default_of(parameter: str) -> str:
    """The default of a parameter of the template."""
    (described,) = re.findall(rf"^  {parameter}:\n(?:    .*\n)*?    Default: (.*)$", _template(), re.MULTILINE)
    return str(described).strip('"')


def _template() -> str:
    return (ROOT / "template.yaml").read_text(encoding="utf-8")


def jobs(number: int, **settings: Any) -> Use:
    """The use of a number of jobs from submission to end: submitted at once, eight run at a time, none preempted.

    Args:
        number: of jobs.
        settings: members of the configuration document beside the pool.
    """
    world = MeteredQueue(POOL_SIZE, **settings)
    world.first_hour()
    world.reset()
    _live(world, number)
    return use_of(world)


def itemized(number: int) -> dict[str, float]:
    """The write units of a job by what they are for, as function and item, of a number of jobs as in :func:`jobs`."""
    world = MeteredQueue(POOL_SIZE, meter=ItemizedTable)
    world.first_hour()
    world.reset()
    _live(world, number)
    begin = f"DynamoDB {KIND}"
    return {
        f"{function} {kind.removeprefix(begin)}": float(f"{units / number:.4g}")
        for (function, kind), units in sorted(world.used.items())
        if kind.startswith(begin)
    }


def preemption() -> Use:
    """What a preemption uses beyond what its two jobs use anyway."""
    uses = []
    for priority in (9, 1):
        world = MeteredQueue(1)
        world.first_hour()
        world.reset()
        world.submit("first")
        world.pass_time(400)
        world.submit("second", priority=priority)
        _drain(world)
        uses.append(use_of(world))
    preempted, in_turn = uses
    return {kind: preempted.get(kind, 0) - in_turn.get(kind, 0) for kind in preempted}


def running_hour(idle: Use) -> Use:
    """What an hour of a running job uses beyond what idle minutes use."""
    world = MeteredQueue(POOL_SIZE)
    world.submit("long", run_s=7200)
    world.pass_time(300)
    world.reset()
    for _ in range(60):
        world.pass_time(60)
        world.minute()
    used = use_of(world)
    used["SQS requests"] += 60 * POLLS_A_MINUTE
    # A metric is billed for each hour in which it has any value.
    used["CloudWatch metrics"] = len(world.metrics) / HOURS_A_MONTH
    return {kind: max(0.0, number - 60 * idle.get(kind, 0)) for kind, number in used.items()}


def _live(world: MeteredQueue, number: int) -> None:
    world.submit_at_once(usual_request(f"job-{n:04}") for n in range(number))
    _drain(world)


def _drain(world: MeteredQueue) -> None:
    for _ in range(10_000):
        if all(item.get("jobState") in {"completed", "failed", "stopped"} for item in world.jobs()):
            return
        world.pass_time(60)
    raise RuntimeError("the jobs do not end")


def use_of(world: MeteredQueue) -> Use:
    """What the world used, by kind of use."""
    used: dict[str, float] = defaultdict(float)
    for (_, kind), number in world.used.items():
        used[kind] += number
    waited_ms = dict(world.handler_ms)
    for (function, kind), number in world.used.items():
        if function != LAMBDA:
            waited_ms[function] += number * ASSUMED_CALL_MS.get(kind, 0)
    invocations = used["Lambda requests"]
    return {
        **{kind: used[kind] for kind in PRICES if kind in used},
        "Lambda GB-seconds": sum(MB[function] / 1024 * ms / 1000 for function, ms in waited_ms.items()),
        "CloudWatch log GB": used["CloudWatch log bytes"] / 1e9,
        # The first request of each second is traced, so at these rates every invocation is.
        "X-Ray traces": invocations if default_of("Tracing") == "Active" else 0,
        "DynamoDB GB kept, with recovery": sum(map(item_bytes, world.jobs())) / 1e9,
        "API Gateway requests": world.used["api", "Lambda requests"],
        "SageMaker calls": used["SageMaker calls"],
    }


def _times(use: Mapping[str, float], factor: float) -> Use:
    return {kind: number * factor for kind, number in use.items()}


def _rounded(use: Mapping[str, float]) -> Use:
    return {kind: float(f"{number:.4g}") for kind, number in use.items() if number}


if __name__ == "__main__":
    raise SystemExit(main())
