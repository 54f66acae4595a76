"""The command results: the members of an array with their hyperparameters and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from headway_client.cli.arguments.params import ExclusiveOption
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_rows, width
from headway_client.cli.interruption import UNCHANGED
from headway_client.cli.job_names import JOB_NAME
from headway_client.errors import UsageError

if TYPE_CHECKING:
    from headway_client.cli.output.arrays.results import Goal
    from headway_client.cli.output.table import Table
    from headway_client.models import ArrayMember


@click.command("results", cls=Command, rows=True, names=True, interrupted=UNCHANGED)
@click.argument("array", metavar="ARRAY", type=JOB_NAME, help="The array's name.")
@click.option(
    "--minimize",
    cls=ExclusiveOption,
    conflicts_with="maximize",
    metavar="METRIC",
    help="Show the members with the lowest values of this metric first, and name the best one.",
)
@click.option("--maximize", metavar="METRIC", help="The same with the highest values first.")
@click.option("--best", is_flag=True, help="With --minimize or --maximize: only the best member.")
@click.option(
    "--sort",
    cls=ExclusiveOption,
    conflicts_with="best",
    metavar="NAME",
    help="Sort the members by a hyperparameter, a metric, index, state or time; -NAME sorts in descending order.",
)
@click.option(
    "--plot",
    cls=ExclusiveOption,
    conflicts_with="best",
    metavar="NAME",
    help="Draw this hyperparameter and the metric of --minimize or --maximize, or the only metric, as points.",
)
@pass_common
def results(
    common: CommonOptions,
    array: str,
    minimize: str | None,
    maximize: str | None,
    *,
    best: bool,
    sort: str | None,
    plot: str | None,
) -> None:
    """Show the members of an array with their hyperparameters, metrics and training times."""
    from headway_client.cli.output.arrays.results import require_metric, result_rows, sorted_members

    goal = _goal(minimize, maximize)
    if best and goal is None:
        raise UsageError("--best needs a metric; give --minimize or --maximize.")
    if plot is not None and not common.for_people:
        raise UsageError(f"--plot does not support --output {common.output}; leave it out.")
    members = list(open_api(common).members(array))
    note: list[str] = []
    if goal is not None:
        require_metric(members, goal.metric)
        members = goal.ranked(members)
        note.append(goal.note(members))
    if plot is not None:
        print(_plot(common, members, plot, goal))
        return
    if sort is not None:
        members = sorted_members(members, sort)
    shown = members[:1] if best else members
    document = {"array": array, "members": [member.document for member in shown]}
    names = [member.name for member in shown]

    def rows(*, wide: bool) -> Table:
        return result_rows(shown, wide=wide, note=note)

    show_rows(common, document, rows, names=names, empty="No members.")


def _goal(minimize: str | None, maximize: str | None) -> Goal | None:
    from headway_client.cli.output.arrays.results import Goal

    metric = minimize if maximize is None else maximize
    return None if metric is None else Goal(metric=metric, highest=maximize is not None)


def _plot(common: CommonOptions, members: Sequence[ArrayMember], name: str, goal: Goal | None) -> str:
    from headway_client.cli.output.arrays.results import metric_names, parameter_names
    from headway_client.cli.output.arrays.scatter import scatter

    known, metrics = parameter_names(members), metric_names(members)
    if name not in known:
        raise UsageError(f"No member has the hyperparameter {name!r}; there are {', '.join(known) or 'none'}.")
    if goal is None and len(metrics) != 1:
        there = f"one of {', '.join(metrics)}" if metrics else "one when members have completed with metrics"
        raise UsageError(f"--plot needs a metric; give --minimize or --maximize with {there}.")
    metric = metrics[0] if goal is None else goal.metric
    points = [
        (member.parameters[name], member.metrics[metric])
        for member in members
        if name in member.parameters and metric in member.metrics
    ]
    if not points:
        raise UsageError(f"No member has both {name!r} and {metric!r}.")
    return "\n".join([scatter(points, x=name, y=metric, width=width(common)), *([goal.note(members)] if goal else [])])
