"""What else a job can run on than its request says."""

from __future__ import annotations

from headway_service.store.records.base import Record
from headway_service.store.records.failed_launches import FailedLaunchesRecord


class AlternativeRecord(Record):
    """One of the things that a job can run on, with what follows from it for an attempt."""

    demand: dict[str, int]
    #: The job holds its instances no longer than this once it has started, ms; None if nothing limits it.
    limit_ms: int | None = None
    #: The MaxRuntimeInSeconds of its request; None in items of a time before it was kept.
    max_run_s: int | None = None
    #: Its limit on on-demand instances, ms; None if it does not ask for spot instances.
    on_demand_limit_ms: int | None = None
    #: How long an attempt on on-demand instances may wait for them, s; None for no limit.
    pending_limit_s: int | None = None
    #: What SageMaker matches warm pools by, and for how long instances are kept, s. Only of the first preference.
    warm_key: str = ""
    keep_s: int = 0
    #: The last launches of the job on it that got no instances; None if the last one got some, or there was none.
    failed: FailedLaunchesRecord | None = None
