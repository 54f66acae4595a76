"""headway policy lint and headway policy test run the service's code without a queue."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from tests.client.fakes.contract import request
from tests.client.fakes.server import ContractServer

Run = Callable[..., tuple[int, str, str]]
Write = Callable[[str, Any], str]

ROOT = Path(__file__).resolve().parents[5]
P5 = "ml.p5.48xlarge"
POLICY: dict[str, Any] = {
    "pools": {P5: {"size": 2}},
    "teams": {"a": {}, "b": {}},
    "rules": {
        "small": {"when": {"teams": ["a"]}, "require": {"maxRunTimeSeconds": 60}, "message": "ask Ada"},
        "vpc": {"require": {"vpc": True}},
    },
}
IN_VPC: dict[str, Any] = {"VpcConfig": {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, document: Any) -> str:
        path = tmp_path / name
        path.write_text(json.dumps(document))
        return str(path)

    return write


def job(team: str = "a", **changes: Any) -> dict[str, Any]:
    return request("job1", Tags=[{"Key": "team", "Value": team}], **changes)


def test_a_document_is_checked_without_a_queue(run: Run, write: Write, server: ContractServer):
    assert run("policy", "lint", write("p.json", POLICY)) == (
        0,
        "The queue would accept this document; 0 warnings.\n",
        "",
    )
    assert server.received == []


def test_every_problem_of_a_document_is_reported_with_its_field(run: Run, write: Write):
    rules = {"a": {"require": {}}, "b": {"require": {"roles": []}}, "c": {"when": {"teams": ["x"]}}}
    code, out, err = run("policy", "lint", write("p.json", {**POLICY, "rules": rules}))

    assert (code, out) == (3, "")
    for told in ("rules.a.require: asks for nothing", "rules.b.require.roles: ", "rules.c.require: "):
        assert told in err
    code, _, err = run("policy", "lint", write("p.json", {}), "-o", "json")
    assert (code, json.loads(err)["error"]["code"]) == (3, "InvalidConfiguration")


def test_a_probable_mistake_is_a_warning_and_not_an_error(run: Run, write: Write):
    rules = {"a": {"require": {"instanceTypes": ["ml.g5.*"]}}}
    path = write("p.json", {**POLICY, "rules": rules})
    code, out, err = run("policy", "lint", path)

    assert (code, err) == (0, "")
    assert out.startswith("rules.a.require.instanceTypes: allows none of the pools")
    assert out.endswith("\nThe queue would accept this document; 1 warning.\n")
    assert json.loads(run("policy", "lint", path, "-o", "json")[1])["warnings"][0]["field"].startswith("rules.a.")


def test_a_request_that_would_be_refused_has_the_necessary_changes(run: Run, write: Write, server: ContractServer):
    code, out, err = run("policy", "test", write("p.json", POLICY), "--request", write("job.json", job()))

    assert (code, err) == (3, "")
    lines = [line.split(maxsplit=3) for line in out.splitlines()]
    assert lines[2][:3] == ["small", "broken", "StoppingCondition.MaxRuntimeInSeconds"]
    assert lines[2][3] == "is 3600; set it to at most 60 (rule `small`: ask Ada)"
    assert lines[3] == ["vpc", "broken", "VpcConfig", "is missing: add it (rule `vpc`)"]
    assert out.endswith("The queue would refuse this job of team a.\n")
    assert server.received == []


def test_a_request_that_would_be_accepted_for_the_given_team_is_exit_code_0(run: Run, write: Write):
    files = [write("p.json", POLICY), "--request", write("job.json", job(**IN_VPC))]
    code, out, _ = run("policy", "test", *files, "--team", "b")

    assert code == 0
    assert out.splitlines()[2].split() == ["small", "doesn't", "apply", "-", "-"]
    assert out.splitlines()[3].split() == ["vpc", "kept", "-", "-"]
    assert out.endswith("The queue would accept this job of team b.\n")
    assert run("policy", "test", *files)[0] == 3


def test_errors_beside_the_rules_are_reported_too(run: Run, write: Write):
    wrong = job("c", RoleArn=1, **IN_VPC)
    code, out, _ = run("policy", "test", write("p.json", POLICY), "--request", write("job.json", wrong))

    assert code == 3
    told = [line.split()[:3] for line in out.splitlines()]
    assert ["-", "invalid", "RoleArn"] in told
    assert ["-", "invalid", "Tags[0].Value"] in told
    assert out.endswith("The queue would refuse this job.\n")


def test_a_verdict_comes_as_json(run: Run, write: Write):
    code, out, _ = run(
        "policy", "test", write("p.json", POLICY), "--request", write("job.json", job(**IN_VPC)), "-o", "json"
    )

    assert code == 3
    assert json.loads(out) == {
        "refused": True,
        "team": "a",
        "rules": [
            {
                "rule": "small",
                "applies": True,
                "violations": [
                    {
                        "field": "StoppingCondition.MaxRuntimeInSeconds",
                        "message": "is 3600; set it to at most 60 (rule `small`: ask Ada)",
                    }
                ],
            },
            {"rule": "vpc", "applies": True, "violations": []},
        ],
        "problems": [],
    }


def test_an_invalid_document_has_another_exit_code_than_a_refused_request(run: Run, write: Write):
    code, out, err = run("policy", "test", write("p.json", {}), "--request", write("job.json", job()))

    assert (code, out) == (2, "")
    assert "pools: is required: add it" in err


def test_without_rules_only_the_verdict_is_shown(run: Run, write: Write):
    policy = {"pools": {P5: {"size": 2}}}
    assert run("policy", "test", write("p.json", policy), "--request", write("job.json", request("job1"))) == (
        0,
        "The queue would accept this job.\n",
        "",
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["policy"], "ACTION"),
        (["policy", "lint"], "FILE"),
        (["policy", "test", "p.json"], "--request"),
        (["policy", "lint", "/nowhere/p.json"], "can't be read"),
    ],
)
def test_wrong_usage_is_exit_code_2(run: Run, arguments: list[str], words: str):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert words in err


def test_text_of_a_document_can_not_move_the_cursor(run: Run, write: Write):
    rules = {"vpc": {"require": {"vpc": True}, "message": "a\x1b[2Jb"}}
    files = [write("p.json", {**POLICY, "rules": rules}), "--request", write("job.json", job())]
    assert "a\\x1b[2Jb" in run("policy", "test", *files)[1]


def test_without_the_service_the_package_to_install_is_named(write: Write, tmp_path: Path):
    (tmp_path / "click").symlink_to(Path(click.__file__).parent)
    path = os.pathsep.join(map(str, (ROOT / "client/src", ROOT / "layers/core/src", tmp_path)))
    # -S excludes the environment's packages, among them the checkout.
    done = subprocess.run(
        [sys.executable, "-S", "-m", "headway_client.cli.main", "policy", "lint", write("p.json", POLICY)],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert "headway_service is missing" in done.stderr
    assert "[policy]'`" in done.stderr


# ------------------------------------------------------------------------------------------------ orders on a trace

TRACE = "submit_s,duration_s,gpus,nodes,pool,vc,priority,limit_s"
ORDERS: dict[str, Any] = {"pools": {P5: {"size": 1}}, "preemption": {"minRunTimeSeconds": 0}}
# A long job, which a short one would end long before.
LONG_BEFORE_SHORT = (f"0,40000,8,1,{P5},a,0,80000", f"10,30000,8,1,{P5},a,0,60000", f"20,600,8,1,{P5},a,0,1200")


@pytest.fixture
def compare(run: Run, write: Write, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Compare the orders of a document on the rows of a trace."""

    def compare(rows: tuple[str, ...], document: Any, *options: str) -> tuple[int, str, str]:
        trace = tmp_path / "trace.csv"
        trace.write_text("\n".join([TRACE, *rows]) + "\n")
        return run("policy", "test", write("p.json", document), "--trace", str(trace), *options)

    return compare


