"""The page on performance shows the measured figures, also missing ones and missed goals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.report import page
from bench.report.cost_tables import filled
from bench.report.goals import goals_of
from bench.report.history import headlines, history_table
from bench.report.page import BEFORE, PAGE, PLOTS, RESULTS, read
from bench.report.peer_tables import articles_lead
from bench.report.performance_tables import NOT_MEASURED, PLACES, tables_of
from bench.report.plots import plots
from bench.scenarios.board import SERVER, SUMMARY, TERMINAL, UNCHANGED
from bench.scenarios.decision import SCENES
from bench.scenarios.slurm import ALONE, BOTO3, HANDLER, LISTING, LISTING_GOAL_MS

NOISE = {"load": 0.2, "loopMs": {"median": 20.0, "from": 19.0, "to": 22.0}}
MACHINE = {
    "cpu": "Some CPU", "cores": 2, "memoryGb": 8.0, "system": "Linux", "python": "3.11.7", "packages": {"boto3": "1"},
    "slurm": None, "date": "2026-01-02", "quick": False, "busy": False, "before": NOISE, "after": NOISE,
    "tookSeconds": 1800, "exitCodes": {"help": 0, "kueue": 1},
}  # fmt: skip


def run(*, quick: bool = False, exit_code: int = 0) -> dict[str, Any]:
    return {"date": "2026-01-02", "quick": quick, "exitCode": exit_code, "tookSeconds": 7.0, "noise": NOISE}


def spread(median: float) -> dict[str, float]:
    return {"median": median, "from": median / 2, "to": median * 2, "values": 3}


def warm(waiting: int, ms: float) -> dict[str, Any]:
    each = {"all": ms, "runs": [ms - 1, ms + 1]}
    took = {"p50Ms": each, "p99Ms": each, "boto3P50Ms": 1.5}
    return {"waiting": waiting, "submission": took, "reaction": took}


def cold(ms: float) -> dict[str, Any]:
    at = {name: {"median": ms, "least": ms, "greatest": ms} for name in ("ms", "cpuMs", "mb")}
    functions = {"api": {"ready": at, "answered": at}, "tell": {"ready": at}}
    return {"functions": functions, "modules": {"function": "api", "imported": 7, "packagesMs": {"boto3": 5.0}}}


def use(reads: float, ms: float) -> dict[str, float]:
    return {"DynamoDB read units": reads, "DynamoDB write units": 3, "ms": ms, "ms with answers": ms + 100}


def passes(reads: float, ms: float) -> dict[str, Any]:
    return dict.fromkeys(("a job comes", "a job ends", "a job"), use(reads, ms))


def replay(jobs: int = 15_000, *, completed: int | None = None, wall_s: float = 70.0) -> dict[str, Any]:
    return {
        "jobs": jobs, "completed": jobs if completed is None else completed, "wallSeconds": wall_s,
        "averageAdmissionSeconds": {"large": 1.0, "medium": 2.0, "small": 3.0}, "usefulUtilisation": 0.7,
        "heldUtilisation": 0.9, "preemptions": 5, "tickMs": {"median": 20.0, "max": 500.0},
    }  # fmt: skip


def replays(*protected: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Kueue's test with the default policy, which takes long, and with running jobs protected."""
    unprotected = [{**each, "wallSeconds": 90.0} for each in protected]
    return {"runs": unprotected, "protected": list(protected), "withoutLatencySeconds": 73.9, **more}


