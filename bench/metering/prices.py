"""AWS's prices of what Headway uses: us-east-1, USD, without tax, from public pages of the first half of 2026.

Each price names the page of AWS that is in force. They were read from copies and reports of these pages, so check them
before you rely on one.
"""

from __future__ import annotations

from dataclasses import dataclass

REGION, DATE = "us-east-1", "June 2026"
HOURS_A_MONTH = 730


@dataclass(frozen=True)
class Price:
    """What one kind of use costs.

    Attributes:
        usd: the price of ``per`` units.
        per: the number of units.
        page: of AWS, below aws.amazon.com.
        free: of it is free each month, for good and for the whole account.
        confirmed: whether a page of this year confirms it; the others have been the same for years.
    """

    usd: float
    per: float
    page: str
    free: float = 0
    confirmed: bool = True

    def of(self, number: float, *, free: bool = False) -> float:
        """The cost of this many units, USD; with ``free``, in an account without other use."""
        return max(0.0, number - (self.free if free else 0)) * self.usd / self.per


PRICES: dict[str, Price] = {
    "DynamoDB write units": Price(0.625, 1e6, "dynamodb/pricing/on-demand"),
    "DynamoDB read units": Price(0.125, 1e6, "dynamodb/pricing/on-demand"),
    "DynamoDB GB kept, with recovery": Price(0.45, 1, "dynamodb/pricing/on-demand", confirmed=False),
    "Lambda requests": Price(0.20, 1e6, "lambda/pricing", free=1e6),
    "Lambda GB-seconds": Price(0.0000133334, 1, "lambda/pricing", free=400_000),
    "SQS requests": Price(0.50, 1e6, "sqs/pricing", free=1e6),
    "EventBridge events": Price(1.00, 1e6, "eventbridge/pricing"),
    "SNS messages": Price(0.50, 1e6, "sns/pricing", free=1e6, confirmed=False),
    "CloudWatch alarms": Price(0.10, 1, "cloudwatch/pricing", free=10, confirmed=False),
    "CloudWatch metrics": Price(0.30, 1, "cloudwatch/pricing", free=10),
    "CloudWatch dashboards": Price(3.00, 1, "cloudwatch/pricing", free=3),
    "CloudWatch requests": Price(0.01, 1e3, "cloudwatch/pricing", free=1e6, confirmed=False),
    "CloudWatch log GB": Price(0.50, 1, "cloudwatch/pricing", free=5),
    "X-Ray traces": Price(5.00, 1e6, "xray/pricing", free=100_000),
    "KMS keys": Price(1.00, 1, "kms/pricing"),
    "API Gateway requests": Price(3.50, 1e6, "api-gateway/pricing"),
    "interface endpoint hours": Price(0.01, 1, "privatelink/pricing"),
}
"""SageMaker's API, events of AWS services, schedules on the default bus and Lambda's reads
of a table's stream cost nothing."""
