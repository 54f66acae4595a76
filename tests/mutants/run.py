"""`make mutants`: tries mutants of the modules that keep the promises, and reports those that no test notices.

mutmut makes the mutants, picks the tests that reach a function, and runs them in forked processes. Each target, one
module or several, has a separate working folder in build/mutants, where mutmut keeps its results, so a run that is
stopped continues later.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.report import Mutant, Reason, Status, problems, table

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build/mutants"
REASONS = Path(__file__).with_name("reasons.toml")


@dataclass(frozen=True, kw_only=True)
class Target:
    """Modules that are mutated in one run, and the tests that may notice.

    Attributes:
        package: the folder of the distribution's package.
        modules: the modules' files in it.
        tests: folders and files of tests.
        without: of these, files that are left out.
        deselected: single tests that are left out, as they read the functions of a module, of which mutants are more.
    """

    package: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    without: tuple[str, ...] = ()
    deselected: tuple[str, ...] = ()


_STORIES = (
    "launching/test_backoff",
    "jobs/test_holding",
    "launching/test_launcher",
    "tracking/test_lost_attempts",
    "pools/test_operations",
    "launching/test_parallel_launches",
    "pools/test_apply_config",
    "tracking/test_restored",
    "tracking/test_retrying",
    "scheduling/test_rules_on_start",
    "launching/test_settling",
    "tracking/test_spot",
    "scheduling/test_story",
    "scheduling/test_teams",
    "scheduling/test_tick",
    "scheduling/test_trailing_quota",
    "launching/test_unproven_launches",
    "jobs/test_usage",
)
"""Tests that play the queue. The others run the mutated modules without checking their results."""


_SLOW = ("tracking/test_restored", "launching/test_unproven_launches")
"""Stories that take as long as all others together."""


def _service(*modules: str, more: Iterable[str] = (), without: Iterable[str] = ()) -> Target:
    """Modules of the service. Slow tests may be left out: a mutant that only they notice is then a survivor."""
    return Target(
        package="layers/service/src/headway_service",
        modules=modules,
        tests=tuple(f"tests/service/{name}.py" for name in (*_STORIES, *more) if name not in without),
    )


def _core(*modules: str) -> Target:
    return Target(
        package="layers/core/src/headway",
        modules=modules,
        tests=("tests/core",),
        # It replaces parts of the module.
        without=("tests/core/scheduling/promises/test_mutations.py",),
    )


MODULES: Mapping[str, Target] = {
    "transitions": _service(
        "store/transitions/attempt.py",
        "store/transitions/job.py",
        "store/transitions/ledger.py",
        "store/transitions/retry_plan.py",
        "store/transitions/shared.py",
        "store/transitions/rogue_job.py",
        more=(
            "events/test_job_events",
            "jobs/test_rogue_stops",
            "tracking/test_rogue_jobs",
            "store/transitions/test_attempt",
            "store/transitions/test_job",
            "store/transitions/test_ledger",
            "store/transitions/test_shared",
            "store/transitions/test_rogue_job",
            "monitoring/test_utilization_monitor",
        ),
        without=_SLOW,
    ),
    "executor": _service(
        "launching/decision.py", "launching/executor.py", "launching/intents.py", "launching/launches.py", without=_SLOW
    ),
    "launcher": _service(
        "launching/conclusions.py", "launching/launcher.py", "launching/proofs.py", "launching/stops.py"
    ),
    "ledger": _service(
        "store/ledger.py",
        "store/cut_queue.py",
        "store/queue_scan.py",
        "store/snapshot.py",
        more=(
            "store/test_covered_lines",
            "scheduling/test_decide",
            "scheduling/test_unread_jobs",
            "forecast/test_service",
            "monitoring/test_gauges",
            "store/test_ledger",
            "store/test_queue_scan",
            "store/test_records",
            "store/test_snapshot",
        ),
        without=_SLOW,
    ),
    "observer": _service(
        "tracking/ends.py",
        "tracking/observer.py",
        more=("tracking/test_observer", "tracking/test_reconciler", "monitoring/test_utilization_monitor"),
        without=(*_SLOW, "scheduling/test_teams"),
    ),
    "tick": _service("scheduling/tick.py", without=_SLOW),
    "admission": Target(
        package="layers/service/src/headway_service",
        modules=tuple(
            f"admission/{module}.py"
            for module in (
                "admit",
                "admitted",
                "checks/capacity",
                "checks/instance_preferences",
                "checks/resources",
                "checks/sagemaker_rules",
                "checks/tags",
                "checks/team_access",
                "checks/training_plans",
                "checks/unsupported",
                "checks/warm_pools",
                "kept",
                "review",
            )
        ),
        tests=("tests/service/admission", "tests/functions/test_malformed.py"),
        deselected=("tests/service/admission/test_review.py::test_every_rule_is_in_the_table",),
    ),
    "scheduler": _core("scheduling/scheduler.py"),
    "placement": _core(
        *(
            f"scheduling/placement/{module}.py"
            for module in (
                "commit",
                "eligibility",
                "ground",
                "hints",
                "memo",
                "obstacles",
                "placements",
                "preferences",
                "take_overs",
                "trying",
                "unlaunchable",
            )
        )
    ),
    "capacity_state": _core("scheduling/capacity_state.py"),
    "explainer": _core("scheduling/placement/explainer.py"),
    "preemption": _core("scheduling/preemption.py"),
    "reach": _core(*(f"scheduling/reach/{module}.py" for module in ("attainable", "bounds", "front", "passing"))),
}
"""By name."""

PACKAGES = (
    "layers/core/src/headway",
    "layers/service/src/headway_service",
    "client/src/headway_client",
    "sandbox/src/headway_sandbox",
    "verification/src/headway_verification",
)

NOT_MUTATED = (r"^\s*logger\.",)
"""Statements with these prefixes are not mutated: the log decides nothing."""

MYPY = """[mypy]
strict = true
mypy_path = src
follow_imports = silent
# Of the file with all mutants side by side, not of any mutant.
warn_unused_ignores = false
disable_error_code = no-redef, has-type
"""
"""How mypy checks mutants: those that it refuses need no test, as it is a part of the checks before each commit."""

STATUS = {0: Status.SURVIVED, 33: Status.SURVIVED, 5: Status.SURVIVED, 37: Status.UNTYPED}
"""What mutmut's exit codes mean, if not that a test failed. 33 and 5 are mutants that no test reaches."""

