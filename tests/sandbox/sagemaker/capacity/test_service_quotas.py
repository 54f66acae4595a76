"""Service Quotas shows the quotas by which the sandbox's SageMaker refuses training jobs."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.validate import validate_parameters

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.api import request_validation
from headway_sandbox.sagemaker.capacity import service_quotas
from headway_sandbox.sagemaker.faults import Faults

P5 = "ml.p5.48xlarge"
APPLIED, DEFAULT = "ListServiceQuotas", "ListAWSDefaultServiceQuotas"


def call(operation: str, faults: Faults | None = None, **request: Any) -> dict[str, Any]:
    request = {"ServiceCode": "sagemaker", **request}
    return service_quotas.answer(operation, request, faults or Faults(), account="123456789012", region="eu-west-1")


def listed(operation: str, faults: Faults | None = None) -> dict[str, float]:
    found: list[dict[str, Any]] = []
    more: dict[str, Any] = {}
    while True:
        page = call(operation, faults, **more)
        found += page["Quotas"]
        if "NextToken" not in page:
            return {each["QuotaName"]: each["Value"] for each in found}
        more = {"NextToken": page["NextToken"]}


@pytest.mark.parametrize(
    ("switches", "name", "value"),
    [
        ({"quotas": {P5: 3}}, f"{P5} for training job usage", 3),
        ({"spot_quotas": {P5: 4}}, f"{P5} for spot training job usage", 4),
        ({"warm_pool_quotas": {P5: 5}}, f"{P5} for training warm pool usage", 5),
        ({"account_limits": {service_facts.ALL_TRAINING: 6}}, "Number of instances across all training jobs", 6),
        ({}, f"{P5} for training job usage", 10_000),
        ({}, "Longest run time for a training job", 28 * 86_400),
    ],
)
def test_the_accounts_quotas_are_the_sandboxs(switches: dict[str, Any], name: str, value: float):
    assert listed(APPLIED, Faults(**switches))[name] == value


@pytest.mark.parametrize(
    ("switches", "name"),
    [
        ({"quotas": {P5: 0}}, f"{P5} for training job usage"),
        ({}, f"{P5} for training warm pool usage"),
        (
            {"account_limits": {service_facts.LONGEST_RUN: 432_000}},
            "Longest run time for a training job",
        ),
    ],
)
def test_a_quota_that_was_never_raised_is_in_the_list_of_defaults_only(switches: dict[str, Any], name: str):
    assert name not in listed(APPLIED, Faults(**switches))
    assert name in listed(DEFAULT)


def test_defaults_are_those_of_a_new_account():
    defaults = listed(DEFAULT, Faults(quotas={P5: 9}))
    assert defaults[f"{P5} for training job usage"] == 0
    assert defaults["Longest run time for a training job"] == 432_000


@pytest.mark.parametrize("operation", [APPLIED, DEFAULT])
def test_lists_are_as_the_service_model_has_them(operation: str):
    shape = request_validation.service_model("service-quotas").operation_model(operation).output_shape
    page = call(operation, MaxResults=7)
    assert shape is not None
    validate_parameters(page, shape)
    assert len(page["Quotas"]) == 7


@pytest.mark.parametrize(("listing", "getting"), [(APPLIED, "GetServiceQuota"), (DEFAULT, "GetAWSDefaultServiceQuota")])
def test_a_quota_of_a_list_can_be_read_by_its_code(listing: str, getting: str):
    quota = call(listing)["Quotas"][0]
    assert call(getting, QuotaCode=quota["QuotaCode"]) == {"Quota": quota}


@pytest.mark.parametrize(
    ("operation", "request_", "code"),
    [
        ("RequestServiceQuotaIncrease", {}, "UnknownOperationException"),
        (APPLIED, {"ServiceCode": "ec2"}, "NoSuchResourceException"),
        (APPLIED, {"MaxResults": 101}, "IllegalArgumentException"),
        (APPLIED, {"NextToken": "x"}, "InvalidPaginationTokenException"),
        ("GetServiceQuota", {"QuotaCode": "L-00000000"}, "NoSuchResourceException"),
    ],
)
def test_a_wrong_request_is_refused(operation: str, request_: dict[str, Any], code: str):
    with pytest.raises(AwsError) as refused:
        call(operation, **request_)
    assert refused.value.code == code
