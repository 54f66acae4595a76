"""The board in the terminal, on textual: the only package that imports it."""

from __future__ import annotations
