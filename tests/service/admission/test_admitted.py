"""What follows from a request that may enter the queue, as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from headway.dependencies import Condition
from headway.job_terms import JobTerms
from headway_service.admission.admit import admit
from headway_service.admission.admitted import Admitted
from headway_service.admission.arrays import AdmittedArray
from headway_service.admission.kept import Kept, keep
from headway_service.admission.submission import Submission
from headway_service.config.document import validate
from headway_service.sagemaker_api.run_source import run_source
from headway_service.sagemaker_api.warm_pools import warm_key
from headway_service.store.records.alternative import AlternativeRecord
from headway_service.store.records.dependency import DependencyRecord
from headway_service.store.records.reuse import ReuseRecord
from tests.service.admission.drafts import tagged
from tests.service.world import P5, ROOT, on, request

G5 = "ml.g5.xlarge"
PLAN = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/spring"
PLAN_POOL = f"{P5}.plan.spring"
POOLS: dict[str, Any] = {P5: {"size": 2}, G5: {"size": 8}, PLAN_POOL: {"plan": PLAN, "size": 4}}
PLAIN = validate({"pools": POOLS})
RICH = validate(
    {
        "pools": POOLS,
        "teams": {"red": {}},
        "predictions": True,
        "warmPools": {"maxSeconds": 600},
        "preemption": {"optOut": True},
        "maxPendingSeconds": 900,
        "overheadSeconds": 100,
    }
)
RUN_MS = 86_400_000
OVERHEAD_MS = 1_800_000
TERMS: dict[str, Any] = {"priority": 0, "entry_time_ms": 0, "limit_ms": RUN_MS + OVERHEAD_MS}


def kept(made: dict[str, Any]) -> Kept:
    return keep(Submission(request=made), None)


def test_of_a_plain_request_nothing_follows_but_its_demand_and_its_limit() -> None:
    made = request("a", ResourceConfig=on(2))
    assert admit(made, PLAIN, ROOT) == Admitted(
        name="a",
        request=kept(made).request,
        digest=kept(made).digest,
        demand={P5: 2},
        max_run_s=RUN_MS // 1000,
        terms=JobTerms(**TERMS, allowance_ms=OVERHEAD_MS),
    )


def test_of_a_request_that_says_all_all_of_it_follows() -> None:
    made = request(
        "a",
        ResourceConfig={**on(1), "KeepAlivePeriodInSeconds": 300},
        CheckpointConfig={"S3Uri": "s3://jobs/checkpoints"},
        StoppingCondition={"MaxRuntimeInSeconds": 1000},
        **tagged(
            ("priority", "7"),
            ("team", "red"),
            ("headway:preemptible", "false"),
            ("headway:checkpoint-interval-s", "60"),
            ("headway:max-preemptions", "2"),
            ("headway:max-retries", "1"),
        ),
    )
    others = [
        {"ResourceConfig": {**on(3), "TrainingPlanArn": PLAN}},
        {
            "ResourceConfig": on(4, G5),
            "EnableManagedSpotTraining": True,
            "StoppingCondition": {"MaxRuntimeInSeconds": 500, "MaxWaitTimeInSeconds": 700},
        },
    ]
    submission = Submission(
        request=made,
        alternatives=others,
        wait_at_most_s=60,
        portable_checkpoint=True,
        depends_on=[{"job": "x"}, {"job": "y", "condition": "any"}],
        sweep={"grid": {"p": ["1", "2"]}},
        at_once=1,
        max_failures=0,
        reuse=True,
        reuse_unpinned=True,
    )
    array = AdmittedArray(sweep='{"grid":{"p":["1","2"]}}', count=2, at_once=1, max_failures=0)
    limit_ms = (1000 + 900 + 100) * 1000
    assert admit(submission, RICH, ROOT) == Admitted(
        name="a",
        request=kept(made).request,
        digest=keep(submission, array).digest,
        alternatives=keep(submission, array).alternatives,
        choices=(
            AlternativeRecord(
                demand={P5: 1},
                limit_ms=limit_ms,
                max_run_s=1000,
                pending_limit_s=900,
                warm_key=warm_key(made),
                keep_s=300,
            ),
            AlternativeRecord(demand={PLAN_POOL: 3}, limit_ms=limit_ms, max_run_s=1000, pending_limit_s=900),
            AlternativeRecord(
                demand={G5: 4},
                limit_ms=(700 + 100) * 1000,
                max_run_s=500,
                on_demand_limit_ms=(500 + 900 + 100) * 1000,
                pending_limit_s=900,
            ),
        ),
        wait_at_most_s=60,
        portable_checkpoint=True,
        array=array,
        depends_on=(
            DependencyRecord(job_name="x", condition=Condition.OK),
            DependencyRecord(job_name="y", condition=Condition.ANY),
        ),
        reuse=ReuseRecord(unpinned=True),
        demand={P5: 1},
        max_run_s=1000,
        terms=JobTerms(
            priority=7,
            entry_time_ms=0,
            team="red",
            limit_ms=limit_ms,
            allowance_ms=(900 + 100) * 1000,
            preemptible=False,
            max_preemptions=2,
            max_retries=1,
            checkpoints=True,
            checkpoints_every_ms=60_000,
            warm_key=warm_key(made),
            keep_ms=300_000,
            stops_for_size=True,
            source=run_source(made),
        ),
        pending_limit_s=900,
    )


def test_a_request_for_spot_has_two_limits_and_no_allowance() -> None:
    condition = {"MaxRuntimeInSeconds": 500, "MaxWaitTimeInSeconds": 700}
    made = request("a", EnableManagedSpotTraining=True, StoppingCondition=condition)
    assert admit(made, PLAIN, ROOT) == Admitted(
        name="a",
        request=kept(made).request,
        digest=kept(made).digest,
        demand={P5: 1},
        max_run_s=500,
        terms=JobTerms(**{**TERMS, "limit_ms": 700_000 + OVERHEAD_MS}),
        on_demand_limit_ms=500_000 + OVERHEAD_MS,
    )


def test_the_demand_of_all_alternatives_is_their_sum() -> None:
    others = [{"ResourceConfig": on(4, G5)}]
    assert admit(Submission(request=request("a"), alternatives=others), PLAIN, ROOT).all_demands == {P5: 1, G5: 4}
    assert admit(request("a"), PLAIN, ROOT).all_demands == {P5: 1}


@pytest.mark.parametrize(
    ("configuration", "kept_s", "expected"),
    [
        (PLAIN, 300, (True, "", 0)),
        (PLAIN, 0, (False, "", 0)),
        (RICH, 300, (False, warm_key(request("a")), 300_000)),
        (RICH, 0, (False, warm_key(request("a")), 0)),
    ],
    ids=["asked for, and left out", "not asked for", "asked for, and kept", "not asked for, but matched"],
)
def test_a_warm_pool_is_kept_or_removed_at_the_launch(
    configuration: Any, kept_s: int, expected: tuple[bool, str, int]
) -> None:
    resources = {**on(1), "KeepAlivePeriodInSeconds": kept_s}
    found = admit(request("a", ResourceConfig=resources, **tagged(("team", "red"))), configuration, ROOT)
    assert (found.warm_pool, found.terms.warm_key, found.terms.keep_ms) == expected


@pytest.mark.parametrize(
    ("maximum", "priority", "expected"),
    [(9, None, 3), (2, None, 2), (9, "5", 5), (9, "0", 0)],
    ids=["the default", "the most of the team, which is lower", "that of the tag", "none"],
)
def test_the_priority_is_that_of_the_tag_or_the_default_of_the_team(
    maximum: int, priority: str | None, expected: int
) -> None:
    configuration = validate(
        {"pools": POOLS, "priority": {"default": 3, "maximum": 9}, "teams": {"red": {"maxPriority": maximum}}}
    )
    tags = [("team", "red"), *([("priority", priority)] if priority else [])]
    assert admit(request("a", **tagged(*tags)), configuration, ROOT).terms.priority == expected
