"""The figures of Headway alone, as tables."""

from __future__ import annotations

from statistics import median

from bench.report.markdown import Figures, in_three_figures, runs_told, spread_cell, table, values_cell


def reaction_table(reaction: Figures) -> str:
    """Submissions and reactions on warm handlers."""
    rows = [
        (
            f"{name}, {each['waiting']:,} waiting",
            *(
                f"{each[name][key]['all']:.1f} ({each[name][key]['runs'][0]:.1f} to {each[name][key]['runs'][1]:.1f})"
                for key in ("p50Ms", "p99Ms")
            ),
            f"{each[name]['boto3P50Ms']:.1f}",
        )
        for name in ("reaction", "submission")
        for each in reaction["figures"]["warm"]
    ]
    runs = reaction["runs"]
    head = (f"warm, ms; {runs_told(runs['warm'])} of {runs['eachTimes']}", "p50", "p99", "boto3's part, p50")
    return f"{table(head, rows)}\n\nOf all runs together; in brackets the least and the greatest of a single run."


def cold_table(reaction: Figures) -> str:
    """The functions' cold starts."""
    kinds = reaction["figures"]["cold"]
    functions = dict.fromkeys(name for cold in kinds.values() for name in cold["functions"])
    head = ("function", *(f"{what}, {kind}" for kind in kinds for what in ("ready ms", "answered ms", "MB")))
    rows = [
        (f"`{name}`", *(cell for cold in kinds.values() for cell in _cold_cells(cold["functions"].get(name, {}))))
        for name in functions
    ]
    told = (
        f"{kind}: `{cold['modules']['function']}` imports {cold['modules']['imported']} modules"
        for kind, cold in kinds.items()
    )
    starts = reaction["runs"]["cold"]
    return f"{table(head, rows)}\n\n{starts} start{'s' if starts > 1 else ''} of each. With {'; with '.join(told)}."


def _cold_cells(function: Figures) -> tuple[str, ...]:
    ready, answered = ((function.get(when) or {}) for when in ("ready", "answered"))
    last = answered or ready
    return (
        *(spread_cell(_renamed(at["ms"])) if at else "" for at in (ready, answered)),
        f"{last['mb']['median']:.0f}" if last else "",
    )


def _renamed(spread: Figures) -> Figures:
    return {"median": spread["median"], "from": spread["least"], "to": spread["greatest"]}


def sizes_table(reaction: Figures) -> str:
    """The sizes of the deployed code."""
    sizes = reaction["figures"]["sizes"]
    if not sizes:
        return "No sizes: nothing was built (`make build`)."
    rows = [
        (name, *(f"{part[key] / 1000:,.1f}" for key in ("packedBytes", "unpackedBytes")))
        for name, part in sizes["parts"].items()
    ]
    told = "" if sizes["ofTheseSources"] else "\n\nWhat was built is of other sources than what was measured."
    return table(("KB", "packed", "unpacked"), rows) + told


def decision_table(schedule: Figures) -> str:
    """``schedule()`` alone, by scene and line."""
    scenes = schedule["ms"]
    sizes = list(next(iter(scenes.values())))
    rows = [(name, *(spread_cell(found[size]) for size in sizes)) for name, found in scenes.items()]
    head = (f"ms, {runs_told(schedule['runs'])}", *(f"{int(size):,} waiting" for size in sizes))
    return table(head, rows)


def help_table(help_: Figures) -> str:
    """The command line's start."""
    rows = [(f"`{name}`", values_cell(times)) for name, times in help_["ms"].items()]
    return table((f"ms, {runs_told(len(next(iter(help_['ms'].values()))))}", ""), rows)


def board_table(board: Figures) -> str:
    """What a board costs the queue, and the machine that it runs on."""
    rows = [(name, values_cell(times)) for name, times in board["ms"].items()]
    head = (f"ms, {runs_told(len(next(iter(board['ms'].values()))))}", "")
    told = (
        f"{board['waiting']:,} waiting jobs, of which a summary has {board['heads']}, and {board['running']:,} running "
        f"ones: {board['bytes'] / 1000:,.0f} KB."
    )
    return f"{table(head, rows)}\n\n{told}"


def training_table(training: Figures) -> str:
    """Scripts that run in the sandbox: beside the same processes by themselves, and after a preemption."""
    hosts = [
        (
            number,
            *(values_cell(each[name]) for name in ("alone", "container")),
            in_three_figures(median(each["container"]) / median(each["alone"])),
            values_cell(each["job"]),
            in_three_figures(each["mbPerHost"]),
        )
        for number, each in training["hosts"].items()
    ]
    lost = [
        (
            f"each {each['every']} steps{', and at SIGTERM' if each['handlesSigterm'] else ''}",
            *(values_cell(each[name]) for name in ("steps", "seconds")),
        )
        for each in training["lost"]
    ]
    runs = runs_told(training["runs"])
    head = (
        f"hosts; {runs}",
        "alone, s",
        "in the container, s",
        "times as long",
        "the whole job, s",
        "MB for each host",
    )
    return f"{table(head, hosts)}\n\n{table((f'checkpoints; {runs}', 'steps lost', 'seconds lost'), lost)}"
