"""How many GPUs an instance has."""

from __future__ import annotations

import pytest

from headway.instances import gpus_of


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
        ("ml.g7.24xlarge", 4),
        ("ml.inf2.xlarge", None),
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
