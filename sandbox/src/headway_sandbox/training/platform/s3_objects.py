"""Objects of S3, with the permissions of the job's role."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, ParamSpec, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from headway_sandbox.training.errors import RequestFault, StorageFault

P = ParamSpec("P")
R = TypeVar("R")

_SCHEME = "s3://"


@dataclass(frozen=True, kw_only=True)
class Location:
    """A bucket and a key, or the begin of keys."""

    bucket: str
    key: str

    @classmethod
    def parse(cls, uri: str) -> Location:
        """Read `s3://BUCKET/KEY`.

        Raises:
            RequestFault: It is something else.
        """
        bucket, _, key = uri.removeprefix(_SCHEME).partition("/")
        if not uri.startswith(_SCHEME) or not bucket:
            raise RequestFault(f"'{uri}' is not of the form s3://BUCKET/KEY.")
        return cls(bucket=bucket, key=key)

    def __truediv__(self, name: str | PurePosixPath) -> Location:
        return Location(bucket=self.bucket, key=f"{self.key.rstrip('/')}/{name}".lstrip("/"))

    def __str__(self) -> str:
        return f"{_SCHEME}{self.bucket}/{self.key}"


def relative_path(key: str, prefix: str) -> PurePosixPath | None:
    """Return where the object of a key is placed in a channel's folder; None if it stands for a folder.

    `data/train` and `data/train/` place `data/train/a/b.csv` at `a/b.csv`; `data/tr` places it at `train/a/b.csv`.

    Args:
        key: Key of the object.
        prefix: The requested begin of its key.

    Raises:
        RequestFault: It would be outside of the folder.
    """
    folder = f"{prefix.rstrip('/')}/" if prefix else ""
    start = len(folder) if key.startswith(folder) else prefix.rfind("/") + 1
    path = PurePosixPath(key[start:].lstrip("/"))
    if key.endswith("/") or not path.parts:
        return None
    if ".." in path.parts:
        raise RequestFault(f"The key {key} has a part '..', which is not a name of a file.")
    return path


def _with_readable_errors(call: Callable[P, R]) -> Callable[P, R]:
    @wraps(call)
    def wrapped(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return call(*arguments, **named)
        except (BotoCoreError, ClientError) as error:
            raise StorageFault(str(error)) from error

    return wrapped


class Objects:
    """Reads and writes objects.

    Args:
        endpoint: URL of the AWS endpoint.
        credentials: Access key, secret key and session token of the job's role.
    """

    def __init__(self, *, endpoint: str, region: str, credentials: tuple[str, str, str]) -> None:
        access_key, secret_key, token = credentials
        session = boto3.Session(access_key, secret_key, token, region_name=region)
        config = Config(proxies={}, retries={"mode": "standard"}, s3={"addressing_style": "path"})
        self._client: Any = session.client("s3", endpoint_url=endpoint, config=config)

    @_with_readable_errors
    def sizes(self, prefix: Location) -> dict[str, int]:
        """Return the size of each object whose key begins with a prefix, bytes, in order of their keys."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=prefix.bucket, Prefix=prefix.key)
        return dict(sorted((entry["Key"], entry["Size"]) for page in pages for entry in page.get("Contents", [])))

    @_with_readable_errors
    def download(self, source: Location, path: Path) -> None:
        """Write an object to a file, and make its folders."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._client.download_file(source.bucket, source.key, str(path))

    @_with_readable_errors
    def upload(self, content: BinaryIO, target: Location) -> None:
        """Write an object from a file."""
        self._client.upload_fileobj(_Unclosed(content), target.bucket, target.key)


def download_all(objects: Objects, prefix: Location, keys: Collection[str], folder: Path) -> int:
    """Write objects to a folder and return their number.

    Args:
        objects: Where they are.
        prefix: The requested begin of their keys.
        keys: Their keys.
        folder: The folder, which no script has written to yet.

    Raises:
        RequestFault: A key would be outside of the folder, or cannot be the name of a file.
        StorageFault: S3 refused a call.
    """
    placed = {key: relative_path(key, prefix.key) for key in keys}
    for key, path in placed.items():
        if path is None:
            continue
        try:
            objects.download(Location(bucket=prefix.bucket, key=key), folder / path)
        except OSError as error:
            raise RequestFault(
                f"The object with the key {key} cannot be stored as a file: {error.strerror}."
            ) from error
    return sum(path is not None for path in placed.values())


class _Unclosed:
    """A file that is not closed after its upload, as its owner closes it."""

    def __init__(self, content: BinaryIO) -> None:
        self._content = content

    def read(self, size: int = -1) -> bytes:
        return self._content.read(size)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._content)
