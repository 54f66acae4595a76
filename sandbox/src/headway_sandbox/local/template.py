"""The template as CloudFormation gets it, after the SAM transform (`headway_sandbox.local.expand`)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from headway_sandbox.errors import SandboxError
from headway_sandbox.local.checkout import Checkout


def expanded(checkout: Checkout, **parameters: str) -> dict[str, Any]:
    """A checkout's template, expanded; every parameter has its default, or the value that is given for it.

    Raises:
        SandboxError: the transform refuses it.
        SetupMissing: the transform is not installed.
    """
    given = [f"{name}={value}" for name, value in parameters.items()]
    done = subprocess.run(
        [str(checkout.sandbox_python()), str(Path(__file__).with_name("expand.py")), str(checkout.template()), *given],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        env=os.environ | {"AWS_DEFAULT_REGION": "eu-central-1"},
    )  # fmt: skip
    if done.returncode != 0:
        raise SandboxError(f"template.yaml can't be expanded: {done.stderr[-2000:]}")
    template: dict[str, Any] = json.loads(done.stdout)
    return template
