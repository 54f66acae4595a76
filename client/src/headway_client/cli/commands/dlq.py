"""The commands on dead letters: dlq show, dlq redrive."""

from __future__ import annotations

import argparse

from headway_client.cli.context import open_api, show_json, show_rows, wants_json
from headway_client.cli.grammar import Commands
from headway_client.errors import EXIT_BUSY, EXIT_OK
from headway_client.text import to_stderr


def register(commands: Commands) -> None:
    """Say which arguments they take."""
    group = commands.group("dlq", "show or redrive what was put aside as dead letters")
    group.add("show", show, "show the events and wake-ups that nobody could handle", rows=True)
    group.add("redrive", redrive, "hand them to whom they were meant for; exit code 7 if some stay")


def show(args: argparse.Namespace) -> None:
    """Show the events and wake-ups that were put aside."""
    from headway_client.cli.output import letter_rows

    answer = open_api(args).dead_letters()
    show_rows(args, answer.document, lambda *, wide: letter_rows(answer.letters, wide=wide), empty="No dead letters.")
    if answer.more and not wants_json(args):
        to_stderr("There may be more than these.")


def redrive(args: argparse.Namespace) -> int:
    """Hand them over again; the exit code tells whether all could be."""
    from headway_client.cli.output import redrive_sentence

    done = open_api(args).redrive()
    if wants_json(args):
        show_json(done.document)
    else:
        print(redrive_sentence(done))
        for failure in done.failures:
            to_stderr(f"{failure.id} ({failure.queue}) stays: {failure.problem}.")
        if done.left > done.failed:
            to_stderr("There are more: redrive again.")
    return EXIT_BUSY if done.failed else EXIT_OK
