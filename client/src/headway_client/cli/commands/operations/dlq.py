"""The commands for dead letters: dlq show, dlq redrive."""

from __future__ import annotations

from headway_client.cli.command import CommonOptions, Group, pass_common
from headway_client.cli.context import open_api, show_document, show_rows
from headway_client.cli.exit_codes import EXIT_BUSY, EXIT_OK
from headway_client.cli.interruption import UNCHANGED
from headway_client.text import to_stderr

dlq = Group("dlq", help="Show or redrive dead letters.")


@dlq.command("show", rows=True, interrupted=UNCHANGED)
@pass_common
def show(common: CommonOptions) -> None:
    """Show the events and wake-up messages that could not be handled."""
    from headway_client.cli.output import letter_rows

    answer = open_api(common).dead_letters()
    show_rows(common, answer.document, lambda *, wide: letter_rows(answer.letters, wide=wide), empty="No dead letters.")
    if answer.more and not common.is_document:
        to_stderr("There may be more.")


@dlq.command("redrive")
@pass_common
def redrive(common: CommonOptions) -> int:
    """Redrive the dead letters; exit code 7 if some remain."""
    from headway_client.cli.output import redrive_sentence

    done = open_api(common).redrive()
    if common.is_document:
        show_document(common, done.document)
    else:
        print(redrive_sentence(done))
        for failure in done.failures:
            to_stderr(f"{failure.id} ({failure.queue}) remains: {failure.problem}.")
        if done.left > done.failed:
            to_stderr("There are more: redrive again.")
    return EXIT_BUSY if done.failed else EXIT_OK
