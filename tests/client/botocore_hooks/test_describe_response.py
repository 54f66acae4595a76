from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headway_client.botocore_hooks.describe_response import merge_transitions


@given(lists=st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), unique=True), min_size=1))
def test_transitions_are_only_added_and_end_with_the_last(lists: list[list[tuple[str, int]]]):
    seen: list[dict[str, Any]] = []
    for number, each in enumerate(lists):
        now = [{"Status": status, "StartTime": time, "StatusMessage": str(number)} for status, time in each]

        following = merge_transitions(seen, now)

        assert len(following) >= len(seen)
        assert following[-1:] == (now[-1:] or seen[-1:])
        assert all(transition in following for transition in now)
        seen = following
