"""Transitions of rogue training jobs."""

from __future__ import annotations

from headway.lifecycle import AttemptState
from headway_service.ports.table import Equals, Update
from headway_service.store import transitions
from headway_service.store.records.capacity.ledger import PoolRecord
from tests.service.store.builders import WAS, attempt, rogue
from tests.service.world import P5


def test_a_stop_by_an_operator_is_tried_immediately() -> None:
    asked, _ = transitions.request_stop(rogue(stop_sent_ms=4, stop_problem="denied"), "user/ada")
    assert (asked.stop, asked.stop_asked_by, asked.stop_sent_ms, asked.stop_problem) == (True, "user/ada", None, "")


def test_an_attempt_that_takes_over_a_charge_returns_what_it_was_started_with() -> None:
    launching = attempt(AttemptState.LAUNCHING, demand={P5: 3}, limit_ms=None, freed={P5: 2})
    known = rogue(charged={P5: 1})
    moved, writes = transitions.adopt_rogue(launching, known)
    assert (moved.demand, moved.limit_ms, moved.freed) == ({P5: 1}, None, {P5: 1})
    assert writes == [
        moved.put(was=WAS),
        known.delete(),
        Update(key=PoolRecord.key(P5), adds={"free": 3}, requires=Equals("pool", P5)),
    ]
