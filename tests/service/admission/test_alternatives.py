"""What a submission with alternatives may say, and the sentence with which the rest is refused."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.admission.admit import admit
from headway_service.admission.kept import MAX_REQUEST_BYTES
from headway_service.admission.submission import MAX_WAIT_AT_MOST_S, Submission
from headway_service.config.document import validate
from headway_service.errors import ImpossibleDemand, InvalidRequest, RequestError, RequestTooLarge, RuleViolation
from headway_service.sagemaker_api.alternatives import MAX_ALTERNATIVES, with_members
from headway_service.sagemaker_api.redaction import shown
from tests.service.world import P5, ROOT, on, request

G5, G6 = "ml.g5.xlarge", "ml.g6.xlarge"
RULES = {"small": {"require": {"maxInstances": 9}}}
CONFIGURATION = validate({"pools": {P5: {"size": 2}, G5: {"size": 8}, G6: {"size": 4}}, "rules": RULES})
OTHER = {"ResourceConfig": on(2, G5)}
PREFERENCES = {"InstancePreferences": [{"InstanceType": P5}, {"InstanceType": G5}], "InstanceCount": 1}
SERVERLESS = {
    "BaseModelArn": "arn:aws:sagemaker:eu-west-1:aws:hub-content/SageMakerPublicHub/Model/m/1.0.0",
    "JobType": "FineTuning",
}


def refusal(alternatives: Any, made: dict[str, Any] | None = None, **terms: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        admit(Submission(request=made or request("a"), alternatives=alternatives, **terms), CONFIGURATION, ROOT)
    return caught.value


def test_each_alternative_is_admitted_as_a_request_of_its_own() -> None:
    spot = {
        "ResourceConfig": on(4, G6),
        "EnableManagedSpotTraining": True,
        "StoppingCondition": {"MaxRuntimeInSeconds": 1000, "MaxWaitTimeInSeconds": 2000},
    }
    submission = Submission(request=request("a"), alternatives=[OTHER, spot], wait_at_most_s=60)
    found = admit(submission, CONFIGURATION, ROOT)
    overhead_s = CONFIGURATION.overhead_seconds
    assert [each.demand for each in found.choices] == [{P5: 1}, {G5: 2}, {G6: 4}]
    assert [each.limit_ms for each in found.choices] == [
        found.terms.limit_ms,
        found.terms.limit_ms,
        (2000 + overhead_s) * 1000,
    ]
    assert [each.on_demand_limit_ms is not None for each in found.choices] == [False, False, True]
    assert found.demand == {P5: 1}


def test_one_alternative_may_be_a_training_plan_and_then_the_job_may_be_stopped_at_its_end() -> None:
    plan = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/spring"
    pool = f"{P5}.plan.spring"
    configuration = validate({"pools": {P5: {"size": 2}, pool: {"plan": plan, "size": 4}}})
    other = {"ResourceConfig": {**on(4), "TrainingPlanArn": plan}}
    made = request("a", CheckpointConfig={"S3Uri": "s3://jobs/checkpoints"})
    found = admit(Submission(request=made, alternatives=[other]), configuration, ROOT)
    assert [each.demand for each in found.choices] == [{P5: 1}, {pool: 4}]
    assert found.all_demands == {P5: 1, pool: 4}
    assert found.terms.stops_for_size
    assert not admit(made, configuration, ROOT).terms.stops_for_size


def test_a_request_without_alternatives_is_admitted_as_before() -> None:
    alone = admit(request("a"), CONFIGURATION, ROOT)
    assert admit(Submission(request=request("a")), CONFIGURATION, ROOT) == alone
    assert (alone.choices, alone.alternatives) == ((), "")


@pytest.mark.parametrize(
    ("alternatives", "terms", "field", "sentence"),
    [
        ([], {}, "alternatives", f"a list of 1 to {MAX_ALTERNATIVES} objects"),
        ([OTHER] * (MAX_ALTERNATIVES + 1), {}, "alternatives", f"a list of 1 to {MAX_ALTERNATIVES} objects"),
        ("x", {}, "alternatives", "a list of 1"),
        ([{}], {}, "alternatives[0]", "has to be an object with members"),
        (["x"], {}, "alternatives[0]", "has to be an object with members"),
        ([OTHER, {"RoleArn": "x"}], {}, "alternatives[1].RoleArn", "cannot differ between alternatives"),
        ([{"Tags": []}], {}, "alternatives[0].Tags", "cannot differ between alternatives"),
        ([OTHER], {"wait_at_most_s": -1}, "waitAtMostSeconds", "is -1; it is a whole number of seconds from 0"),
        ([OTHER], {"wait_at_most_s": True}, "waitAtMostSeconds", "is True"),
        ([OTHER], {"wait_at_most_s": MAX_WAIT_AT_MOST_S + 1}, "waitAtMostSeconds", f"to {MAX_WAIT_AT_MOST_S}"),
        ([OTHER], {"portable_checkpoint": "yes"}, "portableCheckpoint", "is 'yes'; it is true or false"),
        (None, {"wait_at_most_s": 60}, "waitAtMostSeconds", "is for jobs with alternatives"),
        (None, {"portable_checkpoint": True}, "portableCheckpoint", "is for jobs with alternatives"),
        ([{"ResourceConfig": PREFERENCES}], {}, "alternatives[0].ResourceConfig.InstancePreferences", "combined"),
        ([{"ResourceConfig": on(0, G5)}], {}, "alternatives[0].ResourceConfig.InstanceCount", "is 0"),
        ([{"ResourceConfig": on(2)}], {}, "alternatives[0]", f"needs the pool {P5}, as the request itself does"),
        ([OTHER, {"ResourceConfig": on(1, G5)}], {}, "alternatives[1]", "as alternatives[0] does"),
    ],
)
def test_a_wrong_alternative_is_refused_with_a_sentence(
    alternatives: Any, terms: dict[str, Any], field: str, sentence: str
) -> None:
    error = refusal(alternatives, **terms)
    assert isinstance(error, InvalidRequest)
    assert field in [each.field for each in error.fields]
    assert any(sentence in each.message for each in error.fields), error


def test_an_alternative_that_no_pool_fits_is_refused() -> None:
    for resources, sentence in (
        (on(9, G5), f"the pool {G5} has 8 instances, not 9"),
        (on(1, "ml.g4dn.xlarge"), "no pool"),
    ):
        error = refusal([{"ResourceConfig": resources}])
        assert isinstance(error, ImpossibleDemand)
        assert sentence in str(error)
        assert error.fields[0].field.startswith("alternatives[0].ResourceConfig")


def test_an_alternative_has_to_follow_the_rules() -> None:
    error = refusal([{"ResourceConfig": on(10, G5)}])
    assert isinstance(error, RuleViolation)
    assert error.fields[0].field.startswith("alternatives[0].ResourceConfig")


def test_an_error_of_the_request_itself_is_named_once() -> None:
    error = refusal([OTHER], request("a", RoleArn="x"))
    assert [each.field for each in error.fields] == ["RoleArn"]


def test_preferences_and_alternatives_exclude_each_other() -> None:
    made = request("a", ResourceConfig={**PREFERENCES, "VolumeSizeInGB": 30})
    assert "ResourceConfig.InstancePreferences" in [each.field for each in refusal([OTHER], made).fields]


def test_a_serverless_job_has_no_alternatives() -> None:
    made = request("a", ServerlessJobConfig=SERVERLESS, ResourceConfig=None, AlgorithmSpecification=None)
    assert any("serverless" in each.message for each in refusal([OTHER], made).fields)


def test_the_alternatives_count_for_the_size_of_a_request() -> None:
    large = {**OTHER, "HyperParameters": {f"k{i}": "x" * 2400 for i in range(MAX_REQUEST_BYTES // 2400)}}
    assert isinstance(refusal([large]), RequestTooLarge)


def test_an_alternative_replaces_members_as_a_whole_and_null_removes_one() -> None:
    made = {"HyperParameters": {"a": "1", "b": "2"}, "Environment": {"c": "3"}, "RoleArn": "r"}
    members = {"HyperParameters": {"a": "9"}, "Environment": None}
    assert with_members(made, members) == {"HyperParameters": {"a": "9"}, "RoleArn": "r"}


def test_only_the_first_preference_has_a_warm_pool() -> None:
    warm = validate({"pools": {P5: {"size": 2}, G5: {"size": 8}}, "warmPools": {"maxSeconds": 600}})
    kept = {"KeepAlivePeriodInSeconds": 300}
    made = request("a", ResourceConfig={**on(1), **kept})
    submission = Submission(request=made, alternatives=[{"ResourceConfig": {**on(1, G5), **kept}}])
    first, other = admit(submission, warm, ROOT).choices
    assert (first.keep_s, other.keep_s) == (300, 0)
    assert first.warm_key
    assert not other.warm_key


def test_a_caller_who_may_not_see_details_sees_those_of_no_alternative() -> None:
    others = [{"Environment": {"TOKEN": "x"}, "ResourceConfig": on(1, G5)}, {"HyperParameters": {"a": "1"}}]
    found = shown({"TrainingJobName": "a"}, others, details=False)
    assert found.alternatives == ({"ResourceConfig": on(1, G5)}, {})
    assert found.withheld == ("Environment", "HyperParameters")
    assert shown({"TrainingJobName": "a"}, others, details=True).alternatives == tuple(others)