TIMED_OUT = {36, 24, -24, 152, 255, -9}
"""SIGXCPU in its spellings, and the SIGKILL for processes that continue after it."""


def main(arguments: Iterable[str]) -> int:
    """Try mutants and print the table. Returns 1 if a survivor has no reason, or a reason no survivor."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"one of {', '.join(MODULES)}; all without")
    parser.add_argument("--report", action="store_true", help="only print what is known from earlier runs")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes that try mutants at once")
    parsed = parser.parse_args(list(arguments))
    unknown = sorted(set(parsed.modules) - MODULES.keys())
    if unknown:
        parser.error(f"no such module: {', '.join(unknown)}; there are {', '.join(MODULES)}")
    names = parsed.modules or list(MODULES)
    if not parsed.report:
        for name in names:
            prepare(name)
            mutmut = Path(sys.executable).with_name("mutmut")
            # mutmut finds mypy on the path.
            path = f"{mutmut.parent}{os.pathsep}{os.environ['PATH']}"
            environment = {**os.environ, "PATH": path, "PYTHONHASHSEED": "0", "PYTHONPATH": ""}
            command = [str(mutmut), "run", "--max-children", str(parsed.workers)]
            if subprocess.run(command, cwd=WORK / name, env=environment, check=False).returncode:
                print(f"{name}: the tests have to pass before mutants are tried; see above", file=sys.stderr)
                return 1
    mutants = [mutant for name in names for mutant in results(name)]
    tried = {mutant.module for mutant in mutants}
    reasons = [reason for reason in read_reasons() if reason.module in tried]
    print(table(mutants, reasons))
    found = [*problems(mutants, reasons), *(f"not tried: {name}" for name in names if name not in tried)]
    print("\n\n".join(found))
    return bool(found)


def prepare(name: str) -> None:
    """Make the working folder of a target, or bring it up to date.

    mutmut mutates `src`: the target's modules alone. Everything else that is imported or read is in
    `mutants`, as links to where it is.
    """
    target, work = MODULES[name], WORK / name
    sources = _link_modules(target, work)
    _link_packages(target, work / "mutants/src")
    for path in ROOT.iterdir():
        if not path.name.startswith(".") and path.name not in {"build", "pyproject.toml"}:
            _link(work / "mutants" / path.name, path)
    _write(work / "mypy.ini", MYPY)
    settings = _settings(target, [str(source.relative_to(work)) for source in sources])
    _write(work / "pyproject.toml", (ROOT / "pyproject.toml").read_text("utf-8") + settings)
    if _write(work / "digest", _digest(target)):
        # Tests have changed: their coverage is measured again, and survivors are tried again.
        (work / "mutants/mutmut-stats.json").unlink(missing_ok=True)
        for meta in _metas(name):
            _forget_survivors(meta)


def _link_modules(target: Target, work: Path) -> list[Path]:
    """Link the modules that are mutated. Returns the links."""
    package = Path(target.package)
    sources = [work / "src" / package.name / module for module in target.modules]
    for source, module in zip(sources, target.modules, strict=True):
        source.parent.mkdir(parents=True, exist_ok=True)
        _link(source, ROOT / package / module)
    return sources


def _link_packages(target: Target, to: Path) -> None:
    """Link all packages, without the modules that are mutated."""
    package = Path(target.package)
    to.mkdir(parents=True, exist_ok=True)
    for path in (Path(each) for each in PACKAGES):
        if path != package:
            _link(to / path.name, ROOT / path)
    # Of each folder down to those of the modules, everything except these folders and the modules.
    modules = [Path(module) for module in target.modules]
    folders = {folder for module in modules for folder in module.parents}
    for folder in sorted(folders):
        (to / package.name / folder).mkdir(parents=True, exist_ok=True)
        for path in (ROOT / package / folder).iterdir():
            if folder / path.name not in folders.union(modules) and path.name != "__pycache__":
                _link(to / package.name / folder / path.name, path)


def _settings(target: Target, sources: Iterable[str]) -> str:
    settings = {
        "source_paths": ["src"],
        "do_not_mutate_patterns": list(NOT_MUTATED),
        "pytest_add_cli_args_test_selection": list(target.tests),
        "pytest_add_cli_args": [
            *(f"--ignore={path}" for path in target.without),
            *(f"--deselect={test}" for test in target.deselected),
            *("-m", "not e2e", "-p", "no:cacheprovider", "--hypothesis-profile=mutants"),
        ],
        "type_check_command": ["mypy", "--config-file", "../mypy.ini", "--output", "json", *sources],
        "track_dependencies": False,
        "use_git_change_detection": False,
        "on_dependency_change": "ignore",
        "timeout_multiplier": 10.0,
        "timeout_constant": 5.0,
    }
    # What JSON writes of strings, numbers, booleans and lists is TOML too.
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    return "\n".join(["\n[tool.mutmut]", *lines, ""])


def results(name: str) -> list[Mutant]:
    """The results of a target's mutants."""
    if not any(meta.exists() for meta in _metas(name)):
        return []
    # Only the environment of `make mutants` has it.
    from mutmut.configuration import reset_config
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.utils.format_utils import orig_function_and_class_names_from_key

    found = []
    with chdir(WORK / name):
        reset_config()
        for module, meta in zip(MODULES[name].modules, _metas(name), strict=True):
            path = Path("src") / Path(MODULES[name].package).name / module
            # mutmut writes none for a module in which there is nothing to change.
            codes: dict[str, int | None] = (
                json.loads(meta.read_text("utf-8"))["exit_code_by_key"] if meta.exists() else {}
            )
            for key, code in codes.items():
                function, owner = orig_function_and_class_names_from_key(key)
                status = status_of(code)
                diff = get_diff_for_mutant(key, path=path) if status is Status.SURVIVED else ""
                where = f"{owner}.{function}" if owner else function
                found.append(Mutant(module=name, function=where, status=status, diff=diff))
    return found


