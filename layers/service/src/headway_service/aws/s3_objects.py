"""Objects in S3 through boto3. Whatever goes wrong, they are unreadable: nobody depends on the cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway_service.aws.error_codes import FAILED_CALLS, describe
from headway_service.errors import ObjectsUnreadable, UnreadableAnswer
from headway_service.observability.logging import logger
from headway_service.ports.objects import ObjectPage, StoredObject
from headway_service.response_check import member

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_s3 import S3Client


class S3Objects:
    """:class:`headway_service.ports.objects.Objects` on S3.

    Args:
        client: for all calls.
    """

    def __init__(self, client: S3Client) -> None:
        self._client = client

    def list(self, bucket: str, prefix: str, token: str | None = None) -> ObjectPage:
        """See :class:`headway_service.ports.objects.Objects`."""
        try:
            if token is None:
                answer = self._client.list_objects_v2(Bucket=bucket, Prefix=prefix)
            else:
                answer = self._client.list_objects_v2(Bucket=bucket, Prefix=prefix, ContinuationToken=token)
            return _page(answer, bucket)
        except FAILED_CALLS as error:
            raise _unreadable(error, bucket) from error

    def read(self, bucket: str, key: str, etag: str, size: int) -> bytes:
        """See :class:`headway_service.ports.objects.Objects`."""
        try:
            answer = self._client.get_object(Bucket=bucket, Key=key, IfMatch=etag)
            with answer["Body"] as body:
                content = body.read(size + 1)
        except FAILED_CALLS as error:
            raise _unreadable(error, bucket) from error
        # A proxy's page has neither.
        if len(content) != size or answer.get("ETag") != etag:
            raise _unreadable(UnreadableAnswer("another content"), bucket)
        return content


def _page(answer: Mapping[str, Any], bucket: str) -> ObjectPage:
    # A proxy's page has no name of a bucket: botocore reads it as an answer without members.
    if member(answer, "Name") != bucket:
        raise UnreadableAnswer("an answer about another bucket")
    objects = tuple(
        StoredObject(
            key=member(each, "Key"),
            etag=member(each, "ETag"),
            size=member(each, "Size"),
            modified_ms=int(member(each, "LastModified").timestamp() * 1000),
        )
        for each in answer.get("Contents", ())
    )
    return ObjectPage(
        objects=objects, next_token=member(answer, "NextContinuationToken") if member(answer, "IsTruncated") else None
    )


def _unreadable(error: Exception, bucket: str) -> ObjectsUnreadable:
    logger.warning("objects could not be read", extra={"bucket": bucket, "error": describe(error)})
    return ObjectsUnreadable(describe(error))
