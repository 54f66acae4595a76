"""The two clocks of the service.

*Training time* is the time by which SageMaker reports training jobs: when a job was submitted, started and ended, its
limit, its minimum run time, aging, forecasts, and each time that is shown.

*Machine time* is the time of the machines that run the service: leases, deadlines and back-offs of calls, how old an
answer of SageMaker is, and when DynamoDB may delete an item.

On AWS both are the system's clock. Whoever runs SageMaker at another speed provides another training time.
"""

from __future__ import annotations

import time


def training_time_ms() -> int:
    """The training time, ms since the epoch."""
    return machine_time_ms()


def machine_time_ms() -> int:
    """The machine time, ms since the epoch."""
    return time.time_ns() // 1_000_000
