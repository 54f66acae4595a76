"""The figures beside peers, as tables: Slurm, the founding article's scheduler, and Kueue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from bench.report.kueue_figures import KUEUE_ADMISSION_S, KUEUE_S, WORK_S
from bench.report.markdown import Figures, in_three_figures, runs_told, spread_cell, table, times_cell, values_cell
from bench.report.plots import handlers_advantage
from bench.scenarios.article import COMES, ENDS, JOB, MS, READS, WITH_ANSWERS_MS
from bench.scenarios.slurm import ALONE, BOTO3, HANDLER


def slurm_table(slurm: Figures) -> str:
    """Each figure of both sides, and why Slurm is ahead where it is."""
    head = ("", "Slurm", "Headway on the sandbox", "times as good", "handlers alone", "times as good", "")
    rows = [_slurm_row(name, figure) for name, figure in slurm["figures"].items()]
    settings = slurm["settings"]
    versions = ", ".join(slurm["versions"].values())
    told = f"{settings['nodes']} nodes, {settings['jobs']:,} jobs, {runs_told(settings['runs'])}; {versions}."
    own = [(name, spread_cell(slurm[name])) for name in (HANDLER, BOTO3)]
    own += [(f"{what}, ms", f"{ms:.3g}") for what, ms in slurm["submission on the sandbox, ms"].items()]
    return "\n\n".join([told, table(head, rows, words=(0, 6)), table(("a submission", ""), own)])


def _slurm_row(name: str, figure: Figures) -> tuple[str, ...]:
    alone = handlers_advantage(name, figure)
    times = figure["timesAsGood"]
    return (
        name,
        spread_cell(figure["Slurm"]),
        spread_cell(figure["Headway"]),
        times_cell(times),
        spread_cell(figure[ALONE]) if ALONE in figure else "",
        "" if alone is None else times_cell(alone),
        _why_behind(times, alone),
    )


def _why_behind(times: float, alone: float | None) -> str:
    """Whether Slurm is ahead, and of what: Headway with the emulator, or its own processor time too."""
    if times > 1:
        return ""
    if alone is None:
        return "Slurm is ahead; not taken apart"
    of_handlers = "not of the handlers' own time" if alone > 1 else "of the handlers' own time too"
    return f"Slurm is ahead, {of_handlers}"


_ARTICLE_COLUMNS = {
    "read units": READS,
    "write units": "DynamoDB write units",
    "SageMaker calls": "SageMaker calls",
    "ms": MS,
    "ms with AWS's answers": WITH_ANSWERS_MS,
}
_SCENES = {
    COMES: "A pass when a job comes and has to wait",
    ENDS: "A pass when a job ends and the next one starts",
    JOB: "A job, all functions together",
}


def article_table(article: Figures) -> str:
    """What passes and jobs use on both sides, by how many wait."""
    parts = ["In each cell Headway, and after the stroke the article's scheduler."]
    for scene, title in _SCENES.items():
        rows = [
            (
                f"{int(waiting):,}",
                *(_beside(article["figures"], waiting, scene, kind) for kind in _ARTICLE_COLUMNS.values()),
            )
            for waiting in article["figures"]["headway"]
        ]
        ahead = articles_lead(article["figures"], scene)
        parts.append(f"{title}, {article['runs']} rounds:\n\n{table(('waiting', *_ARTICLE_COLUMNS), rows, words=())}")
        parts.append(
            f"**The article's scheduler is ahead**: {'; '.join(ahead)}." if ahead else "Headway is ahead in each."
        )
    seen = article["jobs in a Scan's first page"]
    most = max(seen, key=int)
    parts.append(
        "The article's function as printed reads a Scan's first page only: with "
        f"{int(most):,} waiting it would see {seen[most]:,} jobs. Here it reads all pages."
    )
    return "\n\n".join(parts)


def _beside(figures: Figures, waiting: str, scene: str, kind: str) -> str:
    ours, theirs = (in_three_figures(figures[side][waiting][scene].get(kind, 0)) for side in ("headway", "article"))
    return f"{ours} / {theirs}"


def articles_lead(figures: Figures, scene: str) -> list[str]:
    """In what, and with how many waiting, the article's scheduler uses less."""
    found = []
    for column, kind in _ARTICLE_COLUMNS.items():
        sizes = [
            f"{int(waiting):,}"
            for waiting, scenes in figures["headway"].items()
            if figures["article"][waiting][scene].get(kind, 0) < scenes[scene].get(kind, 0)
        ]
        if sizes:
            found.append(f"{column} with {', '.join(sizes)} waiting")
    return found


def kueue_table(kueue: Figures) -> str:
    """The replays beside Kueue's own figures."""
    runs, protected = kueue["runs"], kueue["protected"]
    share = 15_000 // runs[0]["jobs"]

    def both(*names: str, times: float = 1) -> tuple[str, str]:
        return _of_runs(runs, *names, times=times), _of_runs(protected, *names, times=times)

    work = f"{WORK_S / KUEUE_S * 100:.1f}"
    rows = [
        ("all jobs done after, s", *both("wallSeconds"), f"{KUEUE_S}"),
        *(
            (f"average admission, {size} jobs, s", *both("averageAdmissionSeconds", size), f"{theirs_s}")
            for size, theirs_s in KUEUE_ADMISSION_S.items()
        ),
        ("instances held, %", *both("heldUtilisation", times=100), "55.9"),
        ("instances at work that counted, %", *both("usefulUtilisation", times=100), work),
        ("preemptions", *both("preemptions"), ""),
        ("a tick, median, ms", *both("tickMs", "median"), ""),
        ("the longest tick, ms", *both("tickMs", "max"), ""),
    ]
    told = "" if share == 1 else f"Only {runs[0]['jobs']:,} of 15,000 jobs, so the times are not to be compared.\n\n"
    told += "".join(f"**{failure}.**\n\n" for failure in _failures(kueue))
    head = (
        f"{runs[0]['jobs']:,} jobs, {runs_told(len(runs))}",
        "Headway",
        "no preemption in the first second",
        "Kueue",
    )
    least = f"The default policy would take {kueue['withoutLatencySeconds']:g} s if nothing took any time."
    return "\n\n".join([told + table(head, rows), least])


def _failures(kueue: Figures) -> Iterator[str]:
    """Each failure once, with the number of runs that it occurred in."""
    runs = len(kueue["runs"]) + len(kueue["protected"])
    befell: Counter[str] = Counter(kueue.get("problems", []))
    for problem, number in befell.items():
        yield f"Failed: {problem}" if runs == 1 else f"Failed in {number} of {runs_told(runs)}: {problem}"


def _of_runs(runs: Sequence[Figures], *names: str, times: float = 1) -> str:
    """The value under these names in each run."""
    values = []
    for run in runs:
        value: Any = run
        for name in names:
            value = value[name]
        values.append(value * times)
    return values_cell(values)
