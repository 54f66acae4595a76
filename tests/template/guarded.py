"""Prints the guard's input as JSON: each template after the transform, for different parameters.

Runs in .envs/sandbox with the SAM transform.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headway_sandbox.local.expand import expand
from tests.template.conditions import deployed

ROOT = Path(__file__).resolve().parents[2]
KEY = {"KmsKeyArn": "arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-4000-8000-000000000000"}
VPC = {"FunctionSubnetIds": "subnet-0123456789abcdef0", "FunctionSecurityGroupIds": "sg-0123456789abcdef0"}
NEEDED = {"VpcEndpointIds": "vpce-0123456789abcdef0"}


def guarded() -> dict[str, dict[str, Any]]:
    """Return the templates by name and parameters."""
    queue = expand(ROOT / "template.yaml", NEEDED)
    return {
        "template.yaml": deployed(queue),
        "template.yaml with a key, in a VPC": deployed(queue, **KEY, **VPC, AllowStoppingRogueJobs="true"),
        "template.yaml, watched in full": deployed(queue, Alarms="all", CreateDashboard="true"),
        "deploy/key.yaml": deployed(expand(ROOT / "deploy" / "key.yaml", {})),
    }


if __name__ == "__main__":
    print(json.dumps(guarded()))
