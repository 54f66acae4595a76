from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.cli.arguments import overrides
from headway_client.errors import UsageError


def changed(request: dict[str, Any], *texts: str) -> dict[str, Any]:
    return overrides.apply(request, [overrides.parse(text) for text in texts])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=1", {"A": 1}),
        ("A=true", {"A": True}),
        ("A=null", {"A": None}),
        ("A=1.5", {"A": 1.5}),
        ('A="1"', {"A": "1"}),
        ('A=[1,{"b":2}]', {"A": [1, {"b": 2}]}),
        ("A=word", {"A": "word"}),
        ("A=a=b", {"A": "a=b"}),
        ("A=", {"A": ""}),
        ("A=NaN", {"A": "NaN"}),
        ("A=007", {"A": "007"}),
        ("ResourceConfig.InstanceCount=2", {"ResourceConfig": {"InstanceCount": 2}}),
        ("HyperParameters.lr=0.1", {"HyperParameters": {"lr": "0.1"}}),
        ("HyperParameters.optimizer.lr=0.1", {"HyperParameters": {"optimizer.lr": "0.1"}}),
        ("Environment.DEBUG=true", {"Environment": {"DEBUG": "true"}}),
        ('HyperParameters={"a":"b"}', {"HyperParameters": {"a": "b"}}),
        ("Tags.team=nlp", {"Tags": [{"Key": "team", "Value": "nlp"}]}),
        ("Tags.headway:priority=5", {"Tags": [{"Key": "headway:priority", "Value": "5"}]}),
        ("Tags=[]", {"Tags": []}),
    ],
)
def test_a_value_is_set_in_an_empty_request(text: str, expected: dict[str, Any]):
    assert changed({}, text) == expected


def test_other_members_stay_and_the_request_itself_is_not_changed():
    request = {
        "ResourceConfig": {"InstanceCount": 1, "VolumeSizeInGB": 10},
        "Tags": [{"Key": "team", "Value": "a"}, {"Key": "priority", "Value": "1"}, {"Key": "cost", "Value": "c"}],
        "InputDataConfig": [{"ChannelName": "train"}],
    }
    before = json.dumps(request)

    assert changed(
        request,
        "ResourceConfig.InstanceCount=2",
        "Tags.headway:team=b",
        "Tags.priority=9",
        "InputDataConfig.0.ChannelName=test",
        "InputDataConfig.1.ChannelName=more",
    ) == {
        "ResourceConfig": {"InstanceCount": 2, "VolumeSizeInGB": 10},
        "Tags": [
            {"Key": "cost", "Value": "c"}, {"Key": "headway:team", "Value": "b"}, {"Key": "priority", "Value": "9"},
        ],
        "InputDataConfig": [{"ChannelName": "test"}, {"ChannelName": "more"}],
    }  # fmt: skip
    assert json.dumps(request) == before


@pytest.mark.parametrize("text", ["", "A", "=1", ".A=1", "A.=1", "A..B=1", "Tags.=x", "HyperParameters.=x"])
def test_an_override_without_key_and_value_is_refused(text: str):
    with pytest.raises(UsageError, match="key=value"):
        overrides.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Name.x=1", "is preceded by a value, which has no fields"),
        ("List.2=1", "use 0 to 1"),
        ("List.x=1", "not an index of that list"),
        ("List.-1=1", "not an index of that list"),
        ("List.²=1", "not an index of that list"),
        pytest.param(f"List.{'9' * 5000}=1", "not an index of that list", id="many digits"),
        ("Tags.a=b", "Tags has to be a list"),
    ],
)
def test_an_unknown_path_is_refused(text: str, words: str):
    with pytest.raises(UsageError, match=words):
        changed({"Name": "a", "List": [1], "Tags": {}}, text)


def test_a_value_that_is_nested_too_deeply_for_json_is_a_text():
    for text in ("[" * 65 + "]" * 65, "[" * 100_000):
        assert changed({}, f"A={text}") == {"A": text}
    assert changed({}, f"A={'[' * 64 + ']' * 64}") != {"A": "[" * 64 + "]" * 64}


@given(
    path=st.lists(st.text(alphabet="ABCxyz", min_size=1), min_size=1, max_size=4),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    ),
)
def test_any_json_value_arrives_at_its_path_as_it_is(path: list[str], value: Any):
    request = changed({}, f"{'.'.join(path)}={json.dumps(value)}")

    for name in path:
        request = request[name]
    assert request == value
