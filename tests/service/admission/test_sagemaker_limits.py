"""What SageMaker must refuse is refused at its submission, with the field, and by the fake SageMaker as well.

The requests are made from the service model: one for each constraint, which breaks only that one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape
from hypothesis import given, settings
from hypothesis import strategies as st

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.admission.admit import admit
from headway_service.admission.submission import Submission
from headway_service.config.document import validate
from headway_service.errors import InvalidRequest, RequestError
from headway_service.sagemaker_api.launch_request import without_warm_pool
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.sagemaker_api.request_schema import MAX_RUN_TIME_S, input_shape
from tests.service.world import P5, ROOT, on, request

G5 = "ml.g5.48xlarge"
CONFIGURATION = validate({"pools": {P5: {"size": 4}, G5: {"size": 4}, "serverless": {"size": 4}}})
REFUSED_BY_SAGEMAKER = {"ValidationException", "SerializationException"}
HUB = "arn:aws:sagemaker:eu-west-1:aws:hub-content/SageMakerPublicHub"
OURS = "arn:aws:sagemaker:eu-west-1:123456789012"
VPC = {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}

TEXTS = {
    "ArnOrName": "algorithm",
    "TrainingRepositoryCredentialsProviderArn": "arn:aws:lambda:eu-west-1:123456789012:function:f",
    "RoleArn": "arn:aws:iam::123456789012:role/HeadwayTrainingRole",
    "S3Uri": "s3://bucket/prefix",
    "FileSystemId": "fs-0123456789abcdef0",
    "HubDataSetArn": f"{HUB}/DataSet/d/1.0.0",
    "ServerlessJobBaseModelArn": f"{HUB}/Model/m/1.0.0",
    "SequenceLength": "8K",
    "MlFlowResourceArn": f"{OURS}:mlflow-app/a",
    "ModelPackageGroupArn": f"{OURS}:model-package-group/g",
    "ModelPackageArn": f"{OURS}:model-package/p",
    "TrainingInstanceType": P5,
    "TrainingInputMode": "File",
    "S3DataType": "S3Prefix",
    "TrainingRepositoryAccessMode": "Platform",
    "CompressionType": "None",
    "ServerlessJobType": "FineTuning",
}
"""A valid text for shapes that not every text, or not the first of their words, is one for."""

NOT_RUN = {"TrainingPlanArn", "InstancePlacementConfig", "SelectedInstanceType", "SelectedInstanceCount"}
"""Members that the queue refuses whatever they are; so are training plans of no pool."""


class Place(NamedTuple):
    """A part of a request: the members on the way to it, where `[]` is an entry of a list and `{}` a value of a map."""

    steps: tuple[str, ...]
    shape: Shape

    @property
    def field(self) -> str:
        """What a refusal of it begins with."""
        text = ""
        for step in self.steps:
            if step == "{}":
                return text
            text += "[0]" if step == "[]" else f".{step}" if text else step
        return text


def places(shape: Shape, steps: tuple[str, ...] = ()) -> Iterator[Place]:
    if steps:
        yield Place(steps, shape)
    match shape:
        case StructureShape():
            for name, member in shape.members.items():
                if name not in NOT_RUN | {"TrainingPlanArns"}:
                    yield from places(member, (*steps, name))
        case ListShape():
            yield from places(shape.member, (*steps, "[]"))
        case MapShape():
            yield from places(shape.value, (*steps, "{}"))
        case _:
            pass


PLACES = list(places(input_shape()))


STRUCTURES: dict[str, dict[str, Any]] = {
    "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/prefix"}},
    "InstancePreference": {"InstanceType": P5, "InstanceCount": 1},
    "AlgorithmSpecification": request("a")["AlgorithmSpecification"],
    "ResourceConfig": on(1),
}
"""A valid value for structures of which SageMaker needs more than the members that the model requires."""


def valid(shape: Shape) -> Any:
    """A small valid value."""
    match shape:
        case StructureShape():
            made = {name: valid(shape.members[name]) for name in shape.required_members}
            return {**made, **copy.deepcopy(STRUCTURES.get(shape.name, {}))}
        case ListShape():
            return [valid(shape.member)]
        case MapShape():
            return {valid(shape.key): valid(shape.value)}
        case StringShape():
            return TEXTS.get(shape.name) or (shape.enum[0] if shape.enum else "a")
        case Shape(type_name="boolean"):
            return False
        case _:
            return 500 if shape.name == "ProfilingIntervalInMilliseconds" else max(1, shape.metadata.get("min", 1))


def with_part(place: Place, value: Any) -> dict[str, Any]:
    """A request that is valid, except perhaps in one part."""
    document = request("a", Environment=None)
    part: Any = document
    shape: Shape = input_shape()
    for step, following in zip(place.steps, (*place.steps[1:], None), strict=True):
        shape = _inner(shape, step)
        key: Any = 0 if step == "[]" else next(iter(part)) if step == "{}" else step
        if following is None:
            part[key] = value
        elif step not in {"[]", "{}"} and not part.get(key):
            part[key] = valid(shape)
        part = part[key]
    return fitting(document, place.steps)


def _inner(shape: Shape, step: str) -> Shape:
    if isinstance(shape, StructureShape):
        found: Shape = shape.members[step]
    else:
        found = getattr(shape, "member" if step == "[]" else "value")
    return found


def fitting(document: dict[str, Any], steps: tuple[str, ...]) -> dict[str, Any]:
    """The request without what a part excludes, and with what it needs."""
    resources = document.get("ResourceConfig")
    if isinstance(resources, dict) and {"InstanceGroups", "InstancePreferences"} & set(resources):
        document["ResourceConfig"] = {
            name: value for name, value in resources.items() if name not in {"InstanceType", "InstanceCount"}
        }
    if "ServerlessJobConfig" in steps:
        del document["ResourceConfig"], document["AlgorithmSpecification"]
    if "FileSystemDataSource" in steps:
        document["VpcConfig"] = VPC
        source = document["InputDataConfig"][0]["DataSource"]
        source.pop("S3DataSource", None)
    if "AlgorithmName" in steps:
        del document["AlgorithmSpecification"]["TrainingImage"]
    if "MaxWaitTimeInSeconds" in steps:
        document["EnableManagedSpotTraining"] = True
        document["StoppingCondition"]["MaxRuntimeInSeconds"] = 1
    return document


def broken(shape: Shape) -> Iterator[tuple[str, Any]]:
    """Values that break one constraint of a shape each."""
    match shape:
        case ListShape():
            entry = valid(shape.member)
            yield from ((how, [entry] * count) for how, count in beyond(shape))
        case MapShape():
            yield from ((how, {f"k{i}": valid(shape.value) for i in range(count)}) for how, count in beyond(shape))
            yield from ((f"a key, {how}", {key: valid(shape.value)}) for how, key in broken_texts(shape.key))
        case StringShape():
            yield from broken_texts(shape)
        case Shape(type_name="integer"):
            yield from [("a text", "1"), ("more than 32 bits", 2**31), *beyond(shape)]
        case _:
            pass


def beyond(shape: Shape) -> Iterator[tuple[str, int]]:
    """The sizes just below the minimum and above the maximum of a shape."""
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and (least > 0 or shape.type_name == "integer"):
        yield "too small", least - 1
    if most is not None:
        yield "too large", most + 1


def broken_texts(shape: Shape) -> Iterator[tuple[str, str]]:
    if isinstance(shape, StringShape) and shape.enum:
        if shape.name != "TrainingInstanceType":  # the pools decide which exist
            yield "no such word", "Bogus"
        return
    yield from ((how, (valid(shape) + "a" * size)[:size]) for how, size in beyond(shape))
    pattern = shape.metadata.get("pattern")
    if pattern and r"\S\s" not in pattern:
        yield "another form", "\n" * max(1, shape.metadata.get("min", 1))


BROKEN = [
    pytest.param(place, value, id=f"{place.field}-{how}") for place in PLACES for how, value in broken(place.shape)
]


def launched(document: Mapping[str, Any]) -> dict[str, Any]:
    """A request as the queue launches it: without a warm pool, and with two tags of its own."""
    tags = [*document.get("Tags", []), {"Key": "headway:job", "Value": "a"}, {"Key": "headway:attempt", "Value": "1"}]
    return {**without_warm_pool(document), "Tags": tags}


def refused_by_sagemaker(document: Mapping[str, Any]) -> str:
    """The code of the fake SageMaker's refusal; empty if it accepts the request."""
    try:
        FakeSageMaker().create(copy.deepcopy(dict(document)), now=0.0)
    except AwsError as error:
        return error.code
    return ""