def results() -> dict[str, Any]:
    """What all parts would have written."""
    return {
        "machine": MACHINE,
        "slurm": {
            "figures": {
                "ahead, ms": {"Slurm": spread(30), "Headway": spread(10), "timesAsGood": 3.0},
                "emulated, ms": {
                    "Slurm": spread(30),
                    "Headway": spread(60),
                    "timesAsGood": 0.5,
                    "Headway's handlers alone": spread(10),
                },
                "behind, jobs/s": {
                    "Slurm": spread(30),
                    "Headway": spread(6),
                    "timesAsGood": 0.2,
                    "Headway's handlers alone": spread(15),
                },
                "unknown, s": {"Slurm": spread(30), "Headway": spread(60), "timesAsGood": 0.5},
            },
            HANDLER: spread(4),
            BOTO3: spread(2),
            "submission on the sandbox, ms": {"a submission": 60.0},
            "settings": {"nodes": 4, "jobs": 1000, "runs": 1},
            "versions": {"Slurm": "slurm 1"},
            "run": run(),
        },
        "article": {
            "figures": {
                "headway": {"10": passes(16, 3), "100": passes(16, 3)},
                "article": {"10": passes(5, 9), "100": passes(24, 2)},
            },
            "runs": 3,
            "jobs in a Scan's first page": {"10": 18, "100": 77},
            "SageMaker calls of a job": {"3600": {"reconcile": {"DescribeTrainingJob": 11}}},
            "goals": [
                {"goal": "a job that trains 3600 s takes few calls", "found": "11", "kept": False},
                {"goal": "a pass does not grow", "found": "1 times", "kept": True},
            ],
            "run": run(),
        },
        "reaction": {
            "runs": {"warm": 2, "eachTimes": 20, "cold": 3},
            "figures": {
                "warm": [warm(1, 4.0), warm(100, 160.0)],
                "cold": {"bytecode": cold(490), "sources": cold(1900)},
                "sizes": {"parts": {"Layer": {"packedBytes": 1500, "unpackedBytes": 1000}}, "ofTheseSources": False},
            },
            "run": run(),
        },
        "kueue": {**replays(replay(wall_s=70), replay(wall_s=72), replay(wall_s=74)), "run": run()},
        "schedule": {
            "runs": 9,
            "ms": {name: {"100": spread(5), "10000": spread(70 if "storm" in name else 30)} for name in SCENES},
            "run": run(),
        },
        "training": {
            "runs": 2,
            "hosts": {
                "1": {"alone": [4.0, 4.0], "container": [4.4, 4.4], "job": [5.0, 6.0], "mbPerHost": 70.0},
                "4": {"alone": [8.0, 8.0], "container": [10.0, 10.0], "job": [11.0, 11.0], "mbPerHost": 20.0},
            },
            "lost": [
                {"every": 10, "handlesSigterm": False, "steps": [3, 10], "seconds": [0.1, 0.2]},
                {"every": 10, "handlesSigterm": True, "steps": [0, 0], "seconds": [0.0, 0.0]},
            ],
            "run": run(),
        },
        "board": {
            "waiting": 10_000,
            "running": 500,
            "heads": 200,
            "bytes": 200_000,
            "ms": {SUMMARY: [30.0, 40.0, 50.0], UNCHANGED: [20.0], TERMINAL: [900.0, 950.0], SERVER: [7.0]},
            "run": run(),
        },
        "help": {"ms": {"python -c pass": [20.0, 21.0], "headway --help": [130.0, 150.0]}, "run": run()},
        "launches": {
            "starts": [
                {
                    "atOnce": 8,
                    "transactionMs": 5,
                    "jobs": 100,
                    "launched": 100,
                    "seconds": 2.5,
                    "aSecond": 40.0,
                    "processorMsEach": 9.0,
                }
            ],
            "ends": [
                {
                    "within": 60,
                    "atOnce": 8,
                    "allowed": 5,
                    "aSecond": 8.3,
                    "ended": 500,
                    "launched": 500,
                    "lost": 0,
                    "calls": 507,
                    "passes": 50,
                    "secondsUntilLaunched": {"median": 1.0, "p99": 2.0, "max": 3.0},
                    "secondsUntilAllLaunched": 60.0,
                    "oldestWakeSeconds": 1.0,
                    "mostInstancesIdle": 4,
                    "ledgerUnitsASecond": {"written": 63.0, "read": 38.0},
                }
            ],
            "run": run(),
        },
        "scale": {
            "in memory": [
                {
                    "short": {"waiting": 100, "pass": {"ms": 2.0, "DynamoDB read units": 0}},
                    "long": {"waiting": 100_000, "pass": {"ms": 3.0, "DynamoDB read units": 0}, "peakMemoryMB": 900},
                    "ratios": {"pass": {"ms": 1.5}},
                }
            ],
            "in the sandbox": [],
            "burst": {"accepted": 60, "lost": [], "refused": {"QueueFull": 2}},
            "bounds": {"a start": [{"place": "ledger", "write_units": 6, "read_units": 3, "a_second": 166.7}]},
            "run": run(),
        },
    }


def test_the_page_has_the_tables_and_plots_of_what_was_measured():
    found = read(RESULTS)
    drawn = plots(found)
    tables = tables_of(found, read(RESULTS / BEFORE), drawn)
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text, tables) == text
    assert {path.name: path.read_text(encoding="utf-8") for path in PLOTS.glob("*.svg")} == drawn


