"""`python -m headway_sandbox serve …`: the manager runs it with the interpreter of the sandbox's environment."""

from __future__ import annotations

import sys


def main() -> int:
    if sys.argv[1:2] != ["serve"]:
        print("usage: python -m headway_sandbox serve --port PORT --state-dir DIR [--speed N] …", file=sys.stderr)
        return 2
    from headway_sandbox.server import server

    return server.main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
