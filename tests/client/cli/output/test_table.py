from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.cli.output.table import Table, as_csv_cell, wants_colour


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("job1", "job1"),
        ("-5", "-5"),
        ("-1.5", "-1.5"),
        ("-", ""),
        ("=1+1", "'=1+1"),
        ("+cmd", "'+cmd"),
        ("-cmd", "'-cmd"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\t=1", "' =1"),
        ('"=1', "'\"=1"),
        ("a\nb", "a b"),
        ("a\x1b[2J", "a\\x1b[2J"),
    ],
)
def test_no_cell_is_a_formula(value: str, expected: str):
    assert as_csv_cell(value) == expected


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2), max_size=4))
def test_csv_reads_back_as_it_was_written_and_holds_no_formula(rows: list[list[str]]):
    text = Table(headers=["A", "B"], rows=rows).csv()

    read = list(csv.reader(io.StringIO(text)))
    assert read == [["A", "B"], *([as_csv_cell(cell) for cell in row] for row in rows)]
    assert not any(cell[:1] in {"=", "+", "@", "\t", "\r"} for row in read for cell in row)


def test_only_states_are_coloured_and_columns_keep_their_width():
    table = Table(headers=["Job Name", "State", "Why"], rows=[["running", "running", "x"], ["b", "odd", "failed"]])

    plain, coloured = table.text(), table.text(colour=True)

    assert "\x1b" not in plain
    assert coloured.count("\x1b[32mrunning\x1b[0m") == 1
    assert "\x1b[31mfailed" not in coloured
    assert coloured.replace("\x1b[32m", "").replace("\x1b[0m", "") == plain


@pytest.mark.parametrize(
    ("stream", "environment", "expected"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colour_is_for_terminals_unless_it_is_unwanted(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, environment: dict[str, str], expected: bool
):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert wants_colour(stream) is expected


FOLDED = Table(
    headers=["Time", "Why"], rows=[["2026-01-02", "preempted so that `big` can start on 2 instances"], ["-", "-"]]
)


def test_a_folded_column_continues_below_its_beginning():
    assert FOLDED.folded(width=50).splitlines() == [
        "Time        Why",
        "----------  --------------------------------------",
        "2026-01-02  preempted so that `big` can start on 2",
        "            instances",
        "-           -",
    ]


def test_a_folded_column_that_has_no_room_stands_on_lines_of_its_own():
    assert FOLDED.folded(width=40).splitlines() == [
        "Time",
        "----------",
        "2026-01-02",
        "    preempted so that `big` can start on",
        "    2 instances",
        "-",
    ]


@pytest.mark.parametrize("width", range(6))
def test_a_folded_column_has_its_words_at_any_width(width: int):
    assert FOLDED.folded(width=width).split()[2:] == ["2026-01-02", *FOLDED.rows[0][1].split(), "-"]


def test_a_folded_table_that_fits_is_as_any_other():
    assert FOLDED.folded(width=80) == FOLDED.folded() == FOLDED.text()


def test_wide_characters_do_not_shift_the_columns_behind_them():
    lines = Table(headers=["Team", "Why"], rows=[["\u65e5\u672c", "x"], ["abcdef", "y"]]).text().splitlines()

    assert lines[1:] == ["------  ---", "\u65e5\u672c    x", "abcdef  y"]


def test_spare_columns_are_left_out_where_there_is_no_room():
    table = Table(headers=["Name", "Age", "Why"], rows=[["a", "3 h", "waits for others"]], spare=("Age",))

    assert table.text(width=25).splitlines()[2] == "a     3 h  waits for others".replace("3 h  ", "")
    assert table.text(width=27).splitlines()[2] == "a     3 h  waits for others"
    assert table.csv().startswith("Name,Age,Why")


@pytest.mark.parametrize(
    ("width", "expected"), [(12, "A  B  C  D"), (9, "A  C  D"), (7, "A  C  D"), (6, "A  D"), (1, "A  D")]
)
def test_as_many_spare_columns_are_left_out_as_needed_in_their_order(width: int, expected: str):
    table = Table(headers=["A", "B", "C", "D"], rows=[["1", "2", "3", "4"]], spare=("B", "C"))

    assert table.text(width=width).splitlines()[0] == expected


def test_notes_are_folded_to_the_width():
    table = Table(headers=["A"], rows=[["1"]], note=["used until 2026-11-25 08:30:00 UTC by attempts"])

    assert table.text(width=40).splitlines()[4:] == ["used until 2026-11-25 08:30:00 UTC by", "attempts"]
    assert table.text().splitlines()[4:] == list(table.note)
