"""The decoders of the client: files that a user names or finds, options, answers of the queue, and objects in S3."""

from __future__ import annotations

import base64
import io
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import click
import requests
from botocore.credentials import Credentials
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway_client.botocore_hooks import list_response
from headway_client.cli.arguments import early_stopping, input_files, overrides, sweep_files
from headway_client.cli.arguments.moments import Moment
from headway_client.cli.arguments.params import Decimal, Duration, WholeNumber
from headway_client.cli.arguments.yaml_documents import parse_yaml
from headway_client.config import sandbox_state
from headway_client.config.profile import read_profiles, resolve_connection
from headway_client.http.transport import TIME_HEADER, Limits, Transport
from headway_client.models import Job
from headway_covalent.storage import TaskStorage
from headway_verification.decoders.decoder import Decoder
from headway_verification.decoders.inputs.archives import zipped_tars
from headway_verification.decoders.inputs.documents import json_texts
from headway_verification.decoders.inputs.lines import files
from headway_verification.decoders.inputs.samples import EARLY_STOPPING, SWEEPS, of_class, request

_YAML = (
    "grid:\n  lr: [0.1, 1e-4]\n  seed: [1, 2]\n  name:\n    - a\n    - 'b c'\n",
    "# a sweep\nrandom:\n  lr: {logUniform: [1e-5, 0.1]}\n  layers: {integer: [1, 9]}\ncount: 5\nseed: 17\n",
    'list:\n- {lr: 0.1, name: "\\u00e9"}\n- lr: 0.2\n  name: |\n    two\n    lines\n',
    json.dumps(SWEEPS[0]),
)

_TOML = (
    'default = "prod"\n\n[profiles.prod]\nendpoint = "https://a.execute-api.eu-west-1.amazonaws.com/v1"\n'
    'region = "eu-west-1"\naws_profile = "x"\napi_id = "abc"\n\n[profiles.box]\nendpoint = "http://127.0.0.1:4566/v1"\n'
    'aws_access_key_id = "test"\naws_secret_access_key = "test"\nregion = "eu-west-1"\n'
)

_TOML_WORDS = (
    "9" * 5000, "1e999", "nan", "-inf", "2026-13-45", "1979-05-27T07:32:00Z", "[a.b]", "[[profiles]]", "{a=1}", '"""',
    "'''", "0x" + "f" * 5000, '"\\ud800"', '"\\U00110000"', "a.b.c = 1", "[" * 5000, "= " + "[" * 5000,
    "= " + "{a=" * 5000,
    "http://[::1", "http://a:99999/", "http://a:b@c/", "https://" + "a" * 300, "http://[::1]:4566/",
)  # fmt: skip

_OPTIONS = ("ResourceConfig.InstanceCount=2", "HyperParameters.lr=0.1", "Tags.a=b", "InputDataConfig.0.ChannelName=x",
            "InputDataConfig.1.A.B=[1]", 'A={"b":1}', "metric=loss,goal=minimize,stepMetric=epoch,minMembers=2",
            "2026-11-25", "2026-11-25T08:00:00.5Z", "36h", "7d", "1d12h", "0.5", "50%", "12")  # fmt: skip

_TIMES = ("2026-11-25T08:00:00.000Z", "Wed, 25 Nov 2026 08:00:00 GMT", "Wed, 25 Nov 99999 08:00:00 GMT",
          "Wed, 25 Nov 0000 08:00:00 -9999", "0001-01-01T00:00:00+23:59", "1", "1.5", "-1", "9" * 400)  # fmt: skip


_REPEATED = ("{" + ",".join(f'"{number}":0' for number in range(200_000)) + ',"199999":1}').encode()
_MANY = (b"{}\n" * 1_000_000, b"[" + b",".join([b"{}"] * 100_000) + b"]")
"""Files within the limit, of which a decoder that begins again with each value never sees the end."""

_LONG_KEY = b"? " + b"k" * 100_000 + b"\n: [" + b"1," * 100_000 + b"1]\n"
"""A name that is repeated for each of many values takes more memory than there is."""


def _text(content: bytes) -> str:
    """A text as an argument of the command line: bytes that are no UTF-8 are halves of surrogate pairs."""
    return content.decode("utf-8", "surrogateescape")


def _in_file(name: str, decode: Callable[[Path], object]) -> Callable[[bytes], object]:
    """What decodes a file of some name."""

    def of_content(content: bytes) -> object:
        path = _folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return decode(path)

    return of_content


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="headway-fuzz-"))


def _profile(path: Path) -> None:
    _, profiles = read_profiles(path)
    for name in profiles:
        resolve_connection(profile=name, environment={"HEADWAY_CONFIG_FILE": str(path)}, folder=path.parent)


def _sandbox(path: Path) -> None:
    sandbox_state.find(path.parent.parent)
    resolve_connection(profile="sandbox", environment={"HEADWAY_CONFIG_FILE": ""}, folder=path.parent.parent)


def _override(content: bytes) -> None:
    overrides.apply(request(), [overrides.parse(_text(content))])


