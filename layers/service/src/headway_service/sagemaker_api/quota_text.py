"""What SageMaker's answer ResourceLimitExceeded says of the quota that a request exceeds.

AWS documents no structured form, so it is read from the sentence, as users quote it in public:

* ``The account-level service limit 'ml.p3.8xlarge for training job usage' is 2 Instances, with current utilization of
  3 Instances and a request delta of 1 Instances. ...`` (issue aws/amazon-sagemaker-examples#1543), the same with
  ``'Number of instances across all processing jobs'`` (data-science-on-aws/data-science-on-aws#200), and in SageMaker's
  guide with ``'Maximum number of pipelines allowed per account' is XXX Pipelines``.
* ``The account-level service limit for training-job/ml.p2.xlarge is 0 Instances, ...`` (aws/sagemaker-python-sdk#35,
  2017), and ``The account-level service limit is 0 Apps, ...`` without a name.
* ``The requested resource training-job/ml.p2.xlarge is not available in this region``
  (aws/amazon-sagemaker-examples#1001).

Whatever follows the first sentence varies over the years, and is ignored. What is not recognized has no quota.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_QUOTA_NAME_CHARS = 200
"""The longest name of a quota that is recognized: the longest of SageMaker's has about 100 characters."""

_RETRIES = r"(?: \(reached max retries: [0-9]{1,3}\))?"
_PREFIX = rf"(?:An error occurred \(ResourceLimitExceeded\) when calling the \w{{1,64}} operation{_RETRIES}: )?"
"""How botocore begins its message."""
_AMOUNT = r"(?P<{0}>[0-9][0-9,]{{0,18}})\s[A-Za-z][A-Za-z ]{{0,40}}?"
_NAME = (
    rf"(?:\s'(?P<name>[^'\n]{{1,{MAX_QUOTA_NAME_CHARS}}})'|\sfor\s(?P<resource>[\w./-]{{1,{MAX_QUOTA_NAME_CHARS}}}))?"
)

# Both are matched from the beginning of the message, and every character up to the last number is prescribed. So a text
# of the request that AWS repeats in some other message cannot pass for them.
_EXCEEDED = re.compile(
    rf"{_PREFIX}The account-level service limit{_NAME}\sis\s{_AMOUNT.format('limit')},"
    rf"\swith current utilization of\s{_AMOUNT.format('utilization')}"
    rf"\sand a request delta of\s{_AMOUNT.format('delta')}(?:\.|\Z)",
    re.ASCII,
)
_NOT_HERE = re.compile(
    rf"{_PREFIX}The requested resource\s(?P<resource>[\w./-]{{1,{MAX_QUOTA_NAME_CHARS}}})\s"
    r"is not available in this region\.?\s{0,4}\Z",
    re.ASCII,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedQuota:
    """A quota that AWS named as the reason of a refusal, with its numbers at that moment.

    Attributes:
        name: its name, such as ``ml.p5.48xlarge for training job usage``; empty if AWS gives none.
        limit: the quota, in units of its own: instances, or seconds for the longest run time. 0 for a type that the
            region does not have.
        utilization: what was in use. It may exceed the limit, which may have been lowered.
        delta: what the request asked for in addition; None for a type that the region does not have.
    """

    name: str
    limit: int
    utilization: int
    delta: int | None

    @property
    def exceeded_alone(self) -> bool:
        """Whether the request exceeds the quota however little others use of it."""
        return self.delta is None or self.delta > self.limit


def parse_quota(message: str) -> NamedQuota | None:
    """The quota that a message of ResourceLimitExceeded names; None if the message is not recognized.

    Args:
        message: AWS's message, before anything in it is masked or cut off.
    """
    if found := _EXCEEDED.match(message):
        return NamedQuota(
            name=found["name"] or found["resource"] or "",
            limit=_number(found["limit"]),
            utilization=_number(found["utilization"]),
            delta=_number(found["delta"]),
        )
    if found := _NOT_HERE.match(message):
        return NamedQuota(name=found["resource"], limit=0, utilization=0, delta=None)
    return None


def _number(text: str) -> int:
    return int(text.replace(",", ""))
