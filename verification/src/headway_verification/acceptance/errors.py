"""Why a run of the acceptance, or one of its questions, cannot go on."""

from __future__ import annotations

from headway.errors import HeadwayError


class CannotAccept(HeadwayError):
    """The run cannot begin. The message says what to change."""


class NotAsked(HeadwayError):
    """One question cannot be put to AWS. The message says why, and what to change if it can be."""
