"""What each member of CreateTrainingJob means for the result: whether it is a part of the digest.

In doubt a member is a part: that costs a computation at most. ``docs/reference/semantics.md`` has this table in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Role(StrEnum):
    """What a member means for the result."""

    #: It is a part of the digest as it is written.
    PART = "part"
    #: It is a part of the digest after what the SDKs change in each request is taken out; objects that it names are
    #: read.
    STATE = "state"
    #: Two jobs that differ in it only compute the same.
    IGNORED = "ignored"
    #: A job with it is never answered by another one.
    NEVER = "never"


MEMBERS: Mapping[str, Role] = {
    "TrainingJobName": Role.IGNORED,
    "HyperParameters": Role.STATE,
    "AlgorithmSpecification": Role.PART,
    "RoleArn": Role.PART,
    "InputDataConfig": Role.STATE,
    "OutputDataConfig": Role.PART,
    "ResourceConfig": Role.PART,
    "VpcConfig": Role.PART,
    # A job that has completed has not reached a limit.
    "StoppingCondition": Role.IGNORED,
    # The queue's own tags among them: priority and team. The team is a part by itself.
    "Tags": Role.IGNORED,
    "EnableNetworkIsolation": Role.PART,
    "EnableInterContainerTrafficEncryption": Role.PART,
    # Where the instances come from, not what they are.
    "EnableManagedSpotTraining": Role.IGNORED,
    "CheckpointConfig": Role.STATE,
    "DebugHookConfig": Role.PART,
    "DebugRuleConfigurations": Role.PART,
    "TensorBoardOutputConfig": Role.PART,
    # What a job is filed under.
    "ExperimentConfig": Role.IGNORED,
    # The profiler observes a job; SDK 2 puts a time into the name of its rule.
    "ProfilerConfig": Role.IGNORED,
    "ProfilerRuleConfigurations": Role.IGNORED,
    "Environment": Role.PART,
    "RetryStrategy": Role.IGNORED,
    "RemoteDebugConfig": Role.PART,
    "InfraCheckConfig": Role.IGNORED,
    "SessionChainingConfig": Role.PART,
    # A model that is customized and evaluated by SageMaker: what it reads is not in the request.
    "ServerlessJobConfig": Role.NEVER,
    # A run, or a version of a model, that the job is meant to leave elsewhere.
    "MlflowConfig": Role.NEVER,
    "ModelPackageConfig": Role.NEVER,
}
"""Every member of the request. A member that is missing here is never answered, until somebody decides."""

IGNORED_RESOURCES = ("KeepAlivePeriodInSeconds", "TrainingPlanArn", "InstancePlacementConfig")
"""Members of ResourceConfig that do not matter: how long instances are kept, and which of one type."""

JOB_NAME = "sagemaker_job_name"
"""The hyperparameter in which SDK 2 repeats the name of the job."""

SUBMIT_DIRECTORY = "sagemaker_submit_directory"
"""The hyperparameter in which SDK 2 names the archive of the sources."""

SOURCE_CHANNELS = ("code", "sm_drivers")
"""The channels in which the SDKs put sources, under a new prefix for each job (SDK 3: sagemaker.train.constants)."""
