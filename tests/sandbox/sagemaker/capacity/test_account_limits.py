"""Quotas of the account that are not of one instance type, and AWS's words for each."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.request_builder import P5
from headway_sandbox.sagemaker.service import FakeSageMaker
from tests.sandbox.fleets import on, play, request, spot

LONGEST_RUN_S = 432_000
"""The value of a new account."""
RULES = [{"RuleConfigurationName": f"rule-{number}", "RuleEvaluatorImage": "rules"} for number in range(3)]
ASK = (
    "Please use AWS Service Quotas to request an increase for this quota. If AWS Service Quotas is not available, "
    "contact AWS support to request an increase for this quota."
)


def refusal(fleet: FakeSageMaker, document: dict[str, Any], now: float = 0.0) -> str:
    """Return the code and message of a refused CreateTrainingJob; empty if it is accepted."""
    try:
        fleet.create(document, now=now)
    except AwsError as error:
        return f"{error.code}: {error.message}"
    return ""


def limited(**limits: int) -> FakeSageMaker:
    names = {name: getattr(service_facts, name.upper()) for name in limits}
    return FakeSageMaker(faults=Faults(account_limits={names[name]: size for name, size in limits.items()}))


def runs(run_s: int | None) -> dict[str, Any]:
    return {"StoppingCondition": None if run_s is None else {"MaxRuntimeInSeconds": run_s}}


LONGEST = "The account-level service limit 'Longest run time for a training job' is 432000 Seconds, with current "


@pytest.mark.parametrize(
    ("size", "run_s", "told"),
    [
        (LONGEST_RUN_S, LONGEST_RUN_S, ""),
        (LONGEST_RUN_S, LONGEST_RUN_S + 1, f"{LONGEST}utilization of 0 Seconds and a request delta of 432001 Seconds."),
        (86_400, None, ""),
        (86_399, None, "'Longest run time for a training job' is 86399 Seconds"),
    ],
)
def test_a_longer_run_than_the_account_allows_is_refused_however_often(size, run_s, told):
    fleet = limited(longest_run=size)
    for now in (0.0, 86_400.0):
        found = refusal(fleet, request(f"a-{now:.0f}", **runs(run_s)), now=now)
        assert found.startswith("ResourceLimitExceeded: " if told else "")
        assert told in found
        assert bool(found) == bool(told)


@pytest.mark.parametrize(
    ("limit", "kind", "other"), [("all_training", request, spot), ("all_spot_training", spot, request)]
)
def test_instances_of_all_types_count_together_and_spot_ones_apart(limit, kind, other):
    fleet = limited(**{limit: 3})
    assert refusal(fleet, kind("a", ResourceConfig=on(P5, 2))) == ""
    assert refusal(fleet, other("b", ResourceConfig=on("ml.c5.xlarge", 9))) == ""
    name = getattr(service_facts, limit.upper())
    assert refusal(fleet, kind("c", ResourceConfig=on("ml.c5.xlarge", 2))) == (
        f"ResourceLimitExceeded: The account-level service limit '{name}' is 3 Instances, with current utilization of "
        f"2 Instances and a request delta of 2 Instances. {ASK}"
    )
    assert refusal(fleet, kind("d", ResourceConfig=on("ml.c5.xlarge", 1))) == ""


def test_a_job_with_more_instances_than_any_may_have_is_refused_in_an_empty_account():
    fleet = limited(largest_job=20)
    assert refusal(fleet, request("a", ResourceConfig=on(P5, 20))) == ""
    assert "utilization of 0 Instances and a request delta of 21" in refusal(
        fleet, request("b", ResourceConfig=on(P5, 21))
    )


@pytest.mark.parametrize("kind", ["DebugRuleConfigurations", "ProfilerRuleConfigurations"])
def test_each_rule_takes_an_instance_of_the_processing_jobs_while_its_training_job_runs(kind):
    fleet = limited(all_processing=4)
    assert refusal(fleet, request("a", **{kind: RULES})) == ""
    assert refusal(fleet, request("b", **{kind: RULES[:2]})) == (
        "ResourceLimitExceeded: The account-level service limit 'Number of instances across all processing jobs' is 4 "
        f"Instances, with current utilization of 3 Instances and a request delta of 2 Instances. {ASK}"
    )
    assert refusal(fleet, request("c")) == "", "a job without rules needs no processing job"
    play(fleet)
    assert refusal(fleet, request("b", **{kind: RULES[:2]}), now=5000.0) == ""


def test_a_quota_below_what_is_in_use_refuses_only_what_needs_more_of_it():
    fleet = FakeSageMaker()
    fleet.create(request("a", DebugRuleConfigurations=RULES), now=0.0)
    fleet.faults = Faults(account_limits={service_facts.ALL_PROCESSING: 0})
    assert refusal(fleet, request("b")) == ""
    assert "is 0 Instances, with current utilization of 3" in refusal(
        fleet, request("c", DebugRuleConfigurations=RULES)
    )


def test_the_quota_of_a_type_comes_first_and_has_aws_words():
    fleet = FakeSageMaker(faults=Faults(quotas={P5: 3}, account_limits={service_facts.ALL_TRAINING: 1}))
    assert refusal(fleet, request("big", ResourceConfig=on(P5, 4))) == (
        "ResourceLimitExceeded: The account-level service limit 'ml.p5.48xlarge for training job usage' is 3 "
        f"Instances, with current utilization of 0 Instances and a request delta of 4 Instances. {ASK}"
    )
