"""The first example of the README runs unchanged."""

from __future__ import annotations

import re
from pathlib import Path

import boto3
import pytest

from tests.client.fakes.aws_stub import AwsStub
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY, ContractServer
from tests.client.sdk2.test_session import ROLE

README = Path(__file__).parents[3] / "README.md"


def test_the_example_of_the_readme_ends_in_the_queue(
    server: ContractServer, aws: AwsStub, sources: str, monkeypatch: pytest.MonkeyPatch
):
    (example,) = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    assert len(example.strip().splitlines()) <= 6
    monkeypatch.chdir(sources)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", boto3.Session(ACCESS_KEY, SECRET_KEY, region_name=REGION))

    settings = {
        "entry_point": "train.py",
        "role": ROLE,
        "framework_version": "2.1.0",
        "py_version": "py310",
        "instance_type": "ml.p5.48xlarge",
        "instance_count": 1,
    }
    exec(compile(example, str(README), "exec"), {"settings": settings})

    (held,) = server.queue.jobs.values()
    request = held["request"]
    assert request["ResourceConfig"]["InstanceType"] == "ml.p5.48xlarge"
    assert {"Key": "priority", "Value": "5"} in request["Tags"]
