"""What a container runs, as a file for its first processes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from headway_sandbox.training.container.limits import Limits


@dataclass(frozen=True, kw_only=True)
class HostSpec:
    """One host of the job."""

    name: str
    """`algo-1`, …"""
    address: str
    """Its address within the job's network."""
    folder: str
    """Its files on this machine: `ml` and `tmp`."""
    output: int
    """File descriptor of its standard output and error."""


@dataclass(frozen=True, kw_only=True)
class ContainerSpec:
    """A container: the same command on each host."""

    command: Sequence[str]
    environment: Mapping[str, str]
    hosts: Sequence[HostSpec]
    user: int | None
    """User that the command runs as; None: the user of the user namespace."""
    programs: Sequence[str]
    """Folders with the interpreter, which the container can read."""
    port: int
    """Port at which the container reaches the AWS endpoint."""
    limits: Limits

    def write(self, path: Path) -> None:
        """Save it to a file that other users cannot read: it has credentials."""
        path.touch(mode=0o600)
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> ContainerSpec:
        """Load a file that `write` saved."""
        document = json.loads(path.read_text(encoding="utf-8"))
        hosts = [HostSpec(**host) for host in document["hosts"]]
        return cls(**{**document, "hosts": hosts, "limits": Limits(**document["limits"])})
