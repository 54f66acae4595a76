"""The condition keys of SageMaker's own that a request to create or update a training job has.

Source: the Service Authorization Reference for SageMaker, CreateTrainingJob and UpdateTrainingJob. It says of which
kind a key is, and not what it has if the request leaves its member out: here the key is missing then, which an
affirmative condition does not allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_MEMBERS = {
    "sagemaker:EnableRemoteDebug": "RemoteDebugConfig.EnableRemoteDebug",
    "sagemaker:InterContainerTrafficEncryption": "EnableInterContainerTrafficEncryption",
    "sagemaker:KeepAlivePeriod": "ResourceConfig.KeepAlivePeriodInSeconds",
    "sagemaker:MaxRuntimeInSeconds": "StoppingCondition.MaxRuntimeInSeconds",
    "sagemaker:NetworkIsolation": "EnableNetworkIsolation",
    "sagemaker:OutputKmsKey": "OutputDataConfig.KmsKeyId",
    "sagemaker:VolumeKmsKey": "ResourceConfig.VolumeKmsKeyId",
    "sagemaker:VpcSecurityGroupIds": "VpcConfig.SecurityGroupIds",
    "sagemaker:VpcSubnets": "VpcConfig.Subnets",
}
_FILE_SYSTEM = {
    "sagemaker:FileSystemAccessMode": "FileSystemAccessMode",
    "sagemaker:FileSystemDirectoryPath": "DirectoryPath",
    "sagemaker:FileSystemId": "FileSystemId",
    "sagemaker:FileSystemType": "FileSystemType",
}


def of(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the condition keys of each permission that a request requires on its training job.

    There is one for each file system that it mounts, as their keys have one value each. That SageMaker asks once for
    each is not documented; the guide's policies with a statement for each directory work only so ("Restrict an IAM user
    to specific directories and access modes").
    """
    keys = _present({key: _at(request, path) for key, path in _MEMBERS.items()})
    types = list(_instance_types(request.get("ResourceConfig")))
    if types:
        keys["sagemaker:InstanceTypes"] = types
    sources = [
        _present({key: source.get(member) for key, member in _FILE_SYSTEM.items()}) for source in _mounted(request)
    ]
    return [{**keys, **source} for source in sources] or [keys]


def _present(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return those with a value, as text: booleans and numbers as in policies."""
    found: dict[str, Any] = {}
    for key, value in keys.items():
        match value:
            case bool():
                found[key] = str(value).lower()
            case int():
                found[key] = str(value)
            case str() if value:
                found[key] = value
            case list() if texts := [each for each in value if isinstance(each, str)]:
                found[key] = texts
    return found


def _instance_types(config: Any) -> Iterator[str]:
    if not isinstance(config, Mapping):
        return
    listed = [part for name in ("InstanceGroups", "InstancePreferences") for part in _items(config.get(name))]
    for part in (config, *listed):
        name = part.get("InstanceType")
        if isinstance(name, str):
            yield name


def _mounted(request: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for channel in _items(request.get("InputDataConfig")):
        source = _at(channel, "DataSource.FileSystemDataSource")
        if isinstance(source, Mapping):
            yield source


def _items(listed: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list in a request, which may be malformed."""
    return [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []


def _at(part: Any, path: str) -> Any:
    for name in path.split("."):
        part = part.get(name) if isinstance(part, Mapping) else None
    return part
