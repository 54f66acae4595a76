"""An operator invokes the function of the API without API Gateway, by the words of the runbook."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.functions.conftest import Functions
from tests.service.world import P5

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/operations.md"


def test_the_configuration_is_set_by_the_event_of_the_runbook(functions: Functions, tmp_path: Path) -> None:
    (script,) = re.findall(r"<<'END'\n(.*?)^END$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (tmp_path / "config.json").write_text(json.dumps({"pools": {P5: {"size": 5}}}), encoding="utf-8")
    made = subprocess.run(
        [sys.executable, "-", "config.json"], cwd=tmp_path, input=script, capture_output=True, text=True, check=True
    )
    answer = functions.invoke("api", json.loads(made.stdout))
    assert (answer["statusCode"], json.loads(answer["body"])["document"]["pools"]) == (200, {P5: {"size": 5}})
    _, history = functions.http("GET", "/config/history")
    assert history["versions"][0]["by"] == "user/ada"
