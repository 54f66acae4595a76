"""The simulator: reading traces, comparing policies, and reports."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from headway.forecasting.simulation import Delays
from headway.policy import Order, Policy
from headway_client.cli import main
from headway_sandbox.simulator.errors import InvalidCapacity, InvalidInput, InvalidTrace, UnknownPolicy
from headway_sandbox.simulator.limits import EQUAL, GIVEN, GUESSED, HALF, KINDS, ROUNDED, limits_ms
from headway_sandbox.simulator.metrics import Result, Spread, Timeline, jain
from headway_sandbox.simulator.policies import orders_of, policy_named
from headway_sandbox.simulator.run import Scenario, outcomes_of, scenarios, simulate, simulate_all
from headway_sandbox.simulator.trace import Trace, parse_capacity, read_trace

HEADER = "submit_s,duration_s,gpus,nodes,user,vc,status,priority"


def write(folder: Path, *rows: str, header: str = HEADER, name: str = "t.csv") -> Path:
    path = folder / name
    text = "\n".join([header, *rows]) + "\n"
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def trace(folder: Path, *rows: str, size: int = 4) -> Trace:
    return read_trace(write(folder, *rows), {"p": size})


def play(trace: Trace, policy: str, *, limit_factor: float = 1.0, stop_ms: int = 0, checkpoints: float = 0) -> Result:
    return simulate(
        Scenario(
            trace=trace,
            policy=policy_named(policy),
            limit_factor=limit_factor,
            delays=Delays(stop_ms=stop_ms, release_ms=120_000),
            checkpointing=checkpoints,
        )
    )


# A job on 3 of 4, one on all 4, and two small ones behind it: a short one and a long one.
BLOCKED = ("0,100,3,1,,a,,", "1,50,4,1,,a,,", "2,90,1,1,,b,,", "3,500,1,1,,b,,")


# One instance: a job of team a, then one of its team and one of another at once.
IN_TURN = ("0,1000,1,1,,a,,", "1,1000,1,1,,a,,", "2,1000,1,1,,b,,")


@pytest.mark.parametrize(
    ("keep_s", "release_s", "ends_s", "warm_starts", "idle_h"),
    [
        (0, 0, (1240, 2480, 3720), 0, 0.0),
        # The second job starts warm; for the third the instances are released, and stay idle until then.
        (600, 0, (1240, 2260, 3500), 1, 0.2),
        (600, 120, (1240, 2260, 3620), 1, 0.2),
    ],
)
def test_a_job_starts_in_a_warm_pool_of_its_team_and_others_have_it_released(
    tmp_path: Path, keep_s: int, release_s: int, ends_s: Sequence[int], warm_starts: int, idle_h: float
) -> None:
    (scenario,) = scenarios(
        trace(tmp_path, *IN_TURN, size=1),
        ["headway"],
        cold_start_ms=240_000,
        warm_start_ms=20_000,
        keep_ms=keep_s * 1000,
        release_ms=release_s * 1000,
    )
    result = simulate(scenario)
    assert result.jct.avg_s == pytest.approx(sum(end - at for at, end in enumerate(ends_s)) / 3, abs=0.1)
    # The last job's instances stay warm to the end: 600 s, beside the time of the release.
    assert (result.warm_starts, result.warm_idle_instance_h) == (warm_starts, idle_h)
    assert result.label == ("headway 1x" if not keep_s else f"headway 1x warm 600/{release_s} s")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"keep_ms": -1}, "cannot be negative"),
        ({"cold_start_ms": 1, "warm_start_ms": 2}, "a warm start cannot take longer than a cold start"),
        ({"keep_ms": 1, "policies": ["fifo", "article"]}, "the policy article keeps no warm pools"),
    ],
)
def test_invalid_options_of_warm_pools_are_refused(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    policies = options.pop("policies", ["headway"])
    with pytest.raises(InvalidInput, match=says):
        scenarios(trace(tmp_path, *BLOCKED), policies, **options)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_trace_is_read_gzipped_or_not(tmp_path: Path, name: str) -> None:
    read = read_trace(write(tmp_path, "5,10,2,,,a,,3", "1,20,9,,ann,,,", name=name), {"p": 16}, mapping="gpus")
    first, second = read.jobs
    assert (first.submit_ms, first.run_ms, first.count, first.team, first.priority) == (1000, 20000, 9, "ann", 0)
    assert (second.submit_ms, second.run_ms, second.count, second.team, second.priority) == (5000, 10000, 2, "a", 3)


def test_an_instance_may_represent_a_node(tmp_path: Path) -> None:
    path = write(tmp_path, "0,1,9,,,a,,", "1,1,16,3,,a,,")
    assert [job.count for job in read_trace(path, {"p": 4}, mapping="nodes").jobs] == [2, 3]


def test_a_jobs_pool_comes_from_its_column_or_its_virtual_cluster(tmp_path: Path) -> None:
    pools = {"a": 4, "b": 4}
    assert [job.pool for job in read_trace(write(tmp_path, "0,1,1,1,,b,,"), pools).jobs] == ["b"]
    named = write(tmp_path, "0,1,1,a", header="submit_s,duration_s,gpus,pool")
    assert [job.pool for job in read_trace(named, pools).jobs] == ["a"]
    with pytest.raises(InvalidCapacity, match="line 2: the job belongs to the pool 'c'"):
        read_trace(write(tmp_path, "0,1,1,1,,c,,"), pools)


def test_jobs_that_are_larger_than_their_pool_are_left_out_and_counted(tmp_path: Path) -> None:
    read = trace(tmp_path, "0,1,5,1,,a,,", "0,1,4,1,,a,,")
    assert (len(read.jobs), read.too_large) == (1, 1)
    with pytest.raises(InvalidCapacity, match="no job of"):
        trace(tmp_path, "0,1,5,1,,a,,")


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        ("gpus", "--capacity is in GPUs (with --nodes: nodes), and the smallest job needs p=16"),
        ("nodes", "--capacity is in nodes (without --nodes: GPUs), and the smallest job needs p=2"),
    ],
)
def test_the_unit_of_pools_that_are_too_small_is_named(tmp_path: Path, mapping: str, says: str) -> None:
    path = write(tmp_path, "0,1,24,3,,a,,", "0,1,16,2,,a,,")
    with pytest.raises(InvalidCapacity, match=re.escape(says)):
        read_trace(path, {"p": 1}, mapping=mapping)


def test_the_help_names_the_unit_of_pools(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["simulate", "--help"]) == 0
    assert "sizes in GPUs; with --nodes, in nodes" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_trace_may_begin_with_the_bom_that_spreadsheets_write(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, "5,10,2,,ann,,,3", header=f"\ufeff{HEADER}", name=name)
    (job,) = read_trace(path, {"p": 4}).jobs
    assert (job.submit_ms, job.count, job.team, job.priority) == (5000, 2, "ann", 3)


def test_columns_without_names_and_empty_lines_of_a_trace_are_ignored(tmp_path: Path) -> None:
    path = write(tmp_path, "0,10,2,,", "", "1,10,2,,", header="submit_s,duration_s,gpus,,")
    assert [job.count for job in read_trace(path, {"p": 4}).jobs] == [2, 2]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("x,1,1,1,,a,,", "line 2: submit_s is 'x'"),
        ("0,-1,1,1,,a,,", "line 2: duration_s is '-1'"),
        ("0,nan,1,1,,a,,", "line 2: duration_s is 'nan'"),
        ("0,inf,1,1,,a,,", "line 2: duration_s is 'inf'"),
        ("0,1e13,1,1,,a,,", "line 2: duration_s is '1e13'; it must be a number from 0 to 1,000,000,000,000"),
        ("0,1,0,1,,a,,", "line 2: gpus is '0'; it must be a whole number from 1 to 1,000,000,000,000"),
        ("0,1,1.5,1,,a,,", "line 2: gpus is '1.5'"),
        ("0,1,inf,1,,a,,", "line 2: gpus is 'inf'"),
        ("0,1,1,1,,a,,10000", "line 2: priority is '10000'; it must be a whole number from 0 to 9,999"),
        ("0,1", "line 2: gpus is ''"),
        ("0,10,5,1,1,,a,,", "line 2: the row has 9 cells, but there are 8 columns; write numbers with a decimal point"),
        (
            '0,1,1,1,"a,a,,',
            "line 2: the row that begins here is not valid CSV (unexpected end of data); close each quote",
        ),
        ('0,1,1,1,"a"b,a,,', "write a quote within quotes twice"),
        (f"0,1,1,1,{'a' * 131_073},a,,", "line 2: the row that begins here is not valid CSV (field larger than"),
        (f"0,1,1,1,{'a' * 131_073},a,,", "and give no cell more than 131,072 characters"),
    ],
)
def test_an_invalid_row_is_refused_with_its_line_number_and_what_to_change(tmp_path: Path, row: str, says: str) -> None:
    with pytest.raises(InvalidTrace, match=re.escape(says)):
        trace(tmp_path, row)


def test_of_a_quote_that_is_never_closed_the_line_is_named_on_which_its_row_begins(tmp_path: Path) -> None:
    with pytest.raises(InvalidTrace, match="line 3: the row that begins here"):
        trace(tmp_path, "0,1,1,1,,a,,", '1,1,1,1,"b,a,,', "2,1,1,1,,a,,", "3,1,1,1,,a,,")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_trace_that_is_not_utf_8_is_refused_with_the_line(tmp_path: Path, name: str) -> None:
    content = f"{HEADER}\n0,1,1,1,ann,a,,\n1,1,1,1,jürgen,a,,\n".encode("latin-1")
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(InvalidTrace, match="line 3 is not UTF-8; save the file as UTF-8"):
        read_trace(path, {"p": 1})


def test_a_file_that_is_not_a_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidTrace, match="there is no file"):
        read_trace(tmp_path / "none.csv", {"p": 1})
    with pytest.raises(InvalidTrace, match="has no jobs"):
        trace(tmp_path)
    with pytest.raises(InvalidTrace, match="has no column duration_s and no gpus"):
        read_trace(write(tmp_path, "0", header="submit_s"), {"p": 1})
    with pytest.raises(InvalidTrace, match="has two columns gpus; its first line must name each column once"):
        read_trace(write(tmp_path, "0,1,1,2", header="submit_s,duration_s,gpus,gpus"), {"p": 1})
    (tmp_path / "empty.csv").touch()
    with pytest.raises(InvalidTrace, match="has no column submit_s and no duration_s and no gpus"):
        read_trace(tmp_path / "empty.csv", {"p": 1})
    broken = tmp_path / "broken.csv.gz"
    broken.write_bytes(gzip.compress(HEADER.encode() * 100)[:40])
    with pytest.raises(InvalidTrace, match="cannot read"):
        read_trace(broken, {"p": 1})


def test_pools_are_read_with_their_sizes() -> None:
    assert parse_capacity("a=1, b=20") == {"a": 1, "b": 20}
    for text in ("", "a", "a=0", "a=x", "=3", "a=1,a=2", "a=-1"):
        with pytest.raises(InvalidCapacity):
            parse_capacity(text)


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        # In order: the large one at 100, the small ones after it.
        ("fifo", [0, 99, 148, 147]),
        # The short one ends before the large one could start; the long one does not.
        ("easy", [0, 99, 0, 147]),
        ("headway", [0, 99, 0, 147]),
        # Short jobs start first in any order; at 100 the large one is the shortest, and blocks the queue.
        ("sjf", [0, 99, 148, 147]),
        # The article starts every job that the quota admits.
        ("article", [0, 591, 0, 89]),
    ],
)
def test_each_policy_handles_a_blocked_head_differently(tmp_path: Path, policy: str, waits: Sequence[int]) -> None:
    result = play(trace(tmp_path, *BLOCKED), policy)
    assert result.unfinished == 0
    assert result.wait.avg_s == pytest.approx(sum(waits) / 4, abs=0.06)


def test_the_shortest_job_starts_first_under_sjf(tmp_path: Path) -> None:
    read = trace(tmp_path, "0,10,4,1,,a,,", "1,30,4,1,,a,,", "2,5,4,1,,a,,")
    assert play(read, "sjf").wait.avg_s == pytest.approx((0 + 14 + 8) / 3, abs=0.06)
    assert play(read, "fifo").wait.avg_s == pytest.approx((0 + 9 + 38) / 3, abs=0.06)


def test_only_the_queue_and_the_article_use_priorities_and_the_latter_preempts_only_with_enough_jobs(
    tmp_path: Path,
) -> None:
    large = trace(tmp_path, "0,1000,4,1,,a,,0", "10,10,4,1,,a,,1")
    assert play(large, "headway").preemptions == 1
    assert play(large, "article").preemptions == 0
    assert play(large, "article").refused > 0
    assert play(large, "easy").preemptions == 0
    small = trace(tmp_path, "0,100,1,1,,a,,0", "10,10,1,1,,a,,1", size=1)
    assert play(small, "article").preemptions == 1


def test_waits_are_listed_in_the_order_of_the_priorities(tmp_path: Path) -> None:
    read = trace(tmp_path, "0,10,1,1,,a,,10", "0,10,1,1,,a,,9", "0,10,1,1,,a,,100")
    assert list(play(read, "headway").wait_by_priority_s) == ["9", "10", "100"]


def test_work_lost_by_a_preemption_is_counted(tmp_path: Path) -> None:
    read = trace(tmp_path, "0,3600,4,1,,a,,0", "1800,10,4,1,,a,,1")
    assert play(read, "headway").work_lost_instance_h == 2.0
    # A checkpoint every ten minutes, the last one just written.
    assert play(read, "headway", checkpoints=1).work_lost_instance_h == 0.0
    result = play(read, "headway", stop_ms=900_000, checkpoints=1)
    assert result.work_lost_instance_h == 1.0
    assert result.wait_by_priority_s == {"0": 10.0, "1": 900.0}


def test_the_same_scenario_has_the_same_results_and_seeds_affect_only_checkpoints(tmp_path: Path) -> None:
    rows = [f"{i * 700},{500 + i % 13 * 4000},{1 + i % 4},1,,v,,{int(i % 5 == 4)}" for i in range(60)]
    read = trace(tmp_path, *rows)

    def figures(seed: int) -> dict[str, object]:
        document = simulate(
            Scenario(trace=read, policy=policy_named("headway"), checkpointing=0.5, seed=seed)
        ).to_document()
        return {key: value for key, value in document.items() if key != "wall_s"}

    assert figures(1) == figures(1)
    assert figures(1) != figures(2)


def test_policies_that_ignore_limits_are_simulated_once(tmp_path: Path) -> None:
    them = scenarios(trace(tmp_path, *BLOCKED), ["headway", "fifo"], [1, 2, 5])
    results = simulate_all(them, processes=2)
    assert [result.label for result in results] == ["headway 1x", "headway 2x", "headway 5x", "fifo"]


def test_limits_that_are_given_twice_are_simulated_once(tmp_path: Path) -> None:
    them = scenarios(trace(tmp_path, *BLOCKED), ["headway"], [1, 1.0, ROUNDED, 2, ROUNDED])
    assert [each.limit_factor for each in them] == [1, ROUNDED, 2]


@pytest.mark.parametrize(
    ("limits", "checkpointing", "stop_ms"),
    [([0.5], 0, 0), ([1001], 0, 0), (["2-5x"], 0, 0), ([], 0, 0), ([1], 2, 0), ([1], 0, -1)],
)
def test_invalid_numbers_are_refused(
    tmp_path: Path, limits: list[float | str], checkpointing: float, stop_ms: int
) -> None:
    with pytest.raises(InvalidInput):
        scenarios(trace(tmp_path, *BLOCKED), ["fifo"], limits, checkpointing=checkpointing, stop_ms=stop_ms)


HOUR_S = 3600


@pytest.mark.parametrize(
    ("run_s", "limit_s"), [(1, HOUR_S), (HOUR_S, HOUR_S), (HOUR_S + 1, 4 * HOUR_S), (9000 * HOUR_S, 9000 * HOUR_S)]
)
def test_limits_are_rounded_up_to_the_next_usual_length(tmp_path: Path, run_s: int, limit_s: int) -> None:
    jobs = trace(tmp_path, f"0,{run_s},1,1,,a,,").jobs
    assert limits_ms(jobs, ROUNDED, 0) == [limit_s * 1000]


def test_guessed_limits_are_one_to_ten_times_the_run_time_and_the_seed_selects_them(tmp_path: Path) -> None:
    jobs = trace(tmp_path, *(f"{i},1000,1,1,,a,," for i in range(200))).jobs
    guesses = [limit_ms or 0 for limit_ms in limits_ms(jobs, GUESSED, 1)]
    assert all(1_000_000 <= limit_ms <= 10_000_000 for limit_ms in guesses)
    assert 60 <= sum(limit_ms < 3_162_278 for limit_ms in guesses) <= 140
    assert guesses == limits_ms(jobs, GUESSED, 1) != limits_ms(jobs, GUESSED, 2)


def test_equal_limits_are_the_longest_run_time(tmp_path: Path) -> None:
    jobs = trace(tmp_path, "0,1000,1,1,,a,,", "1,3000,1,1,,a,,").jobs
    assert limits_ms(jobs, EQUAL, 0) == [3_000_000, 3_000_000]


def test_a_random_half_of_the_jobs_has_no_limits_and_the_seed_selects_them(tmp_path: Path) -> None:
    jobs = trace(tmp_path, *(f"{i},1000,1,1,,a,," for i in range(200))).jobs
    given = limits_ms(jobs, HALF, 1)
    assert set(given) == {None, HOUR_S * 1000}
    assert 60 <= given.count(None) <= 140
    assert given == limits_ms(jobs, HALF, 1) != limits_ms(jobs, HALF, 2)


def test_the_limits_of_a_trace_are_taken_but_are_no_shorter_than_run_times(tmp_path: Path) -> None:
    rows = ("0,100,1,1,,a,,500", "1,100,1,1,,a,,50", "2,100,1,1,,a,,")
    jobs = read_trace(write(tmp_path, *rows, header=HEADER.replace("priority", "limit_s")), {"p": 4}).jobs
    assert [job.limit_ms for job in jobs] == [500_000, 50_000, None]
    assert limits_ms(jobs, GIVEN, 0) == [500_000, 100_000, None]


def test_a_policy_is_compared_in_each_order_with_its_own_rules(tmp_path: Path) -> None:
    own = Policy(order=Order.FIFO, max_preemptions=3)
    each = orders_of(own)
    assert [(one.name, one.policy.order) for one in each] == [(order, order) for order in Order]
    assert each[0].policy == own
    assert {one.policy.max_preemptions for one in each} == {3}
    assert next(iter(orders_of(Policy(order=Order.SHORT)))).name == "short"


def test_a_policy_by_predictions_is_compared_with_and_without_them() -> None:
    own = Policy(order=Order.SHORT, by_predictions=True)
    each = orders_of(own)
    assert each[0].policy == own
    assert [one.name for one in each] == [
        "short predicted",
        "short",
        "shortest-remaining predicted",
        "fifo",
        "shortest-remaining",
        "shared",
    ]
    assert [one.policy.by_predictions for one in each] == [True, False, True, False, False, False]


# Three long jobs of one user and three short ones of another; then one of each at once, the long one first.
ALIKE = (
    *(f"{number},{run_s},1,1,,{user},," for number, (run_s, user) in enumerate([(500, "a"), (50, "b")] * 3)),
    "2000,500,1,1,,a,,",
    "2000,50,1,1,,b,,",
)


@pytest.mark.parametrize(
    ("policy", "short_first"),
    [("order-short", False), ("order-short-predicted", True), ("order-shortest-remaining-predicted", True)],
)
def test_a_job_that_is_expected_to_be_short_passes_one_of_the_same_limit(
    tmp_path: Path, policy: str, *, short_first: bool
) -> None:
    (scenario,) = scenarios(trace(tmp_path, *ALIKE, size=1), [policy], [EQUAL])
    ended = [outcome.ended_ms for outcome in outcomes_of(scenario).values()]
    long_ms, short_ms = ended[-2:]
    assert long_ms is not None
    assert short_ms is not None
    assert (short_ms < long_ms) is short_first


def test_a_job_is_predicted_by_those_that_ended_before_it_was_submitted_only(tmp_path: Path) -> None:
    # Three long jobs of one user and three short ones of another run. When they have ended, one of each is submitted,
    # which has to wait, the long one first: the short one passes it. It does not if they have not ended.
    rows = [*("0,500,1,1,,a,,",) * 3, *("0,50,1,1,,b,,",) * 3]
    for submitted_s, passes in ((600, True), (40, False)):
        last = (
            f"{submitted_s},{run_s},{count},1,,{user},,"
            for run_s, count, user in ((500, 7, "c"), (500, 7, "a"), (50, 7, "b"))
        )
        (scenario,) = scenarios(trace(tmp_path, *rows, *last, size=7), ["order-short-predicted"], [EQUAL])
        *_, long, short = outcomes_of(scenario).values()
        assert ((short.ended_ms or 0) < (long.ended_ms or 0)) is passes


def test_policies_can_be_simulated_in_other_processes(tmp_path: Path) -> None:
    planned = scenarios(trace(tmp_path, *BLOCKED), orders_of(Policy()), [GIVEN])
    alone, parallel = simulate_all(planned), simulate_all(planned, processes=2)
    assert [each.jct for each in alone] == [each.jct for each in parallel]


def test_jobs_that_have_had_little_preempt_equals_that_have_had_more_whatever_their_limits_say(tmp_path: Path) -> None:
    # The second has the same limit; the first has had 4 instance hours then. From its half hour on, both have had more
    # than half an instance hour, but the first is three levels above.
    rows = (f"0,{10 * HOUR_S},4,1,,a,,", f"{HOUR_S},{HOUR_S},4,1,,a,,")
    them = scenarios(trace(tmp_path, *rows), ["order-shared"], [EQUAL, HALF], checkpointing=1.0)
    for result in simulate_all(them):
        assert result.preemptions == 1
        assert result.jct.avg_s == pytest.approx((HOUR_S + 120 + 11 * HOUR_S + 120) / 2, abs=0.1)
    assert play(trace(tmp_path, *rows), "order-shared").preemptions == 0


def test_a_job_with_less_left_preempts_an_equal_which_keeps_what_its_checkpoints_have(tmp_path: Path) -> None:
    # The second needs all of the pool for an hour; of the first, 9 of 10 hours are left then.
    rows = (f"0,{10 * HOUR_S},4,1,,a,,", f"{HOUR_S},{HOUR_S},4,1,,a,,")
    result = play(trace(tmp_path, *rows), "order-shortest-remaining", stop_ms=120_000, checkpoints=1)
    assert result.preemptions == 1
    # One hour and the time of a stop, and eleven hours with the time of the stop: no work is lost.
    assert result.jct.avg_s == pytest.approx((HOUR_S + 120 + 11 * HOUR_S + 120) / 2, abs=0.1)
    assert play(trace(tmp_path, *rows), "order-short", stop_ms=120_000, checkpoints=1).preemptions == 0
    assert play(trace(tmp_path, *rows), "order-shortest-remaining", stop_ms=120_000).preemptions == 0


def test_of_a_preempted_job_less_is_left_so_it_ranks_before_an_equal_of_its_length(tmp_path: Path) -> None:
    # 6 of its 10 hours are done when it is preempted for the second; the third, of 5 hours, comes meanwhile.
    rows = (f"0,{10 * HOUR_S},4,1,,a,,", f"{6 * HOUR_S},{HOUR_S},4,1,,a,,", f"{6 * HOUR_S + 60},{5 * HOUR_S},4,1,,b,,")
    result = play(trace(tmp_path, *rows), "order-shortest-remaining", checkpoints=1)
    assert result.preemptions == 1
    # The first continues when the second has ended.
    assert result.wait_by_team_s == {"a": HOUR_S / 2, "b": 5 * HOUR_S - 60}


def test_limits_as_they_are_given_name_the_results(tmp_path: Path) -> None:
    them = scenarios(trace(tmp_path, *BLOCKED), ["order-shared"], [1.0, *KINDS])
    names = [f"order-shared {limits}" for limits in ("1x", "rounded", "1-10x", "equal", "half-without")]
    assert [result.label for result in simulate_all(them)] == names


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        UnknownPolicy,
        match="no policy 'lifo'; choose from headway, order-short, order-shortest-remaining, "
        "order-shortest-remaining-unbounded, order-short-predicted, order-shortest-remaining-predicted, order-shared, "
        "order-shared-unbounded, fifo, easy, sjf, article",
    ):
        policy_named("lifo")


def test_jains_index_is_one_for_equal_values_and_one_over_their_number_at_worst() -> None:
    assert [jain([3, 3]), jain([1, 0, 0, 0]), jain([0, 0])] == [1.0, 0.25, 1.0]


def test_percentiles_are_those_of_the_reference() -> None:
    spread = Spread.of(range(0, 200_000, 1000))
    assert (spread.p50_s, spread.p95_s, spread.p99_s, spread.max_s) == (100, 190, 198, 199)


def test_a_timeline_is_averaged_over_time() -> None:
    timeline = Timeline()
    for time_ms, used in ((0, 4), (10, 0), (10, 8), (30, 0), (40, 0)):
        timeline.record(time_ms, used, 0)
    assert timeline.averages(2).used == [6, 4]


def test_the_command_shows_a_table_and_writes_figures_and_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, figures, picture = write(tmp_path, *BLOCKED), tmp_path / "s.json", tmp_path / "s.svg"
    options = ["--trace", str(path), "--capacity", "p=4", "--policy", "headway,fifo", "--limits", "1,2"]
    assert main.main(["simulate", *options, "--json", str(figures), "--picture", str(picture)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["headway", "headway", "fifo"]
    document = json.loads(figures.read_text())
    assert [result["policy"] for result in document["results"]] == ["headway", "headway", "fifo"]
    drawn = ElementTree.fromstring(picture.read_text())
    assert len(drawn.findall("{http://www.w3.org/2000/svg}polyline")) == 6


@pytest.mark.parametrize(
    "wrong",
    [
        ["--capacity", "p"],
        ["--policy", "lifo"],
        ["--limits", "0"],
        ["--limits", "2-5x"],
        ["--trace", "none.csv"],
        ["--rows", "0"],
    ],
)
def test_the_command_refuses_invalid_arguments_as_wrong_usage(
    tmp_path: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, *BLOCKED)
    assert main.main(["simulate", "--trace", str(path), "--capacity", "p=4", *wrong]) == 2
    assert capsys.readouterr().err.startswith("headway: ")
