"""The board: a live picture of the queue, in the terminal and in a browser."""

from __future__ import annotations
