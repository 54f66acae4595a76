"""The board in a browser: a local proxy that signs the calls, and its pages."""

from __future__ import annotations
