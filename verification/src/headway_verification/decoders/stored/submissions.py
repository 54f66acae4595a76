"""Submissions: a job, a batch, an array, an archive of sources; through the API and the ticks of two jobs' lives."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from functools import cache
from typing import Any

from hypothesis import strategies as st

from headway_sandbox.sagemaker.request_builder import G5, P5
from headway_verification.decoders.decoder import Decoder, Refused
from headway_verification.decoders.inputs.archives import zipped_tars
from headway_verification.decoders.inputs.documents import json_texts
from headway_verification.decoders.inputs.samples import EARLY_STOPPING, SWEEPS, request
from headway_verification.decoders.inputs.values import texts
from headway_verification.decoders.queue import Queue

FIRST, HOSTILE = "first", "a"
"""The job that others depend on, and the name of a hostile one unless it gives itself another."""

ARCHIVE = "sources/a.tar.gz"

AT_ONCE = 20
"""Inputs of a batch: each is a queue of its own, with some ticks."""

_MODEL = {
    "ChannelName": "model",
    "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"{{{{ jobs.{FIRST}.model }}}}"}},
}
_ANY, _OK = {"job": FIRST, "condition": "any"}, {"job": FIRST, "condition": "ok"}
_REUSED = {"reuse": True, "reuseUnpinned": True}

JOBS: list[Any] = [
    request(),
    {"jobDetails": request(), "dependsOn": [_ANY], **_REUSED},
    {"jobDetails": request(), "dependsOn": [_OK], **_REUSED},
    {"jobDetails": request(InputDataConfig=[_MODEL]), "dependsOn": [_OK]},
    {"jobDetails": json.dumps(request()), "jobName": HOSTILE, "priority": 5, "entryTime": 1, "jobState": "x"},
    {"jobDetails": request(), "sweep": SWEEPS[0], "atOnce": 2, "maxFailures": 1, "earlyStopping": EARLY_STOPPING[0]},
    {"jobDetails": request(), "sweep": SWEEPS[1], "dependsOn": [_ANY], **_REUSED},
    {"jobDetails": request(), "sweep": SWEEPS[2], "earlyStopping": EARLY_STOPPING[1]},
    {"jobDetails": request(), "waitAtMostSeconds": 60, "portableCheckpoint": True,
     "alternatives": [{"ResourceConfig": {"InstanceType": G5, "InstanceCount": 1, "VolumeSizeInGB": 30}},
                      {"EnableManagedSpotTraining": True, "StoppingCondition":
                       {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 3600}}]},
    {"jobDetails": request(ResourceConfig={"VolumeSizeInGB": 30, "InstanceGroups": [
        {"InstanceGroupName": "a", "InstanceType": P5, "InstanceCount": 1},
        {"InstanceGroupName": "b", "InstanceType": G5, "InstanceCount": 2}]})},
]  # fmt: skip
"""What may be submitted, with what belongs to it."""


def _text(content: bytes) -> str:
    """A body as API Gateway hands it on."""
    return content.decode("utf-8", "replace")


def live(queue: Queue, path: str, text: str, names: tuple[str, ...]) -> bool:
    """Submit what is hostile, and let its jobs live beside those of others.

    Args:
        path: of the call.
        text: its body.
        names: jobs that are asked about.

    Returns:
        Whether it was accepted.
    """
    queue.ask("POST", "/jobs", json.dumps(request(FIRST, CheckpointConfig={"S3Uri": "s3://jobs/first"})))
    try:
        queue.ask("POST", path, text)
        accepted = True
    except Refused:
        accepted = False
    queue.serve_others()
    if accepted:
        # The first job ends meanwhile, and what depends on it is released and compared with equal jobs.
        for seconds in (600, 7200):
            queue.let_pass(seconds)
            queue.serve_others()
        for name in names:
            queue.ask_about(name)
    return accepted


def _queue(archive: bytes | None = None) -> Queue:
    queue = Queue()
    queue.objects.put("jobs", ARCHIVE, _sources() if archive is None else archive)
    queue.objects.put("data", "train/x", b"x")
    return queue


@cache
def _sources() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("train.py")
        member.size = 8
        archive.addfile(member, io.BytesIO(b"print(1)"))
    return gzip.compress(packed.getvalue(), mtime=0)


def _job(content: bytes) -> None:
    _require(live(_queue(), "/add-job", _text(content), (HOSTILE,)))


def _batch(content: bytes) -> None:
    _require(live(_queue(), "/job-batches", f'{{"requests": [{_text(content)}]}}', (HOSTILE,)))


def _what_if(content: bytes) -> None:
    queue = _queue()
    queue.ask("POST", "/jobs", json.dumps(request(FIRST)))
    accepted = True
    try:
        queue.ask("POST", "/what-if", _text(content))
    except Refused:
        accepted = False
    queue.serve_others()
    _require(accepted)


def _archive(content: bytes) -> None:
    """An archive of sources of a job that may be answered by an equal one."""
    _require(live(_queue(content), "/add-job", json.dumps(JOBS[1]), (HOSTILE,)))


def _texts_of_a_request(content: bytes) -> None:
    """Texts where a request may have any: what they are is up to the user, so most are accepted and stored."""
    document = json.loads(content)
    _require(live(_queue(), "/add-job", json.dumps(document), (HOSTILE,)))


def _require(accepted: bool) -> None:  # noqa: FBT001 - it is what it is about
    if not accepted:
        raise Refused("the call is refused")


@st.composite
def _free_texts(draw: st.DrawFn) -> bytes:
    """A valid submission in which texts are replaced that may be anything."""
    document: dict[str, Any] = json.loads(json.dumps(draw(st.sampled_from([each for each in JOBS if "sweep" in each or
                                                                          "dependsOn" in each]))))  # fmt: skip
    details = document["jobDetails"]
    for _ in range(draw(st.integers(1, 3))):
        text = draw(texts)[:2000]
        match draw(st.integers(0, 8)):
            case 0:
                details["HyperParameters"]["sagemaker_submit_directory"] = draw(
                    st.sampled_from([text, json.dumps(text), json.dumps(f"s3://jobs/{text}"), f"s3://jobs/{text}"])
                )
            case 1:
                details["HyperParameters"][text[:200]] = draw(texts)[:2000]
            case 2:
                details["Environment"]["A"] = text[:500]
            case 3:
                details["Environment"]["SANDBOX_OUTCOME"] = f"AlgorithmError: {text[:500]}"
            case 4:
                details["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"] = f"s3://data/{text[:500]}"
            case 5:
                details["AlgorithmSpecification"]["MetricDefinitions"][0]["Regex"] = text[:500] or "x"
            case 6:
                details["CheckpointConfig"]["S3Uri"] = f"s3://jobs/{text[:500]}"
            case 7:
                details["OutputDataConfig"]["S3OutputPath"] = f"s3://jobs/{text[:500]}"
            case _:
                details["Tags"].append({"Key": "b", "Value": text[:200]})
    return json.dumps(document).encode()


_CHANGES: list[Any] = [
    {"changes": [{"change": "submit", "request": each}, {"change": "withdraw", "jobName": "b"},
                 {"change": "reprioritise", "jobName": "b", "priority": 3},
                 {"change": "resize", "pool": P5, "size": 3}]}
    for each in (JOBS[0], JOBS[2], JOBS[5], JOBS[8])
] + [{"changes": [{"change": "submit", "request": each}]} for each in JOBS]  # fmt: skip

DECODERS = (
    Decoder(name="queue submission", inputs=json_texts(JOBS), decode=_job, refusals=(Refused,), batch=AT_ONCE),
    Decoder(name="queue batch", inputs=json_texts(JOBS), decode=_batch, refusals=(Refused,), batch=AT_ONCE),
    Decoder(
        name="queue texts of requests", inputs=_free_texts(), decode=_texts_of_a_request, refusals=(Refused,),
        batch=AT_ONCE,
    ),
    Decoder(
        name="queue archive of sources", inputs=zipped_tars("train.py"), decode=_archive, refusals=(Refused,),
        batch=AT_ONCE,
    ),
    Decoder(name="queue what-if", inputs=json_texts(_CHANGES), decode=_what_if, refusals=(Refused,), batch=AT_ONCE),
)  # fmt: skip
