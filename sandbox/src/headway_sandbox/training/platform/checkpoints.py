"""The checkpoints of a training job: restored before its start, uploaded while it runs and after its end.

Source: SageMaker guide, "Checkpoints in Amazon SageMaker AI". Files that the script removes stay in S3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from headway_sandbox.training.container.root_folder import ML
from headway_sandbox.training.errors import RequestFault
from headway_sandbox.training.platform import folders, s3_objects
from headway_sandbox.training.platform.hosts import Host
from headway_sandbox.training.platform.s3_objects import Location, Objects

_DEFAULT_PATH = "/opt/ml/checkpoints"


class Checkpoints:
    """The checkpoints of one job; without a CheckpointConfig there are none.

    Args:
        request: The CreateTrainingJob request.
        hosts: The job's hosts.
        objects: The objects of S3.

    Raises:
        RequestFault: The local path is outside of /opt/ml.
    """

    def __init__(self, request: Mapping[str, Any], hosts: Sequence[Host], objects: Objects) -> None:
        config = request.get("CheckpointConfig")
        self._target = Location.parse(config["S3Uri"]) if config else None
        self._path = local_path(config or {})
        self._roots = [host.ml for host in hosts]
        self._objects = objects
        self._saved: dict[tuple[Path, PurePosixPath], tuple[int, int]] = {}

    def restore(self) -> int:
        """Place the checkpoints of earlier runs in each host's folder and return their number.

        Raises:
            RequestFault: A key would be outside of the folder.
            StorageFault: S3 refused a call.
        """
        if self._target is None:
            return 0
        # The folder's own objects only: `run-1` must not get those of `run-10`.
        prefix = Location(bucket=self._target.bucket, key=f"{self._target.key.rstrip('/')}/".lstrip("/"))
        keys = self._objects.keys(prefix)
        for root in self._roots:
            (root / self._path).mkdir(parents=True, exist_ok=True)
            s3_objects.download_all(self._objects, prefix, keys, root / self._path)
            self._saved |= {(root, found.path): _version(found) for found in folders.files(root, self._path)}
        return len(keys)

    def upload(self) -> int:
        """Upload the files that have changed since the last call and return their number.

        Raises:
            StorageFault: S3 refused a call. The next call uploads what is missing.
        """
        if self._target is None:
            return 0
        uploaded = 0
        for root in self._roots:
            for found in folders.files(root, self._path):
                name, version = (root, found.path), _version(found)
                if self._saved.get(name) != version:
                    self._objects.upload(found.content, self._target / found.path)
                    self._saved[name] = version
                    uploaded += 1
        return uploaded


def _version(found: folders.FoundFile) -> tuple[int, int]:
    return found.status.st_mtime_ns, found.status.st_size


def local_path(config: Mapping[str, Any]) -> PurePosixPath:
    """Return the folder of checkpoints, relative to /opt/ml.

    Args:
        config: The CheckpointConfig; empty: the default folder.

    Raises:
        RequestFault: It is outside of /opt/ml.
    """
    text = config.get("LocalPath") or _DEFAULT_PATH
    path = PurePosixPath(text)
    if ML not in path.parents or ".." in path.parts:
        raise RequestFault(f"CheckpointConfig.LocalPath {text} is not below {ML}, where the sandbox keeps checkpoints.")
    return path.relative_to(ML)
