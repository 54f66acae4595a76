"""What the commands share: the way to the queue, and the way to the user."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from headway_client.text import neutralise, to_json

if TYPE_CHECKING:
    from headway_client.api import HeadwayApi


def open_api(args: argparse.Namespace) -> HeadwayApi:
    """Return the queue that flags, environment and profile lead to."""
    # Imported here: they bring an HTTP library and an AWS SDK, which --help must not wait for.
    from headway_client.api import HeadwayApi
    from headway_client.profile import resolve_connection

    connection = resolve_connection(endpoint=args.endpoint, profile=args.profile, region=args.region)
    if connection.note is not None:
        tell(connection.note)
    return HeadwayApi.connect(connection)


def wants_json(args: argparse.Namespace) -> bool:
    """Whether the user asked for JSON."""
    return bool(args.output == "json")


def show_json(document: Any) -> None:
    """Print a document as JSON."""
    print(to_json(document))


def tell(sentence: str) -> None:
    """Print a remark to standard error, where it does not mix with the output proper."""
    print(f"headway: {neutralise(sentence)}", file=sys.stderr)