def test_what_is_written_is_what_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(page, "PLOTS", tmp_path / "plots")
    places = ("run", "goals", "history", *PLACES)
    (tmp_path / "page.md").write_text("".join(f"<!-- {place} -->\n<!-- end of {place} -->\n" for place in places))
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "of-something-gone.svg").write_text("<svg/>")
    for name, figures in results().items():
        (tmp_path / f"{name}.json").write_text(json.dumps(figures))
    page.write(tmp_path)
    text = (tmp_path / "page.md").read_text()
    assert NOT_MEASURED not in text
    linked = {path.name for path in (tmp_path / "plots").iterdir()}
    assert linked == plots(results()).keys()
    assert all(f"(plots/{name})" in text for name in linked)


def test_what_was_not_measured_says_so_at_its_place():
    assert set(tables_of({}, {}).values()) == {NOT_MEASURED, history_table({}, {})}
    assert plots({}) == {}
    found = tables_of(
        {"slurm": {"skipped": "no root", "run": run(exit_code=2)}, "scale": {"run": run(exit_code=7)}}, {}
    )
    assert found["slurm"] == "Skipped: no root."
    assert found["scale"] == "Not measured: it failed with exit code 7."
    assert plots({"slurm": {"skipped": "no root"}}) == {}


def test_small_sizes_and_a_busy_machine_are_told():
    found = tables_of(results() | {"machine": MACHINE | {"busy": True, "quick": True}}, {})
    assert "busy with other work" in found["run"]
    assert "--quick" in found["run"]
    assert "busy" not in tables_of(results(), {})["run"] + tables_of(results(), {})["goals"]
    missed = [row for row in found["goals"].splitlines() if "**missed**" in row]
    assert [row for row in missed if "; the machine was busy |" not in row] == [
        "| a job that trains 3600 s takes few calls | 11 | **missed** | 11 DescribeTrainingJob by reconcile |"
    ]
    quick = results()["help"] | {"run": run(quick=True)}
    assert "**small sizes**" in tables_of({"help": quick}, {})["help"]
    assert "full sizes" in tables_of(results(), {})["help"]


def test_a_part_that_failed_with_its_figures_says_so():
    kueue = results()["kueue"] | {"problems": ["an instance was given out twice"], "run": run(exit_code=1)}
    told = tables_of({"kueue": kueue}, {})["kueue"]
    assert "**Failed in 1 of 6 runs: an instance was given out twice.**" in told
    assert "**It failed with exit code 1.**" in told
    assert "ailed" not in tables_of(results(), {})["kueue"]


@pytest.mark.parametrize(
    ("runs", "problems", "failures"),
    [
        (3, ["late", "late", "late"], ["**Failed in 3 of 6 runs: late.**"]),
        (3, ["late", "lost", "late"], ["**Failed in 2 of 6 runs: late.**", "**Failed in 1 of 6 runs: lost.**"]),
        (1, ["late"], ["**Failed in 1 of 2 runs: late.**"]),
        (3, [], []),
    ],
)
def test_each_failure_is_told_once_with_how_many_runs_it_befell(runs, problems, failures):
    told = tables_of({"kueue": replays(*[replay()] * runs, problems=problems)}, {})["kueue"]
    assert [line for line in told.splitlines() if "Failed" in line] == failures


def test_the_parts_of_the_last_run_are_named():
    assert "| measured | 2026-01-02, 30 minutes: help, kueue |" in tables_of(results(), {})["run"]


def test_long_lines_stand_beside_short_ones_and_what_is_lost_is_counted():
    told = tables_of(results(), {})["scale"]
    assert "100,000 waiting in memory, at most 900 MB; in each cell before it the same with 100:" in told
    assert "| pass | 2 → 3 (1.5 times) | 0 → 0 |  |" in told
    assert "| lost | 0 |" in told
    assert "| refused, QueueFull | 2 |" in told
    assert "| a start | ledger | 6 | 3 | 167 |" in told


def test_a_script_in_the_sandbox_stands_beside_the_same_by_itself():
    told = tables_of(results(), {})["training"]
    assert "| 1 | 4 | 4.4 | 1.1 | 5.5 (5 to 6) | 70 |" in told
    assert "| 4 | 8 | 10 | 1.25 | 11 | 20 |" in told
    assert "| each 10 steps | 6.5 (3 to 10) | 0.15 (0.1 to 0.2) |" in told
    assert "| each 10 steps, and at SIGTERM | 0 | 0 |" in told