def invalid_fields(submitted: Any) -> list[str]:
    with pytest.raises(InvalidRequest) as raised:
        admit(submitted, CONFIGURATION, ROOT)
    return [error.field for error in raised.value.fields]


@pytest.mark.parametrize(("place", "value"), BROKEN)
def test_every_constraint_of_the_model_is_one_at_the_submission_and_of_the_fake(place: Place, value: Any) -> None:
    document = with_part(place, value)
    assert any(field.startswith(place.field) for field in invalid_fields(document))
    assert refused_by_sagemaker(document) in REFUSED_BY_SAGEMAKER


@pytest.mark.parametrize("place", [pytest.param(place, id=place.field + place.steps[-1]) for place in PLACES])
def test_a_request_with_any_part_of_the_model_is_accepted_by_both(place: Place) -> None:
    document = with_part(place, valid(place.shape))
    admit(document, CONFIGURATION, ROOT)
    assert refused_by_sagemaker(launched(document)) == ""


def channel(name: str = "c", **changes: Any) -> dict[str, Any]:
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/c"}}
    return {"ChannelName": name, "DataSource": source, **changes}


def channels(*listed: dict[str, Any]) -> dict[str, Any]:
    return {"InputDataConfig": list(listed)}


def spot(**condition: int) -> dict[str, Any]:
    return {"EnableManagedSpotTraining": True, "StoppingCondition": condition}


