"""The summary: one cheap picture of the queue, for boards that show it again and again."""

from __future__ import annotations
