"""The performance gate, by counts: a pass costs the same for any queue length, a job takes few calls."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import pytest

from bench.metering.dynamodb_units import MeteredTable
from bench.metering.table_scans import ScannedTable
from bench.queues.full_queues import ArticleQueue, FullQueue, HeadwayQueue, enqueue_copies
from bench.queues.used_year import used_year
from bench.queues.virtual_time import MeteredQueue, usual_request
from bench.runs.long_queues import OPERATIONS, LongLines
from bench.scenarios.article import (
    COMES,
    ENDS,
    JOB,
    MOST_CALLS,
    MOST_GROWTH,
    PASSES,
    READS,
    Calls,
    Scenes,
    calls_of_a_job,
    growth,
    in_all,
    lists,
    lists_by_the_minute,
)
from bench.scenarios.article import watched as watched_for
from bench.scenarios.cost import JOBS, jobs
from bench.scenarios.usage import CHANGED, UNPRICED, report
from headway_sandbox.inprocess.lambda_loader import http_event
from headway_service.ports.table import Item
from headway_service.tracking import reconciler

WINDOW = 20
"""Where an instance is free, a pass reads the window of backfill too. It is 1,000 jobs unless changed, and flat is a
pass with lines that are longer than the window."""

SHORT, LONG = 100, 500

MOST_WRITES, MOST_READS, MOST_TABLE_CALLS = 50, 68, 84
"""The table use of a usual job alone in a deployment with 12 queues, as of the time of writing.