def with_retries(**condition: int) -> dict[str, Any]:
    return {"RetryStrategy": {"MaximumRetryAttempts": 3}, "StoppingCondition": condition}


def serverless(**members: str) -> dict[str, Any]:
    job = {"BaseModelArn": f"{HUB}/Model/m/1.0.0", "JobType": "FineTuning", **members}
    return {"ServerlessJobConfig": job, "ResourceConfig": None, "AlgorithmSpecification": None}


def algorithm(**members: Any) -> dict[str, Any]:
    return {"AlgorithmSpecification": {"TrainingInputMode": "File", "TrainingImage": "i", **members}}


def rules(**names: list[str]) -> dict[str, Any]:
    return {
        f"{kind}RuleConfigurations": [
            {"RuleConfigurationName": name, "RuleEvaluatorImage": "i"} for name in listed
        ]
        for kind, listed in names.items()
    }  # fmt: skip


def prefers(*listed: dict[str, Any], **resources: Any) -> dict[str, Any]:
    return {"ResourceConfig": {"InstancePreferences": list(listed), "VolumeSizeInGB": 30, **resources}}


AUGMENTED = {"S3DataSource": {"S3DataType": "AugmentedManifestFile", "S3Uri": "s3://b/c"}}
FILES = {
    "FileSystemDataSource": {
        "FileSystemId": "fs-0123456789abcdef0",
        "FileSystemAccessMode": "ro",
        "FileSystemType": "EFS",
        "DirectoryPath": "/d",
    }
}
PRIVATE = {"TrainingImageConfig": {"TrainingRepositoryAccessMode": "Vpc"}}
GROUP = {"InstanceGroupName": "g", "InstanceType": P5, "InstanceCount": 1}
RUN, WAIT = "StoppingCondition.MaxRuntimeInSeconds", "StoppingCondition.MaxWaitTimeInSeconds"
RESOURCES = "ResourceConfig"

