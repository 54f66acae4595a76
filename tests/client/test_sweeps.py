"""What is submitted for an array, and how it and its members are shown."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.sweeps import Sweep
from headway_client.alternatives import with_alternatives
from headway_client.cli.arguments.sweep_files import read_sweep
from headway_client.cli.commands.jobs import wait
from headway_client.cli.output.arrays.scatter import scatter
from headway_client.dependencies import with_dependencies
from headway_client.errors import JobNotFoundError, RefusedError, ServerFaultError, ServerTooOldError, UsageError
from headway_client.http.api import HeadwayApi
from headway_client.sagemaker_sdk.training_queue import TrainingQueue
from headway_client.sweeps import with_sweep
from tests.client.command_line import ROOT, Run, Write, answers
from tests.client.fakes.contract import request
from tests.client.fakes.contract_arrays import Array, shown
from tests.client.fakes.server import ContractServer
from tests.client.pages import example

GRID: dict[str, Any] = {"grid": {"lr": [0.1, 0.01], "layers": [2, 4]}}


def test_a_request_with_a_sweep_is_an_item_that_has_it() -> None:
    item = {"jobDetails": request("a"), "sweep": GRID}
    assert with_sweep(request("a"), GRID) == with_sweep(request("a"), Sweep.parse(GRID)) == item
    limited = with_sweep(request("a"), GRID, at_once=8, max_failures=0)
    assert limited == {**item, "atOnce": 8, "maxFailures": 0}


def test_an_array_can_have_alternatives_and_dependencies() -> None:
    body = with_dependencies(with_alternatives(request("a"), [{"ResourceConfig": {}}]), "b")
    assert with_sweep(body, GRID) == {**body, "sweep": GRID}


def test_a_request_without_a_sweep_is_submitted_as_it_is() -> None:
    assert with_sweep(request("a"), None) == request("a")


@pytest.mark.parametrize("numbers", [{"at_once": 1}, {"max_failures": 0}])
def test_numbers_of_an_array_need_a_sweep(numbers: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="is for arrays; give a sweep"):
        with_sweep(request("a"), None, **numbers)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"at_once": 0}, "at_once is 0; it has to be a whole number from 1"),
        ({"at_once": True}, "at_once is True; it has to be a whole number from 1"),
        ({"max_failures": -1}, "max_failures is -1; it has to be a whole number from 0"),
        ({"max_failures": 0.5}, "max_failures is 0.5; it has to be a whole number from 0"),
    ],
)
def test_a_number_that_is_out_of_range_is_refused(numbers: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_sweep(request("a"), GRID, **numbers)


def test_early_stopping_is_submitted_with_its_defaults() -> None:
    body = with_sweep(request("a"), GRID, early_stopping={"metric": "loss", "goal": "minimize"})
    assert body["earlyStopping"] == {"metric": "loss", "goal": "minimize", "minMembers": 5, "minTrainingSeconds": 600}
    assert "earlyStopping" not in with_sweep(request("a"), GRID)


def test_early_stopping_that_is_not_valid_is_refused_with_each_problem() -> None:
    with pytest.raises(UsageError, match=r"The early stopping is not valid\.") as caught:
        with_sweep(request("a"), GRID, early_stopping={"metric": "loss", "goal": "best", "minMembers": 0})
    assert [each.field for each in caught.value.fields] == ["earlyStopping.goal", "earlyStopping.minMembers"]
    with pytest.raises(UsageError, match="Early stopping is for arrays; give a sweep"):
        with_sweep(request("a"), None, early_stopping={"metric": "loss", "goal": "minimize"})


def test_a_sweep_that_is_not_valid_is_refused_with_each_problem() -> None:
    with pytest.raises(UsageError, match=r"The sweep is not valid\.") as caught:
        with_sweep(request("a"), {"grid": {"lr": [None], "b": []}})
    assert [(each.field, each.message) for each in caught.value.fields] == [
        ("sweep.grid.lr[0]", "is null; use text, a number or a boolean"),
        ("sweep.grid.b", "is empty; add a value, or remove it"),
    ]
    with pytest.raises(UsageError) as caught:
        with_sweep(request("a"), {})
    assert caught.value.fields[0].field == "sweep"


# ------------------------------------------------------------------------------------------------------------ the API


def submit_array(api: HeadwayApi, server: ContractServer, sweep: dict[str, Any] = GRID, **numbers: Any) -> Array:
    api.submit(with_sweep(request("sweep"), sweep, **numbers))
    return server.queue.arrays["sweep"]


def test_the_members_of_an_array_are_read_page_by_page(api: HeadwayApi, server: ContractServer) -> None:
    submit_array(api, server, {"random": {"lr": {"uniform": [0, 1]}}, "count": 2500, "seed": 1}, at_once=2)
    server.queue.page_size = 1000
    before = len(server.received)
    members = api.members("sweep")
    assert len(server.received) == before
    first = next(members)
    assert (first.index, first.name, first.made) == (0, "sweep_0000", True)
    assert len(server.received) == before + 1
    assert [each.index for each in members] == list(range(1, 2500))
    assert [each.target for each in server.received[before:]] == [
        f"/v1/jobs/sweep/members?from={start}&limit=1000" for start in (0, 1000, 2000)
    ]


def test_a_part_of_the_members_is_read(api: HeadwayApi, server: ContractServer) -> None:
    submit_array(api, server)
    assert [each.name for each in api.members("sweep", start=1, limit=2)] == ["sweep_1", "sweep_2"]
    assert server.received[-1].target == "/v1/jobs/sweep/members?from=1&limit=2"
    server.queue.page_size = 1
    assert [each.index for each in api.members("sweep", limit=3)] == [0, 1, 2]
    assert list(api.members("sweep", limit=0)) == []


def test_a_page_that_is_repeated_is_an_error(api: HeadwayApi, server: ContractServer) -> None:
    server.fail(answers(200, array="sweep", members=[], nextIndex=0))
    with pytest.raises(ServerFaultError, match="returns the same page again"):
        list(api.members("sweep"))


def test_a_job_that_is_no_array_has_no_members(api: HeadwayApi, server: ContractServer) -> None:
    server.queue.add("a")
    with pytest.raises(RefusedError, match="a is no array"):
        list(api.members("a"))
    with pytest.raises(JobNotFoundError):
        list(api.members("b"))


def test_a_server_without_arrays_is_too_old(api: HeadwayApi, server: ContractServer) -> None:
    server.queue.server_version = None
    server.queue.add("a")
    with pytest.raises(ServerTooOldError):
        list(api.members("a"))


def test_a_training_queue_submits_arrays(api: HeadwayApi, server: ContractServer) -> None:
    queue = TrainingQueue(api=api)
    job = queue.submit(request("sweep"), after="b", sweep=GRID, at_once=2, max_failures=1)
    assert job.job_name == "sweep"
    body = json.loads(server.received[-1].body)
    assert body["dependsOn"] == [{"job": "b", "condition": "ok"}]
    assert (body["sweep"], body["atOnce"], body["maxFailures"]) == (GRID, 2, 1)
    with pytest.raises(UsageError, match="give a sweep"):
        queue.submit(request("a"), at_once=2)


# --------------------------------------------------------------------------------------------------- the command line


@pytest.fixture
def sweep_file() -> str:
    Path("grid.yaml").write_text("grid:\n  lr: [0.1, 0.01]\n  layers: [2, 4]\n")
    return "grid.yaml"


def test_one_document_becomes_an_array(run: Run, request_file: Write, sweep_file: str, server: ContractServer) -> None:
    path = request_file(request("x"))
    code, out, err = run(
        "submit", path, "--sweep", sweep_file, "--at-once", "3", "--max-failures", "0", "--name", "sweep",
        "--priority", "7", "--after", "b", "--set", "HyperParameters.epochs=3",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert out == (
        "sweep is pending (priority 7, place 1 in the queue): 3 in the queue or running, 1 to come; "
        "Waits for 1 ml.p5.48xlarge.\n"
    )
    body = json.loads(server.received[-1].body)
    assert (body["sweep"], body["atOnce"], body["maxFailures"]) == (GRID, 3, 0)
    assert body["dependsOn"] == [{"job": "b", "condition": "ok"}]
    assert body["jobDetails"]["HyperParameters"] == {"epochs": "3"}
    assert server.received[-1].target == "/v1/add-job"


def test_a_dry_run_of_an_array_submits_nothing(run: Run, request_file: Write, server: ContractServer) -> None:
    code, out, _ = run("submit", request_file(request("a")), "--sweep", json.dumps(GRID), "--dry-run")
    assert (code, server.queue.jobs) == (0, {})
    assert "a" in out
    assert server.received[-1].target == "/v1/add-job?dryRun=true"


def test_a_sweep_is_refused_with_the_line_of_each_problem(
    run: Run, request_file: Write, server: ContractServer
) -> None:
    Path("grid.yaml").write_text("grid:\n  lr: [0.1, 0.1]\n")
    code, _, err = run("submit", request_file(request("a")), "--sweep", "grid.yaml")
    assert (code, server.received) == (2, [])
    assert err == (
        "headway: grid.yaml describes no sweep.\n"
        "  grid.yaml, line 2: grid.lr[1] is '0.1' again, as grid.lr[0] is; remove one of them.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.json", "--at-once", "2"], "--at-once and --max-failures are for arrays; give a sweep (--sweep)."),
        (["a.json", "--max-failures", "0"], "--at-once and --max-failures are for arrays; give a sweep (--sweep)."),
        (["a.json", "a.json", "--sweep", json.dumps(GRID)], "--sweep is for one request; there are 2."),
        (["a.json", "--sweep", "grid.yaml", "--at-once", "0"], "'0' is not a whole number from 1 to 10000"),
        (["a.json", "--sweep", "none.yaml"], "none.yaml can't be read: No such file or directory."),
    ],
)
def test_a_wrong_submission_of_an_array_is_refused(run: Run, arguments: list[str], said: str) -> None:
    Path("a.json").write_text(json.dumps(request("a")))
    code, _, err = run("submit", *arguments)
    assert (code, said in err) == (2, True), err


def test_standard_input_is_read_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(request("a")).encode())))
    code, _, err = run("submit", "-", "--sweep", "-")
    assert (code, "Standard input (-) can be read only once." in err) == (2, True)


def test_a_wait_is_for_the_whole_array(
    run: Run, request_file: Write, sweep_file: str, server: ContractServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wait, "_pause", lambda seconds: server.queue.jobs["sweep"].update(jobState="completed"))
    code, out, _ = run("submit", request_file(request("sweep")), "--sweep", sweep_file, "--wait")
    assert (code, out) == (0, "sweep has completed\n")


def test_a_wait_tells_each_failure_and_each_tenth_of_the_members(
    run: Run, api: HeadwayApi, server: ContractServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = submit_array(api, server, {"random": {"lr": {"uniform": [0, 1]}}, "count": 40, "seed": 1})
    ends = iter(
        [(0, "completed"), (1, "completed"), (2, "completed"), (3, "completed"), (4, "failed"), (5, "completed")]
    )

    def advance(seconds: float) -> None:
        index, state = next(ends, (None, ""))
        if index is None:
            server.queue.jobs["sweep"].update(jobState="completed")
        else:
            array.change(index, jobState=state)

    monkeypatch.setattr(wait, "_pause", advance)
    code, _, err = run("wait", "sweep")
    assert code == 0
    assert [line.partition(": ")[2].partition("queue: ")[2].partition(";")[0] for line in err.splitlines()[:3]] == [
        "40 in the queue or running",
        "4 completed, 36 in the queue or running",
        "4 completed, 1 failed, 35 in the queue or running",
    ]
    assert len(err.splitlines()) == 4


def test_the_queue_has_an_array_as_one_row_with_its_progress(run: Run, api: HeadwayApi, server: ContractServer) -> None:
    array = submit_array(api, server, at_once=3)
    server.queue.add("other")
    array.change(0, jobState="completed")
    array.change(1, jobState="failed")
    shown(server.queue, "sweep")
    rows = run("queue")[1].splitlines()[2:]
    assert [row.split()[0] for row in rows] == ["sweep", "other"]
    assert rows[0].endswith(
        "  1 completed, 1 failed, 1 in the queue or running, 1 to come; Waits for 1 ml.p5.48xlarge."
    )
    assert rows[1].endswith("  Waits for 1 ml.p5.48xlarge.")
    rows = run("queue", "-O", "name,members", "--sort", "members")[1].splitlines()[2:]
    assert [row.split(maxsplit=1) for row in rows] == [["sweep", "2 of 4"], ["other", "-"]]


def test_an_array_is_shown_with_its_progress(run: Run, api: HeadwayApi, server: ContractServer) -> None:
    array = submit_array(api, server, at_once=3, max_failures=1)
    array.change(0, jobState="completed")
    lines = run("show", "sweep")[1].splitlines()
    assert lines[3:6] == [
        "Members   4: 1 completed, 2 in the queue or running, 1 to come",
        "At Once   up to 3",
        "Failures  no member starts after more than 1",
    ]


def test_a_member_is_shown_with_its_array_and_its_values(run: Run, api: HeadwayApi, server: ContractServer) -> None:
    array = submit_array(api, server)
    array.change(3, metrics={"loss": 0.25, "accuracy": 1 / 3})
    lines = run("show", "sweep_3")[1].splitlines()
    assert lines[0] == "Job Name  sweep_3"
    assert lines[3:6] == [
        "Array     sweep, member 3",
        "Values    lr=0.01, layers=4",
        "Metrics   loss=0.25, accuracy=0.333333",
    ]


# ---------------------------------------------------------------------------------------------------------- the page

PAGE = ROOT / "docs/how-to/sweeps.md"


def test_the_sweeps_of_the_page_are_valid() -> None:
    written = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    counts = []
    for text in written:
        Path("sweep.yaml").write_text(text)
        counts.append(read_sweep("sweep.yaml").count)
    assert counts == [6, 50, 2]


@pytest.mark.usefixtures("endpoint_set")
def test_the_example_of_the_page_is_run(server: ContractServer, capsys: pytest.CaptureFixture[str]) -> None:
    exec(example("docs/how-to/sweeps.md", "Submit it"), {"sweep": request("sweep")})
    assert server.queue.arrays["sweep"].progress()["atOnce"] == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "sweep_1 pending {'lr': '0.1', 'layers': '4'} {}"
    assert len(lines) == 4


# ------------------------------------------------------------------------------------------------------- the results


@pytest.fixture
def measured(api: HeadwayApi, server: ContractServer) -> Array:
    """An array of which two members have completed, one has failed, and one is still to come."""
    array = submit_array(api, server, at_once=3)
    times = {"startedTime": "2026-01-02T03:00:00.000Z", "endedTime": "2026-01-02T03:30:00.000Z"}
    array.change(0, jobState="completed", metrics={"loss": 0.5, "n": 1e-05}, attempt="sweep-0", **times)
    array.change(1, jobState="failed", startedTime=times["startedTime"], endedTime="2026-01-02T03:00:09.000Z")
    array.change(2, jobState="completed", metrics={"loss": -0.25}, **times)
    return array


def rows(out: str) -> list[list[str]]:
    return [re.split(r"  +", line.strip()) for line in out.partition("\n\n")[0].splitlines()]


@pytest.mark.usefixtures("measured")
def test_results_are_a_table_of_members_values_and_metrics(run: Run) -> None:
    code, out, err = run("results", "sweep")
    assert (code, err) == (0, "")
    header, _, *members = rows(out)
    assert header == ["Index", "Member", "State", "lr", "layers", "loss", "n", "Time"]
    assert members == [
        ["0", "sweep_0", "completed", "0.1", "2", "0.5", "1e-05", "30 min"],
        ["1", "sweep_1", "failed", "0.1", "4", "-", "-", "9 s"],
        ["2", "sweep_2", "completed", "0.01", "2", "-0.25", "-", "30 min"],
        ["3", "sweep_3", "to come", "0.01", "4", "-", "-", "-"],
    ]


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize(
    ("arguments", "expected", "note"),
    [
        (["--minimize", "loss"], "2013", "The lowest loss is -0.25, of sweep_2."),
        (["--maximize", "loss"], "0213", "The highest loss is 0.5, of sweep_0."),
        (["--minimize", "loss", "--best"], "2", "The lowest loss is -0.25, of sweep_2."),
        (["--minimize", "loss", "--sort", "-index"], "3210", "The lowest loss is -0.25, of sweep_2."),
        (["--sort", "lr"], "2301", None),
        (["--sort", "-lr"], "0123", None),
        (["--sort", "-layers"], "1302", None),
        (["--sort", "loss"], "2013", None),
        (["--sort", "-loss"], "0213", None),
        (["--sort", "state"], "0213", None),
        (["--sort", "time"], "1023", None),
    ],
)
def test_results_are_sorted_with_missing_values_last(
    run: Run, arguments: list[str], expected: str, note: str | None
) -> None:
    code, out, _ = run("results", "sweep", *arguments)
    table, _, below = out.partition("\n\n")
    assert (code, below.strip() or None) == (0, note)
    assert [row[0] for row in rows(table)[2:]] == list(expected)
    document = json.loads(run("results", "sweep", "-o", "json", *arguments)[1])
    assert document["array"] == "sweep"
    assert [member["index"] for member in document["members"]] == [int(index) for index in expected]


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--best"], "--best needs a metric; give --minimize or --maximize."),
        (["--minimize", "los"], "No member has the metric 'los'; there are loss, n."),
        (["--sort", "x"], "There is no column 'x'; there are index, state, time, lr, layers, loss, n."),
        (["--minimize", "loss", "--maximize", "n"], "Option '--minimize' is not allowed with '--maximize'."),
        (["--plot", "x", "--minimize", "loss"], "No member has the hyperparameter 'x'; there are lr, layers."),
        (["--plot", "lr"], "--plot needs a metric; give --minimize or --maximize with one of loss, n."),
        (["--plot", "lr", "-o", "csv"], "--plot does not support --output csv; leave it out."),
    ],
)
def test_what_results_cannot_show_is_refused(run: Run, arguments: list[str], said: str) -> None:
    code, out, err = run("results", "sweep", *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_an_array_without_metrics_has_no_best_member(run: Run, api: HeadwayApi, server: ContractServer) -> None:
    submit_array(api, server)
    code, _, err = run("results", "sweep", "--minimize", "loss")
    assert (code, "none has completed with metrics yet" in err) == (2, True)
    code, _, err = run("results", "sweep", "--plot", "lr")
    assert (code, "with one when members have completed with metrics" in err) == (2, True)


def test_csv_has_numbers_as_numbers_and_no_formulas(run: Run, api: HeadwayApi, server: ContractServer) -> None:
    sweep = {"list": [{"=x": "=1+1", "y": -1e-07, "z": "-"}, {"=x": "+a\x1b[2J", "y": 2, "z": "@b"}]}
    array = submit_array(api, server, sweep)
    array.change(0, metrics={"-loss": -2.5e-06}, jobState="completed")
    header, *members = csv.reader(io.StringIO(run("results", "sweep", "-o", "csv")[1]))
    assert header == [
        "Index", "Member", "State", "'=x", "y", "z", "'-loss", "Training Job", "Started", "Ended", "Training Time (s)",
    ]  # fmt: skip
    assert members == [
        ["0", "sweep_0", "completed", "'=1+1", "-1e-07", "'-", "-2.5e-06", "", "", "", ""],
        ["1", "sweep_1", "pending", "'+a\\x1b[2J", "2", "'@b", "", "", "", "", ""],
    ]


def test_control_characters_and_long_values_do_not_reach_the_table(
    run: Run, api: HeadwayApi, server: ContractServer
) -> None:
    submit_array(api, server, {"grid": {"x\x1b[31m": ["a\x1b[2J", "b" * 100]}})
    out = run("results", "sweep")[1]
    assert "\x1b" not in out
    assert rows(out)[0][3] == "x\\x1b[31m"
    assert [row[3] for row in rows(out)[2:]] == ["a\\x1b[2J", f"{'b' * 31}…"]
    assert "b" * 100 in run("results", "sweep", "-o", "wide")[1]


def test_results_are_drawn_as_points(run: Run, api: HeadwayApi, server: ContractServer) -> None:
    array = submit_array(api, server, {"grid": {"lr": [0.0001, 0.001, 0.01, 0.1], "seed": [1, 2]}})
    for index, loss in enumerate([4, 4, 3, 2, 1, 1.5, 2.5]):
        array.change(index, jobState="completed", metrics={"loss": loss})
    code, out, _ = run("results", "sweep", "--plot", "lr", "--minimize", "loss")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "loss"
    assert lines[1] == "           4 |2"
    assert lines[15] == f"           1 |{' ' * 38}o"
    assert lines[16] == f"{' ' * 12} +{'-' * 58}"
    assert lines[17] == f"{' ' * 14}0.0001{'0.1':>52}"
    assert lines[18].strip() == "lr (logarithmic)"
    assert lines[19] == "The lowest loss is 1, of sweep_4."


@pytest.mark.parametrize(
    ("points", "bottom"),
    [
        ([("adam", 1.0), ("sgd", 2.0), ("adam", 3.0)], ("adam", "sgd", "x: adam, sgd")),
        ([("1", 1.0), ("16", 2.0)], ("1", "16", "x")),
        ([("-1e300", -1e308), ("1e300", 1e308)], ("-1e300", "1e300", "x")),
        ([("0.5", 1.0)], ("0.5", "0.5", "x")),
        ([("nan", 1.0), ("1", 1.0)], ("1", "nan", "x: 1, nan")),
        ([("a\x1b[2J", 1.0)], ("a\\x1b[2J", "a\\x1b[2J", "x: a\\x1b[2J")),
    ],
)
def test_the_horizontal_axis_fits_the_values(points: list[tuple[str, float]], bottom: tuple[str, str, str]) -> None:
    *drawn, _, ends, title = scatter(points, x="x", y="y", width=60).splitlines()
    assert (*ends.split(maxsplit=1), title.strip()) == bottom
    assert sum(line.count("o") for line in drawn) == len(points)
    assert all(len(line) <= 60 for line in [*drawn, ends, title])


@given(
    st.lists(
        st.tuples(st.text(max_size=5) | st.floats().map(str), st.floats(allow_nan=False, allow_infinity=False)),
        min_size=1,
        max_size=20,
    ),
    st.integers(1, 200) | st.none(),
)
def test_any_points_can_be_drawn(points: list[tuple[str, float]], width: int | None) -> None:
    lines = scatter(points, x="x", y="y", width=width).splitlines()
    assert len(lines) == 19
