"""Equal jobs are computed once, through the deployed functions and their permissions on S3."""

from __future__ import annotations

import io
import tarfile

import pytest

from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.queue_view import QueueView

pytestmark = pytest.mark.e2e


def sources(mtime: int) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        info = tarfile.TarInfo("train.py")
        info.size, info.mtime = 1, mtime
        archive.addfile(info, io.BytesIO(b"1"))
    return stream.getvalue()


def test_a_job_gets_the_outputs_of_an_equal_one_unless_an_input_has_changed(sb: Sandbox, queue: QueueView):
    s3, bucket, prefix = sb.client("s3"), sb.info.bucket, f"{queue.prefix}reuse"
    s3.put_object(Bucket=bucket, Key=f"{prefix}/data/a", Body=b"1")

    def submit(name: str, mtime: int) -> str:
        """Submit with sources that were packed and uploaded anew, and return what the command says."""
        archive = f"{prefix}/{name}/sourcedir.tar.gz"
        s3.put_object(Bucket=bucket, Key=archive, Body=sources(mtime))
        data = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{bucket}/{prefix}/data"}}
        document = queue.request(
            name,
            HyperParameters={"sagemaker_submit_directory": f'"s3://{bucket}/{archive}"'},
            InputDataConfig=[{"ChannelName": "train", "DataSource": data}],
            OutputDataConfig={"S3OutputPath": f"s3://{bucket}/{prefix}/output"},
        )
        return queue.cli("submit", "-", "--reuse-unpinned", stdin=document).out

    submit("first", 1)
    queue.wait_until_training("first")
    assert f"waits for `{queue.prefix}first`" in submit("second", 2)
    key = f"{prefix}/output/{queue.prefix}first/output/model.tar.gz"
    s3.put_object(Bucket=bucket, Key=key, Body=b"model")
    queue.finish("first")
    queue.wait_for(first="completed", second="completed")
    assert queue.job("second").reused_from == f"{queue.prefix}first"

    assert f"third has completed, with the outputs of {queue.prefix}first" in submit("third", 3)
    assert queue.history("third") == ["pending", "completed"]
    assert f"the outputs of {queue.prefix}first" in queue.cli("show", f"{queue.prefix}third").out

    s3.put_object(Bucket=bucket, Key=f"{prefix}/data/a", Body=b"2")
    submit("fourth", 4)
    queue.wait_until_training("fourth")
    assert queue.training_jobs("second") == queue.training_jobs("third") == []
