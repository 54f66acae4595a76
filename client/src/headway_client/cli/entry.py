"""The entry point of the program ``headway``: Ctrl-C shows no traceback, also while the command line is imported."""

from __future__ import annotations

import sys


def main() -> int:
    """Run one command with the arguments of the process, and return its exit code."""
    sentence = "nothing was sent."
    try:
        # Importing it takes most of the time of a short command.
        from headway_client.cli.main import main as run

        sentence = "a request already sent may still be carried out."
        return run()
    except KeyboardInterrupt:
        # Nothing else is imported here: it may be what was interrupted.
        sys.stderr.write(f"headway: interrupted; {sentence}\n")
        return 130
