"""Imports run one way. The lint that guards it is tried here, for a rule that bans nothing passes too."""

import subprocess
import sys

import pytest

REFUSED = {
    "layers/core/src/headway/probe.py": [
        "import boto3",
        "import botocore.session",
        "import logging",
        "import os",
        "import pydantic",
        "import random",
        "import requests",
        "import time",
        "import uuid",
        "from aws_lambda_powertools import Logger",
        "from datetime import datetime\nNOW = datetime.now()",
        "from datetime import datetime\nNOW = datetime.utcnow()",
        "import datetime as dt\nNOW = dt.datetime.now(dt.UTC)",
        "import datetime as dt\nTODAY = dt.date.today()",
        "from os import environ",
        "from headway_service import store",
        "import headway_client",
        "from headway_sandbox.sagemaker.clock import Clock",
    ],
    "layers/service/src/headway_service/probe.py": ["import headway_client", "import headway_sandbox"],
    "functions/api/probe.py": ["import headway_client", "import headway_sandbox"],
    "client/src/headway_client/probe.py": ["import headway_service"],
}
ALLOWED = {
    "layers/core/src/headway/probe.py": ["import dataclasses", "from datetime import datetime, timedelta"],
    "layers/service/src/headway_service/probe.py": ["import boto3", "import headway"],
    "functions/api/probe.py": ["import headway_service"],
    "client/src/headway_client/probe.py": ["import headway", "import requests"],
    "sandbox/src/headway_sandbox/probe.py": ["import headway", "import headway_service", "import headway_client"],
}


def lint(root, path, code):
    """Lint the code as if it lay in the path."""
    return subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--stdin-filename", path, "-"],
        input=code + "\n",
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("path", "code"), [(path, code) for path, codes in REFUSED.items() for code in codes])
def test_an_import_against_the_current_is_refused_with_its_reason(root, path, code):
    done = lint(root, path, code)
    assert done.returncode == 1, done.stderr
    assert "TID251" in done.stdout


@pytest.mark.parametrize(("path", "code"), [(path, code) for path, codes in ALLOWED.items() for code in codes])
def test_an_import_with_the_current_is_let_through(root, path, code):
    done = lint(root, path, code)
    assert done.returncode == 0, done.stdout


def test_the_cores_environment_holds_nothing_that_the_core_could_lean_on(root):
    pins = (root / "requirements" / "core.txt").read_text(encoding="utf-8")
    names = {line.split("==")[0] for line in pins.splitlines() if "==" in line and line[0].isalnum()}
    assert {"hypothesis", "pytest"} <= names
    assert not names & {"boto3", "botocore", "pydantic", "requests", "aws-lambda-powertools", "tabulate"}
