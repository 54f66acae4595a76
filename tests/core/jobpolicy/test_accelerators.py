"""Which instance types have accelerators."""

from __future__ import annotations

import pytest

from headway.jobpolicy.accelerators import is_accelerated


@pytest.mark.parametrize(
    ("instance_type", "expected"),
    [
        ("ml.p5.48xlarge", True),
        ("ml.p6-b200.48xlarge", True),
        ("ml.g4dn.xlarge", True),
        ("ml.trn1.32xlarge", True),
        ("ml.c5.xlarge", False),
        ("ml.inf2.xlarge", False),
        ("ml.gr6.4xlarge", False),
        ("ml.t3.medium", False),
        ("serverless", False),
    ],
)
def test_a_pending_time_has_an_effect_on_accelerated_instances_only(instance_type: str, *, expected: bool) -> None:
    assert is_accelerated(instance_type) is expected