def test_the_orders_of_a_document_are_compared_on_the_jobs_of_a_trace(
    compare: Callable[..., tuple[int, str, str]], server: ContractServer
):
    code, out, err = compare(LONG_BEFORE_SHORT, ORDERS, "-o", "json")

    assert (code, err, server.received) == (0, "", [])
    document = json.loads(out)
    assert (document["trace"], document["pools"], document["order"]) == ("trace.csv", {P5: 1}, "fifo")
    orders = {each["policy"]: each for each in document["orders"]}
    assert list(orders) == ["fifo", "short", "shortest-remaining", "shared"]
    assert orders["shortest-remaining"]["preemptions"] > 0 == orders["fifo"]["preemptions"]
    assert orders["shortest-remaining"]["jct"]["avg_s"] < orders["fifo"]["jct"]["avg_s"]


def test_a_comparison_of_orders_says_which_one_the_document_has(compare: Callable[..., tuple[int, str, str]]):
    code, out, _ = compare(LONG_BEFORE_SHORT, {**ORDERS, "priority": {"order": "short"}})

    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[2:6]] == ["short", "fifo", "shortest-remaining", "shared"]
    assert out.endswith("The order of this document is short. Times are in seconds.\n")


def test_without_checkpoints_no_order_preempts_equals(compare: Callable[..., tuple[int, str, str]]):
    document = json.loads(compare(LONG_BEFORE_SHORT, ORDERS, "--checkpointing", "0", "-o", "json")[1])

    assert {each["preemptions"] for each in document["orders"]} == {0}


