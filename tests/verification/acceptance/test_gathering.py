"""The questions that a sandbox answers only in part, on a fake SageMaker."""

from __future__ import annotations

import time
from typing import Any

import pytest

from headway.errors import HeadwayError
from headway_verification.acceptance.checks.training_jobs import over_quota, warm_pool_released
from headway_verification.acceptance.errors import CannotAccept, NotAsked
from headway_verification.acceptance.evidence import Answer, Missing
from headway_verification.acceptance.gathering import quotas, requests, stack
from headway_verification.acceptance.gathering.asking import gathered, present
from headway_verification.acceptance.gathering.jobs import pool_size
from headway_verification.acceptance.gathering.signals import init_times
from headway_verification.acceptance.gathering.warm_pool import warm_pool
from headway_verification.acceptance.temporary import Temporary
from headway_verification.acceptance.verdict import Verdict
from headway_verification.acceptance.waiting import until
from tests.verification.acceptance import fakes
from tests.verification.acceptance.aws import SageMaker, account

NO_C5 = {
    "ml.c1.large for training job usage": 0.0,
    "ml.c5.9xlarge for training job usage": 0.0,
    "ml.c5.xlarge for training job usage": 0.0,
    "ml.m5.large for training job usage": 1.0,
}
"""The first one is a type that SageMaker does not train on, and the second one is not the cheapest."""


@pytest.fixture(autouse=True)
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)


# ---------------------------------------------------------------------------------------------------------- quotas


def test_a_type_without_a_quota_is_asked_for_with_an_image_that_does_not_exist() -> None:
    sagemaker = SageMaker(quotas={"ml.c5.xlarge": 0})
    target = account(sagemaker=sagemaker.client)
    answer = quotas.over_quota(target, Temporary(target), NO_C5)
    assert over_quota(answer).verdict is Verdict.HOLDS
    request = requests.cannot_start(target, Temporary(target), "ml.c5.xlarge")
    assert request["AlgorithmSpecification"]["TrainingImage"].endswith("/headway-accept-has-no-such-image:none")
    assert request["ResourceConfig"]["InstanceType"] == "ml.c5.xlarge"
    assert request["StoppingCondition"]["MaxRuntimeInSeconds"] == requests.MAX_RUN_S


def test_a_training_job_that_the_quota_lets_pass_is_stopped_at_once() -> None:
    sagemaker = SageMaker()
    target = account(sagemaker=sagemaker.client)
    assert quotas.over_quota(target, Temporary(target), NO_C5).is_accepted
    assert sagemaker.calls == ["CreateTrainingJob", "StopTrainingJob"]


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"ml.c5.xlarge for training job usage": 1.0},
        {"ml.c5.xlarge for spot training job usage": 0.0},
        {"ml.p5.48xlarge for training job usage": 0.0},
    ],
)
def test_nothing_is_asked_for_without_a_cheap_type_of_quota_0(known: dict[str, float]) -> None:
    sagemaker = SageMaker()
    target = account(sagemaker=sagemaker.client)
    with pytest.raises(NotAsked, match="a quota of 0"):
        quotas.over_quota(target, Temporary(target), known)
    assert sagemaker.calls == []


def test_the_use_of_the_quota_has_the_launches_that_were_postponed() -> None:
    late = fakes.run("c", attempt="", reasons=("Entered: enters", "LaunchPostponed: a quota", "BacksOff: waits"))
    use = quotas.use(account(), NO_C5, fakes.runs(fails=late))
    assert (use.quota, use.postponed, use.unlaunched) == (1.0, ("LaunchPostponed: a quota",), ("c",))


# ------------------------------------------------------------------------------------------------------- warm pools


def test_a_warm_pool_is_left_and_released() -> None:
    sagemaker = SageMaker(warm_pool_quotas={"ml.m5.large": 1})
    target = account(sagemaker=sagemaker.client)
    # Only a sandbox knows how long a job takes that does not run.
    object.__setattr__(target, "connection", fakes_connection(target.connection))
    found = warm_pool(target, Temporary(target), {"ml.m5.large for training warm pool usage": 1.0})
    assert (found.before, found.after) == ("Available", "Terminated")
    assert warm_pool_released(found).verdict is Verdict.HOLDS


def fakes_connection(connection: Any) -> Any:
    return type(connection)(endpoint=connection.endpoint, region=connection.region, aws_endpoint="http://127.0.0.1:1")


@pytest.mark.parametrize("known", [{}, {"ml.m5.large for training warm pool usage": 0.0}])
def test_without_a_quota_no_warm_pool_is_asked_for(known: dict[str, float]) -> None:
    sagemaker = SageMaker()
    with pytest.raises(NotAsked, match="it has to be 1 or more"):
        warm_pool(account(sagemaker=sagemaker.client), Temporary(account()), known)
    assert sagemaker.calls == []


# ------------------------------------------------------------------------------------------------------ small things


@pytest.mark.parametrize("pools", [{}, {"ml.m5.large": 0}, {"ml.p5.48xlarge": 2}])
def test_a_queue_without_a_pool_for_the_jobs_says_what_to_do(pools: dict[str, int]) -> None:
    target = account()
    target.api.pools = pools  # type: ignore[attr-defined]
    with pytest.raises(CannotAccept, match=r"has no pool of ml.m5.large with instances.*headway config set"):
        pool_size(target)


def test_the_temporary_stack_keeps_one_topic_and_deletes_the_other() -> None:
    resources = stack.template({"kept": "a", "deleted": "b"})["Resources"]
    policies = {name: each["DeletionPolicy"]["Fn::If"] for name, each in resources.items()}
    assert policies == {"Kept": ["Keeps", "Retain", "Delete"], "Deleted": ["Keeps", "Delete", "Retain"]}


def test_cold_starts_are_read_in_both_formats_of_logs() -> None:
    lines = [
        "REPORT RequestId: a\tDuration: 1.00 ms\tMax Memory Used: 90 MB\tInit Duration: 812.35 ms\t",
        '{"type": "platform.report", "record": {"metrics": {"durationMs": 1.0, "initDurationMs": 900.5}}}',
        '{"type": "platform.report", "record": {"metrics": {"durationMs": 1.0}}}',
        '{"message": "initDurationMs"}',
        "initDurationMs",
    ]
    assert list(init_times(lines)) == [812.35, 900.5]


def test_a_part_that_fails_is_missing_with_the_reason() -> None:
    def fail() -> None:
        raise HeadwayError("No permission.")

    assert gathered(fail) == Missing(why="No permission.")
    with pytest.raises(NotAsked, match=r"No permission\."):
        present(gathered(fail))
    assert present(gathered(Answer)) == Answer()


def test_a_fault_of_the_acceptance_itself_is_no_missing_evidence() -> None:
    def fail() -> None:
        raise KeyError("a mistake")

    with pytest.raises(KeyError):
        gathered(fail)


def test_a_wait_ends_with_the_first_true_result_or_at_its_limit() -> None:
    results = iter([0, 0, 7, 8])
    assert until(lambda: next(results), timeout_s=60, every_s=1) == 7
    assert until(lambda: 0, timeout_s=0, every_s=1) == 0