3 of the write units are for appends to the feed of events, as its end and the next start are in different shards, and
21 for the sums of usage: 15 for a job that ends alone within its minute, and 6 as it is the first of its names in the
month. One of the read units is for the versions of attempts, which are long so that no name has a version twice: with
them the ledger of this deployment is longer than 4 KB.
"""

MOST_WRITES_OF_JOBS = 31.6
"""The write units of each of 40 usual jobs, of which eight run at a time, as `bench.scenarios.cost` measures them."""
TEN_HOURS_S = 36_000

MOST_CALLS_OF_A_SUBMISSION = {0: 3, 100: 4}
"""The table use with one queue of this length: the configuration, the queue, the transaction. A queue
that is too long to be read in one takes one more."""
MOST_READS_OF_A_SUBMISSION = {0: 1.5, 100: 3.5}


def watched(sizes: Sequence[int], meter: Callable[..., MeteredTable] = MeteredTable) -> dict[int, Scenes]:
    return watched_for({size: filled(HeadwayQueue(meter, backfill={"window": WINDOW}), size) for size in sizes}, 1)


def filled(queue: FullQueue, waiting: int) -> FullQueue:
    queue.fill(waiting)
    return queue


def grown(figures: dict[int, Scenes]) -> list[str]:
    """The gate: passes that read too much more with the longest line than with the shortest."""
    return [scene for scene in PASSES if growth(figures, scene, READS, since=min(figures)) > MOST_GROWTH]


class ScannedLines(ScannedTable):
    """A regression: reading a queue by a scan of the whole table."""

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        if not pk.startswith("line#"):
            return super().query(pk, prefix=prefix, after=after, limit=limit)
        self.scan_all()
        return self._table.query(pk, prefix=prefix, after=after, limit=limit)


def test_a_pass_reads_as_much_however_many_wait() -> None:
    assert grown(watched([SHORT, LONG])) == []


class CountedQueue(HeadwayQueue):
    """Counts which functions a pass calls, those of what plays AWS aside."""

    def __init__(self) -> None:
        super().__init__(backfill={"window": WINDOW})
        self.calls = 0

    def invoke(self, function: str, payload: Mapping[str, Any], remaining_ms: int = 25_000) -> Any:
        if function != self.DECIDES:
            return super().invoke(function, payload, remaining_ms)
        self.calls = 0
        sys.setprofile(self._called)
        try:
            return super().invoke(function, payload, remaining_ms)
        finally:
            sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        self.calls += event == "call" and "/layers/" in path and "/testing/" not in path


def test_a_pass_calls_as_many_functions_however_many_wait() -> None:
    counted: dict[int, dict[str, int]] = {}
    for waiting in (SHORT, LONG):
        queue = CountedQueue()
        queue.fill(waiting)
        for _ in range(2):  # the first round does the one-time loading
            queue.submit_one()
            comes = queue.calls
            queue.end_one()
            counted[waiting] = {COMES: comes, ENDS: queue.calls}
            queue.quiet_down()
    # Where a line is short, a decision comes to its lower priorities sooner.
    assert all(0 < counted[LONG][scene] <= counted[SHORT][scene] for scene in PASSES), counted


def test_a_job_takes_few_units_and_calls_of_the_table_from_its_submission_to_its_end() -> None:
    job = watched_for({SHORT: filled(HeadwayQueue(), SHORT)}, 1)[SHORT][JOB]
    assert job["DynamoDB write units"] <= MOST_WRITES
    assert job[READS] <= MOST_READS
    assert job["DynamoDB calls"] <= MOST_TABLE_CALLS


def test_each_of_many_jobs_takes_fewer_write_units_than_one_alone() -> None:
    assert jobs(JOBS)["DynamoDB write units"] / JOBS <= MOST_WRITES_OF_JOBS < MOST_WRITES


@pytest.mark.parametrize("waiting", MOST_CALLS_OF_A_SUBMISSION)
def test_a_submission_takes_few_calls_and_reads_its_line_once(waiting: int) -> None:
    world = MeteredQueue(1)
    for number in range(waiting + 1):
        world.submit(f"job-{number}")
    world.reset()
    world.submit("new")
    used = {kind: number for (function, kind), number in world.used.items() if function == "api"}
    assert used["DynamoDB calls"] <= MOST_CALLS_OF_A_SUBMISSION[waiting]
    assert used["DynamoDB read units"] <= MOST_READS_OF_A_SUBMISSION[waiting]
    assert used["SQS requests"] == 1


FEW, VERY_MANY = 100, 100_000


@pytest.fixture(scope="module")
def uses() -> dict[int, dict[str, dict[str, float]]]:
    """What operations use with few and with very many waiting jobs in eleven queues."""
    found = {}
    for waiting in (FEW, VERY_MANY):
        queue = LongLines(1)
        queue.fill(waiting)
        found[waiting] = {operation: queue.use(operation) for operation in OPERATIONS}
    return found


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each != "listing"])
def test_an_operation_on_a_job_reads_as_much_with_100_000_waiting(
    uses: dict[int, dict[str, dict[str, float]]], operation: str
) -> None:
    assert uses[VERY_MANY][operation][READS] <= MOST_GROWTH * uses[FEW][operation][READS]
    assert uses[VERY_MANY][operation]["DynamoDB calls"] <= uses[FEW][operation]["DynamoDB calls"]


MOST_READS_OF_A_LISTING = 85


def test_a_listing_of_the_first_hundred_reads_the_fronts_of_the_queues(
    uses: dict[int, dict[str, dict[str, float]]],
) -> None:
    assert uses[VERY_MANY]["listing"][READS] <= MOST_READS_OF_A_LISTING


def without_teams(waiting: int) -> MeteredQueue:
    """A queue in which so many jobs wait, and one runs."""
    world = MeteredQueue(1, limits={"waitingPerTeam": 10_000, "waitingPerOwner": 10_000})
    world.submit("runs")
    world.submit("waits")
    enqueue_copies(world.table, "waits", ({"job_name": f"job-{number:05}"} for number in range(1, waiting)))
    world.minute()
    world.reset()
    return world


def test_a_listing_without_teams_reads_as_much_however_many_wait() -> None:
    reads = []
    for waiting in (SHORT, 10 * SHORT):
        world = without_teams(waiting)
        assert world.invoke("api", http_event("GET", "/jobs", query={"limit": ["50"]}))["statusCode"] == 200
        reads.append(world.used["api", READS])
    assert reads[1] <= MOST_GROWTH * reads[0]


MOST_CALLS_OF_A_LISTED_JOB = 30
"""Our own functions that are called for each job of a long listing, whose reason is made once for all of its jobs."""


def test_a_job_of_a_long_listing_takes_few_function_calls() -> None:
    world = without_teams(25 * SHORT)
    called = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal called
        path = frame.f_code.co_filename
        called += event == "call" and "/layers/" in path and "/testing/" not in path

    query = {"limit": ["500"]}
    # More jobs are ahead of those of the fourth page than are counted.
    for _ in range(3):
        page = json.loads(world.invoke("api", http_event("GET", "/jobs", query=query))["body"])
        query["nextToken"] = [page["nextToken"]]
    sys.setprofile(count)
    try:
        page = json.loads(world.invoke("api", http_event("GET", "/jobs", query=query))["body"])
    finally:
        sys.setprofile(None)
    listed = len(page["jobs"])
    assert listed > 4 * SHORT
    assert listed < called <= MOST_CALLS_OF_A_LISTED_JOB * listed


SWEEPS: dict[str, dict[str, Any]] = {
    "grid": {"grid": {"lr": [*range(100)], "seed": [*range(100)]}},
    "random": {"random": {"lr": {"uniform": [0, 1]}}, "count": 10_000, "seed": 7},
}


@pytest.mark.parametrize("kind", SWEEPS)
def test_to_submit_an_array_of_10_000_takes_no_more_than_to_submit_ten_jobs(kind: str) -> None:
    array, ten = _submitting(lambda world: _submit_array(world, SWEEPS[kind])), _submitting(_submit_ten)
    assert [what for what, number in array.items() if number > ten[what]] == []


def _submit_array(world: MeteredQueue, sweep: Mapping[str, Any]) -> None:
    body = {"jobDetails": usual_request("sweep", priority=1, run_s=600), "sweep": sweep}
    assert world.invoke("api", http_event("POST", "/add-job", json.dumps(body)))["statusCode"] == 201
    world.come_to_rest()


def _submit_ten(world: MeteredQueue) -> None:
    for number in range(10):
        world.submit(f"job-{number}")


def _submitting(act: Callable[[MeteredQueue], None]) -> dict[str, float]:
    """The use of the table by a submission, and by the tick that follows it, with one instance."""
    world = MeteredQueue(1, limits={"waitingPerTeam": 10_000, "waitingPerOwner": 10_000})
    world.submit("first")
    world.reset()
    act(world)
    kinds = ("DynamoDB calls", "DynamoDB read units", "DynamoDB write units")
    return {kind: sum(number for (_, each), number in world.used.items() if each == kind) for kind in kinds}


def test_the_gate_fails_when_a_scan_is_put_back() -> None:
    assert grown(watched([30, 60], ScannedLines)) == [COMES, ENDS]


def test_a_job_takes_few_calls_of_sagemaker_and_none_that_lists() -> None:
    calls = calls_of_a_job(600)
    assert calls["schedule"] == {"CreateTrainingJob": 1}
    assert in_all(calls) <= MOST_CALLS
    assert lists(calls) == 0


def test_a_job_of_ten_hours_takes_no_more_calls_of_its_own_than_a_short_one() -> None:
    calls = calls_of_a_job(TEN_HOURS_S)
    assert in_all(calls) <= MOST_CALLS
    assert lists(calls) == 0
    assert lists_by_the_minute(calls) <= TEN_HOURS_S / 60 + 10, "one a minute, however many jobs there are"


def test_the_gate_fails_when_each_job_is_asked_about_by_itself_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciler, "is_unchanged", lambda *_: False)
    assert in_all(calls_of_a_job(3_600)) > MOST_CALLS


def test_lists_by_the_minute_are_told_apart_and_other_calls_of_each_minute_are_not() -> None:
    calls: Calls = {"reconcile": {"ListTrainingJobs": 60, "DescribeTrainingJob": 2}, "api": {"ListTrainingJobs": 1}}
    assert (in_all(calls), lists_by_the_minute(calls)) == (3, 60)


def test_a_list_call_counts_only_where_jobs_wait_for_it() -> None:
    assert lists({"schedule": {"ListTrainingJobs": 2, "CreateTrainingJob": 1}, "patrol": {"ListTrainingJobs": 60}}) == 2


def test_the_articles_pass_would_fail_the_gate() -> None:
    figures = watched_for({size: filled(ArticleQueue(), size) for size in (SHORT, 3 * SHORT)}, 1)
    assert grown(figures) == [COMES, ENDS]
    assert figures[SHORT][COMES]["SageMaker ListTrainingJobs"] == 2


MOST_READS_OF_A_YEAR = {"pool": 15, "team": 50, "owner": 250}
"""The read units of the report of a year of 100,000 jobs; ``bench.scenarios.usage`` measures a million."""


def test_the_report_of_a_year_reads_its_months_and_not_its_jobs() -> None:
    table = used_year(100_000)
    for by, most in MOST_READS_OF_A_YEAR.items():
        made = report(table, by)
        assert made.calls == 12
        assert made.read_units <= most, made


def test_the_report_of_a_year_with_a_change_of_prices_within_a_month_reads_the_days_of_this_month_only() -> None:
    table = used_year(100_000)
    plain, priced = (report(table, "owner", prices) for prices in (UNPRICED, CHANGED))
    assert priced.calls == 11 + 30
    assert priced.read_units <= 3 * plain.read_units


def test_a_larger_year_of_the_same_names_costs_less_than_in_proportion() -> None:
    few, many = (report(used_year(jobs), "team").read_units for jobs in (10_000, 100_000))
    assert many < 3 * few
