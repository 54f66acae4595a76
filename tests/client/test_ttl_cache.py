from __future__ import annotations

from headway_client.ttl_cache import TtlCache


def test_names_expire_and_their_number_is_bounded():
    now = [0.0]
    names: TtlCache[int] = TtlCache(max_size=2, ttl_s=10, monotonic_s=lambda: now[0])
    for number, name in enumerate(("a", "b", "c")):
        names.put(name, number)

    assert [names.get(name) for name in ("a", "b", "c")] == [None, 1, 2]
    now[0] = 10.0
    assert [names.get(name) for name in ("b", "c")] == [None, None]
