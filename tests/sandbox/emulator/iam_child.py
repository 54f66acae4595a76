"""Run with the sandbox's Python: evaluates policies as the sandbox does for callers of SageMaker.

Each line of the input is JSON: the policy of a role, and calls, each with its action, resource and condition keys. Each
line of the output is the list of decisions: `Allow`, `Deny` or `ImplicitDeny`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from headway_sandbox.emulator import patches

_ROLE = "arn:aws:iam::123456789012:role/user"


def main() -> None:
    evaluator = patches.module("core.iam_evaluator")
    for line in sys.stdin:
        asked = json.loads(line)
        policy = evaluator.parse_policy_document(asked["policy"])
        print(json.dumps([_decision(evaluator, policy, each) for each in asked["calls"]]), flush=True)


def _decision(evaluator: Any, policy: Any, call: dict[str, Any]) -> str:
    context = evaluator.EvalContext(
        principal_arn=_ROLE,
        principal_type="AssumedRole",
        principal_account=_ROLE.split(":")[4],
        action=call["action"],
        resource_arn=call["resource"],
        region="eu-west-1",
        service_context={key.lower(): value for key, value in call["context"].items()},
    )
    return str(evaluator.evaluate(context, [policy]).decision)


if __name__ == "__main__":
    main()
