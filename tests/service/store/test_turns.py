"""Each record has its turn, whatever the others take and however little time a tick has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway_service.store.ledger import read_ledger
from headway_service.store.turns import Turns
from headway_service.testing.memory_table import MemoryTable

SHARE_MS = 100
NAMES = st.sets(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=12).map(sorted)


class Ticks:
    """Ticks that work on records, each with the same time, each in a process of its own."""

    def __init__(self) -> None:
        self.table = MemoryTable()

    def run(self, costs_ms: dict[str, int], rounds: int = 1) -> list[str]:
        """One tick. Returns the records that had their turn, in that order."""
        done: list[str] = []
        turns = Turns(self.table, lambda: SHARE_MS - sum(costs_ms[name] for name in done))
        for _ in range(rounds):
            turns.begin(read_ledger(self.table).turns)
            done.extend(turns.in_turn("work", costs_ms, str))
        turns.store()
        return done


@given(names=NAMES, data=st.data())
def test_each_record_waits_for_each_of_the_others_once_at_most(names: list[str], data: st.DataObject) -> None:
    costs_ms = {name: data.draw(st.integers(0, 3 * SHARE_MS), label=name) for name in names}
    ticks = Ticks()
    waited = dict.fromkeys(names, 0)
    for _ in range(3 * len(names)):
        done = ticks.run(costs_ms)
        assert done
        waited = {name: 0 if name in done else number + 1 for name, number in waited.items()}
        # However slow, each of the others takes the time of one tick, and that is over with it.
        assert max(waited.values()) < len(names)


def test_a_tick_goes_on_behind_the_last_one() -> None:
    ticks = Ticks()
    costs_ms = dict.fromkeys("abcde", SHARE_MS // 2)
    assert [ticks.run(costs_ms) for _ in range(3)] == [["a", "b"], ["c", "d"], ["e", "a"]]


def test_further_rounds_of_a_tick_go_on_where_it_has_stopped() -> None:
    ticks = Ticks()
    assert ticks.run(dict.fromkeys("abc", SHARE_MS // 5), rounds=2) == ["a", "b", "c", "a", "b"]
    assert ticks.run(dict.fromkeys("abc", SHARE_MS // 5)) == ["c", "a", "b"]


def test_nothing_is_written_if_the_time_suffices() -> None:
    ticks = Ticks()
    ticks.run(dict.fromkeys("abc", 1))
    assert not ticks.table.items()
