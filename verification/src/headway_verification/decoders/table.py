"""All decoders of what others wrote."""

from __future__ import annotations

from headway_verification.decoders.decoder import Decoder
from headway_verification.decoders.plain import client, core, sandbox, service
from headway_verification.decoders.stored import calls, events, submissions

DECODERS: tuple[Decoder, ...] = (
    *core.DECODERS,
    *client.DECODERS,
    *sandbox.DECODERS,
    *service.DECODERS,
    *submissions.DECODERS,
    *calls.DECODERS,
    *events.DECODERS,
)
"""Those of the core, the client, the sandbox and the service by themselves, then what goes through a queue."""
