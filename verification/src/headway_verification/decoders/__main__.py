"""Fuzzes the decoders; a part of ``make fuzz``.

python -m headway_verification.decoders --seconds 300 [--seed 17] [--only yaml]
python -m headway_verification.decoders --only "client yaml" --replay build/fuzz/client-yaml-0123456789ab

Exit code 1 if a decoder crashes or hangs.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from headway_verification.decoders.report import failures, has_failed, progress, summary
from headway_verification.decoders.run import Findings, fuzz, replay
from headway_verification.decoders.table import DECODERS

FOLDER = Path("build", "fuzz")


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz, or replay one input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help="for how long; by default one batch of each decoder")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="draws the inputs; by default, any")
    parser.add_argument("--share", type=float, default=1.0, help="the part of a batch that is drawn, up to 1")
    parser.add_argument("--only", default="", help="only decoders whose name contains this text")
    parser.add_argument("--replay", type=Path, help="feed them with this file, once")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where failing inputs are saved (%(default)s)")
    args = parser.parse_args(argv)
    chosen = [decoder for decoder in DECODERS if args.only in decoder.name]
    if not chosen:
        parser.error(f"no decoder has {args.only!r} in its name: {', '.join(each.name for each in DECODERS)}")
    if args.replay is not None:
        content = args.replay.read_bytes()
        found = [replay(decoder, content) for decoder in chosen]
    else:
        found = fuzz(chosen, seed=args.seed, seconds=args.seconds, share=args.share, failed=_tell)
    for text in failures(found, args.out):
        print(text)
    print(summary(found))
    print(f"seed {args.seed}")
    return 1 if has_failed(found) else 0


def _tell(found: Findings) -> None:
    print(progress(found), flush=True)


if __name__ == "__main__":
    sys.exit(main())
