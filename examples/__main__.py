"""Runs the examples on a sandbox that runs training scripts (or `make examples`).

    python -m examples             all of them
    python -m examples sweep       one

Each example is started as a user would start it, with the queue in its environment. The exit code is 1 if one of them
fails, or if one that was named lacks its environment.
"""

from __future__ import annotations

import argparse
import sys

from examples.runner import EXAMPLES, play, sandbox_with_scripts


def main() -> int:
    """Run the examples and return the exit code."""
    parser = argparse.ArgumentParser(description="Run the examples on a sandbox of their own.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(EXAMPLES)}; default: all")
    named = parser.parse_args().names
    unknown = sorted(set(named) - set(EXAMPLES))
    if unknown:
        parser.error(f"There is no example {', '.join(unknown)}: choose from {', '.join(EXAMPLES)}.")
    missing = {name: lacks for name in named or EXAMPLES if (lacks := EXAMPLES[name].missing())}
    for name, sentence in missing.items():
        print(f"{name} is skipped: {sentence}", file=sys.stderr)
    failed = list(missing) if named else []
    with sandbox_with_scripts() as sandbox:
        for name in named or EXAMPLES:
            if name not in missing:
                print(f"\n▶ {name}", flush=True)
                if play(sandbox, name) != 0:
                    failed.append(name)
    print(f"\n✗ {', '.join(failed)}" if failed else "\n✓ all examples showed what they are about")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
