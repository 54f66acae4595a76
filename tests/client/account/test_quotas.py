"""What the pools of a configuration need of SageMaker's quotas."""

from __future__ import annotations

from typing import Any

import pytest

from headway_client.account.quotas import ALL_SPOT_TRAINING, ALL_TRAINING, check_quotas, needs_of, pools_of
from headway_client.account.seen import Quota

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"


def needs(**settings: Any) -> dict[str, int]:
    return {need.quota: need.instances for need in needs_of(pools_of(settings))}


CONFIGURATIONS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "an on-demand pool": (
        {"pools": {P5: {"size": 2}}},
        {f"{P5} for training job usage": 2, ALL_TRAINING: 2},
    ),
    "a spot pool has quotas of its own": (
        {"pools": {P5: {"size": 2}, f"{P5}.spot": {"size": 5}}},
        {
            f"{P5} for training job usage": 2,
            f"{P5} for spot training job usage": 5,
            ALL_TRAINING: 2,
            ALL_SPOT_TRAINING: 5,
        },
    ),
    "all pools together": (
        {"pools": {P5: {"size": 2}, G5: {"size": 8}}},
        {f"{P5} for training job usage": 2, f"{G5} for training job usage": 8, ALL_TRAINING: 10},
    ),
    "a pool with a schedule counts with its largest size": (
        {"pools": {P5: {"size": 2, "schedule": [{"size": 6}, {"size": 0}]}}},
        {f"{P5} for training job usage": 6, ALL_TRAINING: 6},
    ),
    "instances of a training plan and serverless jobs count nowhere": (
        {"pools": {f"{P5}.plan.spring": {}, "serverless": {"size": 9}}},
        {},
    ),
    "warm pools": (
        {"pools": {P5: {"size": 4}, G5: {"size": 4}}, "warmPools": {"maxInstances": {P5: 3}}},
        {
            f"{P5} for training job usage": 4,
            f"{P5} for training warm pool usage": 3,
            f"{G5} for training job usage": 4,
            f"{G5} for training warm pool usage": 4,
            ALL_TRAINING: 8,
        },
    ),
    "a pool that may keep none warm": (
        {"pools": {P5: {"size": 4}}, "warmPools": {"maxInstances": {P5: 0}}},
        {f"{P5} for training job usage": 4, ALL_TRAINING: 4},
    ),
    "spot instances are never warm": (
        {"pools": {f"{P5}.spot": {"size": 4}}, "warmPools": {}},
        {f"{P5} for spot training job usage": 4, ALL_SPOT_TRAINING: 4},
    ),
    "a configuration that keeps no warm pools": (
        {"pools": {P5: {"size": 4}}, "warmPools": "leaveOut"},
        {f"{P5} for training job usage": 4, ALL_TRAINING: 4},
    ),
}


@pytest.mark.parametrize(("settings", "expected"), CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_a_configuration_needs(settings: dict[str, Any], expected: dict[str, int]):
    assert needs(**settings) == expected


def test_a_warm_pool_without_a_quota_is_told_with_what_follows():
    pools = pools_of({"pools": {P5: {"size": 4}}, "warmPools": {}})
    quotas = {need.quota: Quota(value=10) for need in needs_of(pools)}
    quotas[f"{P5} for training warm pool usage"] = Quota(value=0, is_default=True)
    problem = next(each for each in check_quotas(needs_of(pools), quotas, None) if each.result == "problem")
    assert problem.sentence == (
        f'the quota "{P5} for training warm pool usage": 0, the default of AWS; the configuration keeps up to 4 '
        f"instances of the pool {P5} warm, so SageMaker keeps no more warm. Ask for at least 4 (Service Quotas, Amazon "
        "SageMaker), or make it smaller in the configuration."
    )


def test_a_quota_with_an_error_in_place_of_its_value_is_a_note():
    pools = pools_of({"pools": {P5: {"size": 1}}})
    quotas = {need.quota: Quota(value=None) for need in needs_of(pools)}
    findings = list(check_quotas(needs_of(pools), quotas, None))
    assert {each.result for each in findings} == {"note"}
    assert findings[0].said == "AWS has an error in place of its value"
