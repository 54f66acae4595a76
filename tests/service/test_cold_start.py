"""What a function does not do while it loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from headway_sandbox.inprocess.lambda_functions import ENVIRONMENT

FUNCTIONS = Path(__file__).parents[2] / "functions"
BUILT = """
import app
from headway_service.config.document import Configuration
from headway_service.store.records.base import Record

def below(kind):
    return [each for sub in kind.__subclasses__() for each in (sub, *below(sub))]

models = [Configuration, *below(Record)]
print(len(models) > 9, [each.__name__ for each in models if each.__pydantic_complete__])
"""
COLLECTOR = """
import gc
import app
from headway_service import cold_start
frozen = gc.get_freeze_count() > 100_000
print(gc.isenabled(), frozen, gc.get_threshold()[0] == cold_start.YOUNG_OBJECTS > 10_000)
"""
OTHERS = (
    "accounting.accountant",
    "api.documents.summary",
    "api.openapi",
    "dead_letters",
    "feed.read",
    "forecast",
    "pools.operations",
    "summary",
)
LOADED = f"""
import sys
import app
simulates = "headway.forecasting.simulation" in sys.modules
print([each for each in {OTHERS} if f"headway_service.{{each}}" in sys.modules], simulates)
"""


def printed(code: str) -> str:
    """What code prints after the function `api` has loaded in an interpreter of its own."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=FUNCTIONS / "api", env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_no_validator_of_a_record_or_of_the_configuration_is_built() -> None:
    assert printed(BUILT) == "True []"


def test_what_submissions_do_not_need_is_not_loaded() -> None:
    assert printed(LOADED) == "[] False"


def test_the_collector_runs_less_often_without_the_objects_of_modules() -> None:
    assert printed(COLLECTOR) == "True True True"
