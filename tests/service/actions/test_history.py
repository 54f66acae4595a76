"""What operators have done is listed a page at a time, the newest first."""

from __future__ import annotations

import pytest

from headway_service.actions.action import ACTIONS, ActionKind, ActionRecord, Author
from headway_service.actions.history import read_actions
from headway_service.errors import InvalidRequest
from headway_service.ports.table import Put
from headway_service.testing.memory_table import MemoryTable
from tests.service.stopped_clocks import clocks_at

COUNT = 5


@pytest.fixture
def table() -> MemoryTable:
    table = MemoryTable()
    for number in range(COUNT):
        table.write(
            [ActionRecord.of(ActionKind.PAUSE, f"pool-{number}", Author("user/ada"), clocks_at(number * 1000)).put()]
        )
    return table


@pytest.mark.parametrize("limit", [1, 2, COUNT, COUNT + 1])
def test_the_pages_together_have_each_action_once(table: MemoryTable, limit: int) -> None:
    page = read_actions(table, limit)
    seen = [*page.actions]
    while page.next is not None:
        assert len(page.actions) == limit
        page = read_actions(table, limit, page.next)
        seen += page.actions
    assert [each.target for each in seen] == [f"pool-{number}" for number in reversed(range(COUNT))]


def test_an_action_that_this_code_does_not_know_keeps_no_other_from_being_listed(table: MemoryTable) -> None:
    known = ActionRecord.of(ActionKind.PAUSE, "later", Author("user/ada"), clocks_at(9_000)).put().item
    table.write([Put(item={**known, "kind": "teleport"})])
    page = read_actions(table, 2)
    assert [each.target for each in page.actions] == ["pool-4"]
    assert [each.target for each in read_actions(table, 9, page.next).actions] == [f"pool-{n}" for n in (3, 2, 1, 0)]


@pytest.mark.parametrize(
    "token", ["", "0", f"{ACTIONS}#pause", "0" * 15, f"{'0' * 15}#a\nb", f"{'0' * 15}#{'a' * 201}"]
)
def test_a_token_of_no_answer_is_refused(table: MemoryTable, token: str) -> None:
    with pytest.raises(InvalidRequest, match="is no `next` of an answer"):
        read_actions(table, 2, token)
