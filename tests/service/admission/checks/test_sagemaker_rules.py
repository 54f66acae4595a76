"""All that is said of a request that breaks SageMaker's rules between its members.

That SageMaker refuses such requests, and only such, is tested with those of the service model:
``tests/service/admission/test_sagemaker_limits.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headway_service.admission.checks import sagemaker_rules
from headway_service.admission.checks.draft import Draft
from headway_service.config.document import validate
from headway_service.errors import FieldError
from tests.service.admission.drafts import draft, told
from tests.service.world import P5

CONFIGURATION = validate({"pools": {P5: {"size": 2}}})
Check = Callable[[Draft], Iterator[FieldError]]
Rows = list[tuple[str, dict[str, Any], list[tuple[str, str]]]]


def rows(table: Rows) -> dict[str, Any]:
    """The arguments of a test of them."""
    return {"argvalues": [row[1:] for row in table], "ids": [row[0] for row in table]}


def said(check: Check, changes: dict[str, Any]) -> list[tuple[str, str]]:
    return told(check(draft(CONFIGURATION, **changes)))


def spot(**condition: int) -> dict[str, Any]:
    return {"EnableManagedSpotTraining": True, "StoppingCondition": condition}


def with_retries(**condition: int) -> dict[str, Any]:
    return {"RetryStrategy": {"MaximumRetryAttempts": 3}, "StoppingCondition": condition}


WAIT = "StoppingCondition.MaxWaitTimeInSeconds"
OF_WAITS: Rows = [
    ("neither spot nor a waiting time", {"StoppingCondition": {"MaxRuntimeInSeconds": 1}}, []),
    ("no condition", {"StoppingCondition": None}, []),
    ("a wait as long as the run", spot(MaxRuntimeInSeconds=60, MaxWaitTimeInSeconds=60), []),
    ("a wait as long as the default", spot(MaxWaitTimeInSeconds=86_400), []),
    (
        "a wait without spot, also if it is short",
        {"StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 1}},
        [(WAIT, "is only for spot or with RetryStrategy: remove it, or set EnableManagedSpotTraining to true")],
    ),
    ("a wait with retries by SageMaker", with_retries(MaxRuntimeInSeconds=60, MaxWaitTimeInSeconds=60), []),
    ("retries by SageMaker without a wait", with_retries(MaxRuntimeInSeconds=60), []),
    (
        "a wait below the run with retries by SageMaker",
        with_retries(MaxRuntimeInSeconds=60, MaxWaitTimeInSeconds=59),
        [(WAIT, "is 59; it must be at least MaxRuntimeInSeconds")],
    ),
    (
        "spot without a condition",
        {"EnableManagedSpotTraining": True, "StoppingCondition": None},
        [(WAIT, "is required when EnableManagedSpotTraining is true")],
    ),
    (
        "a wait below the run",
        spot(MaxRuntimeInSeconds=60, MaxWaitTimeInSeconds=59),
        [(WAIT, "is 59; it must be at least MaxRuntimeInSeconds")],
    ),
    (
        "a wait below the default",
        spot(MaxWaitTimeInSeconds=86_399),
        [
            (
                WAIT,
                "is 86399; it must be at least MaxRuntimeInSeconds, which is 86400 unless the request has it",
            )
        ],
    ),
]


@pytest.mark.parametrize(("changes", "expected"), **rows(OF_WAITS))
def test_waits(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert said(sagemaker_rules.wait_errors, changes) == expected


def algorithm(**members: Any) -> dict[str, Any]:
    return {"AlgorithmSpecification": {"TrainingInputMode": "File", **members}}


PRIVATE = {"TrainingImageConfig": {"TrainingRepositoryAccessMode": "Vpc"}}
PUBLIC = {"TrainingImageConfig": {"TrainingRepositoryAccessMode": "Platform"}}
VPC = {"VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}}
SPECIFICATION = "AlgorithmSpecification"
NO_IMAGE = (
    f"{SPECIFICATION}.TrainingImage",
    "is required: name the image of the container, or an algorithm in AlgorithmName",
)
NOT_BOTH = (f"{SPECIFICATION}.AlgorithmName", "cannot be combined with TrainingImage: keep one of the two")
NO_VPC = (
    f"{SPECIFICATION}.TrainingImageConfig.TrainingRepositoryAccessMode",
    "is 'Vpc', which needs VpcConfig: add the VPC that the registry can be reached from",
)
OF_ALGORITHMS: Rows = [
    ("an image", algorithm(TrainingImage="i"), []),
    ("an algorithm", algorithm(AlgorithmName="a"), []),
    ("a public image", algorithm(TrainingImage="i", **PUBLIC), []),
    ("a private image with a VPC", {**algorithm(TrainingImage="i", **PRIVATE), **VPC}, []),
    ("no specification of a serverless job", {SPECIFICATION: None, "ServerlessJobConfig": {}}, []),
    ("no specification", {SPECIFICATION: None}, [NO_IMAGE]),
    ("neither of the two", algorithm(), [NO_IMAGE]),
    ("an empty image", algorithm(TrainingImage=""), [NO_IMAGE]),
    ("both", algorithm(TrainingImage="i", AlgorithmName="a"), [NOT_BOTH]),
    ("an algorithm beside an empty image", algorithm(TrainingImage="", AlgorithmName="a"), [NOT_BOTH]),
    ("a private image without a VPC", algorithm(TrainingImage="i", **PRIVATE), [NO_VPC]),
    ("nothing but a private registry", algorithm(**PRIVATE), [NO_IMAGE, NO_VPC]),
]


@pytest.mark.parametrize(("changes", "expected"), **rows(OF_ALGORITHMS))
def test_the_algorithm(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert said(sagemaker_rules.algorithm_errors, changes) == expected


def channel(name: str = "c", kind: str = "S3Prefix", **changes: Any) -> dict[str, Any]:
    return {"ChannelName": name, "DataSource": {"S3DataSource": {"S3DataType": kind}}, **changes}


def channels(*listed: dict[str, Any], mode: Any = "File") -> dict[str, Any]:
    return {"InputDataConfig": list(listed), "AlgorithmSpecification": {"TrainingInputMode": mode}}


AUGMENTED = "AugmentedManifestFile"
FILES = {"FileSystemDataSource": {"FileSystemId": "fs-0123456789abcdef0"}}
NEEDS_VPC = "needs VpcConfig: SageMaker reaches file systems only through a VPC"


def needs_pipe(i: int, mode: str) -> tuple[str, str]:
    return (
        f"InputDataConfig[{i}].DataSource.S3DataSource.S3DataType",
        f"is 'AugmentedManifestFile', which needs the input mode Pipe, not {mode}: set InputMode, or use another type",
    )


def no_compression(i: int) -> tuple[str, str]:
    message = "is for the input mode Pipe, not for File: set InputMode, or remove it"
    return (f"InputDataConfig[{i}].CompressionType", message)


OF_CHANNELS: Rows = [
    ("no channels", {}, []),
    ("two channels", channels(channel("c"), channel("d")), []),
    (
        "two channels that stand more than once",
        channels(channel("d"), channel("c"), channel("d"), channel("c"), channel("e"), channel("d")),
        [
            ("InputDataConfig", "has the channel 'c' twice: rename one"),
            ("InputDataConfig", "has the channel 'd' twice: rename one"),
        ],
    ),
    (
        "a long channel twice",
        channels(channel("x" * 200), channel("x" * 200)),
        [("InputDataConfig", f"has the channel '{'x' * 79} twice: rename one")],
    ),
    (
        "an empty source",
        channels(channel("c"), channel("d", DataSource={})),
        [("InputDataConfig[1].DataSource", "is empty: name an S3 location or a file system")],
    ),
    ("a file system in a VPC", {**channels(channel(DataSource=FILES)), **VPC}, []),
    (
        "file systems without a VPC",
        channels(channel("a", DataSource=FILES), channel("b"), channel("c", DataSource=FILES)),
        [
            ("InputDataConfig[0].DataSource.FileSystemDataSource", NEEDS_VPC),
            ("InputDataConfig[2].DataSource.FileSystemDataSource", NEEDS_VPC),
        ],
    ),
    ("an augmented manifest in a pipe", channels(channel(kind=AUGMENTED), mode="Pipe"), []),
    ("an augmented manifest in a pipe of its own", channels(channel(kind=AUGMENTED, InputMode="Pipe")), []),
    ("an augmented manifest with no mode, which the model refuses", channels(channel(kind=AUGMENTED), mode=None), []),
    ("an augmented manifest with a mode of a wrong shape", channels(channel(kind=AUGMENTED), mode=["File"]), []),
    ("augmented manifests as files", channels(channel(), channel("d", AUGMENTED)), [needs_pipe(1, "File")]),
    (
        "an augmented manifest with another mode of its own",
        channels(channel(kind=AUGMENTED, InputMode="FastFile"), mode="Pipe"),
        [needs_pipe(0, "FastFile")],
    ),
    ("compression in a pipe", channels(channel(CompressionType="Gzip"), mode="Pipe"), []),
    ("compression in a pipe of its own", channels(channel(CompressionType="Gzip", InputMode="Pipe")), []),
    ("no compression of files", channels(channel(CompressionType="None")), []),
    ("compression of files", channels(channel(), channel("d", CompressionType="Gzip")), [no_compression(1)]),
    (
        "compression of files by a mode of its own",
        channels(channel(CompressionType="Gzip", InputMode="File"), mode="Pipe"),
        [no_compression(0)],
    ),
    (
        "all at once, and no specification",
        {
            **channels(
                channel("c", AUGMENTED, InputMode="File", CompressionType="Gzip"), channel("c", DataSource=FILES)
            ),
            "AlgorithmSpecification": None,
        },
        [
            ("InputDataConfig", "has the channel 'c' twice: rename one"),
            needs_pipe(0, "File"),
            no_compression(0),
            ("InputDataConfig[1].DataSource.FileSystemDataSource", NEEDS_VPC),
        ],
    ),
    (
        "a specification of a wrong shape",
        {"InputDataConfig": [channel(kind=AUGMENTED)], "AlgorithmSpecification": "TrainingInputMode"},
        [],
    ),
]


@pytest.mark.parametrize(("changes", "expected"), **rows(OF_CHANNELS))
def test_channels(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert said(sagemaker_rules.channel_errors, changes) == expected


def rules(**names: list[str]) -> dict[str, Any]:
    return {
        f"{kind}RuleConfigurations": [{"RuleConfigurationName": name} for name in listed]
        for kind, listed in names.items()
    }


OF_RULES: Rows = [
    ("no rules", {}, []),
    ("rules with names of their own", rules(Debug=["a", "b"], Profiler=["c"]), []),
    (
        "names that stand twice",
        rules(Debug=["a", "b", "a"], Profiler=["c", "b", "c"]),
        [
            (
                "DebugRuleConfigurations[2].RuleConfigurationName",
                "is 'a', as that of another rule: rename one",
            ),
            (
                "ProfilerRuleConfigurations[1].RuleConfigurationName",
                "is 'b', as that of another rule: rename one",
            ),
            (
                "ProfilerRuleConfigurations[2].RuleConfigurationName",
                "is 'c', as that of another rule: rename one",
            ),
        ],
    ),
    (
        "a long name twice",
        rules(Profiler=["x" * 200, "x" * 200]),
        [
            (
                "ProfilerRuleConfigurations[1].RuleConfigurationName",
                f"is '{'x' * 79}, as that of another rule: rename one",
            )
        ],
    ),
]


@pytest.mark.parametrize(("changes", "expected"), **rows(OF_RULES))
def test_rules_of_the_debugger_and_the_profiler(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert said(sagemaker_rules.rule_errors, changes) == expected


@pytest.mark.parametrize("interval_ms", [None, 100, 200, 500, 1000, 5000, 60_000])
def test_a_profiler_may_have_these_intervals(interval_ms: int | None) -> None:
    profiler = {} if interval_ms is None else {"ProfilingIntervalInMilliseconds": interval_ms}
    assert said(sagemaker_rules.profiler_errors, {"ProfilerConfig": profiler}) == []


def test_a_profiler_may_have_no_other_interval() -> None:
    found = said(sagemaker_rules.profiler_errors, {"ProfilerConfig": {"ProfilingIntervalInMilliseconds": 300}})
    message = "is 300; use one of 100, 200, 500, 1000, 5000, 60000"
    assert found == [("ProfilerConfig.ProfilingIntervalInMilliseconds", message)]
    assert said(sagemaker_rules.profiler_errors, {}) == []


OF_SERVERLESS: Rows = [
    ("no serverless job", {}, []),
    ("another kind of job", {"ServerlessJobConfig": {"JobType": "FineTuning"}}, []),
    ("an evaluation with its kind", {"ServerlessJobConfig": {"JobType": "Evaluation", "EvaluationType": "x"}}, []),
    ("the shortest sequence", {"ServerlessJobConfig": {"SequenceLength": "1K"}}, []),
    ("the longest sequence", {"ServerlessJobConfig": {"SequenceLength": "1024K"}}, []),
    (
        "a sequence that is too short",
        {"ServerlessJobConfig": {"SequenceLength": "0K"}},
        [("ServerlessJobConfig.SequenceLength", "is '0K'; use 1K to 1024K")],
    ),
    (
        "an evaluation without its kind, and a sequence that is too long",
        {"ServerlessJobConfig": {"JobType": "Evaluation", "SequenceLength": f"{'1' * 100}K"}},
        [
            ("ServerlessJobConfig.EvaluationType", "is required when JobType is Evaluation: add it"),
            ("ServerlessJobConfig.SequenceLength", f"is '{'1' * 59}; use 1K to 1024K"),
        ],
    ),
]


@pytest.mark.parametrize(("changes", "expected"), **rows(OF_SERVERLESS))
def test_serverless_jobs(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert said(sagemaker_rules.serverless_errors, changes) == expected