#: What breaks a rule that is only in the model's text: the field, the request, and the nearest one that breaks none.
RULES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        RUN,
        {"StoppingCondition": {"MaxRuntimeInSeconds": 2_419_201}},
        {"StoppingCondition": {"MaxRuntimeInSeconds": 2_419_200}},
    ),
    (
        RUN,
        spot(MaxRuntimeInSeconds=2_419_201, MaxWaitTimeInSeconds=2_419_201),
        spot(MaxRuntimeInSeconds=2_419_200, MaxWaitTimeInSeconds=2_419_201),
    ),
    (WAIT, spot(MaxRuntimeInSeconds=60), spot(MaxRuntimeInSeconds=60, MaxWaitTimeInSeconds=60)),
    (
        WAIT,
        spot(MaxRuntimeInSeconds=60, MaxWaitTimeInSeconds=59),
        spot(MaxRuntimeInSeconds=60, MaxWaitTimeInSeconds=61),
    ),
    (WAIT, spot(MaxWaitTimeInSeconds=86_399), spot(MaxWaitTimeInSeconds=86_400)),
    (WAIT, {"StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 60}}, {"StoppingCondition": {}}),
    (WAIT, with_retries(MaxRuntimeInSeconds=60, MaxWaitTimeInSeconds=59), with_retries(MaxRuntimeInSeconds=60)),
    (
        WAIT,
        {"StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 60}},
        with_retries(MaxRuntimeInSeconds=60, MaxWaitTimeInSeconds=60),
    ),
    ("AlgorithmSpecification.AlgorithmName", algorithm(AlgorithmName="a"), algorithm()),
    ("AlgorithmSpecification.TrainingImage", {"AlgorithmSpecification": {"TrainingInputMode": "File"}}, {}),
    ("AlgorithmSpecification.TrainingImage", {"AlgorithmSpecification": None}, {}),
    (
        "AlgorithmSpecification.TrainingImageConfig.TrainingRepositoryAccessMode",
        algorithm(**PRIVATE),
        {**algorithm(**PRIVATE), "VpcConfig": VPC},
    ),
    ("InputDataConfig", channels(channel(), channel()), channels(channel("c"), channel("d"))),
    ("InputDataConfig[0].DataSource", channels(channel(DataSource={})), channels(channel())),
    (
        "InputDataConfig[1].DataSource.FileSystemDataSource",
        channels(channel(), channel("d", DataSource=FILES)),
        {**channels(channel(), channel("d", DataSource=FILES)), "VpcConfig": VPC},
    ),
    (
        "InputDataConfig[0].DataSource.S3DataSource.S3DataType",
        channels(channel(DataSource=AUGMENTED)),
        channels(channel(DataSource=AUGMENTED, InputMode="Pipe")),
    ),
    (
        "InputDataConfig[0].DataSource.S3DataSource.S3DataType",
        {**channels(channel(DataSource=AUGMENTED, InputMode="FastFile")), **algorithm(TrainingInputMode="Pipe")},
        {**channels(channel(DataSource=AUGMENTED)), **algorithm(TrainingInputMode="Pipe")},
    ),
    (
        "InputDataConfig[0].CompressionType",
        channels(channel(CompressionType="Gzip")),
        channels(channel(CompressionType="Gzip", InputMode="Pipe")),
    ),
    (
        "InputDataConfig[0].CompressionType",
        {**channels(channel(CompressionType="Gzip", InputMode="File")), **algorithm(TrainingInputMode="Pipe")},
        {**channels(channel(CompressionType="None", InputMode="File")), **algorithm(TrainingInputMode="Pipe")},
    ),
    ("DebugRuleConfigurations[1].RuleConfigurationName", rules(Debug=["a", "a"]), rules(Debug=["a", "b"])),
    (
        "ProfilerRuleConfigurations[1].RuleConfigurationName",
        rules(Debug=["a"], Profiler=["b", "a"]),
        rules(Debug=["a"], Profiler=["b", "c"]),
    ),
    (
        "ProfilerConfig.ProfilingIntervalInMilliseconds",
        {"ProfilerConfig": {"ProfilingIntervalInMilliseconds": 300}},
        {"ProfilerConfig": {"ProfilingIntervalInMilliseconds": 60_000}},
    ),
    (
        "ServerlessJobConfig.EvaluationType",
        serverless(JobType="Evaluation"),
        serverless(JobType="Evaluation", EvaluationType="BenchmarkEvaluation"),
    ),
    ("ServerlessJobConfig.SequenceLength", serverless(SequenceLength="1025K"), serverless(SequenceLength="1024K")),
    ("ServerlessJobConfig.SequenceLength", serverless(SequenceLength="0K"), serverless(SequenceLength="1K")),
    ("ServerlessJobConfig.SequenceLength", serverless(SequenceLength="٣K"), serverless(SequenceLength="3K")),
    ("RoleArn", {"RoleArn": "arn:aws:iam::١٢٣٤٥٦٧٨٩٠١٢:role/Training"}, {}),
    (RESOURCES, {RESOURCES: None}, {RESOURCES: on(1)}),
    (f"{RESOURCES}.InstanceCount", {RESOURCES: on(0)}, {RESOURCES: on(1)}),
    (
        f"{RESOURCES}.InstanceType",
        {RESOURCES: {**on(1), "InstanceGroups": [GROUP]}},
        {RESOURCES: {"InstanceGroups": [GROUP]}},
    ),
    (f"{RESOURCES}.InstanceGroups", {RESOURCES: {"InstanceGroups": []}}, {RESOURCES: {"InstanceGroups": [GROUP]}}),
    (
        f"{RESOURCES}.InstanceType",
        prefers({"InstanceType": P5, "InstanceCount": 1}, InstanceType=P5),
        prefers({"InstanceType": P5, "InstanceCount": 1}),
    ),
    (
        f"{RESOURCES}.InstanceGroups",
        prefers({"InstanceType": P5, "InstanceCount": 1}, InstanceGroups=[GROUP]),
        prefers({"InstanceType": P5}, InstanceCount=1),
    ),
    (
        "EnableManagedSpotTraining",
        {**prefers({"InstanceType": P5, "InstanceCount": 1}), **spot(MaxRuntimeInSeconds=1, MaxWaitTimeInSeconds=1)},
        prefers({"InstanceType": P5, "InstanceCount": 1}),
    ),
    (
        f"{RESOURCES}.InstancePreferences",
        prefers({"InstanceType": P5}, {"InstanceType": P5}, InstanceCount=1),
        prefers({"InstanceType": P5}, {"InstanceType": G5}, InstanceCount=1),
    ),
    (
        f"{RESOURCES}.InstanceCount",
        prefers({"InstanceType": P5, "InstanceCount": 1}, InstanceCount=1),
        prefers({"InstanceType": P5}, InstanceCount=1),
    ),
    (
        f"{RESOURCES}.InstancePreferences.InstanceCount",
        prefers({"InstanceType": P5, "InstanceCount": 1}, {"InstanceType": G5}),
        prefers({"InstanceType": P5, "InstanceCount": 1}, {"InstanceType": G5, "InstanceCount": 1}),
    ),
    (
        f"{RESOURCES}.SelectedInstanceType",
        prefers({"InstanceType": P5}, InstanceCount=1, SelectedInstanceType=P5),
        prefers({"InstanceType": P5}, InstanceCount=1),
    ),
    ("Tags", {"Tags": [{"Key": "k", "Value": "v"}] * 2}, {"Tags": [{"Key": "k", "Value": "v"}]}),
    ("Tags[0].Key", {"Tags": [{"Key": "AWS:k", "Value": "v"}]}, {"Tags": [{"Key": "aw:s", "Value": "v"}]}),
    ("Tags[0].Value", {"Tags": [{"Key": "k", "Value": "bell\x07"}]}, {"Tags": [{"Key": "k", "Value": "Größe ٣ 日"}]}),
]
NAMES = [f"{number}-{field}" for number, (field, _, _) in enumerate(RULES)]


@pytest.mark.parametrize(("field", "wrong", "right"), RULES, ids=NAMES)
def test_rules_between_members_are_checked_at_the_submission_and_by_the_fake(
    field: str, wrong: dict[str, Any], right: dict[str, Any]
) -> None:
    assert field in invalid_fields(request("a", **wrong))
    assert refused_by_sagemaker(request("a", **wrong)) in REFUSED_BY_SAGEMAKER
    admit(request("a", **right), CONFIGURATION, ROOT)
    assert refused_by_sagemaker(launched(request("a", **right))) == ""


#: The same for members that an alternative may replace.
ALTERNATIVES: list[tuple[str, dict[str, Any]]] = [
    (RUN, {"StoppingCondition": {"MaxRuntimeInSeconds": MAX_RUN_TIME_S + 1}}),
    (WAIT, {"EnableManagedSpotTraining": True}),
    (WAIT, spot(MaxRuntimeInSeconds=60, MaxWaitTimeInSeconds=59)),
    (WAIT, {"StoppingCondition": {"MaxWaitTimeInSeconds": 60}}),
]


@pytest.mark.parametrize(("field", "members"), ALTERNATIVES)
def test_an_alternative_that_sagemaker_must_refuse_is_refused(field: str, members: dict[str, Any]) -> None:
    other = {"ResourceConfig": {**on(1), "InstanceType": G5}, **members}
    submission = Submission(request=request("a"), alternatives=[other])
    assert f"alternatives[0].{field}" in invalid_fields(submission)


@pytest.mark.parametrize("condition", [{}, {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 90}])
def test_a_change_to_a_run_time_that_sagemaker_must_refuse_is_refused(condition: dict[str, int]) -> None:
    spot = {"EnableManagedSpotTraining": True} if condition else {}
    waiting = request("a", StoppingCondition=condition, **spot)
    admit(RequestChange(max_runtime_s=MAX_RUN_TIME_S).apply(waiting), CONFIGURATION, ROOT)
    assert invalid_fields(RequestChange(max_runtime_s=MAX_RUN_TIME_S + 1).apply(waiting)) == [RUN]


def merged(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {**one, **{name: merged(one.get(name), value) for name, value in other.items()}}
    return other


def boundary(place: Place) -> Iterator[Any]:
    """Values that are valid by the model, and extreme."""
    shape = place.shape
    yield valid(shape)
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if shape.type_name in {"integer", "long"}:
        yield from (least or 0, most or 2**31 - 1, 3600, 86_400, MAX_RUN_TIME_S)
    elif shape.type_name == "boolean":
        yield True
    elif isinstance(shape, StringShape):
        yield from ([*shape.enum[:3], G5] if shape.enum else ["", "a" * (most or 300), "é", "a" * (least or 0)])
    elif isinstance(shape, ListShape):
        yield from ([], [valid(shape.member)] * (most or 2))


ANY_PART: st.SearchStrategy[tuple[Place, Any]] = st.sampled_from(
    [(place, value) for place in PLACES for value in boundary(place)]
)
ANY_RULE: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [each for _, wrong, right in RULES for each in (wrong, right)]
)


@settings(max_examples=300)
@given(parts=st.lists(ANY_PART, max_size=3), changes=st.lists(ANY_RULE, max_size=2))
def test_what_the_queue_admits_the_fake_accepts(parts: list[tuple[Place, Any]], changes: list[dict[str, Any]]) -> None:
    document = request("a")
    for place, value in parts:
        document = merged(document, copy.deepcopy(with_part(place, value)))
    for change in changes:
        document = merged(document, change)
    document = {name: value for name, value in document.items() if value is not None}
    try:
        admit(document, CONFIGURATION, ROOT)
    except RequestError:
        return
    assert refused_by_sagemaker(launched(document)) == ""
