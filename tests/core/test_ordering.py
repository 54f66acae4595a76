"""The total orders."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.model import WaitingJob
from headway.ordering import MAX_PRIORITY, rank, rank_key, work_lost_ms
from headway.policy import Policy
from tests.core.builders import held

jobs = st.builds(
    WaitingJob,
    name=st.from_regex(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,10}", fullmatch=True),
    demand=st.just({"ml.p5.48xlarge": 1}),
    priority=st.integers(0, MAX_PRIORITY),
    entry_time_ms=st.integers(0, 9_999_999_999_999),
)


@given(jobs, jobs)
def test_the_sort_key_of_a_line_sorts_as_the_rank_does(left: WaitingJob, right: WaitingJob) -> None:
    keys = [rank_key(job.priority, job.entry_time_ms, job.name) for job in (left, right)]
    assert (rank(left) < rank(right)) == (keys[0] < keys[1])
    assert (rank(left) == rank(right)) == (keys[0] == keys[1])


def test_work_lost_is_time_times_instances_and_with_checkpoints_only_since_the_last_one() -> None:
    policy = Policy(checkpoint_interval_ms=500)
    assert work_lost_ms(held("a", count=4, since=1000), 3000, policy) == 8000
    assert work_lost_ms(held("a", count=4, since=1000, checkpoints=True), 3000, policy) == 2000
    assert work_lost_ms(held("a", count=4, since=2900, checkpoints=True), 3000, policy) == 400
    assert work_lost_ms(held("a", since=5000), 3000, policy) == 0
