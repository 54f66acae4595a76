"""A file that leads the user's browser to the board.

The arguments of a process can be read by all users of the machine, so a browser is started with the address of this
file, which only its owner can read, and not with the link.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from html import escape
from pathlib import Path

_PAGE = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="referrer" content="no-referrer">
    <meta http-equiv="refresh" content="0; url={url}">
    <title>Headway</title>
  </head>
  <body><a href="{url}">Open the board</a></body>
</html>
"""


class LinkFile:
    """The file, in a folder of its own.

    Args:
        url: the link.

    Raises:
        OSError: it can't be written.
    """

    def __init__(self, url: str) -> None:
        # Only its owner can open the folder, so that nobody else has placed anything in it.
        self._folder = Path(tempfile.mkdtemp(prefix="headway-board-"))
        path = self._folder / "board.html"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(_PAGE.format(url=escape(url)))
        self.address = path.as_uri()

    def remove(self) -> None:
        """Remove the file, if it is there."""
        shutil.rmtree(self._folder, ignore_errors=True)
