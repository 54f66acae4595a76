"""The newest object of a location, within bounds."""

from __future__ import annotations

from collections.abc import Callable

from headway_service.checkpoints.newest import MAX_PAGES, newest_ms
from headway_service.errors import ObjectsUnreadable
from headway_service.ports.objects import Location, ObjectPage
from headway_service.testing.memory_objects import PAGE, MemoryObjects

BUCKET = "research"
RUN = Location(bucket=BUCKET, key="run-1/")


def objects(*times_ms: int) -> MemoryObjects:
    """Objects of a run in the order of their keys, with the times at which they were written, ms."""
    found = MemoryObjects({BUCKET: {}})
    for number, time_ms in enumerate(times_ms):
        found.put(BUCKET, f"run-1/{number:05}", b"", time_ms)
    return found


def newest(found: MemoryObjects, has_time: Callable[[], bool] = lambda: True) -> int | None:
    return newest_ms(found, RUN, has_time)


def test_the_latest_time_counts_whatever_the_order_of_keys() -> None:
    assert newest(objects(2, 9, 5)) == 9


def test_objects_of_a_run_whose_name_begins_alike_do_not_count() -> None:
    found = objects(2)
    found.put(BUCKET, "run-10/a", b"", 9)
    assert newest(found) == 2


def test_without_objects_nothing_is_seen() -> None:
    assert newest(objects()) is None


def test_all_pages_within_the_bound_are_looked_through() -> None:
    times_ms = [1] * (MAX_PAGES * PAGE)
    times_ms[-1] = 7
    found = objects(*times_ms)
    assert newest(found) == 7
    assert len(found.calls) == MAX_PAGES


def test_what_is_beyond_the_bound_is_not_seen_and_what_is_within_counts() -> None:
    found = objects(3, *[1] * (MAX_PAGES * PAGE - 1), 7)
    assert newest(found) == 3
    assert len(found.calls) == MAX_PAGES


def test_no_page_is_requested_without_time() -> None:
    found = objects(3, *[1] * PAGE, 7)
    assert newest(found, lambda: False) == 3
    assert len(found.calls) == 1


def test_an_unreadable_bucket_shows_nothing() -> None:
    found = objects(3)
    found.unreadable = True
    assert newest(found) is None


def test_what_was_seen_before_a_page_that_is_unreadable_counts() -> None:
    class Breaks(MemoryObjects):
        def list(self, bucket: str, prefix: str, token: str | None = None) -> ObjectPage:
            if token is not None:
                raise ObjectsUnreadable("SlowDown (HTTP 503)")
            return super().list(bucket, prefix, token)

    found = Breaks(objects(3, *[1] * PAGE, 7).contents)
    assert newest(found) == 3
