"""What a task and its result are in S3."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from headway.tar_headers import bounded_headers
from headway_covalent import run_task
from headway_covalent.errors import MissingSetting, NoResult, NotStored
from headway_covalent.request import task_uri
from headway_covalent.task import Task

MAX_RESULT_BYTES = 256 * 2**20
"""Largest pickled result of a task, and largest archive of one. More belongs into S3, by its URI."""

MAX_UNPACKED_BYTES = 2**30
"""What an archive with a result may unpack to: a few bytes could be any number."""

_BLOCK_BYTES = 2**20

_UNREADABLE = (KeyError, OSError, EOFError, ValueError, OverflowError, RecursionError, zlib.error, tarfile.TarError)
"""What reading an archive raises that somebody wrote: extended headers may follow one another without end."""


class TaskStorage:
    """The tasks and results of an executor.

    Args:
        s3: A boto3 client of S3.
        s3_uri: Where they are kept.

    Raises:
        MissingSetting: The URI is not that of S3.
    """

    def __init__(self, s3: Any, s3_uri: str) -> None:
        parts = urlsplit(s3_uri)
        if parts.scheme != "s3" or not parts.netloc:
            raise MissingSetting(f"s3_uri is '{s3_uri}': give an URI such as s3://bucket/covalent.")
        self._s3 = s3
        self._uri = s3_uri.rstrip("/")
        self._bucket = parts.netloc

    def put(self, name: str, task: Task) -> None:
        """Store what the job of a task needs.

        Raises:
            NotStored: S3 does not take it.
        """
        prefix = self._key(task_uri(self._uri, name))
        script = Path(run_task.__file__).read_bytes()
        for file, content in (
            (run_task.TASK, task.to_json().encode()),
            (run_task.PICKLER, _cloudpickle()),
            (run_task.SCRIPT, script),
        ):
            try:
                self._s3.put_object(Bucket=self._bucket, Key=f"{prefix}/{file}", Body=content)
            except (BotoCoreError, ClientError) as error:
                raise NotStored(f"s3://{self._bucket}/{prefix}/{file} cannot be written: {error}.") from error

    def result(self, attempt_name: str) -> bytes:
        """Return the pickled result of a task.

        Args:
            attempt_name: The training job that completed it.

        Raises:
            NoResult: There is none, it cannot be read, or it is too large.
        """
        key = self._key(f"{self._uri}/{attempt_name}/output/model.tar.gz")
        where = f"s3://{self._bucket}/{key}"
        try:
            found = self._s3.get_object(Bucket=self._bucket, Key=key)
            _require_small(found["ContentLength"], where)
            packed = found["Body"].read()
        except (BotoCoreError, ClientError) as error:
            raise NoResult(f"{where}, the result of the job, cannot be read: {error}.") from error
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(packed)) as unpacked:
                content = io.BytesIO()
                # In blocks: what is asked for is allocated, whatever there is.
                while content.tell() <= MAX_UNPACKED_BYTES and (block := unpacked.read(_BLOCK_BYTES)):
                    content.write(block)
            size_bytes = content.tell()
            _require_small(size_bytes, where, MAX_UNPACKED_BYTES)
            content.seek(0)
            with tarfile.open(fileobj=content, mode="r:", tarinfo=bounded_headers()) as archive:
                member = archive.getmember(run_task.RESULT)
                _require_small(member.size, where)
                # Headers may claim any size, a negative one among them, and holes of any; links may lead to themselves.
                found = archive.extractfile(member) if member.isreg() and 0 <= member.size <= size_bytes else None
                result = found.read() if found is not None else None
        except _UNREADABLE as error:
            raise NoResult(f"{where} has no {run_task.RESULT}: {error}.") from error
        if result is None:
            raise NoResult(f"{where} has no {run_task.RESULT}: it is no file.")
        return result

    def _key(self, uri: str) -> str:
        return urlsplit(uri).path.lstrip("/")


def _require_small(size_bytes: int, where: str, most_bytes: int | None = None) -> None:
    limit_bytes = MAX_RESULT_BYTES if most_bytes is None else most_bytes
    if size_bytes > limit_bytes:
        raise NoResult(
            f"{where} has {size_bytes} bytes, more than {limit_bytes}: let the task store large data in S3 and "
            "return the URI."
        )


def _cloudpickle() -> bytes:
    """Return this environment's cloudpickle as an archive that Python imports from: the job may have none."""
    import cloudpickle

    folder = Path(cloudpickle.__file__).parent
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.glob("*.py")):
            # Without the time of the installation: a submission that is repeated sends the same bytes.
            archive.writestr(zipfile.ZipInfo(f"{folder.name}/{file.name}"), file.read_bytes())
    return packed.getvalue()
