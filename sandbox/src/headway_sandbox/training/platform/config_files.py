"""The files in /opt/ml/input/config.

Sources: SageMaker guide, "How Amazon SageMaker AI Provides Training Information"; for the names in resourceconfig.json
the sagemaker-training toolkit, which reads them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from headway_sandbox.training.platform import channels
from headway_sandbox.training.platform.hosts import Host

_NETWORK = "lo"


def write(request: Mapping[str, Any], hosts: Sequence[Host]) -> None:
    """Write the files of each host.

    Args:
        request: The CreateTrainingJob request.
        hosts: The job's hosts.
    """
    for host in hosts:
        folder = host.ml / "input/config"
        folder.mkdir(parents=True)
        documents = {
            "hyperparameters": dict(request.get("HyperParameters") or {}),
            "inputdataconfig": _input(request),
            "resourceconfig": _resources(host, hosts),
        }
        for name, document in documents.items():
            (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")


def _input(request: Mapping[str, Any]) -> dict[str, Any]:
    return {
        channel["ChannelName"]: {
            "TrainingInputMode": channels.input_mode(request, channel),
            "S3DistributionType": channel["DataSource"]["S3DataSource"].get(
                "S3DataDistributionType", "FullyReplicated"
            ),
            "RecordWrapperType": channel.get("RecordWrapperType", "None"),
        }
        for channel in request.get("InputDataConfig") or []
    }


def _resources(host: Host, hosts: Sequence[Host]) -> dict[str, Any]:
    return {
        "current_host": host.name,
        "current_instance_type": host.instance_type,
        "current_group_name": host.group,
        "hosts": [each.name for each in hosts],
        "instance_groups": [
            {"instance_group_name": name, "instance_type": kind, "hosts": [each.name for each in members]}
            for (name, kind), members in groupby(hosts, key=lambda each: (each.group, each.instance_type))
        ],
        "network_interface_name": _NETWORK,
    }
