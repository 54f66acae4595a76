"""The import rules of modules. Each rule is tested here, since a rule that bans nothing also passes."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REFUSED = {
    "layers/core/src/headway/probe.py": [
        "import logging",
        "import os",
        "import random",
        "import time",
        "import uuid",
        "from datetime import datetime\nNOW = datetime.now()",
        "from datetime import datetime\nNOW = datetime.utcnow()",
        "import datetime as dt\nNOW = dt.datetime.now(dt.UTC)",
        "import datetime as dt\nTODAY = dt.date.today()",
        "from os import environ",
    ],
    "functions/api/probe.py": ["import headway_client", "import headway_sandbox"],
}
ALLOWED = {
    "layers/core/src/headway/probe.py": ["import dataclasses", "from datetime import datetime, timedelta"],
    "functions/api/probe.py": ["import headway_service"],
}

SOURCES = ("layers/core/src", "layers/service/src", "client/src", "sandbox/src", "verification/src")
#: For each contract of import-linter, a module and an import that breaks it.
BREACHES = {
    "distributions: verification, sandbox, service or client, core": (
        "client/src/headway_client/text.py",
        "headway_service",
    ),
    "core": ("layers/core/src/headway/vectors.py", "headway.scheduling"),
    "launches without instances": (
        "layers/core/src/headway/refusals/failed_launches.py",
        "headway.refusals.probing",
    ),
    "the acceptance: questions, answers, verdicts": (
        "verification/src/headway_verification/acceptance/evidence.py",
        "headway_verification.acceptance.run",
    ),
    "the verdicts of the acceptance ask AWS nothing": (
        "verification/src/headway_verification/acceptance/checks/callers.py",
        "headway_verification.acceptance.target",
    ),
    "the fuzz of decoders": (
        "verification/src/headway_verification/decoders/decoder.py",
        "headway_verification.decoders.table",
    ),
    "sweeps": ("layers/core/src/headway/sweeps/problems.py", "headway.sweeps.sweep"),
    "prediction": ("layers/core/src/headway/prediction/kinds.py", "headway.prediction.run_times"),
    "early stopping": ("layers/core/src/headway/early_stopping/curve.py", "headway.early_stopping.settings"),
    "advice": ("layers/core/src/headway/advice/outcome.py", "headway.advice.rules"),
    "admission: a submission, its review, the rules on one request": (
        "layers/service/src/headway_service/admission/checks/tags.py",
        "headway_service.admission.submission",
    ),
    "orders among equals": (
        "layers/core/src/headway/scheduling/equals/remaining.py",
        "headway.scheduling.equals.victims",
    ),
    "orders among equals know nothing of the decision": (
        "layers/core/src/headway/scheduling/equals/victims.py",
        "headway.scheduling.preemption",
    ),
    "placement: what is tried, what it changes, and which way is best": (
        "layers/core/src/headway/scheduling/placement/ground.py",
        "headway.scheduling.placement.placements",
    ),
    "how far a decision sees": ("layers/core/src/headway/scheduling/reach/bounds.py", "headway.scheduling.reach.front"),
    "only commit changes the state of a decision": (
        "layers/core/src/headway/scheduling/placement/memo.py",
        "headway.scheduling.placement.commit",
    ),
    "budgets": (
        "layers/core/src/headway/budgets/periods.py",
        "headway.budgets.budget",
    ),
    "bookings know nothing of decisions": ("layers/core/src/headway/bookings/booking.py", "headway.model"),
    "past use": (
        "layers/core/src/headway/past_use/fading.py",
        "headway.past_use.averages",
    ),
    "victims": (
        "layers/core/src/headway/scheduling/victims/borrowing.py",
        "headway.scheduling.victims.targets",
    ),
    "victims are chosen without the decision": (
        "layers/core/src/headway/scheduling/victims/targets.py",
        "headway.scheduling.preemption",
    ),
    "lost work": (
        "layers/core/src/headway/scheduling/lost_work/checkpoints.py",
        "headway.scheduling.lost_work.lost",
    ),
    "lost work knows nothing of the decision": (
        "layers/core/src/headway/scheduling/lost_work/lost.py",
        "headway.scheduling.preemption",
    ),
    "service": ("layers/service/src/headway_service/response_check.py", "headway_service.store"),
    "effects of a configuration: each kind by itself, put together by the service": (
        "layers/service/src/headway_service/effects/rights.py",
        "headway_service.effects.running",
    ),
    "stored records": (
        "layers/service/src/headway_service/store/records/job.py",
        "headway_service.store.records.capacity.attempt",
    ),
    "checkpoints": (
        "layers/service/src/headway_service/checkpoints/location.py",
        "headway_service.checkpoints.newest",
    ),
    "client": ("client/src/headway_client/errors.py", "headway_client.cli"),
    "board": ("client/src/headway_client/board/budget.py", "headway_client.board.poller"),
    "the checks of an account": ("client/src/headway_client/account/seen.py", "headway_client.account.read"),
    "what is decided of an account needs no AWS": ("client/src/headway_client/account/roles.py", "boto3"),
    "only the board in the terminal needs textual": ("client/src/headway_client/board/poller.py", "textual"),
    "executor of Covalent": ("client/src/headway_covalent/errors.py", "headway_covalent.storage"),
    "the executor of Covalent needs the client only": ("client/src/headway_covalent/errors.py", "headway_service"),
    "a task runs with the standard library only": ("client/src/headway_covalent/run_task.py", "boto3"),
    "sandbox": ("sandbox/src/headway_sandbox/errors.py", "headway_sandbox.local"),
    "the core has no dependencies": ("layers/core/src/headway/vectors.py", "requests"),
    "only the adapters and the composition root import boto3": (
        "layers/service/src/headway_service/accounting/__init__.py",
        "boto3",
    ),
    "the configuration and the preview of admission need no AWS": (
        "layers/service/src/headway_service/config/__init__.py",
        "aws_lambda_powertools",
    ),
    "only bootstrap imports the adapters": (
        "layers/service/src/headway_service/api/__init__.py",
        "headway_service.aws.dynamodb_table",
    ),
    "only the emulator imports ministack": ("sandbox/src/headway_sandbox/local/__init__.py", "ministack"),
    "training jobs that run": ("sandbox/src/headway_sandbox/training/errors.py", "headway_sandbox.training.settings"),
    "the alarms of the template": (
        "verification/src/headway_verification/alarms/template.py",
        "headway_verification.alarms.rings",
    ),
    "the operator's days": (
        "verification/src/headway_verification/operations/states.py",
        "headway_verification.operations.healthy",
    ),
    "the sandbox's server runs without the client": (
        "sandbox/src/headway_sandbox/emulator/patches.py",
        "headway_client.install_hint",
    ),
    "what operators have done": (
        "layers/service/src/headway_service/actions/action.py",
        "headway_service.actions.history",
    ),
    "what is forgotten of a person": (
        "layers/service/src/headway_service/forgetting/sums.py",
        "headway_service.forgetting.owner",
    ),
    "refusals, played in a sandbox": (
        "verification/src/headway_verification/refusals/figures.py",
        "headway_verification.refusals.day",
    ),
    "rehearsals": ("sandbox/src/headway_sandbox/rehearsal/errors.py", "headway_sandbox.rehearsal.cases"),
    "the judgement of a rehearsal is pure": (
        "sandbox/src/headway_sandbox/rehearsal/judgement.py",
        "headway_sandbox.training.settings",
    ),
    "the first processes of a container need the standard library only": (
        "sandbox/src/headway_sandbox/training/container/host.py",
        "botocore",
    ),
    "no cycles among siblings": ("layers/core/src/headway/errors.py", "headway.policy"),
}

CIRCLE = """
import graphlib, sys
sys.path[:0] = {paths}
import grimp
graph = grimp.build_graph(*{packages}, exclude_type_checking_imports=False, cache_dir=None)
imports = {{each: graph.find_modules_directly_imported_by(each) for each in graph.modules}}
try:
    graphlib.TopologicalSorter(imports).prepare()
