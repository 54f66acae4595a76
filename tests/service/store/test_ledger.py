"""The ledger: its queries and their results."""

from __future__ import annotations

from headway_service.ports.table import Item, Update
from headway_service.store.ledger import Ledger, read_ledger, read_ledger_for_display
from headway_service.store.records.capacity.ledger import TeamRecord
from tests.service.store.queues import Counting, table_of
from tests.service.world import P5


def test_an_empty_ledger_has_no_records() -> None:
    ledger = Ledger(pools=(), attempts=(), reservations=())
    assert ledger.queue_teams == ("",)
    assert ledger.pause_of(P5) is None
    assert ledger.restored is None
    assert ledger.reservation_of("job") is None
    assert ledger.attempt_of("job") is None


def test_the_ledger_is_read_once_for_display_and_after_pools_and_teams_for_decisions() -> None:
    table = table_of("a", "b")
    looked = read_ledger_for_display(table)
    assert table.of_ledger == [""]
    table.of_ledger.clear()
    assert read_ledger(table) == looked
    assert table.of_ledger == ["pool#", ""]
    assert looked.queue_teams == ("", "a", "b")


def test_a_start_between_the_two_reads_of_a_ledger_causes_a_conflict_later() -> None:
    class Starting(Counting):
        def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
            if self.of_ledger == ["pool#"]:
                self.write([Update(key=TeamRecord.key("a"), adds={"starts": 1})])
            return super().query(pk, prefix=prefix, after=after, limit=limit)

    table = table_of("a", kind=Starting)
    (team,) = read_ledger(table).teams
    assert team.starts == 0
