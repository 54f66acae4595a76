"""SageMaker's rules on CreateTrainingJob requests that its service model does not contain (API reference).

SageMaker checks them when the job is launched, which may be days after its submission, and after others were preempted
for it. Only what AWS documents, or users have seen refused, is a rule: what the queue refuses nobody can run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from headway.jobpolicy.training_job import DEFAULT_RUN_TIME_S
from headway_service.admission.checks.draft import Draft
from headway_service.errors import FieldError
from headway_service.sagemaker_api.training_request import is_serverless

_PROFILING_INTERVALS_MS = (100, 200, 500, 1000, 5000, 60_000)
"""What ProfilingIntervalInMilliseconds can be (API reference, ProfilerConfig)."""

_MAX_SEQUENCE_K = 1024
"""SequenceLength is from 1K to 1024K (API reference, ServerlessJobConfig)."""


def wait_errors(draft: Draft) -> Iterator[FieldError]:
    """The errors of a request in how long it may wait (StoppingCondition, EnableManagedSpotTraining, RetryStrategy).

    SageMaker takes the limit with spot instances, and with its own retries, whose time it limits in total (API
    reference, StoppingCondition; the SageMaker Python SDK sends both without spot, aws/sagemaker-python-sdk#2316).
    """
    spot = draft.raw.get("EnableManagedSpotTraining")
    stopping = draft.raw.get("StoppingCondition", {})
    wait_s = stopping.get("MaxWaitTimeInSeconds")
    field = "StoppingCondition.MaxWaitTimeInSeconds"
    if wait_s is None:
        if spot:
            yield FieldError(field=field, message="is required when EnableManagedSpotTraining is true")
        return
    if not spot and "RetryStrategy" not in draft.raw:
        message = "is only for spot or with RetryStrategy: remove it, or set EnableManagedSpotTraining to true"
        yield FieldError(field=field, message=message)
        return
    run_s = stopping.get("MaxRuntimeInSeconds", DEFAULT_RUN_TIME_S)
    if wait_s < run_s:
        default = "" if "MaxRuntimeInSeconds" in stopping else f", which is {run_s} unless the request has it"
        yield FieldError(field=field, message=f"is {wait_s}; it must be at least MaxRuntimeInSeconds{default}")


def algorithm_errors(draft: Draft) -> Iterator[FieldError]:
    """The errors of a request in its algorithm: it has either an image or an algorithm (AlgorithmSpecification)."""
    if is_serverless(draft.raw):
        return
    specification = draft.raw.get("AlgorithmSpecification", {})
    image, algorithm = specification.get("TrainingImage"), specification.get("AlgorithmName")
    if image is not None and algorithm is not None:
        yield FieldError(
            field="AlgorithmSpecification.AlgorithmName",
            message="cannot be combined with TrainingImage: keep one of the two",
        )
    elif not image and algorithm is None:
        yield FieldError(
            field="AlgorithmSpecification.TrainingImage",
            message="is required: name the image of the container, or an algorithm in AlgorithmName",
        )
    access = specification.get("TrainingImageConfig", {}).get("TrainingRepositoryAccessMode")
    if access == "Vpc" and "VpcConfig" not in draft.raw:
        # Guide, "Adapt your training job to access images in a private Docker registry".
        yield FieldError(
            field="AlgorithmSpecification.TrainingImageConfig.TrainingRepositoryAccessMode",
            message="is 'Vpc', which needs VpcConfig: add the VPC that the registry can be reached from",
        )


def channel_errors(draft: Draft) -> Iterator[FieldError]:
    """The errors of a request in its channels: names, and what a source or an input mode excludes.

    Sources: Channel, S3DataSource and VpcConfig. For compression, issue aws/sagemaker-python-sdk#716: "Invalid
    compression type for channel training: File mode only supports NONE, got Gzip instead".
    """
    channels = draft.raw.get("InputDataConfig", [])
    names = Counter(channel["ChannelName"] for channel in channels)
    for name in sorted(name for name, count in names.items() if count > 1):
        yield FieldError(field="InputDataConfig", message=f"has the channel {name!r:.80} twice: rename one")
    general_mode = _input_mode(draft.raw.get("AlgorithmSpecification"))
    for i, channel in enumerate(channels):
        field, source = f"InputDataConfig[{i}]", channel["DataSource"]
        if not source:
            yield FieldError(field=f"{field}.DataSource", message="is empty: name an S3 location or a file system")
        if "FileSystemDataSource" in source and "VpcConfig" not in draft.raw:
            yield FieldError(
                field=f"{field}.DataSource.FileSystemDataSource",
                message="needs VpcConfig: SageMaker reaches file systems only through a VPC",
            )
        mode = channel.get("InputMode", general_mode)
        kind = source.get("S3DataSource", {}).get("S3DataType")
        if kind == "AugmentedManifestFile" and mode not in {"Pipe", None}:
            message = f"is {kind!r}, which needs the input mode Pipe, not {mode}: set InputMode, or use another type"
            yield FieldError(field=f"{field}.DataSource.S3DataSource.S3DataType", message=message)
        if channel.get("CompressionType", "None") != "None" and mode == "File":
            message = "is for the input mode Pipe, not for File: set InputMode, or remove it"
            yield FieldError(field=f"{field}.CompressionType", message=message)


def _input_mode(specification: Any) -> str | None:
    """The input mode of channels that have none of their own; None if it is missing, or wrong."""
    mode = specification.get("TrainingInputMode") if isinstance(specification, Mapping) else None
    return mode if isinstance(mode, str) else None


def rule_errors(draft: Draft) -> Iterator[FieldError]:
    """The errors of a request in the rules of the debugger and the profiler, whose names are unique."""
    seen: set[str] = set()
    for member in ("DebugRuleConfigurations", "ProfilerRuleConfigurations"):
        for i, rule in enumerate(draft.raw.get(member, [])):
            name = rule["RuleConfigurationName"]
            if name in seen:
                message = f"is {name!r:.80}, as that of another rule: rename one"
                yield FieldError(field=f"{member}[{i}].RuleConfigurationName", message=message)
            seen.add(name)


def profiler_errors(draft: Draft) -> Iterator[FieldError]:
    """The errors of a request in its profiler."""
    interval_ms = draft.raw.get("ProfilerConfig", {}).get("ProfilingIntervalInMilliseconds")
    if interval_ms is not None and interval_ms not in _PROFILING_INTERVALS_MS:
        message = f"is {interval_ms}; use one of {', '.join(map(str, _PROFILING_INTERVALS_MS))}"
        yield FieldError(field="ProfilerConfig.ProfilingIntervalInMilliseconds", message=message)


def serverless_errors(draft: Draft) -> Iterator[FieldError]:
    """The errors of a request for a serverless job (ServerlessJobConfig)."""
    job = draft.raw.get("ServerlessJobConfig", {})
    if job.get("JobType") == "Evaluation" and "EvaluationType" not in job:
        message = "is required when JobType is Evaluation: add it"
        yield FieldError(field="ServerlessJobConfig.EvaluationType", message=message)
    length = job.get("SequenceLength")
    # The model has the form, a number and K.
    if length is not None and not 1 <= int(length.removesuffix("K")) <= _MAX_SEQUENCE_K:
        message = f"is {length!r:.60}; use 1K to {_MAX_SEQUENCE_K}K"
        yield FieldError(field="ServerlessJobConfig.SequenceLength", message=message)
