"""The hosts of a training job on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ONLY_GROUP = "homogeneousCluster"
"""Group name of a job without instance groups (sagemaker-training toolkit, `environment.py`)."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """One host."""

    number: int
    """From 1."""
    instance_type: str
    group: str
    folder: Path
    """Its files: `ml` is its /opt/ml, `tmp` its /tmp."""

    @property
    def name(self) -> str:
        """Its name in the job's network."""
        return f"algo-{self.number}"

    @property
    def address(self) -> str:
        """Its address there: the hosts of a job share a loopback interface, which has all of 127.0.0.0/8."""
        return f"127.0.{1 + self.number // 256}.{self.number % 256}"

    @property
    def ml(self) -> Path:
        """Its /opt/ml."""
        return self.folder / "ml"


def hosts_of(resources: Mapping[str, Any], folder: Path) -> list[Host]:
    """Return the hosts of a job; those of instance groups in the order of the groups.

    Args:
        resources: The ResourceConfig of its request, or of its description if it has InstancePreferences.
        folder: Folder for their files.
    """
    groups = resources.get("InstanceGroups") or [
        {
            "InstanceGroupName": ONLY_GROUP,
            "InstanceType": resources.get("SelectedInstanceType") or resources.get("InstanceType", ""),
            "InstanceCount": resources.get("SelectedInstanceCount") or resources.get("InstanceCount", 1),
        }
    ]
    kinds = [
        (group["InstanceType"], group["InstanceGroupName"]) for group in groups for _ in range(group["InstanceCount"])
    ]
    return [
        Host(number=number, instance_type=kind, group=group, folder=folder / f"algo-{number}")
        for number, (kind, group) in enumerate(kinds, start=1)
    ]
