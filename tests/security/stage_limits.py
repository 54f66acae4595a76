"""Temporary rate limits of the sandbox's API methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from headway_sandbox.local.sandbox import Sandbox


def settings(sandbox: Sandbox) -> dict[str, dict[str, Any]]:
    """Return the settings of the stage's methods, such as `/jobs/POST`; `*/*` has those of all others."""
    api, stage = sandbox.endpoint.split("/")[-2:]
    found: dict[str, dict[str, Any]] = sandbox.client("apigateway").get_stage(restApiId=api, stageName=stage)[
        "methodSettings"
    ]
    return found


@contextmanager
def limits(sandbox: Sandbox, wanted: Mapping[str, tuple[float, int]]) -> Iterator[None]:
    """Change the limits of methods in a context.

    Args:
        sandbox: the sandbox.
        wanted: by method, the rate per second and the burst.
    """
    before = {
        method: (each["throttlingRateLimit"], each["throttlingBurstLimit"])
        for method, each in settings(sandbox).items()
        if method in wanted
    }
    _set(sandbox, wanted)
    try:
        yield
    finally:
        _set(sandbox, before)


def _set(sandbox: Sandbox, wanted: Mapping[str, tuple[float, int]]) -> None:
    api, stage = sandbox.endpoint.split("/")[-2:]
    patch = []
    for method, (per_s, burst) in wanted.items():
        path, _, verb = method.rpartition("/")
        # As in a JSON pointer: the path is one part of it.
        pointer = f"/{path.replace('/', '~1')}/{verb}/throttling"
        patch += [
            {"op": "replace", "path": f"{pointer}/rateLimit", "value": str(per_s)},
            {"op": "replace", "path": f"{pointer}/burstLimit", "value": str(burst)},
        ]
    sandbox.client("apigateway").update_stage(restApiId=api, stageName=stage, patchOperations=patch)
