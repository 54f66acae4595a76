"""`fit()` of the SageMaker SDK, version 2, ends in the queue."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from headway_sandbox.checkout import Checkout
from headway_sandbox.sandbox import Sandbox
from tests.e2e.queue_view import QueueView

pytestmark = pytest.mark.e2e

ROOT = Checkout.here().root
SDK_PYTHON = ROOT / ".envs/sdk2/bin/python"
SCRIPT = Path(__file__).with_name("sdk2_fit.py")
TIMEOUT_S = 120


def test_fit_uploads_the_sources_and_ends_in_the_queue_where_the_job_runs(
    sb: Sandbox, queue: QueueView, tmp_path: Path
):
    name = f"{queue.prefix}fit"
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "train.py").write_text("print('training')\n")

    done = run_sdk_script(queue, tmp_path, sb.info.bucket, sb.info.role_arn, str(sources), name)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == name
    job = queue.cli("show", name, "-o", "json").document
    assert (job["priority"], job["demand"]) == (4, {"ml.p5.48xlarge": 1})
    request = job["request"]
    assert request["RoleArn"] == sb.info.role_arn
    assert request["HyperParameters"]["epochs"] == "3"

    uploaded = urlsplit(request["HyperParameters"]["sagemaker_submit_directory"].strip('"'))
    assert uploaded.netloc == sb.info.bucket
    stored = sb.client("s3").get_object(Bucket=uploaded.netloc, Key=uploaded.path.lstrip("/"))
    with tarfile.open(fileobj=io.BytesIO(stored["Body"].read())) as archive:
        assert archive.getnames() == ["train.py"]
    assert stored["ServerSideEncryption"] == "aws:kms"

    # It trains for the ten minutes that the sandbox gives a job which does not say.
    queue.wait_for(fit="completed")
    assert [each["TrainingJobStatus"] for each in queue.training_jobs("fit")] == ["Completed"]
    assert queue.history("fit") == ["pending", "running", "completed"]


def run_sdk_script(queue: QueueView, folder: Path, bucket: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script where the SDK is installed; its configuration file is the user's own."""
    assert os.access(SDK_PYTHON, os.X_OK), f"{SDK_PYTHON} is missing: run `make setup`."
    settings = folder / "sagemaker.yaml"
    # A bucket has to be named: making up the account's own would ask STS, and the SDK knows only the real one.
    # Telemetry would ask for the account too, and then report to AWS.
    modules = f"{{TelemetryOptOut: true, Session: {{DefaultS3Bucket: {bucket}}}}}"
    settings.write_text(f"SchemaVersion: '1.0'\nSageMaker: {{PythonSDK: {{Modules: {modules}}}}}\n")
    environment = {
        **queue.cli.environment,
        "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("layers/core/src", "client/src")),
        "SAGEMAKER_USER_CONFIG_OVERRIDE": str(settings),
        "SAGEMAKER_ADMIN_CONFIG_OVERRIDE": str(settings),
    }
    return subprocess.run(
        [str(SDK_PYTHON), str(SCRIPT), *arguments],
        env=environment, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
