"""What is read of S3 for one job is bounded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway_service.places import Places
from headway_service.ports.objects import Location, ObjectPage, StoredObject
from headway_service.reuse import reader
from headway_service.reuse.reader import Reader, location_of
from headway_service.reuse.request import NotReusable
from headway_service.testing.memory_objects import MemoryObjects
from headway_service.testing.memory_role_permissions import EVERYTHING, MemoryRolePermissions

BUCKET = "a"
ALL = Location(bucket=BUCKET, key="")
ROLE = "arn:aws:iam::123456789012:role/training"
UNREADABLE = "what it names in `s3://a` is not there, or may not be read by its training role, or by the queue now"


def objects(count: int = 3) -> MemoryObjects:
    found = MemoryObjects()
    for i in range(count):
        found.put(BUCKET, f"{i:05}", b"12")
    return found


def reading(
    found: MemoryObjects, clock: Callable[[], int] = lambda: 0, permissions: MemoryRolePermissions | None = None
) -> Reader:
    allowed = permissions or MemoryRolePermissions()
    return Reader(ROLE, found, Places(lambda: allowed, clock), [BUCKET], clock, 10, lambda _: None)


def contents(of: Reader, *listed: StoredObject) -> list[bytes]:
    return [content for _, content in of.read(BUCKET, listed)]


def listed(found: MemoryObjects) -> list[StoredObject]:
    return list(found.list(BUCKET, "").objects)


def test_a_uri_that_is_none_of_s3_is_refused():
    assert location_of("s3://a/b") == Location(bucket="a", key="b")
    with pytest.raises(NotReusable, match="'https://a/b' is no S3 URI"):
        location_of("https://a/b")


def test_all_pages_are_read():
    assert len(reading(objects(2500)).list(ALL)) == 2500


def test_more_objects_than_the_limit_are_not_listed_to_their_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "MAX_OBJECTS", 1500)
    assert len(reading(objects(1500)).list(ALL)) == 1500
    found = objects(4000)
    with pytest.raises(NotReusable, match="more than 1500 objects"):
        reading(found).list(ALL)
    assert len(found.calls) == 2


def test_the_limit_counts_all_listings_of_a_job(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "MAX_OBJECTS", 5)
    each = reading(objects(3))
    each.list(ALL)
    with pytest.raises(NotReusable, match="more than 5 objects"):
        each.list(ALL)


def test_the_number_and_the_bytes_of_sources_are_limited(monkeypatch: pytest.MonkeyPatch):
    found = objects(3)
    monkeypatch.setattr(reader, "MAX_SOURCES", 2)
    each = reading(found)
    assert contents(each, *listed(found)[:2]) == [b"12", b"12"]
    with pytest.raises(NotReusable, match="more than 2 files"):
        contents(each, listed(found)[2])
    monkeypatch.setattr(reader, "MAX_SOURCES", 9)
    monkeypatch.setattr(reader, "MAX_SOURCE_BYTES", 3)
    each = reading(found)
    one, other = listed(found)[:2]
    contents(each, one)
    found.calls.clear()
    with pytest.raises(NotReusable, match="or 3 bytes"):
        contents(each, other)
    assert found.calls == []


def test_no_call_is_begun_when_the_time_is_over():
    now = [9]
    found = objects()
    each = reading(found, lambda: now[0])
    one = each.list(ALL)[0]
    now[0] = 10
    found.calls.clear()
    for call in (lambda: each.list(ALL), lambda: contents(each, one), lambda: each.holds_any(ALL)):
        with pytest.raises(NotReusable, match="could not be read within 4 s"):
            call()
    assert found.calls == []


def test_other_buckets_are_not_read():
    found = objects()
    found.put("b", "x", b"")
    for call in (Reader.list, Reader.holds_any):
        with pytest.raises(NotReusable, match="the bucket `b` is not among those"):
            call(reading(found), Location(bucket="b", key=""))
    assert found.calls == []


def test_what_s3_does_not_give_is_not_compared():
    found = objects()
    one = listed(found)[0]
    found.unreadable = True
    each = reading(found)
    for call in (lambda: each.list(ALL), lambda: contents(each, one), lambda: each.holds_any(ALL)):
        with pytest.raises(NotReusable, match=UNREADABLE):
            call()


def test_whether_there_is_any_object_takes_one_page():
    found = objects(2500)
    assert reading(found).holds_any(ALL)
    assert not reading(found).holds_any(Location(bucket=BUCKET, key="x"))
    assert len(found.calls) == 2


def test_pages_without_objects_come_to_an_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "MAX_OBJECTS", 5)
    found = objects(0)
    pages = iter([ObjectPage(objects=(), next_token="more")] * 6)
    monkeypatch.setattr(found, "list", lambda *_: next(pages))
    with pytest.raises(NotReusable, match="more than 5 objects"):
        reading(found).list(ALL)
    assert list(pages) == []


@pytest.mark.parametrize("action", ["s3:ListBucket", "s3:GetObject"])
def test_what_the_training_role_may_not_read_is_not_asked_for(action: str):
    found = objects()
    one = listed(found)[0]
    denied = {"Effect": "Deny", "Action": action, "Resource": "*"}
    each = reading(found, permissions=MemoryRolePermissions({ROLE: [EVERYTHING, denied]}))
    found.calls.clear()
    calls = [lambda: each.list(ALL), lambda: each.holds_any(ALL)] if "List" in action else [lambda: contents(each, one)]
    for call in calls:
        with pytest.raises(NotReusable, match=UNREADABLE):
            call()
    assert found.calls == []


def test_without_an_answer_about_the_role_nothing_is_read():
    found, permissions = objects(), MemoryRolePermissions(unknown=True)
    with pytest.raises(NotReusable, match=UNREADABLE):
        reading(found, permissions=permissions).list(ALL)
    assert found.calls == []
