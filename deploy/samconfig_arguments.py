"""The arguments of the steps of `make deploy`: the samconfig that sam deploys with, and the part of it."""

from __future__ import annotations

import argparse
from pathlib import Path


def make_parser(description: str) -> argparse.ArgumentParser:
    """Return a parser of both."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("config", type=Path, help="the samconfig that sam deploys with")
    parser.add_argument("env", help="the part of it")
    return parser
