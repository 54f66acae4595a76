"""A request with instance preferences is a job with an alternative for each of its types, in their order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_sandbox.sagemaker.faults import Faults
from headway_service.admission.admit import admit
from headway_service.admission.kept import MAX_REQUEST_BYTES
from headway_service.admission.submission import Submission
from headway_service.config.document import validate
from headway_service.errors import ImpossibleDemand, InvalidRequest, RequestTooLarge, RuleViolation
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store.repository import find_stored_request
from tests.service.admission.drafts import told
from tests.service.world import P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
LONG: dict[str, Any] = {"Environment": {"SANDBOX_RUN_SECONDS": "36000"}}
LIST = "ResourceConfig.InstancePreferences"


def prefers(*types: tuple[str, int | None], **more: Any) -> dict[str, Any]:
    """A ResourceConfig with preferences."""
    listed = [{"InstanceType": kind, **({} if count is None else {"InstanceCount": count})} for kind, count in types]
    return {"InstancePreferences": listed, "VolumeSizeInGB": 30, **more}


BOTH = prefers((P5, 2), (G5, 1))
DOCUMENT = {"pools": {P5: {"size": 2}, G5: {"size": 8}}}
CONFIGURATION = validate(DOCUMENT)


def world_of(*, p5: int = 2, g5: int = 2, **faults: Any) -> World:
    world = World(pools={P5: p5, G5: g5})
    world.fleet.faults = Faults(**faults)
    return world


def launched(world: World) -> list[dict[str, Any]]:
    """The ResourceConfig of each launch."""
    return [each["ResourceConfig"] for operation, each in world.calls if operation == "CreateTrainingJob"]


def test_each_preference_is_an_alternative_in_their_order() -> None:
    found = world_of().submit("a", ResourceConfig=BOTH).job
    assert found.demand == {P5: 2}
    assert [each.demand for each in found.choices] == [{P5: 2}, {G5: 1}]
    assert found.history[0].reason.message == f"entered the queue for 2 {P5}; otherwise for 1 {G5}"


def test_the_request_that_is_kept_and_those_of_its_alternatives_name_one_type_each() -> None:
    world = world_of()
    world.submit("a", ResourceConfig=BOTH)
    kept = find_stored_request(world.table, "a")
    assert kept is not None
    assert [kept.of(number)["ResourceConfig"] for number in (0, 1)] == [on(2), on(1, G5)]


@pytest.mark.parametrize(("taken", "resources"), [(P5, on(1, G5)), (G5, on(2))])
def test_it_is_launched_on_the_first_type_that_is_free(taken: str, resources: dict[str, Any]) -> None:
    world = world_of(g5=1)
    world.submit("x", 5, ResourceConfig=on(1, taken), **LONG)
    world.tick()
    world.submit("a", 5, ResourceConfig=BOTH, **LONG)
    world.tick()
    world.check()
    assert launched(world)[1:] == [resources]


def test_if_sagemaker_refuses_the_first_type_it_is_launched_on_the_next() -> None:
    world = world_of(quotas={P5: 0})
    world.submit("a", ResourceConfig=BOTH, **LONG)
    for _ in range(3):
        world.tick()
        world.pass_time(60)
    world.check()
    assert launched(world) == [on(2), on(1, G5)]
    assert world.states("a") == {"a": "running"}


def test_one_preference_is_a_request_without_alternatives() -> None:
    found = admit(request("a", ResourceConfig=prefers((P5, 1))), CONFIGURATION, ROOT)
    assert (found.choices, found.alternatives) == ((), "")
    assert found == admit(request("a"), CONFIGURATION, ROOT)


def test_the_most_preferences_that_sagemaker_takes_are_the_most_alternatives() -> None:
    types = [f"ml.g5.{size}xlarge" for size in (2, 4, 8, 12, 16)]
    pools = validate({"pools": {each: {"size": 1} for each in types}})
    found = admit(request("a", ResourceConfig=prefers(*((each, 1) for each in types))), pools, ROOT)
    assert [each.demand for each in found.choices] == [{each: 1} for each in types]


def test_it_may_wait_for_a_better_type_and_choose_again_as_any_job_with_alternatives() -> None:
    terms: dict[str, Any] = {"wait_at_most_s": 60, "portable_checkpoint": True}
    submission = Submission(request=request("a", ResourceConfig=BOTH), **terms)
    found = admit(submission, CONFIGURATION, ROOT)
    assert (found.wait_at_most_s, found.portable_checkpoint) == (60, True)
    alone = Submission(request=request("a", ResourceConfig=prefers((P5, 1))), **terms)
    with pytest.raises(InvalidRequest, match="is for jobs with alternatives"):
        admit(alone, CONFIGURATION, ROOT)


def test_the_alternatives_that_it_becomes_count_for_its_size() -> None:
    parameters = {f"k{i:04}": "x" * 1000 for i in range(380)}
    resources = prefers((P5, 1), (G5, 1), VolumeKmsKeyId="k" * 2048)
    large = request("a", ResourceConfig=resources, HyperParameters=parameters)
    room = MAX_REQUEST_BYTES - len(json.dumps(large, separators=(",", ":")).encode())
    large["HyperParameters"]["rest"] = "x" * (room - 500)
    with pytest.raises(RequestTooLarge):
        admit(large, CONFIGURATION, ROOT)


ARN = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/p"
GROUP = {"InstanceGroupName": "g", "InstanceType": P5, "InstanceCount": 1}
AN_ANSWER = "is part of an answer of SageMaker, not of a request: remove it"
NOT_BOTH = "cannot be combined with InstancePreferences: keep one of the two"
NEEDED = "is required with each preference, or once in ResourceConfig for all of them"
NO_PLANS = (
    "is not supported by this version of the queue, which counts on-demand instances here: remove it, or give each "
    "instance type an alternative with its ResourceConfig"
)


def planned(*types: str | None) -> list[dict[str, Any]]:
    """Preferences of one instance each, with a training plan or without one."""
    kinds = zip((P5, G5), types, strict=True)
    return [
        {"InstanceType": kind, "InstanceCount": 1, **({"TrainingPlanArns": [arn]} if arn else {})}
        for kind, arn in kinds
    ]


REFUSED: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("a type beside them", prefers((P5, 1), InstanceType=P5), [("ResourceConfig.InstanceType", NOT_BOTH)]),
    ("groups beside them", prefers((P5, 1), InstanceGroups=[GROUP]), [("ResourceConfig.InstanceGroups", NOT_BOTH)]),
    (
        "all that cannot be beside them",
        prefers((P5, 1), InstanceType=P5, InstanceGroups=[GROUP], SelectedInstanceType=P5, SelectedInstanceCount=1),
        [
            ("ResourceConfig.SelectedInstanceType", AN_ANSWER),
            ("ResourceConfig.SelectedInstanceCount", AN_ANSWER),
            ("ResourceConfig.InstanceType", NOT_BOTH),
            ("ResourceConfig.InstanceGroups", NOT_BOTH),
        ],
    ),
    ("one type twice", prefers((P5, 1), (P5, 2)), [(LIST, f"names {P5} twice: keep one of the two")]),
    (
        "two types twice",
        prefers((P5, 1), (G5, 1), (P5, 1), (G5, 1)),
        [(LIST, f"names {G5} twice: keep one of the two"), (LIST, f"names {P5} twice: keep one of the two")],
    ),
    (
        "a number beside them and within them",
        prefers((P5, 1), (G5, None), InstanceCount=1),
        [
            (
                "ResourceConfig.InstanceCount",
                "is given beside InstancePreferences and within them: keep one of the two",
            )
        ],
    ),
    ("a number with one of two", prefers((P5, 1), (G5, None)), [(f"{LIST}.InstanceCount", NEEDED)]),
    ("no number", prefers((P5, None)), [(f"{LIST}.InstanceCount", NEEDED)]),
    (
        "no instances",
        prefers((P5, 1), (G5, 0)),
        [(f"{LIST}[1].InstanceCount", "is 0; a job needs at least 1 instance")],
    ),
    (
        "no number, and then no instances",
        prefers((P5, None), (G5, 0)),
        [
            (f"{LIST}.InstanceCount", NEEDED),
            (f"{LIST}[1].InstanceCount", "is 0; a job needs at least 1 instance"),
        ],
    ),
    (
        "no instances of any",
        prefers((P5, None), InstanceCount=0),
        [("ResourceConfig.InstanceCount", "is 0; a job needs at least 1 instance")],
    ),
    (
        "the number of an answer",
        {**on(1), "SelectedInstanceCount": 1},
        [("ResourceConfig.SelectedInstanceCount", AN_ANSWER)],
    ),
    ("none", prefers(), [(LIST, "is too short: its length is 0, at least 1 is needed")]),
    (
        "six",
        prefers(*((f"ml.p{i}.large", 1) for i in range(6))),
        [(LIST, "has 6 entries; shorten it to at most 5")],
    ),
    (
        "the training plan of one",
        {"InstancePreferences": planned(None, ARN), "VolumeSizeInGB": 30},
        [(f"{LIST}[1].TrainingPlanArns", NO_PLANS)],
    ),
    (
        "a training plan beside them",
        prefers((P5, 1), TrainingPlanArn=ARN),
        [("ResourceConfig.TrainingPlanArn", NO_PLANS)],
    ),
    (
        "training plans everywhere",
        {"InstancePreferences": planned(ARN, ARN), "VolumeSizeInGB": 30, "TrainingPlanArn": ARN},
        [
            (f"{LIST}[0].TrainingPlanArns", NO_PLANS),
            (f"{LIST}[1].TrainingPlanArns", NO_PLANS),
            ("ResourceConfig.TrainingPlanArn", NO_PLANS),
        ],
    ),
]


@pytest.mark.parametrize(("resources", "expected"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_preferences_that_sagemaker_or_the_queue_does_not_run_are_refused(
    resources: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    with pytest.raises(InvalidRequest) as raised:
        admit(request("a", ResourceConfig=resources), CONFIGURATION, ROOT)
    assert told(raised.value.fields) == expected


def test_preferences_are_not_for_spot() -> None:
    changes: dict[str, Any] = {"EnableManagedSpotTraining": True, "StoppingCondition": {"MaxWaitTimeInSeconds": 90_000}}
    with pytest.raises(InvalidRequest) as raised:
        admit(request("a", ResourceConfig=BOTH, **changes), CONFIGURATION, ROOT)
    message = "cannot be combined with InstancePreferences, which are for on-demand instances: keep one of the two"
    assert told(raised.value.fields) == [("EnableManagedSpotTraining", message)]


OF_P5, OF_G5 = f"the pool {P5} has 2 instances, not 3", f"the pool {G5} has 2 instances, not 3"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        (prefers((P5, 1), ("ml.c5.large", 1)), {"[1].InstanceType": "there is no pool ml.c5.large"}),
        (prefers((P5, 1), (G5, 3)), {"[1].InstanceCount": OF_G5}),
        (
            prefers((P5, None), (G5, None), InstanceCount=3),
            {"[0].InstanceCount": OF_P5, "[1].InstanceCount": OF_G5},
        ),
    ],
    ids=["no pool", "too many of one", "too many of all"],
)
def test_each_preference_has_to_fit_its_pool(resources: dict[str, Any], expected: dict[str, str]) -> None:
    with pytest.raises(ImpossibleDemand) as raised:
        world_of().submit("a", ResourceConfig=resources)
    assert told(raised.value.fields) == [
        (f"{LIST}{field}", f"{message}; a job may have up to 2 {G5} or 2 {P5}") for field, message in expected.items()
    ]


def test_a_rule_that_one_preference_breaks_is_broken() -> None:
    configuration = validate({**DOCUMENT, "rules": {"small": {"require": {"maxInstances": 1}}}})
    with pytest.raises(RuleViolation) as raised:
        admit(request("a", ResourceConfig=prefers((P5, 1), (G5, 2))), configuration, ROOT)
    assert [each.field for each in raised.value.fields] == [LIST]


def test_one_number_of_instances_is_for_all_preferences() -> None:
    found = world_of().submit("a", ResourceConfig=prefers((P5, None), (G5, None), InstanceCount=2)).job
    assert [each.demand for each in found.choices] == [{P5: 2}, {G5: 2}]


def test_a_warm_pool_is_treated_as_that_of_other_jobs() -> None:
    world = world_of()
    world.submit("a", ResourceConfig={**BOTH, "KeepAlivePeriodInSeconds": 60})
    world.tick()
    assert launched(world) == [on(2)]


def test_its_request_cannot_change() -> None:
    world = world_of()
    world.submit("a", ResourceConfig=BOTH)
    for change in (RequestChange(instances=1), RequestChange(max_runtime_s=100)):
        with pytest.raises(InvalidRequest, match="as the job has alternatives"):
            world.changes.change("a", change, ROOT)
