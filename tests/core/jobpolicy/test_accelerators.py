"""How many GPUs an instance has."""

from __future__ import annotations

import pytest

from headway.jobpolicy.accelerators import gpus_of, is_accelerated


@pytest.mark.parametrize(
    ("instance_type", "gpus"),
    [
        ("ml.p5.48xlarge", 8),
        ("ml.p5.4xlarge", 1),
        ("ml.p6e-gb200.36xlarge", 4),
        ("ml.g5.16xlarge", 1),
        ("ml.g5.24xlarge", 4),
        ("ml.trn1.32xlarge", 0),
        ("ml.trn2.48xlarge", 0),
        ("ml.inf2.xlarge", 0),
        ("ml.m5.large", 0),
        ("ml.c7i-flex.4xlarge", 0),
        ("ml.t3.medium", 0),
        ("ml.g5.1xlarge", None),
        ("ml.x9.large", None),
        ("p5.48xlarge", None),
        ("", None),
    ],
)
def test_the_number_of_gpus_of_an_instance_type_is_known_or_none(instance_type: str, gpus: int | None) -> None:
    assert gpus_of(instance_type) == gpus


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