def status_of(code: int | None) -> Status:
    """What mutmut's exit code of a mutant means."""
    if code is None or code == 2:
        return Status.UNTRIED
    if code in TIMED_OUT:
        return Status.TIMED_OUT
    return STATUS.get(code, Status.KILLED)


def read_reasons() -> list[Reason]:
    """The committed reasons."""
    document = tomllib.loads(REASONS.read_text("utf-8"))
    return [Reason(**each) for each in document.get("survivor", [])]


def _metas(name: str) -> list[Path]:
    folder = WORK / name / "mutants/src" / Path(MODULES[name].package).name
    return [folder / f"{module}.meta" for module in MODULES[name].modules]


def _forget_survivors(meta: Path) -> None:
    if meta.exists():
        document = json.loads(meta.read_text("utf-8"))
        codes = document["exit_code_by_key"]
        document["exit_code_by_key"] = {
            key: code if status_of(code) is Status.KILLED else None for key, code in codes.items()
        }
        meta.write_text(json.dumps(document), "utf-8")


def _digest(target: Target) -> str:
    digest = hashlib.sha256()
    for path in (ROOT / each for each in target.tests):
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _write(path: Path, text: str) -> bool:
    """Write a file unless it has this content. Returns whether it was written."""
    if path.exists() and path.read_text("utf-8") == text:
        return False
    path.write_text(text, "utf-8")
    return True


def _link(path: Path, to: Path) -> None:
    if not path.is_symlink():
        path.symlink_to(to)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
