"""Files that describe sweeps, and what is said about those that do not."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway_client.cli.arguments.input_files import MAX_YAML_BYTES
from headway_client.cli.arguments.sweep_files import read_sweep
from headway_client.cli.arguments.yaml_documents import MAX_DEPTH, Place, YamlDocument, parse_yaml
from headway_client.errors import RequestFileError

GRID = """\
# two axes
grid:
  lr: [0.1, 1e-2]
  layers:
    - 2
    - 4
"""


@pytest.fixture(params=["CSafeLoader", "SafeLoader"], autouse=True)
def _each_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test with libyaml, and without it."""
    monkeypatch.setattr(yaml, "CSafeLoader", getattr(yaml, request.param))


@pytest.fixture
def path() -> Path:
    return Path("sweep.yaml")


def refusal(path: Path, text: str) -> list[str]:
    path.write_text(text)
    with pytest.raises(RequestFileError) as caught:
        read_sweep(str(path))
    return [caught.value.message, *(f"{each.field}: {each.message}" for each in caught.value.fields)]


def test_a_sweep_is_read_from_yaml(path: Path) -> None:
    path.write_text(GRID)
    assert read_sweep("sweep.yaml").document() == {"grid": {"lr": [0.1, 0.01], "layers": [2, 4]}}


def test_a_sweep_is_read_from_json_whose_lines_begin_with_tabs(path: Path) -> None:
    document = {"list": [{"opt": "a\tb \U0001f600 /", "lr": 1e-05}, {"opt": "b", "lr": 2}]}
    path.write_text(json.dumps(document, indent="\t").replace("/", "\\/"))
    assert read_sweep("sweep.yaml").document() == document


def test_a_sweep_is_read_from_the_argument_and_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_sweep('{"grid": {"lr": [1]}}').document() == {"grid": {"lr": [1]}}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(GRID.encode())))
    assert read_sweep("-").count == 4


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e-4", 0.0001), ("1E5", 100000.0), ("-.5", -0.5), ("+3", 3), ("1.", 1.0), ("0", 0), ("true", True),
        ("False", False), ("no", "no"), ("on", "on"), ("007", "007"), ("0x1F", "0x1F"), ("1:30", "1:30"),
        ("1_000", "1_000"), ("2026-01-01", "2026-01-01"), ("'1'", "1"), ('"true"', "true"), ("''", ""),
        ("a b", "a b"), ("=", "="),
    ],
)  # fmt: skip
def test_plain_values_are_read_as_yaml_1_2_says(path: Path, written: str, value: object) -> None:
    path.write_text(f"grid:\n  x:\n    - {written}\n")
    (found,) = read_sweep("sweep.yaml").document()["grid"]["x"]
    assert (found, type(found)) == (value, type(value))


def test_names_are_text_as_they_are_written(path: Path) -> None:
    path.write_text("grid: {y: [1], on: [2], 1: [3], null: [4]}\n")
    assert read_sweep("sweep.yaml").members.names == ("y", "on", "1", "null")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "sweep.yaml is empty."),
        ("grid:\n\tlr: [1]\n", "sweep.yaml is not YAML: line 2, column 1 has a tab; use spaces."),
        ("grid:\n  lr: [1]\n \tb: [2]\n", "sweep.yaml is not YAML: line 3, column 2 has a tab; use spaces."),
        ("grid: {lr: [1, 2}\n", "sweep.yaml is not YAML: line 1, column 17: "),
        (
            "grid:\n  lr: [1]\n  lr: [2]\n",
            'sweep.yaml, line 3, column 3 has the key "lr" again, as line 2 has; keep one.',
        ),
        (
            '{"grid": {"a": [1]},\n "grid": {}}',
            'sweep.yaml, line 2, column 2 has the key "grid" again, as line 1 has; keep one.',
        ),
        ("grid: &a\n  lr: *a\n", "sweep.yaml, line 2, column 7 has the alias *a; write the value itself."),
        ("grid:\n  a: &x [1]\n  b: *x\n", "sweep.yaml, line 3, column 6 has the alias *x; write the value itself."),
        ("grid: !!python/object:os.system {}\n", "sweep.yaml, line 1, column 7 has the tag "),
        ("grid:\n  lr: [!!str 1]\n", "sweep.yaml, line 2, column 8 has the tag "),
        ("grid:\n  [1, 2]: 3\n", "sweep.yaml, line 2, column 3 has a list or a mapping as a key; use text."),
        ("grid: {}\n---\ngrid: {}\n", "sweep.yaml, line 2, column 1 begins a second document; keep one."),
        ("grid:\n  lr: ['\x01']\n", "sweep.yaml is not YAML: line 2, column 9 has a control character; remove it."),
        (
            f"grid: {'[' * 500_000}",
            f"sweep.yaml, line 1, column 26 is nested too deeply; use up to {MAX_DEPTH} levels.",
        ),
        (f"# {'x' * MAX_YAML_BYTES}", "sweep.yaml is larger than 1,000,000 bytes, the limit for a sweep."),
    ],
)
def test_a_file_that_is_no_document_is_refused_with_its_line(path: Path, text: str, said: str) -> None:
    (message,) = refusal(path, text)
    assert message.startswith(said)


