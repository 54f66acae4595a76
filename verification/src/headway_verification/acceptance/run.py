"""A run: the questions, then the verdicts, then the report."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from headway_client.version import __version__
from headway_verification.acceptance.catalogue import CHECKS
from headway_verification.acceptance.evidence import Evidence
from headway_verification.acceptance.gathering.everything import gather
from headway_verification.acceptance.gathering.jobs import pool_size
from headway_verification.acceptance.report import Report, Result
from headway_verification.acceptance.target import Target
from headway_verification.acceptance.temporary import cleaned
from headway_verification.acceptance.verdict import Check, Finding, unchecked


def examine(target: Target, *, jobs_s: float, tell: Callable[[str], None]) -> Report:
    """Put all questions to a queue's AWS account, and judge the answers.

    Args:
        jobs_s: how long the jobs are waited for, s.
        tell: called with each step.

    Raises:
        CannotAccept: the queue has no pool for the run's jobs.
    """
    began, start = datetime.now(UTC), time.monotonic()
    pool_size(target)
    with cleaned(target, tell) as temporary:
        evidence = gather(target, temporary, jobs_s=jobs_s, tell=tell)
        tell("The removal of what the run has created")
    return Report(
        began=began,
        where=f"{target.stack} in {target.region}, account {target.identity['Account']}",
        is_sandbox=target.is_sandbox,
        version=__version__,
        took_s=time.monotonic() - start,
        results=[Result(check=each, finding=judge(each, evidence, is_sandbox=target.is_sandbox)) for each in CHECKS],
    )


def judge(check: Check, evidence: Evidence, *, is_sandbox: bool) -> Finding:
    """Return what a check finds; what a sandbox cannot show is not asked of one."""
    if is_sandbox and check.sandbox:
        return unchecked(f"a sandbox cannot show it: {check.sandbox}")
    return check.run(evidence)
