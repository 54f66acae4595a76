"""Files that options name are written in UTF-8, or refused with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway_client.cli.arguments.output_files import write_text
from headway_client.errors import UsageError


@pytest.mark.parametrize("kind", [Path, str])
def test_a_file_is_written_in_utf_8_in_place_of_what_it_had(tmp_path: Path, kind: type) -> None:
    path = tmp_path / "a.txt"
    path.write_text("much longer before")
    write_text(kind(path), "größer")
    assert path.read_bytes() == "größer".encode()


def test_a_file_that_cannot_be_written_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"can't be written: Is a directory\. Choose another file\."):
        write_text(tmp_path, "")
