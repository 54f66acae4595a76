"""Hours of a run in which SageMaker refuses some launches, and nothing else goes wrong: the queue has to go on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from http import HTTPStatus
from random import Random
from typing import Any

from headway_sandbox.sagemaker.faults import Faults
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults.plan import FaultRates
from headway_verification.soak.invariants.liveness.truth import Said
from headway_verification.soak.workload.users import CALM_ACTS, Workload

STEP_S = 120
"""The virtual time that passes at once, s ..."""

STEPS = 75
"""... and how often."""

ACT_SHARE = 0.4
"""How often users act."""

ASKED_EVERY = 3
"""After each third step the API is asked about some waiting jobs ..."""

ASKED = 2
"""... about so many."""


def stay_calm(queue: Deployment, people: Workload, random: Random, drain: Callable[[Deployment], None]) -> None:
    """Let hours pass, in which users act now and then, and check that the queue goes on.

    Args:
        people: the users.
        random: determines when they act, and about which jobs the API is asked.
        drain: runs all invocations to their ends.

    Raises:
        Violated: an invariant does not hold.
    """
    became_calm(queue, drain)
    people.names_each = True
    for step in range(STEPS):
        if random.random() < ACT_SHARE:
            people.act(CALM_ACTS)
        pass_calmly(queue, drain, random if step % ASKED_EVERY == 0 else None)
    queue.liveness.end()


def became_calm(queue: Deployment, drain: Callable[[Deployment], None], outage_s: float | None = None) -> None:
    """End all faults but what SageMaker refuses for hours.

    Args:
        drain: runs all invocations to their ends.
        outage_s: for how long there were faults, s; None for all the time until now.
    """
    queue.faults.rates = FaultRates(switch=queue.faults.rates.switch)
    queue.set_account(Faults(warm_pool_quotas=queue.fleet.faults.warm_pool_quotas).with_changes(queue.temper))
    queue.set_lags(lags=False)
    drain(queue)
    queue.liveness.begin(queue.now_s, queue.passed_s if outage_s is None else outage_s)


def pass_calmly(queue: Deployment, drain: Callable[[Deployment], None], random: Random | None = None) -> None:
    """Let time pass, and check that the queue goes on.

    Args:
        drain: runs all invocations to their ends.
        random: selects the waiting jobs that the API is asked about; None for no jobs.

    Raises:
        Violated: an invariant does not hold.
    """
    queue.pass_time(STEP_S)
    drain(queue)

    def sample(waiting: Collection[str]) -> Collection[str]:
        return random.sample(sorted(waiting), min(ASKED, len(waiting))) if random is not None else ()

    queue.liveness.check(queue.now_s, lambda job: _ask(queue, job), sample)


def _ask(queue: Deployment, job: str) -> Said | None:
    """Ask the API about a job; None if it does not answer."""
    answers: list[tuple[int, Any]] = []
    process = queue.ask("GET", f"/jobs/{job}", then=lambda status, document: answers.append((status, document)))
    queue.finish(process)
    if not answers or answers[0][0] != HTTPStatus.OK:
        return None
    return Said(job=job, reason=answers[0][1]["reason"], now_ms=int((queue.now_s + process.skew_s) * 1000))