except graphlib.CycleError as error:
    print(*error.args[1])
"""


def lint(root, path, code):
    """Lint the code as a file at this path."""
    return subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--stdin-filename", path, "-"],
        input=code + "\n",
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("path", "code"), [(path, code) for path, codes in REFUSED.items() for code in codes])
def test_a_forbidden_import_or_call_is_reported(root, path, code):
    done = lint(root, path, code)
    assert done.returncode == 1, done.stderr
    assert "TID251" in done.stdout


@pytest.mark.parametrize(("path", "code"), [(path, code) for path, codes in ALLOWED.items() for code in codes])
def test_an_allowed_import_is_not_reported(root, path, code):
    done = lint(root, path, code)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def sources(root, tmp_path) -> Path:
    """A copy of the packages and their contracts."""
    for source in SOURCES:
        shutil.copytree(root / source, tmp_path / source, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "pyproject.toml", tmp_path)
    return tmp_path


def broken(sources: Path) -> set[str]:
    """Return the contracts that import-linter reports as broken."""
    paths = [str(sources / source) for source in SOURCES]
    script = f"import sys; sys.path[:0] = {paths}; from importlinter.cli import lint_imports_command as run; run()"
    command = [sys.executable, "-c", script, "--no-cache"]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    assert "contracts:" in done.stdout.lower(), done.stdout + done.stderr
    return set(re.findall(r"^(.*) BROKEN(?: \(.*\))?$", done.stdout, flags=re.MULTILINE))


def test_each_contract_has_a_violation_in_the_tests(root):
    with (root / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    assert set(BREACHES) == {contract["name"] for contract in contracts}


def test_the_sources_break_no_contract(sources):
    assert broken(sources) == set()


@pytest.mark.parametrize(("contract", "path", "name"), [(name, *breach) for name, breach in BREACHES.items()])
def test_a_contract_is_broken_by_an_import_that_it_forbids(sources, contract, path, name):
    module = sources / path
    module.write_text(f"{module.read_text(encoding='utf-8')}\nimport {name}\n", encoding="utf-8")
    assert contract in broken(sources)


def circle(sources: Path) -> str:
    """Return modules that import each other in a circle, imports for type checking included; empty without one."""
    with (sources / "pyproject.toml").open("rb") as file:
        packages = tomllib.load(file)["tool"]["importlinter"]["root_packages"]
    paths = [str(sources / source) for source in SOURCES]
    command = [sys.executable, "-c", CIRCLE.format(paths=paths, packages=packages)]
    return subprocess.run(command, cwd=sources, capture_output=True, text=True, check=True).stdout.strip()


def test_no_modules_import_each_other_in_a_circle(sources):
    assert circle(sources) == ""


@pytest.mark.parametrize(
    ("path", "line", "modules"),
    [
        # A package and a module inside it are no siblings, so no contract sees this one.
        ("client/src/headway_client/text.py", "import headway_client", {"headway_client", "headway_client.text"}),
        (
            "layers/core/src/headway/errors.py",
            "if TYPE_CHECKING:\n    from headway.policy import Policy",
            {"headway.errors", "headway.policy"},
        ),
    ],
)
def test_a_circle_of_imports_is_found(sources, path, line, modules):
    module = sources / path
    module.write_text(f"{module.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    assert modules <= {*circle(sources).split()}


def test_the_cores_environment_has_no_packages_that_the_core_could_import(root):
    pins = (root / "requirements" / "core.txt").read_text(encoding="utf-8")
    names = {line.split("==")[0] for line in pins.splitlines() if "==" in line and line[0].isalnum()}
    assert {"hypothesis", "pytest"} <= names
    assert not names & {"boto3", "botocore", "pydantic", "requests", "aws-lambda-powertools", "tabulate"}
