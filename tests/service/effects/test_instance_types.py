"""Pools of types that this version does not know are told, with the type that was probably meant."""

from __future__ import annotations

import pytest

from headway_service.config.document import Configuration, validate
from headway_service.effects.instance_types import unknown_types

KNOWN = {"ml.p5.48xlarge": {"size": 1}}


def document(*pools: str) -> Configuration:
    return validate({"pools": {**KNOWN, **{pool: {"size": 1} for pool in pools}}})


@pytest.mark.parametrize(
    ("pool", "hint"),
    [
        ("ml.p5.48xlrge", "; is ml.p5.48xlarge meant?"),
        ("ml.g5.xlargee.spot", "; is ml.g5.xlarge meant?"),
        ("ml.zz9.plural", ""),
    ],
)
def test_an_unknown_type_is_told_with_the_nearest_one(pool: str, hint: str) -> None:
    (found,) = unknown_types(document(), document(pool))
    kind = pool.removesuffix(".spot")
    assert found.message == f"{kind} is no instance type that this version of the queue knows{hint}"
    assert (found.count, list(found.names)) == (1, [pool])


@pytest.mark.parametrize("pool", ["serverless", "ml.trn1.32xlarge", "ml.p5.48xlarge.spot"])
def test_a_known_type_is_not_told(pool: str) -> None:
    assert list(unknown_types(document(), document(pool))) == []


def test_a_pool_that_is_there_already_is_not_told() -> None:
    assert list(unknown_types(document("ml.p5.48xlrge"), document("ml.p5.48xlrge"))) == []
