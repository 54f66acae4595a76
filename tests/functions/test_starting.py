"""A function loads nothing that its calls don't need, and no collector of garbage goes through it meanwhile."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache

import pytest

from headway_sandbox.inprocess.lambda_functions import ENVIRONMENT, TIMEOUT_S
from headway_sandbox.local.checkout import Checkout

ROOT = Checkout.here().root
LAYERS = ("layers/core/src", "layers/service/src")
TOLD = "import gc, sys, app; print(gc.isenabled(), gc.get_freeze_count() > 10_000, *sys.modules)"
WHOLE = """
import gc
gc.callbacks.append(lambda when, about: print("whole") if when == "start" and about["generation"] == 2 else None)
import app
print("loaded")
"""
ONLY_THE_API = {"asyncio", "aws_lambda_powertools.event_handler", "headway_service.api.routes.jobs"}
NOBODY = {"headway_client", "headway_sandbox", "moto", "sqlite3", "unittest"}


@cache
def said(function: str, program: str) -> str:
    """What a program prints in a new interpreter that sees the function and its layers."""
    path = os.pathsep.join(str(ROOT / each) for each in (f"functions/{function}", *LAYERS))
    environment = ENVIRONMENT | {"PYTHONPATH": path, "AWS_DEFAULT_REGION": "eu-west-1"}
    command = [sys.executable, "-B", "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.parametrize("function", TIMEOUT_S)
def test_garbage_collection_resumes_after_loading_and_skips_loaded_objects(function: str) -> None:
    assert said(function, TOLD).split()[:2] == ["True", "True"]


@pytest.mark.parametrize("function", TIMEOUT_S)
def test_garbage_collection_does_not_run_while_a_function_is_loaded(function: str) -> None:
    assert said(function, WHOLE).split("loaded")[0] == ""


@pytest.mark.parametrize("function", TIMEOUT_S)
def test_a_function_loads_nothing_heavy_that_its_calls_do_not_need(function: str) -> None:
    loaded = set(said(function, TOLD).split())
    assert loaded.isdisjoint(NOBODY)
    assert loaded & ONLY_THE_API == (ONLY_THE_API if function == "api" else set())


@pytest.mark.parametrize("function", TIMEOUT_S)
def test_a_function_imports_the_cold_start_module_first(function: str) -> None:
    source = (ROOT / "functions" / function / "app.py").read_text(encoding="utf-8")
    assert re.findall(r"^(?:from|import) \S+", source, re.MULTILINE)[:2] == ["from __future__", "from headway_service"]
    assert "\nfrom headway_service import cold_start\n" in source
