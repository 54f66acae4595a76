"""The check of versions finds changes that are lost."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.ports.table import Key
from headway_verification.soak.invariants.versions import check_versions
from headway_verification.soak.violations import Violated

JOB = Key("job#j", "job")


def change(before: dict[str, Any] | None, after: dict[str, Any] | None) -> tuple[Key, Any, Any]:
    return JOB, before, after


def test_changes_that_each_make_the_next_version_are_right() -> None:
    check_versions([change(None, {"version": 1}), change({"version": 1}, {"version": 2}), change({"version": 2}, None)])


def test_an_item_without_versions_may_change() -> None:
    check_versions([change({"size": 1}, {"size": 2})])


def test_two_changes_from_one_version_are_found() -> None:
    with pytest.raises(Violated, match="two changes have made version 2 of job#j job"):
        check_versions([change({"version": 2, "held": True}, {"version": 2, "priority": 5})])
