from __future__ import annotations

from headway_client.cli.output.sheet import sheet


def test_text_that_does_not_fit_continues_below_its_beginning():
    text = "waits for `bert`, until 2026-01-02 03:04 UTC at the latest"

    assert sheet([("Why", text), ("Checkpoint", "-")], width=45).splitlines() == [
        "Why        waits for `bert`, until",
        "           2026-01-02 03:04 UTC at the latest",
        "Checkpoint -",
    ]
    assert sheet([("Why", text)]).splitlines() == [f"Why       {text}"]


def test_labels_and_text_of_others_are_safe_to_show():
    assert sheet([("Why", "\x1b[2Jgone")], width=80) == "Why       \\x1b[2Jgone"