def test_the_problems_of_a_sweep_have_their_lines(path: Path) -> None:
    text = "grid:\n  lr:\n    - 0.1\n    - null\n    - 0.1\n  b: []\n\nseed: 7\n"
    assert refusal(path, text) == [
        "sweep.yaml describes no sweep.",
        "sweep.yaml, line 8: seed belongs to random only; remove it.",
        "sweep.yaml, line 4: grid.lr[1] is null; use text, a number or a boolean.",
        "sweep.yaml, line 5: grid.lr[2] is '0.1' again, as grid.lr[0] is; remove one of them.",
        "sweep.yaml, line 6: grid.b is empty; add a value, or remove it.",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("random: {a: {uniform: [.nan, 1]}}\ncount: 1\nseed: 1", "1: random.a.uniform[0] is nan; use a finite number."),
        ("- 1\n", "1: the sweep is a list; write an object with one of grid, random, list."),
        ("just text\n", "1: the sweep is text; write an object with one of grid, random, list."),
        ('{"grid": {"lr": [NaN]}}', "1: grid.lr[0] is nan; use a finite number."),
        ("\ngrid: [1]\n", "2: grid is a list; write an object with a member for each hyperparameter."),
        (f"grid:\n  lr: [{'9' * 5000}]\n", "2: grid.lr[0] has 5,000 characters; SageMaker takes up to 2,500."),
        (f"grid:\n  lr: [{'9' * 2600}]\n", "2: grid.lr[0] is a number of more than 2,500 digits; use a smaller one."),
    ],
)  # fmt: skip
def test_a_document_that_is_no_sweep_is_refused_with_its_line(path: Path, text: str, said: str) -> None:
    assert refusal(path, text) == ["sweep.yaml describes no sweep.", f"sweep.yaml, line {said}"]


def test_the_lines_of_values_are_found_by_paths_whose_names_have_points_and_brackets() -> None:
    document = parse_yaml("a.b:\n  c[0]: 1\n  d:\n  - 1\n  - e: 2\nf:\n  b: 3\n", "a.yaml")
    paths = ["a.b", "a.b.c[0]", "a.b.d[1]", "a.b.d[1].e", "f", "a.b.d[7]", "a.b.x.y", "", "z", "." * 1000, "[" * 1000]
    assert [document.line(path) for path in paths] == [2, 2, 5, 5, 7, 4, 2, 1, 1, 1, 1]


def test_a_path_of_many_points_is_not_tried_at_each_of_them() -> None:
    class Counted(dict[str, Place]):
        asked = 0

        def __contains__(self, part: object) -> bool:
            Counted.asked += 1
            return super().__contains__(part)

    document = YamlDocument(value=None, place=Place(line=7, inner=Counted()))
    assert document.line("a." * 5000) == 7
    assert Counted.asked < 100


def test_a_long_name_is_not_kept_again_for_each_value_under_it() -> None:
    text = f"? {'k' * 5000}\n: [{'1,' * 500}1]\n"
    kept, places = 0, [parse_yaml(text, "a.yaml").place]
    while places:
        inner = places.pop().inner
        kept += sum(map(len, inner))
        places += inner.values()
    assert kept < 2 * len(text)


def test_of_many_problems_the_first_are_listed(path: Path) -> None:
    message, *listed = refusal(path, f"grid:\n  lr: [{', '.join(['null'] * 1_000)}]\n")
    assert message == "sweep.yaml describes no sweep. The first 25 of 1,000 problems are listed."
    assert len(listed) == 25


def test_a_file_that_does_not_exist_or_is_not_in_utf_8_is_refused(path: Path) -> None:
    with pytest.raises(RequestFileError, match=r"^sweep.yaml can't be read: No such file or directory\.$"):
        read_sweep("sweep.yaml")
    path.write_bytes(b"grid:\n  a: [\xff]\n")
    with pytest.raises(RequestFileError, match=r"^sweep.yaml is not in UTF-8: see line 2\.$"):
        read_sweep("sweep.yaml")


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Zl", "Zp"]), max_size=8)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(DOCUMENTS, st.sampled_from([None, 2, "\t"]), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_json_is_read_as_json(document: Any, indent: Any, ascii_only: bool) -> None:
    assert parse_yaml(json.dumps(document, indent=indent, ensure_ascii=ascii_only), "x").value == document
