"""The check of versions finds changes that are lost."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.ports.table import Key, Put
from headway_verification.soak.invariants.versions import VersionWatchedTable
from headway_verification.soak.violations import Violated


def written(key: Key, *items: dict[str, Any]) -> VersionWatchedTable:
    table = VersionWatchedTable()
    for item in items:
        table.write([Put(item={"pk": key.pk, "sk": key.sk, **item})])
    return table


def test_changes_that_each_make_the_next_version_are_right() -> None:
    written(Key("job#j", "job"), {"version": 1}, {"version": 2}, {"version": 3}).check_versions()


def test_a_write_that_changes_nothing_is_right() -> None:
    written(Key("job#j", "job"), {"version": 1}, {"version": 1}).check_versions()


@pytest.mark.parametrize(
    "key", [Key("job#j", "job"), *(Key("ledger", f"{kind}#x") for kind in ("attempt", "rogue", "warm"))]
)
def test_a_change_of_an_outdated_version_is_found(key: Key) -> None:
    for last in (2, 3):
        table = written(key, {"version": 1}, {"version": last, "held": True}, {"version": 2, "priority": 5})
        with pytest.raises(Violated, match=f"version {last} of {key.pk} {key.sk} is lost"):
            table.check_versions()


@pytest.mark.parametrize("key", [Key("ledger", "pool#p"), Key("job#j", "request"), Key("ledger", "plan#p")])
def test_other_items_may_change_without_a_new_version(key: Key) -> None:
    written(key, {"version": 1}, {"version": 1, "size": 2}).check_versions()


def test_a_job_that_has_ended_may_be_replaced_by_another_of_its_name() -> None:
    written(Key("job#j", "job"), {"version": 5, "jobState": "completed"}, {"version": 1}).check_versions()


def test_a_restored_table_has_earlier_versions() -> None:
    table = written(Key("job#j", "job"), {"version": 5})
    with table.restored():
        table.write([Put(item={"pk": "job#j", "sk": "job", "version": 2})])
    table.check_versions()
