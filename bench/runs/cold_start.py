"""How long a function takes from the start of its interpreter until it is ready, and until it has answered once."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from deploy import bytecode
from deploy.pins import LAYER_PINS, read_pins
from headway_sandbox.inprocess.lambda_functions import ENVIRONMENT, TIMEOUT_S

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = tuple(TIMEOUT_S)
FIRST_EVENTS = {"api": "api-submit", "observe": "observe", "schedule": "schedule"}
"""The first events of the functions that users wait for, in `events/`."""

Started = Mapping[str, Mapping[str, float]]
"""See :func:`start`."""

_CHILD = Path(__file__).with_name("cold_child.py")
_OWN = ("layers/core/src", "layers/service/src")
_NOT_IN_LAYERS = shutil.ignore_patterns("__pycache__")
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "eu-west-1"}
_IMPORTED = re.compile(r"^import time: +(\d+) \| +\d+ \| +(\S+)$", re.MULTILINE)


class WrongVersion(Exception):
    """The installed packages are not the deployed ones, so their time would differ."""


def measure(runs: int, functions: Sequence[str] = FUNCTIONS) -> dict[str, dict[str, Any]]:
    """Each function's cold start with bytecode beside the sources and without: ms, of the processor's time too, and MB.

    With is how `make build` ships layers where it finds Lambda's Python, and written by the same code; without is how
    it ships them elsewhere: Lambda's interpreter compiles every module again and may not keep it. An interpreter that
    does nothing is subtracted.

    Args:
        runs: of each, in turn, so that whatever else the machine does falls on all; one more before them is not
            counted, so that files are in memory.
        functions: which.

    Raises:
        WrongVersion: see there.
    """
    with tempfile.TemporaryDirectory() as folder:
        layers = {"bytecode": Path(folder) / "bytecode", "sources": Path(folder) / "sources"}
        for kind, layer in layers.items():
            lay_out(layer, compiled=kind == "bytecode")
        seen: dict[tuple[str, str], list[Started]] = defaultdict(list)
        for run in range(runs + 1):
            for kind, layer in layers.items():
                nothing = start("", layer)
                for function in functions:
                    found = start(function, layer)
                    if run:
                        seen[kind, function].append(_beyond(found, nothing))
        return {
            kind: {
                "functions": {function: _figures(seen[kind, function]) for function in functions},
                "modules": modules(layer),
            }
            for kind, layer in layers.items()
        }


def lay_out(target: Path, *, compiled: bool) -> None:
    """Put into a folder what the layers unpack to: the sources, and the packages that are pinned for them.

    The packages are copied from this interpreter's, for which their binaries are.

    Raises:
        WrongVersion: another version is installed here than is pinned.
    """
    for source in _OWN:
        shutil.copytree(ROOT / source, target, ignore=_NOT_IN_LAYERS, dirs_exist_ok=True)
    for name, version in versions().items():
        found = distribution(name)
        if found.version != version:
            raise WrongVersion(f"{name} {found.version} is installed, and {version} is pinned: run `make setup`")
        for file in found.files or []:
            if _is_deployed(file.parts):
                place = target.joinpath(*file.parts)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), place)
    if compiled:
        bytecode.compile_folder(target, sys.executable, at=bytecode.LAYER_AT)


def versions() -> dict[str, str]:
    """The packages of the dependencies layer, as they are pinned."""
    return {pin.name: pin.version for pin in read_pins(ROOT / LAYER_PINS)}


def start(function: str, layers: Path) -> Started:
    """Start an interpreter that loads a function and, if there is an event for it, answers.

    Returns:
        For ``ready`` and ``answered``: the ``ms`` since the start, the processor's ms of them (``cpuMs``), and the most
        memory that was used by then (``mb``).
    """
    began_ns = time.monotonic_ns()
    told = json.loads(_run(function, layers).stdout.splitlines()[-1])
    return {
        when: {"ms": (at["ns"] - began_ns) / 1e6, "cpuMs": at["cpuNs"] / 1e6, "mb": at["peakKb"] / 1024}
        for when, at in told.items()
    }


def modules(layers: Path, function: str = "api") -> dict[str, Any]:
    """How many modules a function imports until it is ready, and the ms of each package, the slowest first.

    Each is a little slower for being timed.
    """
    spent: dict[str, float] = defaultdict(float)
    imported = _IMPORTED.findall(_run(function, layers, "-X", "importtime", answers=False).stderr)
    for us, module in imported:
        spent[_package(module)] += int(us) / 1000
    slowest = sorted(spent.items(), key=lambda each: -each[1])
    return {"function": function, "imported": len(imported), "packagesMs": {name: round(ms, 1) for name, ms in slowest}}


def _run(function: str, layers: Path, *options: str, answers: bool = True) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "functions" / function), str(layers)]) if function else ""
    event = [str(ROOT / "events" / f"{FIRST_EVENTS[function]}.json")] if answers and function in FIRST_EVENTS else []
    # Without site-packages and user settings, and without writes, as Lambda's file system is read-only.
    command = [sys.executable, "-I", "-S", "-B", *options, str(_CHILD), path, *event]
    # Our own commands; an error has its message.
    return subprocess.run(  # noqa: S603
        command, env=ENVIRONMENT | _CREDENTIALS, capture_output=True, text=True, check=True, timeout=60
    )


def _beyond(found: Started, nothing: Started) -> Started:
    """The times less those of an interpreter that does nothing; the memory as it is."""
    least = {**nothing["ready"], "mb": 0.0}
    return {when: {name: value - least[name] for name, value in at.items()} for when, at in found.items()}


def _figures(runs: Sequence[Started]) -> dict[str, Any]:
    """Of each figure the median, the least and the greatest."""
    return {when: {name: _spread([run[when][name] for run in runs]) for name in at} for when, at in runs[0].items()}


def _spread(values: Sequence[float]) -> dict[str, float]:
    found = {"median": statistics.median(values), "least": min(values), "greatest": max(values)}
    return {name: round(value, 1) for name, value in found.items()}


def _package(module: str) -> str:
    top = module.partition(".")[0]
    return "Python's own" if top in sys.stdlib_module_names else top


def _is_deployed(parts: Sequence[str]) -> bool:
    """Whether the layer keeps a file of a package: it leaves out bytecode, tests and what the functions never call."""
    if ".." in parts or {"__pycache__", "tests"}.intersection(parts):
        return False
    in_service = len(parts) > 3 and tuple(parts[:2]) == ("botocore", "data")
    return not in_service or parts[2] in _services()


def _services() -> frozenset[str]:
    makefile = (ROOT / LAYER_PINS).with_name("Makefile").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^SERVICES = (.*)$", makefile, re.MULTILINE)[0].split())
