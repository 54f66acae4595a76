"""Service Quotas, for SageMaker's quotas that the sandbox has (`Faults.quotas` and the like).

A quota without a limit in the sandbox is one that was raised: to the largest pool, or the longest job, that Headway
takes. A value that is AWS's default was never raised; ListServiceQuotas leaves it out, as AWS may (service model: "If
the applied quota value is not available for a quota, the quota is not retrieved").

Sources: service model of Service Quotas (2019-06-24); names and defaults are those of AWS General Reference, "Amazon
SageMaker endpoints and quotas".
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.api import request_validation, tokens
from headway_sandbox.sagemaker.faults import Faults

if TYPE_CHECKING:
    from botocore.model import StringShape

SERVICE = "servicequotas"
"""Its name in signatures and permissions (service model, endpointPrefix; Service Authorization Reference)."""

TARGET_PREFIX = "ServiceQuotasV20190624."
MAX_RESULTS = 100
_SAGEMAKER = "sagemaker"
_RAISED = 10_000
_DEFAULTS: Mapping[str, int] = {
    service_facts.LONGEST_RUN: 432_000,
    service_facts.LARGEST_JOB: 20,
    service_facts.ALL_TRAINING: 20,
    service_facts.ALL_SPOT_TRAINING: 20,
    service_facts.ALL_PROCESSING: 4,
}


def answer(operation: str, request: Mapping[str, Any], faults: Faults, *, account: str, region: str) -> dict[str, Any]:
    """Respond to a call.

    Args:
        faults: The quotas.

    Raises:
        AwsError: The operation or the service is unknown, or the request is not valid.
    """
    if operation not in {
        "ListServiceQuotas",
        "ListAWSDefaultServiceQuotas",
        "GetServiceQuota",
        "GetAWSDefaultServiceQuota",
    }:
        raise AwsError("UnknownOperationException", f"The sandbox's Service Quotas has no {operation}.")
    if request.get("ServiceCode") != _SAGEMAKER:
        raise AwsError("NoSuchResourceException", "The request failed because the specified service does not exist.")
    values = defaults() if "Default" in operation else _applied(faults)
    quotas = [_quota(name, value, account=account, region=region) for name, value in sorted(values.items())]
    if operation.startswith("List"):
        return _page(quotas, request)
    found = next((each for each in quotas if each["QuotaCode"] == request.get("QuotaCode")), None)
    if found is None:
        raise AwsError(
            "NoSuchResourceException", "The request failed because the specified service quota does not exist."
        )
    return {"Quota": found}


def defaults() -> dict[str, int]:
    """Return the values of a new account by their names: no instances of any type."""
    return {**_DEFAULTS, **dict.fromkeys((name for names in _names().values() for name in names), 0)}


def _names() -> dict[str, tuple[str, str, str]]:
    """Return the three quotas of each instance type."""
    shape = request_validation.service_model().shape_for("TrainingInstanceType")
    types = cast("StringShape", shape).enum
    return {
        kind: (
            f"{kind} for training job usage",
            f"{kind} for spot training job usage",
            f"{kind} for training warm pool usage",
        )
        for kind in types
    }


def _applied(faults: Faults) -> dict[str, int]:
    """Return the values of the account, without those that were never raised."""
    raised = {**dict.fromkeys(_DEFAULTS, _RAISED), service_facts.LONGEST_RUN: service_facts.LONGEST_RUN_S}
    values = {**raised, **faults.account_limits}
    for kind, (training, spot, warm) in _names().items():
        values[training] = faults.quotas.get(kind, _RAISED)
        values[spot] = faults.spot_quotas.get(kind, _RAISED)
        values[warm] = faults.warm_pool_quotas.get(kind, 0)
    present = defaults()
    return {name: value for name, value in values.items() if value != present[name]}


def _quota(name: str, value: int, *, account: str, region: str) -> dict[str, Any]:
    code = f"L-{hashlib.sha256(name.encode()).hexdigest()[:8].upper()}"
    return {
        "ServiceCode": _SAGEMAKER,
        "ServiceName": "Amazon SageMaker",
        "QuotaArn": f"arn:aws:servicequotas:{region}:{account}:{_SAGEMAKER}/{code}",
        "QuotaCode": code,
        "QuotaName": name,
        "Value": float(value),
        "Unit": "None",
        "Adjustable": True,
        "GlobalQuota": False,
    }


def _page(quotas: list[dict[str, Any]], request: Mapping[str, Any]) -> dict[str, Any]:
    size = request.get("MaxResults", MAX_RESULTS)
    if not isinstance(size, int) or not 1 <= size <= MAX_RESULTS:
        raise AwsError("IllegalArgumentException", f"MaxResults is from 1 to {MAX_RESULTS}.")
    try:
        begin = tokens.offset(request.get("NextToken"))
    except AwsError:
        raise AwsError("InvalidPaginationTokenException", "Invalid input was provided.") from None
    end = begin + size
    return {"Quotas": quotas[begin:end], **({"NextToken": tokens.token(end)} if end < len(quotas) else {})}
