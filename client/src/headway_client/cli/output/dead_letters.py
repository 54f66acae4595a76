"""Format dead letters."""

from __future__ import annotations

from collections.abc import Iterable

from headway_client.cli.output import times
from headway_client.cli.output.table import NONE, Table
from headway_client.models import DeadLetter, Redrive


def letter_rows(letters: Iterable[DeadLetter], *, wide: bool = False) -> Table:
    """Return dead letters as a table in the given order.

    Args:
        letters: the dead letters.
        wide: also show their ids and the number of receives.
    """
    headers = ["Queue", "Sent", "About"]
    if wide:
        headers += ["Id", "Received"]
    return Table(headers=[*headers, "Why"], rows=[_letter_row(letter, wide=wide) for letter in letters])


def redrive_sentence(done: Redrive) -> str:
    """Return one line with the result of a redrive."""
    dropped = f"{done.dropped} dropped (one wake-up is enough)" if done.dropped else "0 dropped"
    return f"{done.redriven} redriven, {dropped}, {done.failed} failed, {done.left} left."


def _letter_row(letter: DeadLetter, *, wide: bool) -> list[str]:
    row = [letter.queue, times.moment(letter.sent_time, wide=wide), letter.about or NONE]
    if wide:
        row += [letter.id, str(letter.receive_count)]
    stuck = f"can't be redriven: {letter.problem}" if letter.problem else None
    reasons = [text for text in (stuck, letter.error_type, letter.error_message) if text]
    return [*row, ": ".join(reasons) or NONE]
