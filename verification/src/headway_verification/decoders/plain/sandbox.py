"""The decoders of the sandbox: traces, its state, the environment of training jobs and what their scripts print."""

from __future__ import annotations

import json
import random
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway_sandbox.cloudwatch.embedded_metrics import points
from headway_sandbox.errors import AwsError
from headway_sandbox.journal.journal import Journal
from headway_sandbox.rehearsal.cases import parse_moments
from headway_sandbox.sagemaker import run_script
from headway_sandbox.sagemaker.request_builder import P5
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.state_machine import SageMakerSettings
from headway_sandbox.server.saved_clock import clock_of
from headway_sandbox.server.saved_fleet import SavedFleet, load_fleet
from headway_sandbox.simulator.trace import parse_capacity, read_trace
from headway_sandbox.training.platform.metric_definitions import MetricDefinitions
from headway_verification.decoders.decoder import Decoder, Refused
from headway_verification.decoders.inputs.archives import zipped
from headway_verification.decoders.inputs.damage import damaged
from headway_verification.decoders.inputs.documents import json_texts
from headway_verification.decoders.inputs.lines import files
from headway_verification.decoders.inputs.samples import request
from headway_verification.decoders.inputs.values import texts

_TRACES = (
    "submit_s,duration_s,gpus,vc,user,priority,limit_s\n0,100,8,a,u,1,200\n10.5,1e3,1,,u,,\n20,0,16,b,v,0,3600\n",
    'submit_s,duration_s,gpus,nodes,pool\n0,1,8,1,p\n5,2.5,"4",,"p"\n',
)

_TRACE_WORDS = ("0,nan,1,a,u,1,1", "1e999,1,1,a,u,1,1", "0,1,1e30,p,u,1,1", '"', '"a', "0,1,-1,p", "0,1,1.5,p", ",,,,,")

_CLOCK = {"speed": 1.0, "training_s": 1.8e9, "machine_s": 1.8e9}

_LINES = ("loss: 0.5", "accuracy=1e-3", "a" * 40 + "!", "x" * 40, "loss: " + "1" * 500, " " * 5000, "0." * 500)

_LIMIT_S = 0.05
"""Processor time of a pattern for a line, less than in the sandbox, as most of these patterns take too long."""

_REGEXES = st.sampled_from(
    ["(a+)+$", "(a|aa)+$", "(.*a){20}", "([0-9.]+)*x", "(x+x+)+y", "(", "[", "(?P<a>.)", "a{99999}",
     "(a{1,5000}){1,5000}", "(a{99999999999999999999})",
     "(?i)(a)", "(?<=a+)b", r"(\d+)(?=x)", ".*" * 30 + "(x)", "^(([a-z])+.)+[A-Z]([a-z])+$", r"(?:(?:a?){30})(a{30})",
     r"loss: (.*?,){11}P", "(?L:a)", "(?u)(a)", r"\ud800", "(" * 150 + ")" * 150, "(?#", r"(\1)"]
)  # fmt: skip


_DEFINITIONS = st.lists(
    st.builds(lambda name, regex: {"Name": name, "Regex": regex}, texts, st.one_of(_REGEXES, _REGEXES, texts)),
    max_size=3,
).map(lambda found: json.dumps(found).encode())


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="headway-fuzz-"))


def _trace(content: bytes) -> None:
    path = _folder() / ("trace.csv.gz" if content[:2] == b"\x1f\x8b" else "trace.csv")
    path.write_bytes(content)
    for mapping in ("gpus", "nodes"):
        read_trace(path, {"p": 8, "a": 16, "b": 4}, mapping=mapping)


def _clock(content: bytes) -> None:
    path = _folder() / "clock.json"
    path.write_bytes(content)
    clock_of(_folder(), speed=None, now_s=1.8e9).training_time(1.8e9)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _document(content: bytes) -> Any:
    """The document in an input that another decoder has read before."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise Refused("no JSON") from None


def _metrics(content: bytes) -> None:
    """MetricDefinitions as SageMaker's model allows them, and a line of a script."""
    document = _document(content)
    if not isinstance(document, list) or not all(
        isinstance(each, dict) and all(isinstance(each.get(name), str) for name in ("Name", "Regex"))
        and 1 <= len(each["Regex"]) <= 500
        for each in document
    ):  # fmt: skip
        raise Refused("no MetricDefinitions")
    with closing(MetricDefinitions({"AlgorithmSpecification": {"MetricDefinitions": document}}, _LIMIT_S)) as found:
        for line in _LINES:
            found.read(line)


def _script(content: bytes) -> None:
    document = _document(content)
    if not isinstance(document, dict) or not all(isinstance(each, str) for each in document.values()):
        raise Refused("no environment")
    run_script.read(document, document)


def _journal(content: bytes) -> None:
    path = _folder() / "journal"
    for each in _folder().glob("journal*"):
        each.unlink()
    path.write_bytes(content)
    _open(path)


def _saved(content: bytes) -> None:
    """A journal whose documents are whole, and say anything: its collections, with their documents by name."""
    document = _document(content)
    if not isinstance(document, dict) or not all(isinstance(each, dict) for each in document.values()):
        raise Refused("no collections")
    path = _folder() / "saved"
    for each in _folder().glob("saved*"):
        each.unlink()
    journal = Journal(path)
    for collection, documents_of in document.items():
        for name, each in documents_of.items():
            try:
                journal.put(
                    collection.encode("utf-8", "replace").decode(), name.encode("utf-8", "replace").decode(), each
                )
            except UnicodeError:
                raise Refused("no name") from None
    journal.commit()
    journal.close()
    _open(path)


