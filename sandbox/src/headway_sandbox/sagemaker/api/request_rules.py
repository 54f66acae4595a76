"""Validation of the rules between members of CreateTrainingJob that the model has in its text only.

The wording is ours, except where it is marked as seen. What a rule forbids is in the model's documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headway_sandbox.sagemaker import requested_instances, service_facts

_PROFILING_INTERVALS_MS = frozenset({100, 200, 500, 1000, 5000, 60_000})
_LONGEST_SEQUENCE_K = 1024


def check_create(request: Mapping[str, Any]) -> None:
    """Validate a CreateTrainingJob request of the shape that the model has.

    Raises:
        AwsError: ValidationException.
    """
    for broken in _broken(request):
        raise service_facts.validation(broken)
    requested_instances.check(request)
    check_tags(request.get("Tags") or [])


def _broken(request: Mapping[str, Any]) -> Iterator[str]:
    yield from _times(request)
    if request.get("ServerlessJobConfig") is None:
        yield from _algorithm(request)
    yield from _channels(request)
    yield from _rules_and_profiler(request)
    yield from _serverless(request.get("ServerlessJobConfig") or {})


def _times(request: Mapping[str, Any]) -> Iterator[str]:
    condition = request.get("StoppingCondition") or {}
    runtime_s = condition.get("MaxRuntimeInSeconds", service_facts.DEFAULT_MAX_RUNTIME_S)
    wait_s = condition.get("MaxWaitTimeInSeconds")
    if runtime_s > service_facts.LONGEST_RUN_S:
        yield f"MaxRuntimeInSeconds must be at most {service_facts.LONGEST_RUN_S}, not {runtime_s}."
    spot = request.get("EnableManagedSpotTraining")
    # Required with spot; with RetryStrategy it limits all attempts in total (StoppingCondition).
    if spot or (wait_s is not None and request.get("RetryStrategy")):
        if wait_s is None or wait_s < runtime_s:
            yield "Invalid MaxWaitTimeInSeconds. It must be present and be greater than or equal to MaxRuntimeInSeconds"
    elif wait_s is not None:  # seen verbatim
        yield "Invalid MaxWaitTimeInSeconds. It is only supported when EnableManagedSpotTraining is set to true"


def _algorithm(request: Mapping[str, Any]) -> Iterator[str]:
    specification = request.get("AlgorithmSpecification") or {}
    if bool(specification.get("TrainingImage")) == bool(specification.get("AlgorithmName")):
        yield "AlgorithmSpecification must have either TrainingImage or AlgorithmName."
    access = (specification.get("TrainingImageConfig") or {}).get("TrainingRepositoryAccessMode")
    if access == "Vpc" and not request.get("VpcConfig"):
        yield "TrainingRepositoryAccessMode Vpc requires VpcConfig."


def _channels(request: Mapping[str, Any]) -> Iterator[str]:
    channels = request.get("InputDataConfig") or []
    names = [channel["ChannelName"] for channel in channels]
    if len(set(names)) != len(names):
        yield "The channel names of InputDataConfig must be unique."
    general_mode = (request.get("AlgorithmSpecification") or {}).get("TrainingInputMode")
    for channel in channels:
        name, source = channel["ChannelName"], channel["DataSource"]
        mode = channel.get("InputMode") or general_mode
        if not any(source.values()):
            yield f"The DataSource of channel {name} is empty."
        if source.get("FileSystemDataSource") and not request.get("VpcConfig"):
            yield f"The file system of channel {name} requires VpcConfig."
        kind = (source.get("S3DataSource") or {}).get("S3DataType")
        if kind == "AugmentedManifestFile" and mode not in {"Pipe", None}:
            yield f"AugmentedManifestFile can only be used in Pipe mode (channel {name})."
        if channel.get("CompressionType") == "Gzip" and mode == "File":  # seen verbatim
            yield f"Invalid compression type for channel {name}: File mode only supports NONE, got Gzip instead"


def _rules_and_profiler(request: Mapping[str, Any]) -> Iterator[str]:
    rules = [*(request.get("DebugRuleConfigurations") or []), *(request.get("ProfilerRuleConfigurations") or [])]
    if len({rule["RuleConfigurationName"] for rule in rules}) != len(rules):
        yield "RuleConfigurationName must be unique relative to other rule configuration names."
    interval_ms = (request.get("ProfilerConfig") or {}).get("ProfilingIntervalInMilliseconds")
    if interval_ms is not None and interval_ms not in _PROFILING_INTERVALS_MS:
        yield f"ProfilingIntervalInMilliseconds must be one of {sorted(_PROFILING_INTERVALS_MS)}, not {interval_ms}."


def _serverless(job: Mapping[str, Any]) -> Iterator[str]:
    if job.get("JobType") == "Evaluation" and not job.get("EvaluationType"):
        yield "EvaluationType is required when JobType is Evaluation."
    length = job.get("SequenceLength")
    if length is not None and not 1 <= int(length.removesuffix("K")) <= _LONGEST_SEQUENCE_K:
        yield f"SequenceLength must be from 1K to {_LONGEST_SEQUENCE_K}K, not {length}."


def check_tags(tags: list[Mapping[str, str]]) -> None:
    """Validate that tag keys are unique and do not begin with `aws:` (model, Tag and AddTags).

    Raises:
        AwsError: ValidationException.
    """
    keys = [tag["Key"] for tag in tags]
    if len(set(keys)) != len(keys):
        raise service_facts.validation("Duplicate tag keys found in the request. Tag keys must be unique.")
    if any(key.lower().startswith("aws:") for key in keys):
        raise service_facts.validation("Tag keys that begin with 'aws:' are reserved for system use.")
