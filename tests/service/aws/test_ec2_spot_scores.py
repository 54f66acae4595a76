"""Spot placement scores: one contract for EC2's answers and for the double in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber

from headway_service.aws.ec2_spot_scores import Ec2SpotScores
from headway_service.ports.spot_scores import SpotScores
from headway_service.testing.memory_spot_scores import MemorySpotScores

REGION = "eu-west-1"
POOL = "ml.g5.xlarge.spot"
REQUEST = {
    "InstanceTypes": ["g5.xlarge"],
    "TargetCapacity": 8,
    "TargetCapacityUnitType": "units",
    "RegionNames": [REGION],
    "SingleAvailabilityZone": False,
}


def client() -> Any:
    return boto3.client("ec2", region_name=REGION, aws_access_key_id="k", aws_secret_access_key="s")


def answered(*scores: dict[str, Any]) -> SpotScores:
    """EC2 with this answer to the one request that is expected."""
    ec2 = client()
    stubber = Stubber(ec2)
    stubber.add_response("get_spot_placement_scores", {"SpotPlacementScores": list(scores)}, REQUEST)
    stubber.activate()
    return Ec2SpotScores(ec2)


def failed(code: str, status: int) -> SpotScores:
    ec2 = client()
    stubber = Stubber(ec2)
    stubber.add_client_error("get_spot_placement_scores", code, http_status_code=status)
    stubber.activate()
    return Ec2SpotScores(ec2)


class TestContract:
    @pytest.mark.parametrize(
        "make",
        [lambda: answered({"Region": REGION, "Score": 3}), lambda: MemorySpotScores({(POOL, 8): 3})],
        ids=["EC2", "memory"],
    )
    def test_a_score_is_found_for_a_pool_and_a_number_of_instances(self, make: Callable[[], SpotScores]) -> None:
        assert make().find(POOL, 8) == 3

    @pytest.mark.parametrize("make", [answered, MemorySpotScores], ids=["EC2", "memory"])
    def test_without_a_score_nothing_is_found(self, make: Callable[[], SpotScores]) -> None:
        assert make().find(POOL, 8) is None


@pytest.mark.parametrize(
    ("scores", "found"),
    [
        ([{"Region": "us-east-1", "Score": 9}], None),
        ([{"Region": "us-east-1", "Score": 9}, {"Region": REGION, "Score": 10}], 10),
        ([{"Region": REGION}], None),
        ([{"Region": REGION, "Score": 0}], None),
        ([{"Region": REGION, "Score": 11}], None),
        ([{"Region": REGION, "Score": 1}], 1),
    ],
    ids=str,
)
def test_only_a_score_from_1_to_10_of_the_own_region_counts(scores: list[dict[str, Any]], found: int | None) -> None:
    assert answered(*scores).find(POOL, 8) == found


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("MaxConfigLimitExceeded", 400),
        ("UnauthorizedOperation", 403),
        ("RequestLimitExceeded", 503),
        ("InvalidParameterValue", 400),
        ("InternalError", 500),
    ],
)
def test_an_error_is_no_score(code: str, status: int) -> None:
    assert failed(code, status).find(POOL, 8) is None


def test_no_answer_is_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    ec2 = client()

    def fail(*_: Any, **__: Any) -> Any:
        raise EndpointConnectionError(endpoint_url="https://ec2")

    monkeypatch.setattr(ec2, "_make_api_call", fail)
    assert Ec2SpotScores(ec2).find(POOL, 8) is None
