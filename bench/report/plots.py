"""The plots of the figures."""

from __future__ import annotations

from collections.abc import Mapping

from bench.peers.side import advantage
from bench.report.markdown import Figures
from bench.report.svg import bar_plot, line_plot, svg
from bench.scenarios.article import ENDS, MS, READS
from bench.scenarios.slurm import ALONE

BACKLOG = "jobs waiting"


def plots(results: Mapping[str, Figures]) -> dict[str, str]:
    """SVG by the name of its file.

    Args:
        results: the figures, by the name of the part. Missing parts are not plotted.
    """
    made = {}
    if "figures" in (article := results.get("article", {})):
        made["pass-reads.svg"] = _passes(article, READS, "A pass after a job has ended: what it reads", "read units")
        made["pass-time.svg"] = _passes(article, MS, "A pass after a job has ended: processor time", "ms")
    if "figures" in (reaction := results.get("reaction", {})):
        made["reaction.svg"] = _reactions(reaction)
    if "figures" in (slurm := results.get("slurm", {})):
        made["slurm.svg"] = _beside_slurm(slurm)
    return made


def _passes(article: Figures, kind: str, title: str, unit: str) -> str:
    names = {"headway": "Headway", "article": "the article's scheduler"}
    series = {
        names[side]: [(float(waiting), float(scenes[ENDS][kind])) for waiting, scenes in sizes.items()]
        for side, sizes in article["figures"].items()
    }
    return svg(line_plot(title, series, x=BACKLOG, y=unit))


def _reactions(reaction: Figures) -> str:
    warm = reaction["figures"]["warm"]
    series = {
        f"{name}, {percentile}": [
            (float(each["waiting"]), float(each[name][f"{percentile}Ms"]["all"])) for each in warm
        ]
        for name in ("reaction", "submission")
        for percentile in ("p50", "p99")
    }
    return svg(line_plot("Warm handlers: reactions and submissions", series, x=BACKLOG, y="ms"))


def _beside_slurm(slurm: Figures) -> str:
    rows = {}
    for name, figure in slurm["figures"].items():
        rows[name] = {"on the sandbox": float(figure["timesAsGood"])}
        if (alone := handlers_advantage(name, figure)) is not None:
            rows[name]["handlers alone"] = alone
    return svg(bar_plot("Headway beside Slurm", rows, x="times as good as Slurm (right of 1: ahead)"))


def handlers_advantage(name: str, figure: Figures) -> float | None:
    """The factor by which the figure of Headway's handlers alone is better than Slurm's; None if there is none."""
    alone = figure.get(ALONE)
    return None if alone is None else advantage(name, alone["median"], figure["Slurm"]["median"])
