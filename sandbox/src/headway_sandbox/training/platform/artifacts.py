"""The model and the output of a training job: what the hosts have written, as archives in S3.

Source: API reference, OutputDataConfig. A host's links and devices are left out. If no host has written a model, there
is no archive; AWS does not document what it uploads then.
"""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from headway_sandbox.training.platform import folders
from headway_sandbox.training.platform.hosts import Host
from headway_sandbox.training.platform.s3_objects import Location, Objects

_FOLDERS = {"model": "model", "output": "output/data"}
"""Name of each archive, and its folder in /opt/ml."""


def upload(request: Mapping[str, Any], hosts: Sequence[Host], objects: Objects, *, scratch: Path) -> None:
    """Upload the model and the output of all hosts; of files with the same path that of the first host.

    Args:
        request: The CreateTrainingJob request.
        hosts: The job's hosts, whose processes have ended.
        objects: The objects of S3.
        scratch: Folder for the archives.

    Raises:
        StorageFault: S3 refused a call.
    """
    config = request["OutputDataConfig"]
    target = Location.parse(config["S3OutputPath"]) / f"{request['TrainingJobName']}/output"
    for name, folder in _FOLDERS.items():
        if config.get("CompressionType") == "NONE":
            for found in _files(hosts, folder):
                objects.upload(found.content, target / name / found.path)
        else:
            with archive(hosts, folder, scratch) as content:
                if content is not None:
                    objects.upload(content, target / f"{name}.tar.gz")


@contextmanager
def archive(hosts: Sequence[Host], folder: str, scratch: Path) -> Iterator[BinaryIO | None]:
    """Return an archive of a folder of all hosts; None if none of them has a file there.

    Args:
        folder: The folder, in /opt/ml.
        scratch: Folder for the archive, which is removed at the end.
    """
    with tempfile.TemporaryFile(dir=scratch) as content:
        count = 0
        with tarfile.open(fileobj=content, mode="w:gz") as packed:
            for found in _files(hosts, folder):
                entry = tarfile.TarInfo(str(found.path))
                entry.size, entry.mtime, entry.mode = found.status.st_size, int(found.status.st_mtime), 0o644
                packed.addfile(entry, found.content)
                count += 1
        content.seek(0)
        yield content if count else None


def _files(hosts: Sequence[Host], folder: str) -> Iterator[folders.FoundFile]:
    seen = set()
    for host in hosts:
        for found in folders.files(host.ml, PurePosixPath(folder)):
            if found.path not in seen:
                seen.add(found.path)
                yield found