@pytest.mark.parametrize(
    ("lost", "handles", "kept"), [(10, False, True), (11, False, False), (0, True, True), (1, True, False)]
)
def test_a_preemption_may_lose_the_steps_since_a_checkpoint_and_no_more(lost, handles, kept):
    each = {"every": 10, "handlesSigterm": handles, "steps": [0, lost], "seconds": [0.0, 1.0]}
    (goal,) = goals_of({"training": {"hosts": {"1": {}}, "lost": [each]}})
    assert (goal.kept, bool(goal.why)) == (kept, not kept)


@pytest.mark.parametrize(
    ("ms", "kept"),
    [(LISTING_GOAL_MS - 1, [True]), (LISTING_GOAL_MS, [False]), (None, [])],
    ids=["less", "more", "quick"],
)
def test_the_handler_of_a_long_listing_has_a_goal_where_one_was_listed(ms: float | None, kept: list[bool]):
    slurm = results()["slurm"]
    if ms is not None:
        slurm["figures"][LISTING] = {"Slurm": spread(1), "Headway": spread(1), "timesAsGood": 1.0, ALONE: spread(ms)}
    found = [goal for goal in goals_of({"slurm": slurm}) if "listing of 10,000 jobs" in goal.goal]
    assert [goal.kept for goal in found] == kept
    assert all(goal.why for goal in found)


def test_where_slurm_is_ahead_the_row_says_whose_time_it_is():
    rows = {row.split(" | ")[0].removeprefix("| "): row for row in tables_of(results(), {})["slurm"].splitlines()}
    assert rows["ahead, ms"].endswith("|  |  |  |")
    assert "Slurm is ahead, not of the handlers' own time" in rows["emulated, ms"]
    assert "Slurm is ahead, of the handlers' own time too" in rows["behind, jobs/s"]
    assert "**0.2**" in rows["behind, jobs/s"]
    assert "not taken apart" in rows["unknown, s"]


def test_where_the_articles_scheduler_is_ahead_the_page_says_so():
    figures = results()["article"]["figures"]
    assert articles_lead(figures, "a job comes") == [
        "read units with 10 waiting",
        "ms with 100 waiting",
        "ms with AWS's answers with 100 waiting",
    ]
    assert "**The article's scheduler is ahead**: read units with 10 waiting" in tables_of(results(), {})["article"]


def test_a_missed_goal_is_told_with_its_reason():
    missed = {goal.goal: goal for goal in goals_of(results()) if not goal.kept}
    assert missed.keys() == {
        "ahead of Slurm in each figure, the emulator included",
        "a job that trains 3600 s takes few calls",
        "a refresh of a board, 10,000 waiting: under 200 ms",
        "a warm reaction, p99, 100 waiting: under 150 ms",
        "a warm submission, p50, 100 waiting: under 5 ms",
        "the API's function ready, cold, sources: under 1000 ms",
    }
    assert all(goal.why for goal in missed.values())
    assert missed["a job that trains 3600 s takes few calls"].why == "11 DescribeTrainingJob by reconcile"
    told = tables_of(results(), {})["goals"]
    assert told.count("**missed**") == len(missed)
    assert "| kept |  |" in told


@pytest.mark.parametrize(
    ("runs", "kept"),
    [
        ([replay()], [True]),
        ([replay(wall_s=74.9), replay(wall_s=76), replay(wall_s=74)], [True]),
        ([replay(wall_s=75)], [False]),
        ([replay(), replay(completed=14_999)], [False]),
        ([replay(1_500, wall_s=9)], []),
    ],
)
def test_kueues_test_is_passed_by_all_of_its_jobs_in_time(runs, kept):
    assert [goal.kept for goal in goals_of({"kueue": replays(*runs)})] == kept


def test_versions_are_compared_where_sizes_are_the_same():
    now, before = results(), results()
    before["help"] = before["help"] | {"ms": {"python -c pass": [20.0], "headway --help": [280.0]}}
    before["kueue"] = before["kueue"] | {"run": run(quick=True)}
    told = history_table(before, now)
    assert "| `headway --help`, ms | 280 | 140 | 2 |" in told
    assert "Kueue" not in told
    assert "Kueue's test, s" in headlines(now)
    assert history_table({}, now) == history_table(before, {})