def _moment(content: bytes) -> None:
    for kind in (Moment(), Duration(), WholeNumber(0, 9999), Decimal()):
        kind.convert(_text(content), None, None)


def _early_stopping(content: bytes) -> None:
    early_stopping.parse(_text(content))


def _yaml(content: bytes) -> None:
    document = parse_yaml(content.decode("utf-8", "replace"), "a.yaml")
    for path in ("grid.lr[1].x[0]", "list[0].name", "." * 10_000, "[" * 10_000):
        document.line(path)


def _answer(content: bytes) -> None:
    """An answer of what claims to be the queue: its status and a header in the first line, then its body."""
    head, _, body = content.partition(b"\n")
    status, _, time = head.partition(b" ")
    response = requests.Response()
    response.status_code = int(status) if status in {b"200", b"400", b"403", b"404", b"500"} else 200
    response.raw = io.BytesIO(body)
    response.headers.update({TIME_HEADER: time.decode("latin-1"), "Date": time.decode("latin-1")})
    with mock.patch.object(requests.Session, "send", return_value=response):
        _transport().send("GET", ["jobs"])


def _transport() -> Transport:
    return Transport(
        "https://queue.invalid/v1", region="eu-west-1", credentials=Credentials("a", "b"), limits=Limits(tries=1)
    )


def _list_token(content: bytes) -> None:
    job = Job.from_document({**of_class(Job), "entryTime": "2026-11-25T10:00:00Z"})
    for sort in ("CreationTime", "Name", "Status"):
        list_response.page([job], {"NextToken": _text(content), "SortBy": sort}, region="eu-west-1")


class _S3:
    """The bucket of Covalent's executor, in which a job has written."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def get_object(self, **_: Any) -> dict[str, Any]:
        return {"ContentLength": len(self._content), "Body": io.BytesIO(self._content)}


def _covalent(content: bytes) -> None:
    TaskStorage(_S3(content), "s3://bucket/covalent").result("a")


_ANSWERS = st.builds(
    lambda status, time, body: f"{status} {time}\n".encode() + body,
    st.sampled_from([200, 200, 400, 403, 404, 500]),
    st.sampled_from(_TIMES),
    json_texts([{"jobs": []}, {"error": {"code": "A", "message": "b", "fields": [{"field": "a", "message": "b"}]}}]),
)

_TOKENS = json_texts([["2026-11-25T10:00:00+00:00", "a"], ["a", "a"]]).map(
    lambda text: b"headway:" + base64.urlsafe_b64encode(text)
)

DECODERS = (
    Decoder(
        name="client yaml",
        inputs=st.one_of(files(_YAML), files(_YAML), st.just(_LONG_KEY)),
        decode=_yaml,
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="client sweep file",
        inputs=st.one_of(files(_YAML), json_texts(SWEEPS)),
        decode=_in_file("sweep.yaml", lambda path: sweep_files.read_sweep(str(path))),
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="client JSON file",
        inputs=st.one_of(json_texts([request()]), st.just(_REPEATED)),
        decode=_in_file("request.json", lambda path: input_files.read_object(str(path))),
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="client JSON lines",
        inputs=st.one_of(
            files([f"{json.dumps(request())}\n{json.dumps(request('b'))}\n", "{}\n{}\n[]"]),
            files([*_YAML, "a: 1\n---\n- b: {c: [.inf]}\n"]),
            json_texts([[request(), request("b")]]),
            st.sampled_from(_MANY),
        ),
        decode=_in_file("requests.jsonl", lambda path: input_files.read_objects(str(path))),
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="client profiles",
        inputs=files([_TOML], _TOML_WORDS),
        decode=_in_file("config.toml", _profile),
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="client sandbox state",
        inputs=json_texts(
            [
                {
                    "endpoint": "http://127.0.0.1:4566/v1",
                    "region": "eu-west-1",
                    "access_key": "test",
                    "secret_key": "test",
                    "aws_endpoint": "http://127.0.0.1:4566",
                }
            ]
        ),
        decode=_in_file(".sandbox/sandbox.json", _sandbox),
        refusals=(HeadwayError,),
    ),
    Decoder(name="client --set", inputs=files(_OPTIONS), decode=_override, refusals=(HeadwayError,)),
    Decoder(
        name="client --early-stopping",
        inputs=st.one_of(files(_OPTIONS, ["minMembers=" + "9" * 5000]), json_texts(EARLY_STOPPING)),
        decode=_early_stopping,
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="client times and numbers",
        inputs=files(_OPTIONS),
        decode=_moment,
        refusals=(click.ClickException,),
    ),
    Decoder(name="client answers", inputs=_ANSWERS, decode=_answer, refusals=(HeadwayError,)),
    Decoder(name="client list token", inputs=_TOKENS, decode=_list_token, refusals=(HeadwayError,)),
    Decoder(name="covalent results", inputs=zipped_tars("result.pkl"), decode=_covalent, refusals=(HeadwayError,)),
)
