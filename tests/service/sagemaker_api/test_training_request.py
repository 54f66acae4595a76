"""What the queue reads from a request, whatever its shape."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.sagemaker_api.training_request import InstanceGroup, TrainingRequest


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"TrainingJobName": 1, "RoleArn": 2, "Tags": "x", "ResourceConfig": [], "EnableManagedSpotTraining": "true"},
        {"Tags": [1, {"Key": 1, "Value": "x"}], "ResourceConfig": {"InstanceGroups": [1], "InstanceType": "a"}},
        {"ResourceConfig": {"InstanceType": "a", "InstanceCount": "1", "KeepAlivePeriodInSeconds": "1"}},
        {"ResourceConfig": {"InstanceType": 1, "InstanceCount": 1, "KeepAlivePeriodInSeconds": 0}},
    ],
)
def test_a_member_of_the_wrong_type_counts_as_missing(raw: dict[str, Any]) -> None:
    parsed = TrainingRequest.parse(raw)
    assert parsed.raw is raw
    assert (parsed.name, parsed.role, parsed.tags, parsed.listed_tags) == ("", "", {}, ())
    assert (parsed.groups, parsed.spot, parsed.warm_pool, parsed.preemptible) == ((), False, False, True)


def test_groups_of_one_type_add_up() -> None:
    groups = [{"InstanceType": "a", "InstanceCount": 1}, {"InstanceType": "a", "InstanceCount": 2}]
    parsed = TrainingRequest.parse({"ResourceConfig": {"InstanceGroups": groups}})
    assert parsed.groups[1] == InstanceGroup(part="ResourceConfig.InstanceGroups[1]", instance_type="a", count=2)
    assert parsed.demand((), spot=False) == {"a": 3}


def test_spot_instances_come_from_a_pool_of_their_own_if_there_is_one() -> None:
    groups = [{"InstanceType": "a", "InstanceCount": 1}, {"InstanceType": "b", "InstanceCount": 2}]
    parsed = TrainingRequest.parse({"ResourceConfig": {"InstanceGroups": groups}})
    pools = {"a", "a.spot", "b"}
    assert parsed.demand(pools, spot=True) == {"a.spot": 1, "b": 2}
    assert parsed.demand(pools, spot=False) == {"a": 1, "b": 2}


def test_a_tag_that_repeats_keeps_its_places() -> None:
    tags = [{"Key": "team", "Value": "a"}, {"Key": "x", "Value": "y"}, {"Key": "headway:team", "Value": "b"}]
    parsed = TrainingRequest.parse({"Tags": tags})
    assert parsed.named_teams == [(0, "a"), (2, "b")]
    assert parsed.tags == {"team": "a", "x": "y", "headway:team": "b"}
