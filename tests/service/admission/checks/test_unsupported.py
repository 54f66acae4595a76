"""All that is said of what the queue does not run."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.admission.checks.unsupported import errors
from headway_service.config.document import validate
from tests.service.admission.drafts import draft, told
from tests.service.world import P5, on

CONFIGURATION = validate({"pools": {P5: {"size": 2}}})
PLACED = {"ResourceConfig": {**on(1), "InstancePlacementConfig": {"EnableMultipleJobs": True}}}
ULTRA_SERVERS = (
    "ResourceConfig.InstancePlacementConfig",
    "is not supported by this version of the queue, which does not start jobs on UltraServers: remove it",
)
SESSION_TAGS = (
    "SessionChainingConfig.EnableSessionTagChaining",
    "is not possible: it would pass on the session tags of the scheduler, not of the job's submitter: remove it",
)


def chained(value: Any) -> dict[str, Any]:
    return {"SessionChainingConfig": value}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        (PLACED, [ULTRA_SERVERS]),
        (chained({"EnableSessionTagChaining": True}), [SESSION_TAGS]),
        (chained({"EnableSessionTagChaining": False}), []),
        (chained({}), []),
        ({**PLACED, **chained({"EnableSessionTagChaining": True})}, [ULTRA_SERVERS, SESSION_TAGS]),
        ({"ResourceConfig": None}, []),
        ({"ResourceConfig": "InstancePlacementConfig"}, []),
        (chained("EnableSessionTagChaining"), []),
    ],
    ids=[
        "nothing of that",
        "a place on UltraServers",
        "chained session tags",
        "no chained session tags",
        "an empty chain",
        "both",
        "no resources",
        "resources of another shape",
        "a chain of another shape",
    ],
)
def test_what_is_said_of_parts_that_the_queue_does_not_run(
    changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert told(errors(draft(CONFIGURATION, **changes))) == expected
