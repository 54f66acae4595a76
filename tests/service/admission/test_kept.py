"""What is kept of a submission: its texts, their size, and the digest by which it is known again."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from headway.early_stopping import EarlyStopping
from headway_service.admission.arrays import AdmittedArray
from headway_service.admission.kept import MAX_REQUEST_BYTES, keep
from headway_service.admission.review import MAX_REPORTED_FIELDS
from headway_service.admission.submission import Submission
from headway_service.errors import InvalidRequest, RequestTooLarge
from tests.service.admission.drafts import told

REQUEST: dict[str, Any] = {"b": "é", "a": {"d": 1, "c": [True, None]}}
TEXT = '{"a":{"c":[true,null],"d":1},"b":"é"}'
OTHERS: list[dict[str, Any]] = [{"f": 1, "e": "ß"}]
OTHERS_TEXT = '[{"e":"ß","f":1}]'
OTHERS_QUOTED = r'"[{\"e\":\"ß\",\"f\":1}]"'
SWEEP = '{"grid":{"x":[1]}}'
SWEEP_QUOTED = r'"{\"grid\":{\"x\":[1]}}"'


def array(early_stopping: EarlyStopping | None = None) -> AdmittedArray:
    return AdmittedArray(sweep=SWEEP, count=1, at_once=2, max_failures=3, early_stopping=early_stopping)


EARLY = EarlyStopping.parse({"metric": "loss", "goal": "minimize"})
EARLY_TEXT = (
    f'["earlyStopping",{{"goal":"minimize","metric":"loss","minMembers":{EARLY.min_members},'
    f'"minTrainingSeconds":{EARLY.min_step}}}]'
)


WHOLE: list[tuple[str, dict[str, Any], AdmittedArray | None, str]] = [
    ("a request alone", {}, None, ""),
    ("terms of alternatives without alternatives", {"wait_at_most_s": 5, "portable_checkpoint": True}, None, ""),
    ("alternatives", {"alternatives": OTHERS}, None, f"[{OTHERS_QUOTED},0,false]"),
    (
        "alternatives with their terms",
        {"alternatives": OTHERS, "wait_at_most_s": 5, "portable_checkpoint": True},
        None,
        f"[{OTHERS_QUOTED},5,true]",
    ),
    ("dependencies", {"depends_on": [{"job": "x"}]}, None, '["dependsOn",[{"job":"x"}]]'),
    ("an array", {}, array(), f'["sweep",{SWEEP_QUOTED},2,3]'),
    ("an array that stops early", {}, array(EARLY), f'["sweep",{SWEEP_QUOTED},2,3]{EARLY_TEXT}'),
    ("a job that an equal one may answer", {"reuse": True}, None, '["reuse",false]'),
    ("also without a digest of its image", {"reuse": True, "reuse_unpinned": True}, None, '["reuse",true]'),
    (
        "all of that",
        {"alternatives": OTHERS, "depends_on": [], "reuse": True},
        array(EARLY),
        f'[{OTHERS_QUOTED},0,false]["dependsOn",[]]["sweep",{SWEEP_QUOTED},2,3]{EARLY_TEXT}["reuse",false]',
    ),
]


@pytest.mark.parametrize(("more", "of_array", "text"), [row[1:] for row in WHOLE], ids=[row[0] for row in WHOLE])
def test_the_digest_is_that_of_the_request_and_of_all_that_comes_with_it(
    more: dict[str, Any], of_array: AdmittedArray | None, text: str
) -> None:
    """Stored digests are compared with those of later submissions, so it has to stay as it is."""
    kept = keep(Submission(request=REQUEST, **more), of_array)
    assert (kept.request, kept.alternatives) == (TEXT, OTHERS_TEXT if "alternatives" in more else "")
    assert kept.digest == hashlib.sha256(f"{TEXT}{text}".encode()).hexdigest()


def test_preferences_are_kept_as_alternatives() -> None:
    resources = {"InstancePreferences": [{"InstanceType": "a"}, {"InstanceType": "b"}], "InstanceCount": 1}
    kept = keep(Submission(request={"ResourceConfig": resources}), None)
    assert kept.request == '{"ResourceConfig":{"InstanceCount":1,"InstanceType":"a"}}'
    assert kept.alternatives == '[{"ResourceConfig":{"InstanceCount":1,"InstanceType":"b"}}]'


@pytest.mark.parametrize(
    ("alternatives", "of_array", "texts"),
    [(None, None, TEXT), (OTHERS, None, f"{TEXT}{OTHERS_TEXT}"), (OTHERS, array(), f"{TEXT}{OTHERS_TEXT}{SWEEP}")],
    ids=["a request alone", "with alternatives", "with alternatives, of an array"],
)
def test_the_size_is_that_of_all_texts_in_bytes(alternatives: Any, of_array: AdmittedArray | None, texts: str) -> None:
    def filled(size_bytes: int) -> Submission:
        room = size_bytes - len(texts.encode())
        filling = "é" * (room // 2) + "x" * (room % 2)
        return Submission(request={**REQUEST, "b": f"é{filling}"}, alternatives=alternatives)

    assert keep(filled(MAX_REQUEST_BYTES), of_array).request
    with pytest.raises(RequestTooLarge) as raised:
        keep(filled(MAX_REQUEST_BYTES + 1), of_array)
    assert str(raised.value) == (
        "the request has 400001 bytes, the queue takes 400000: "
        "move large hyperparameters or environment values to S3 and pass their location"
    )


HALF = "\ud800"
PROBLEM = "holds half a surrogate pair, which is no character: write the character itself, or remove it"


@pytest.mark.parametrize(
    ("submission", "fields"),
    [
        (Submission(request={"a": HALF, "b": ["x", HALF]}), ["a", "b[1]"]),
        (Submission(request={"a": "x"}, alternatives=[{"c": "x"}, {"c": HALF}]), ["alternatives[1].c"]),
        (Submission(request={"a": HALF}, alternatives=[{"c": HALF}]), ["a", "alternatives[0].c"]),
        (
            Submission(request={f"k{i:02}": HALF for i in range(MAX_REPORTED_FIELDS + 1)}),
            [f"k{i:02}" for i in range(MAX_REPORTED_FIELDS)],
        ),
    ],
    ids=["the request", "an alternative", "both", "more than are named"],
)
def test_text_without_an_encoding_is_refused_by_all_its_members(submission: Submission, fields: list[str]) -> None:
    with pytest.raises(InvalidRequest) as raised:
        keep(submission, None)
    assert told(raised.value.fields) == [(field, PROBLEM) for field in fields]
    assert str(raised.value) == f"{fields[0]} {PROBLEM}"
