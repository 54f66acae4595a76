"""The account's quotas, as Service Quotas shows them, and what SageMaker says to more."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headway.instances.specs import spec_of
from headway.reasons.codes import ReasonCode
from headway_verification.acceptance.errors import NotAsked
from headway_verification.acceptance.evidence import Answer, QuotaUse, Runs
from headway_verification.acceptance.gathering import requests
from headway_verification.acceptance.gathering.asking import answer_to
from headway_verification.acceptance.target import Target
from headway_verification.acceptance.temporary import Temporary

TRAINING = " for training job usage"
WARM = " for training warm pool usage"
"""The ends of the quotas' names, after the instance type (AWS General Reference, "SageMaker endpoints and quotas")."""

_PLAIN = re.compile(r"ml\.[cmtr]\d\w*\.\w+")
"""Types without accelerators. Of these the smallest is taken, should AWS let the request pass."""


def all_of(target: Target) -> Mapping[str, float]:
    """Return the quotas of SageMaker, by name.

    AWS may leave out of the account's own what was never raised (service model, ListServiceQuotas): there its default
    applies.
    """
    client = target.client("service-quotas")
    listed = [
        each
        for operation in ("list_aws_default_service_quotas", "list_service_quotas")
        for page in client.get_paginator(operation).paginate(ServiceCode="sagemaker")
        for each in page["Quotas"]
    ]
    return {each["QuotaName"]: each["Value"] for each in listed}


def over_quota(target: Target, temporary: Temporary, quotas: Mapping[str, float]) -> Answer:
    """Ask for an instance of a type whose quota is 0; the request could not run either if it were accepted.

    Raises:
        NotAsked: no type without accelerators has a quota of 0.
    """
    without = (name.removesuffix(TRAINING) for name, value in quotas.items() if name.endswith(TRAINING) and not value)
    # Service Quotas lists types, too, that CreateTrainingJob does not know.
    known = [spec for each in without if _PLAIN.fullmatch(each) and (spec := spec_of(each)) is not None]
    chosen = min(known, key=lambda spec: (spec.vcpus, spec.name), default=None)
    if chosen is None:
        raise NotAsked("Service Quotas shows no instance type of the families c, m, r and t with a quota of 0.")
    request = requests.cannot_start(target, temporary, chosen.name)
    client = target.client("sagemaker")
    answer = answer_to(lambda: client.create_training_job(**request))
    if answer.is_accepted:
        client.stop_training_job(TrainingJobName=request["TrainingJobName"])
    return answer


def use(target: Target, quotas: Mapping[str, float], runs: Runs) -> QuotaUse:
    """Return the pool's quota beside what the queue's histories say of its launches."""
    name = f"{target.instance_type}{TRAINING}"
    all_runs = (runs.works, runs.stopped, runs.fails)
    reasons = [each for run in all_runs for each in run.reasons]
    return QuotaUse(
        name=name,
        quota=quotas.get(name),
        pool_size=runs.pool_size,
        postponed=tuple(each for each in reasons if each.startswith(f"{ReasonCode.LAUNCH_POSTPONED}:")),
        unlaunched=tuple(run.job for run in all_runs if not run.attempt),
    )
