"""Listings hold the jobs that are wanted, all of them and each once, page by page."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence, Set
from itertools import chain, count
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench.metering.dynamodb_units import MeteredTable
from headway.lifecycle import ACTIVE, TERMINAL, WAITING, AttemptState, JobState
from headway.policy import DEFAULT_POLICY
from headway_service.errors import InvalidRequest
from headway_service.jobs.position import PositionExplainer
from headway_service.jobs.queue_fronts import MAX_EXPLAINED
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Item, Key, Put
from headway_service.store import transitions
from headway_service.store.active_jobs import ActiveJobs
from headway_service.store.job_filter import JobFilter
from headway_service.store.job_listing import MAX_LISTED, list_ended, list_jobs
from headway_service.store.records.array import ArrayRecord
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.listed_job import ListedJob
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5, World

ALL = frozenset(JobState)
ADA, BOB = "arn:aws:iam::123456789012:user/ada", "arn:aws:iam::123456789012:user/bob"


def job(number: int, state: JobState, owner: str | None, team: str, name: str) -> JobRecord:
    return JobRecord.model_validate(
        {
            "jobName": f"{name}-{number}",
            "jobState": state,
            "priority": number % 3,
            "entryTime": number,
            "demand": {P5: 1},
            "owner": owner,
            "team": team,
            "requestDigest": "",
            "reason": {"code": "Entered", "message": "entered"},
            "endedMs": number if state in TERMINAL else None,
        }
    )


def attempt_of(of: JobRecord) -> AttemptRecord:
    return AttemptRecord.next_of(
        of,
        attempt_name=of.job_name,
        number=1,
        attempt_state=AttemptState.LIVE,
        mark="m",
        since_ms=1,
        lease_holder="",
        lease_until_ms=0,
        seen_ms=1,
    )


def table_of(jobs: list[JobRecord], *, by_older_code: Collection[str] = ()) -> MemoryTable:
    """The jobs, with attempts where they hold instances; older code has kept such jobs in the index as well."""
    table = MemoryTable()
    for each in jobs:
        item = each.put().item
        if each.job_state in ACTIVE and each.array is None:
            table.write([attempt_of(each).put()])
            if each.job_name in by_older_code:
                item = {**item, "listing": "holding", "listingKey": each.rank()}
        table.write([Put(item=item)])
    return table


def place_of(of: JobRecord) -> str:
    """The place of a job among those of its kind."""
    return f"{of.ended_ms:013d}#{of.job_name}" if of.job_state in TERMINAL else of.rank()


def pages(table: MemoryTable, wanted: JobFilter, limit: int) -> Iterator[list[ListedJob]]:
    token = None
    while True:
        page, token = list_jobs(table, wanted, limit, token)
        yield page
        if token is None:
            return


NAMES = st.sampled_from(["bert", "Bert", "gpt-small", "gpt"])
OWNERS, TEAMS = st.sampled_from([None, ADA, BOB]), st.sampled_from(["", "a", "b"])
KINDS = st.lists(st.tuples(st.sampled_from(JobState), OWNERS, TEAMS, NAMES), max_size=60)
ARRAY = ArrayRecord(count=9)
NUMBERS = st.frozensets(st.integers(0, 60), max_size=30)
WANTED = st.builds(
    JobFilter,
    states=st.frozensets(st.sampled_from(JobState), min_size=1),
    owners=st.frozensets(st.sampled_from([ADA, BOB])),
    team=st.sampled_from([None, "a", "b"]),
    name_contains=st.sampled_from([None, "bert", "ert-1", "gpt", "nothing"]),
)


@given(kinds=KINDS, wanted=WANTED, limit=st.integers(1, 20), arrays=NUMBERS, older=NUMBERS)
def test_all_pages_together_have_exactly_the_matching_items_in_order(
    kinds: list[tuple[JobState, str | None, str, str]],
    wanted: JobFilter,
    limit: int,
    arrays: Set[int],
    older: Set[int],
) -> None:
    jobs = [job(number, *kind) for number, kind in enumerate(kinds)]
    jobs = [each.model_copy(update={"array": ARRAY}) if n in arrays else each for n, each in enumerate(jobs)]
    table = table_of(jobs, by_older_code={each.job_name for n, each in enumerate(jobs) if n in older})
    found = list(pages(table, wanted, limit))
    assert all(len(page) <= limit for page in found)
    groups = [
        sorted((each for each in jobs if each.job_state in group), key=place_of, reverse=ended)
        for group, ended in ((ACTIVE, False), (WAITING, False), (TERMINAL, True))
    ]
    assert [each.job_name for page in found for each in page] == [
        each.job_name
        for each in chain(*groups)
        if each.job_state in wanted.states
        and wanted.owners <= {each.owner}
        and wanted.team in {None, each.team}
        and (wanted.name_contains or "") in each.job_name
    ]


@example(  # more arrays than a page of the index has, between and after the attempts
    states=[JobState.RUNNING] * 9, wanted=JobFilter(states=ACTIVE), limit=1, arrays={2, 3, 6, 7, 8}, older={5}
)
@given(
    states=st.lists(st.sampled_from([JobState.RUNNING, JobState.STOPPING, JobState.PENDING]), max_size=30),
    wanted=st.sampled_from([JobFilter(states=ACTIVE), JobFilter(states=frozenset({JobState.RUNNING}), team="a")]),
    limit=st.integers(1, 4),
    arrays=NUMBERS,
    older=NUMBERS,
)
def test_jobs_that_hold_instances_come_page_by_page_from_the_ledger_and_the_index(
    states: list[JobState], wanted: JobFilter, limit: int, arrays: Set[int], older: Set[int]
) -> None:
    jobs = [job(n, state, None, "ab"[n % 2], "j") for n, state in enumerate(states)]
    jobs = [each.model_copy(update={"array": ARRAY}) if n in arrays else each for n, each in enumerate(jobs)]
    active = ActiveJobs(table_of(jobs, by_older_code={each.job_name for n, each in enumerate(jobs) if n in older}))
    found: list[str] = []
    after = None
    for _ in range(2 * len(jobs) + 1):
        page = active.page(wanted, after, limit)
        found += [item["jobName"] for item in page.items]
        after = page.after
        if after is None:
            break
    in_order = sorted((each for each in jobs if each.job_state in ACTIVE & wanted.states), key=JobRecord.rank)
    assert found == [each.job_name for each in in_order if wanted.team in {None, each.team}]


def running(number: int) -> JobRecord:
    return job(number, JobState.RUNNING, ADA, "a", "j")


@pytest.mark.parametrize("state", [JobState.PENDING, JobState.COMPLETED])
def test_a_job_that_no_longer_holds_instances_is_not_listed_by_its_attempt(state: JobState) -> None:
    """Its attempt and the job are two reads: here it has moved on in between."""
    table = table_of([running(1), running(2)])
    table.write([job(1, state, ADA, "a", "j").put()])
    found = [each.job_name for page in pages(table, JobFilter(states=ALL), 9) for each in page]
    assert found == ["j-2", "j-1"]


def test_a_job_that_starts_again_while_attempts_are_read_is_listed_once() -> None:
    table = table_of([running(1)])
    again = running(1).model_copy(update={"attempt_count": 1, "priority": 3})
    table.write([attempt_of(again).put()])
    requested: list[Key] = []

    class Batches(MemoryTable):
        """DynamoDB refuses a batch with the same key twice."""

        def query_for_display(self, pk: str, *, prefix: str = "", limit: int) -> tuple[Item, ...]:
            return table.query_for_display(pk, prefix=prefix, limit=limit)

        def get_listed(self, keys: Sequence[Key]) -> tuple[Item, ...]:
            requested.extend(keys)
            return table.get_listed(keys)

    page, token = list_jobs(Batches(), JobFilter(states=ACTIVE), 9, None)
    assert ([each.job_name for each in page], token) == (["j-1"], None)
    assert requested == [JobRecord.key("j-1")]


def test_of_jobs_that_hold_instances_only_those_are_read_that_may_match_and_fill_the_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = table_of([*map(running, range(40)), job(90, JobState.RUNNING, ADA, "b", "j")])
    read: list[int] = []
    whole = MemoryTable.get_listed

    def counted(self: MemoryTable, keys: Sequence[Key]) -> tuple[Item, ...]:
        read.append(len(keys))
        return whole(self, keys)

    monkeypatch.setattr(MemoryTable, "get_listed", counted)
    page, _ = list_jobs(table, JobFilter(states=ACTIVE, team="b"), 9, None)
    assert ([each.job_name for each in page], read) == (["j-90"], [1])
    page, _ = list_jobs(table, JobFilter(states=ACTIVE, name_contains="j-17"), 9, None)
    assert ([each.job_name for each in page], read) == (["j-17"], [1, 1])
    page, _ = list_jobs(table, JobFilter(states=ACTIVE), 9, None)
    assert (len(page), read) == (9, [1, 1, 9])


def test_one_page_reads_a_limited_part_of_a_long_queue_and_returns_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [job(number, JobState.PENDING, BOB, "", "common") for number in range(11_000)]
    table = table_of([*jobs, job(30_000, JobState.PENDING, ADA, "", "rare")])
    reads = count()
    whole = MemoryTable.listing

    def counted(self: MemoryTable, *arguments: Any, **options: Any) -> Any:
        next(reads)
        return whole(self, *arguments, **options)

    monkeypatch.setattr(MemoryTable, "listing", counted)
    found = list(pages(table, JobFilter(states=ALL, owners=frozenset({ADA})), MAX_LISTED))
    assert [[each.job_name for each in page] for page in found] == [[], [], ["rare-30000"]]
    # Beside the queue, the jobs that hold instances and the ended ones are read once.
    assert next(reads) == -(-11_001 // 500) + 2


def explained(jobs: list[JobRecord], first: int, number: int) -> tuple[dict[str, int | None], float]:
    """The positions of a range of jobs, and the number of calls."""
    inner = MemoryTable()
    calls: Counter[str] = Counter()
    table = MeteredTable(inner, lambda kind, count: calls.update({kind: int(count)}))
    inner.write(transitions.add_pool(P5, 1))
    for team in ("a", "b"):
        inner.write(transitions.add_team(team, None))
    for each in jobs:
        inner.write(transitions.enqueue(each, "{}"))
    line = sorted(jobs, key=JobRecord.rank)
    explainer = PositionExplainer(table, Clocks(training_ms=lambda: 0, machine_ms=lambda: 0), lambda: DEFAULT_POLICY)
    page = explainer.explain(line[first : first + number])
    assert [each.job.job_name for each in page] == [each.job_name for each in line[first : first + number]]
    return {each.job.job_name: each.place for each in page}, calls["calls"]


def test_the_calls_for_a_page_deep_in_long_queues_do_not_depend_on_its_size() -> None:
    teams = ("", "a", "b")
    jobs = [job(n, JobState.PENDING, ADA, teams[n % 3], "j") for n in range(3 * MAX_EXPLAINED + 400)]
    names = [each.job_name for each in sorted(jobs, key=JobRecord.rank)]
    few, some_calls = explained(jobs, 500, 2)
    many, calls = explained(jobs, 500, MAX_LISTED)
    assert many == {name: place for place, name in enumerate(names[500 : 500 + MAX_LISTED], start=501)}
    assert many.items() >= few.items()
    # The ledger, the jobs ahead of the first one, and of each line the heads, twice if the first time was too few, and
    # the ranks.
    assert max(calls, some_calls) <= 2 + 3 * len(teams)


def test_a_job_has_the_same_place_alone_and_in_a_page() -> None:
    jobs = [job(n, JobState.PENDING, ADA, "", "j") for n in range(MAX_EXPLAINED + 50)]
    assert explained(jobs, 120, 1)[0].items() <= explained(jobs, 120, 20)[0].items()


@pytest.mark.parametrize(
    "other",
    [
        JobFilter(states=WAITING),
        JobFilter(states=ALL, team="a"),
        JobFilter(states=ALL, owners=frozenset({ADA})),
        JobFilter(states=ALL, name_contains="j"),
    ],
    ids=["states", "team", "owner", "name"],
)
def test_a_token_belongs_to_its_listing(other: JobFilter) -> None:
    world = World()
    for name in ("j1", "j2"):
        world.submit(name)
    _, token = world.queries.jobs(JobFilter(states=ALL), 1, None)
    page, _ = world.queries.jobs(JobFilter(states=ALL), 1, token)
    assert [seen.job.job_name for seen in page] == ["j2"]
    with pytest.raises(InvalidRequest, match="pass the same states and filters as before"):
        world.queries.jobs(other, 1, token)


def test_a_token_is_independent_of_the_order_of_parameters() -> None:
    one = JobFilter(states=frozenset([JobState.PENDING, JobState.RUNNING]), owners=frozenset([ADA, BOB]))
    other = JobFilter(states=frozenset([JobState.RUNNING, JobState.PENDING]), owners=frozenset([BOB, ADA]))
    assert one.digest() == other.digest()


@pytest.mark.parametrize(
    "content",
    [
        [["waiting"], None, "x"],
        ["waiting", None],
        ["waiting", None, 1],
        ["waiting", {"pk": "job#a"}, "x"],
        ["waiting", {"pk": "", "listingKey": "a"}, "x"],
        ["nowhere", None, "x"],
        "waiting",
        7,
    ],
    ids=repr,
)
def test_an_invalid_token_is_refused(content: Any) -> None:
    token = base64.urlsafe_b64encode(json.dumps(content).encode()).decode()
    with pytest.raises(InvalidRequest, match="nextToken"):
        list_jobs(MemoryTable(), JobFilter(states=WAITING), 1, token)


def test_a_token_that_is_nested_too_deeply_is_refused() -> None:
    token = base64.urlsafe_b64encode(b"[" * 100_000).decode()
    with pytest.raises(InvalidRequest, match="nextToken"):
        list_jobs(MemoryTable(), JobFilter(states=WAITING), 1, token)


def ended_at(number: int, ended_ms: int) -> JobRecord:
    record = job(number, JobState.COMPLETED, ADA if number % 2 else BOB, "red" if number % 3 else "blue", "a")
    return record.model_copy(update={"ended_ms": ended_ms})


@given(
    st.lists(st.integers(0, 30), max_size=40),
    st.integers(-1, 31),
    st.integers(-1, 31),
    st.sampled_from([JobFilter(states=TERMINAL), JobFilter(states=TERMINAL, owners=frozenset({ADA}), team="red")]),
    st.integers(1, 7),
)
def test_a_span_has_exactly_the_matching_jobs_that_ended_in_it(
    ends: list[int], since_ms: int, until_ms: int, wanted: JobFilter, limit: int
) -> None:
    table = MemoryTable()
    jobs = [ended_at(number, ended_ms) for number, ended_ms in enumerate(ends)]
    for each in jobs:
        table.write([each.put()])
    token, found = None, []
    for _ in range(len(jobs) + 2):
        page, token = list_ended(table, wanted, since_ms, until_ms, limit, token)
        assert len(page) <= limit
        found += page
        if token is None:
            break
    assert token is None
    expected = [
        each
        for each in sorted(jobs, key=place_of, reverse=True)
        if since_ms <= (each.ended_ms or 0) < until_ms
        and (not wanted.owners or (each.owner in wanted.owners and each.team == wanted.team))
    ]
    assert [each.job_name for each in found] == [each.job_name for each in expected]


def test_a_span_costs_its_own_jobs_however_many_are_kept() -> None:
    table = MemoryTable()
    for number in range(3000):
        table.write([ended_at(number, number).put()])
    reads: Counter[str] = Counter()
    metered = MeteredTable(table, lambda call, units: reads.update({call: 1}))
    page, token = list_ended(metered, JobFilter(states=TERMINAL), 1500, 1510, 100, None)
    assert (len(page), token) == (10, None)
    assert reads["Query"] == 1
    nobody = JobFilter(states=TERMINAL, owners=frozenset({"arn:nobody"}))
    assert list_ended(metered, nobody, 2600, 3000, 100, None) == ([], None)
    assert reads["Query"] == 2


@pytest.mark.parametrize("span", [(1, 30), (0, 29)])
def test_a_token_of_a_span_belongs_to_it(span: tuple[int, int]) -> None:
    table = MemoryTable()
    for number in range(30):
        table.write([ended_at(number, number).put()])
    _, token = list_ended(table, JobFilter(states=TERMINAL), 0, 30, 5, None)
    assert token is not None
    for other, wanted in [(span, JobFilter(states=TERMINAL)), ((0, 30), JobFilter(states=TERMINAL, team="red"))]:
        with pytest.raises(InvalidRequest, match="another listing"):
            list_ended(table, wanted, *other, 5, token)
    _, of_jobs = list_jobs(table, JobFilter(states=TERMINAL), 5, None)
    with pytest.raises(InvalidRequest, match="another listing"):
        list_ended(table, JobFilter(states=TERMINAL), 0, 30, 5, of_jobs)
