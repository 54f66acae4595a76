"""The limits of calls to AWS."""

from __future__ import annotations

import boto3
import botocore
from botocore.config import Config

from headway_service import __version__
from headway_service.bootstrap.settings import MAX_LAUNCHES_AT_ONCE

CALL_LIMITS = Config(
    connect_timeout=2,
    read_timeout=8,
    # Each launch in flight has a connection, and the tick another one.
    max_pool_connections=MAX_LAUNCHES_AT_ONCE + 1,
    retries={"mode": "standard", "total_max_attempts": 3},
    # botocore's own has a dozen parts and is computed twice a call; it only describes used features.
    user_agent=f"Headway/{__version__} Boto3/{boto3.__version__} Botocore/{botocore.__version__}",
)
"""Limits of every call to AWS, s: three tries stay well inside a timeout. CloudTrail shows the user agent."""

OWN_REQUESTS = CALL_LIMITS.merge(Config(parameter_validation=False))
"""The same for services whose requests contain no user input; tests compare their shapes with botocore's models.

Requests for SageMaker have what callers wrote, and CloudWatch and the rest are seldom called: those are still checked.
"""

ONE_TRY = CALL_LIMITS.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))
"""For CreateTrainingJob, which has no client token: a retry by botocore would hide what became of the first try."""

SHORT_READS = CALL_LIMITS.merge(
    Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 1})
)
"""For S3: what is not read at once is not compared (``headway_service.reuse.reader.MAX_READ_MS``), or not seen
(``headway_service.checkpoints.reads.MAX_READS_MS``)."""

WAKE_GROUP = "schedule"
"""The one message group of the wake queue, so that SQS hands its messages to one invocation at a time."""
