"""The decoders of the core: sweeps, rules of early stopping, names, documents of the API."""

from __future__ import annotations

import json
from collections.abc import Sequence

from headway.api_documents.arrays import MemberPage
from headway.api_documents.batches import BatchResults
from headway.api_documents.codec import ApiDocument
from headway.api_documents.dead_letters import DeadLetters
from headway.api_documents.events import EventPage
from headway.api_documents.forecast import Explanation, Forecast, WhatIf
from headway.api_documents.jobs import DryRun, JobDetails, JobPage
from headway.api_documents.pools import Capacity, Configuration
from headway.api_documents.rogue_jobs import RogueJobs
from headway.api_documents.summary import Summary
from headway.api_documents.usage import HistoryPage, Recount, Usage, UsageComparison
from headway.early_stopping import EarlyStopping
from headway.errors import HeadwayError
from headway.sweeps import Sweep
from headway_verification.decoders.decoder import Decoder, Refused
from headway_verification.decoders.inputs.documents import json_texts
from headway_verification.decoders.inputs.samples import EARLY_STOPPING, SWEEPS, of_class

_DOCUMENTS: Sequence[type[ApiDocument]] = (
    JobPage, JobDetails, DryRun, BatchResults, MemberPage, Summary, Capacity, Configuration, Forecast, WhatIf,
    Explanation, HistoryPage, Usage, UsageComparison, Recount, EventPage, DeadLetters, RogueJobs,
)  # fmt: skip


def _value(content: bytes) -> object:
    """The JSON value of an input, as a decoder before this one has read it."""
    try:
        return json.loads(content.decode())
    except (ValueError, RecursionError):
        raise Refused("no JSON") from None


def _sweep(content: bytes) -> None:
    sweep = Sweep.parse(_value(content))
    for index in {0, sweep.count // 2, sweep.count - 1}:
        sweep.values(index)
    Sweep.parse(json.loads(json.dumps(sweep.document())))


def _early_stopping(content: bytes) -> None:
    settings = EarlyStopping.parse(_value(content))
    assert EarlyStopping.parse(settings.document()) == settings  # noqa: S101 - what is stored is read again


def _document(content: bytes) -> None:
    value = _value(content)
    accepted = False
    for kind in _DOCUMENTS:
        try:
            kind.from_document(value)
            accepted = True
        except HeadwayError:
            continue
    if not accepted:
        raise Refused("no document of the API")


DECODERS = (
    Decoder(name="core sweep", inputs=json_texts(SWEEPS), decode=_sweep, refusals=(HeadwayError,)),
    Decoder(
        name="core early stopping", inputs=json_texts(EARLY_STOPPING), decode=_early_stopping, refusals=(HeadwayError,)
    ),
    Decoder(
        name="core API documents",
        inputs=json_texts([of_class(kind) for kind in _DOCUMENTS]),
        decode=_document,
        refusals=(HeadwayError,),
    ),
)
