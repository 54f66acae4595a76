"""The template after the SAM transform (`headway_sandbox.local.expand`)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from headway_sandbox.errors import SandboxError
from headway_sandbox.local.checkout import Checkout


def expanded(checkout: Checkout, **parameters: str) -> dict[str, Any]:
    """Expand a checkout's template.

    Args:
        parameters: Values of parameters; the others have their defaults.

    Raises:
        SandboxError: The transform failed.
        SetupMissing: The transform is not installed.
    """
    given = [f"{name}={value}" for name, value in parameters.items()]
    done = subprocess.run(
        [str(checkout.sandbox_python()), str(Path(__file__).with_name("expand.py")), str(checkout.template()), *given],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        env=os.environ | {"AWS_DEFAULT_REGION": "eu-central-1"},
    )  # fmt: skip
    if done.returncode != 0:
        raise SandboxError(f"Cannot expand template.yaml: {done.stderr[-2000:]}")
    template: dict[str, Any] = json.loads(done.stdout)
    return template
