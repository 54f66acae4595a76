"""The command simulate, which is implemented in the package `headway_sandbox` of a checkout."""

from __future__ import annotations

from typing import Any

import click

from headway_client.cli.arguments.output_files import write_text
from headway_client.cli.arguments.params import Decimal, ExclusiveOption, Fraction, WholeNumber
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import show_document
from headway_client.cli.simulator import input_errors, load_simulator
from headway_client.text import to_json, to_stderr


class _Names(click.ParamType[list[str]]):
    name = "names"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> list[str]:
        return [name.strip() for name in value.split(",") if name.strip()]


_GIVEN_LIMITS = ("rounded", "1-10x", "equal", "half-without", "given")


class _Limits(click.ParamType[list[float | str]]):
    name = "limits"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[float | str]:
        parts = (part.strip() for part in value.split(","))
        return [part if part in _GIVEN_LIMITS else Decimal().convert(part, param, ctx) for part in parts]


@click.command("simulate", cls=Command)
@click.option("--trace", required=True, metavar="FILE", type=click.Path(), help="One row per job, .csv or .csv.gz.")
@click.option(
    "--capacity",
    required=True,
    metavar="POOL=N[,...]",
    help="The pools with their sizes in GPUs; with --nodes, in nodes.",
)
@click.option(
    "--policy",
    type=_Names(),
    default="headway",
    metavar="NAME[,...]",
    help="headway (default), order-short, order-shortest-remaining, order-shared, fifo, easy, sjf, article.",
)
@click.option(
    "--limits",
    type=_Limits(),
    default="1",
    metavar="X[,...]",
    help="Run time limits as multiples of true run times; rounded (up to 1 h, 4 h, 12 h, 1 d, ...), 1-10x (guessed), "
    "equal (the same for all), half-without, given (as the trace has them).",
)
@click.option("--gpus", is_flag=True, help="An instance is one GPU (default).")
@click.option(
    "--nodes", is_flag=True, cls=ExclusiveOption, conflicts_with="gpus", help="An instance is a node of the trace."
)
@click.option(
    "--stop-seconds",
    type=WholeNumber(0, 86_400),
    default=120,
    metavar="S",
    help="The time that a preempted job takes to stop.",
)
@click.option(
    "--start-seconds",
    type=WholeNumber(0, 86_400),
    default=0,
    metavar="S",
    help="The time from a start on new instances to the training.",
)
@click.option(
    "--warm-start-seconds",
    type=WholeNumber(0, 86_400),
    default=0,
    metavar="S",
    help="The same on warm instances.",
)
@click.option(
    "--keep-seconds",
    type=WholeNumber(0, 21_600),
    default=0,
    metavar="S",
    help="Keep instances warm for jobs of the same team with as many.",
)
@click.option(
    "--release-seconds",
    type=WholeNumber(0, 86_400),
    default=120,
    metavar="S",
    help="The time until released warm instances are free.",
)
@click.option(
    "--checkpointing",
    type=Fraction(),
    default=0.0,
    metavar="PART",
    help="The fraction of the jobs that write checkpoints.",
)
@click.option(
    "--seed",
    type=WholeNumber(0, 999_999_999),
    default=0,
    metavar="N",
    help="Selects the jobs that write checkpoints, and guesses.",
)
@click.option("--rows", type=WholeNumber(1, 999_999_999), metavar="N", help="Read only the first N jobs of the trace.")
@click.option("--processes", type=WholeNumber(1, 64), default=1, metavar="N", help="Run N simulations in parallel.")
@click.option("--json", "json_file", metavar="FILE", type=click.Path(), help="Write all figures to this file.")
@click.option("--picture", metavar="FILE.svg", type=click.Path(), help="Plot use and queue length to this file.")
@pass_common
def simulate(
    common: CommonOptions,
    capacity: str,
    policy: list[str],
    limits: list[float | str],
    stop_seconds: int,
    start_seconds: int,
    warm_start_seconds: int,
    keep_seconds: int,
    release_seconds: int,
    checkpointing: float,
    seed: int,
    rows: int | None,
    processes: int,
    json_file: str | None,
    picture: str | None,
    *,
    nodes: bool,
    **options: Any,
) -> None:
    """Simulate a trace of jobs under several policies and compare them."""
    from pathlib import Path

    errors, trace, run, report, plot = (load_simulator(name) for name in ("errors", "trace", "run", "report", "plot"))
    mapping = "nodes" if nodes else "gpus"
    with input_errors(errors):
        pools = trace.parse_capacity(capacity)
        read = trace.read_trace(Path(options["trace"]), pools, mapping=mapping, rows=rows)
        scenarios = run.scenarios(
            read,
            policy,
            limits,
            stop_ms=stop_seconds * 1000,
            checkpointing=checkpointing,
            seed=seed,
            cold_start_ms=start_seconds * 1000,
            warm_start_ms=warm_start_seconds * 1000,
            keep_ms=keep_seconds * 1000,
            release_ms=release_seconds * 1000,
        )
        results = run.simulate_all(
            scenarios, processes=processes, report=lambda one: to_stderr(f"{one.label}: {one.wall_s:.1f} s")
        )
    document = {
        "trace": read.source,
        "pools": dict(pools),
        "mapping": mapping,
        "stopSeconds": stop_seconds,
        "startSeconds": start_seconds,
        "warmStartSeconds": warm_start_seconds,
        "keepSeconds": keep_seconds,
        "releaseSeconds": release_seconds,
        "checkpointing": checkpointing,
        "seed": seed,
        "results": [result.to_document() for result in results],
    }
    if json_file:
        write_text(json_file, to_json(document) + "\n")
    if picture:
        write_text(picture, plot.draw(results, sum(pools.values())))
    if common.is_document:
        show_document(common, document)
        return
    print(report.table(results))
    for note in report.notes(results):
        print(note)