def test_a_trace_without_limits_has_run_times_rounded_up_and_says_so(compare: Callable[..., tuple[int, str, str]]):
    code, out, _ = compare(tuple(row.rpartition(",")[0] + "," for row in LONG_BEFORE_SHORT), ORDERS)

    assert code == 0
    assert "fifo rounded" in out
    assert "The trace has no limits, so run times were rounded up to usual ones." in out


def test_a_pool_without_a_size_in_the_document_gets_one_by_an_option(compare: Callable[..., tuple[int, str, str]]):
    plan = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/spring"
    pool = f"{P5}.plan.spring"
    document = {**ORDERS, "pools": {**ORDERS["pools"], pool: {"plan": plan}}}
    rows = (f"0,60,8,1,{pool},a,0,",)

    code, _, err = compare(rows, document)
    assert (code, "give --capacity a size for it" in err) == (2, True)
    code, out, _ = compare(rows, document, "--capacity", f"{pool}=2", "-o", "json")
    assert (code, json.loads(out)["pools"]) == (0, {P5: 1, pool: 2})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "Give --request JOB.json, or --trace FILE."),
        (("--trace", "t.csv", "--request", "job.json"), "is not allowed with '--request'"),
        (("--trace", "missing.csv"), "There is no file missing.csv."),
        (("--trace", "missing.csv", "--checkpointing", "1.5"), "'1.5' is not a fraction from 0 to 1"),
        (("--trace", "missing.csv", "--capacity", "p5"), "is no pool with its size"),
    ],
)
def test_a_policy_is_tested_on_one_request_or_one_trace(run: Run, write: Write, options: tuple[str, ...], words: str):
    code, _, err = run("policy", "test", write("p.json", ORDERS), *options)

    assert (code, words in err) == (2, True), err


def test_an_invalid_document_is_not_simulated(compare: Callable[..., tuple[int, str, str]]):
    code, _, err = compare(LONG_BEFORE_SHORT, {"pools": {P5: {"size": -1}}})

    assert code == 2
    assert "pools" in err


def test_an_error_in_a_trace_names_the_file_as_it_is(run: Run, write: Write, tmp_path: Path):
    trace = tmp_path / "jobs.csv"
    document = write("p.json", ORDERS)
    trace.write_text("a,b\n")
    assert f"The trace {trace} has no column submit_s" in run("policy", "test", document, "--trace", str(trace))[2]
    trace.write_text(f"{TRACE}\n0,5,8,1,{P5},a,0,-3\n")
    code, _, err = run("policy", "test", document, "--trace", str(trace))
    assert (code, f"The trace {trace}, line 2: limit_s is '-3'" in err) == (2, True)
