"""The commands on dead letters: dlq show, dlq redrive."""

from __future__ import annotations

import argparse

from headway_client import render
from headway_client.commands.context import open_api, show_json, tell, wants_json
from headway_client.errors import EXIT_BUSY, EXIT_OK


def show(args: argparse.Namespace) -> None:
    """Show the events and wake-ups that were put aside."""
    answer = open_api(args).dead_letters()
    if wants_json(args):
        show_json(answer.document)
        return
    if answer.letters:
        wide = args.output == "wide"
        print(render.letters_table(answer.letters, wide=wide, width=None if wide else render.output_width()))
    else:
        print("No dead letters.")
    if answer.more:
        tell("There may be more than these.")


def redrive(args: argparse.Namespace) -> int:
    """Hand them over again; the exit code tells whether all could be."""
    done = open_api(args).redrive()
    if wants_json(args):
        show_json(done.document)
    else:
        print(render.redrive_sentence(done))
        for failure in done.failures:
            tell(f"{failure.id} ({failure.queue}) stays: {failure.problem}.")
        if done.left > done.failed:
            tell("There are more: redrive again.")
    return EXIT_BUSY if done.failed else EXIT_OK