def _open(path: Path) -> None:
    """Start as the server of a sandbox does."""
    journal = Journal(path)
    try:
        load_fleet(journal, SageMakerSettings(), random.Random(1))
        journal.counts()
    finally:
        journal.close()


@cache
def _journal_bytes() -> bytes:
    path = _folder() / "sample"
    journal = Journal(path)
    for collection, found in saved_fleet().items():
        for name, each in found.items():
            journal.put(collection, name, each)
    journal.close()
    return path.read_bytes()


@cache
def saved_fleet() -> dict[str, Any]:
    """What a sandbox with some training jobs saves: its collections, with their documents by name."""
    fleet = FakeSageMaker()
    saved = SavedFleet(fleet, kept := _Kept())  # type: ignore[arg-type]
    for name in ("a", "b"):
        fleet.call("CreateTrainingJob", request(name), now=1.8e9)
    fleet.call("StopTrainingJob", {"TrainingJobName": "b"}, now=1.8e9 + 1)
    list(fleet.advance(1.8e9 + 400))
    fleet.call("CreateTrainingJob", request("c"), now=1.8e9 + 400)
    saved.put_changes()
    return kept.collections


class _Kept:
    """What is put into a journal."""

    def __init__(self) -> None:
        self.collections: dict[str, dict[str, Any]] = {}

    def put(self, collection: str, name: str, document: Any) -> None:
        self.collections.setdefault(collection, {})[name] = json.loads(json.dumps(document))


def _fake_sagemaker(content: bytes) -> None:
    """A call of SageMaker that a script or a user makes in the sandbox: an operation and its request."""
    document = _document(content)
    if not isinstance(document, list) or len(document) != 2 or not isinstance(document[0], str):
        raise Refused("no call")
    fleet = FakeSageMaker()
    fleet.call("CreateTrainingJob", request("first"), now=1.8e9)
    fleet.call(document[0], document[1], now=1.8e9 + 1)
    list(fleet.advance(1.8e9 + 100_000))
    fleet.call("ListTrainingJobs", {}, now=1.8e9 + 100_000)


_CALLS: list[Any] = [
    ["CreateTrainingJob", request()],
    ["ListTrainingJobs", {"MaxResults": 1, "NameContains": "a", "SortBy": "Name", "StatusEquals": "Completed",
                          "CreationTimeAfter": 1.8e9, "NextToken": "aGVhZHdheToxMA=="}],
    ["DescribeTrainingJob", {"TrainingJobName": "first"}],
    ["StopTrainingJob", {"TrainingJobName": "first"}],
    ["UpdateTrainingJob", {"TrainingJobName": "first", "ResourceConfig": {"KeepAlivePeriodInSeconds": 0}}],
    ["DescribeTrainingPlan", {"TrainingPlanName": "a"}],
]  # fmt: skip

_EMBEDDED = {
    "_aws": {"Timestamp": 1_800_000_000_000, "CloudWatchMetrics": [
        {"Namespace": "Headway", "Dimensions": [["Queue"], []], "Metrics": [{"Name": "Started", "Unit": "Count"}]}]},
    "Queue": "q", "Started": [1, 2.5],
}  # fmt: skip


def _embedded(content: bytes) -> None:
    list(points(_text(content)))


def _moments(content: bytes) -> None:
    parse_moments(_text(content))


def _capacity(content: bytes) -> None:
    parse_capacity(_text(content))


_ENVIRONMENT = {
    "SANDBOX_RUN_SECONDS": "600", "SANDBOX_STOP_SECONDS": "10", "SANDBOX_OUTCOME": "AlgorithmError: x",
    "SANDBOX_GPU_UTILIZATION": "0:760,600:0;0:0", "SANDBOX_CPU_UTILIZATION": "0:5", "A": "b",
}  # fmt: skip

DECODERS = (
    Decoder(
        name="sandbox trace",
        inputs=st.one_of(
            files(_TRACES, _TRACE_WORDS), files(_TRACES, _TRACE_WORDS).map(zipped), damaged(files(_TRACES).map(zipped))
        ),
        decode=_trace,
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="sandbox capacity",
        inputs=files([f"{P5}=16,p=2", "p=1"]),
        decode=_capacity,
        refusals=(HeadwayError,),
    ),
    Decoder(name="sandbox clock", inputs=json_texts([_CLOCK]), decode=_clock, refusals=(HeadwayError, SystemExit)),
    Decoder(
        name="sandbox metric patterns",
        inputs=_DEFINITIONS,
        decode=_metrics,
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="sandbox run script", inputs=json_texts([_ENVIRONMENT]), decode=_script, refusals=(HeadwayError, AwsError)
    ),
    Decoder(
        name="sandbox journal",
        inputs=damaged(st.builds(_journal_bytes)),
        decode=_journal,
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="sandbox saved fleet",
        inputs=st.builds(saved_fleet).flatmap(lambda found: json_texts([found])),
        decode=_saved,
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="sandbox SageMaker calls",
        inputs=json_texts(_CALLS),
        decode=_fake_sagemaker,
        refusals=(HeadwayError, AwsError),
    ),
    Decoder(name="sandbox embedded metrics", inputs=json_texts([_EMBEDDED]), decode=_embedded, refusals=()),
    Decoder(
        name="sandbox rehearsal moments", inputs=files(["20s,50%", "1.5%"]), decode=_moments, refusals=(HeadwayError,)
    ),
)
