"""EC2's spot placement scores through boto3.

Source: EC2 API reference, GetSpotPlacementScores: a score from 1 to 10 for a region, if no single Availability Zone is
asked for. With fewer than three instance types scores are low. The new configurations of 24 hours are limited
(MaxConfigLimitExceeded).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.policy import MAX_SPOT_SCORE
from headway.pool_names import on_demand_pool
from headway_service.aws.error_codes import FAILED_CALLS, describe
from headway_service.observability.logging import logger
from headway_service.response_check import check_answers

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_PREFIX = "ml."
"""What SageMaker's instance types begin with, and EC2's do not."""


class Ec2SpotScores:
    """:class:`headway_service.ports.spot_scores.SpotScores` on EC2.

    Args:
        client: for all calls; scores are of its region.
    """

    def __init__(self, client: EC2Client) -> None:
        self._client = check_answers(client)

    def find(self, pool: str, count: int) -> int | None:
        """See :class:`headway_service.ports.spot_scores.SpotScores`."""
        region = self._client.meta.region_name
        try:
            answer = self._client.get_spot_placement_scores(
                InstanceTypes=[on_demand_pool(pool).removeprefix(_PREFIX)],
                TargetCapacity=count,
                TargetCapacityUnitType="units",
                RegionNames=[region],
                SingleAvailabilityZone=False,
            )
        except FAILED_CALLS as error:
            logger.warning("no spot placement score", extra={"pool": pool, "count": count, "error": describe(error)})
            return None
        scores = [each.get("Score") for each in answer.get("SpotPlacementScores", ()) if each.get("Region") == region]
        return next((score for score in scores if score is not None and 1 <= score <= MAX_SPOT_SCORE), None)
