"""The usage that counts against each quota, and its duration."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.request_builder import P5
from headway_sandbox.sagemaker.service import FakeSageMaker
from tests.sandbox.fleets import on, request, spot


def refusal(fleet: FakeSageMaker, document: dict[str, Any], now: float = 0.0) -> str:
    """Return the code and message of a refused CreateTrainingJob; empty if it is accepted."""
    try:
        fleet.create(document, now=now)
    except AwsError as error:
        return f"{error.code}: {error.message}"
    return ""


def test_spot_and_other_training_jobs_have_separate_quotas():
    fleet = FakeSageMaker(faults=Faults(quotas={P5: 1}, spot_quotas={P5: 1}))
    assert refusal(fleet, request("a")) == refusal(fleet, spot("b")) == ""
    told = (
        "ResourceLimitExceeded: The account-level service limit 'ml.p5.48xlarge for {} job usage' is 1 Instances, with "
    )
    assert refusal(fleet, request("c")).startswith(told.format("training"))
    assert refusal(fleet, spot("d")).startswith(told.format("spot training"))


@pytest.mark.parametrize(("faults", "refused"), [({"quotas": {P5: 0}}, "a"), ({"spot_quotas": {P5: 0}}, "b")])
def test_a_quota_limits_one_kind_of_jobs_only(faults, refused):
    fleet = FakeSageMaker(faults=Faults(**faults))
    assert [name for name, kind in (("a", request), ("b", spot)) if refusal(fleet, kind(name))] == [refused]


@pytest.mark.parametrize("ends", ["stop", "finish", "fail"])
def test_an_ended_job_counts_for_a_while_if_usage_lags_its_end(ends):
    fleet = FakeSageMaker(faults=Faults(quotas={P5: 1}, quota_lag_s=90))
    fleet.create(request("a"), now=0.0)
    if ends == "stop":
        fleet.stop("a", now=0.0)
    else:
        getattr(fleet, ends)("a", *(["AlgorithmError: no"] if ends == "fail" else []), now=0.0)
    ended = next(now for now in range(1000) if (job := fleet.find("a", now=now)) and job.ended)
    assert "current utilization of 1 Instances" in refusal(fleet, request("b"), now=ended + 89.0)
    assert refusal(fleet, request("b"), now=ended + 90.0) == ""


def test_a_type_that_the_region_does_not_have_is_refused_whatever_the_quota():
    fleet = FakeSageMaker(faults=Faults(quotas={P5: 9}, unavailable_types=[P5]))
    assert refusal(fleet, request("a")) == (
        "ResourceLimitExceeded: The requested resource training-job/ml.p5.48xlarge is not available in this region"
    )
    assert refusal(fleet, request("a", ResourceConfig=on("ml.c5.xlarge"))) == ""
    assert Faults(**fleet.faults.to_document()) == fleet.faults


def test_by_default_an_ended_job_does_not_count():
    fleet = FakeSageMaker(faults=Faults(quotas={P5: 1}))
    fleet.create(request("a"), now=0.0)
    fleet.finish("a", now=1.0)
    assert refusal(fleet, request("b"), now=1.0) == ""
