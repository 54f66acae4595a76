"""The whole acceptance on a sandbox: what it finds there, and that it leaves nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway_verification.acceptance.catalogue import CHECKS
from headway_verification.acceptance.report import Report
from headway_verification.acceptance.run import examine
from headway_verification.acceptance.target import Options, Target, find
from headway_verification.acceptance.temporary import Temporary
from headway_verification.acceptance.verdict import Verdict

UNSHOWN = {"metric-delay", "cold-starts", "functions-are-invoked", "own-key"}
"""What a sandbox cannot show, and the key that its stack does not have."""

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with find(Options(sandbox=True), print) as found:
        yield found


@pytest.fixture(scope="module")
def left_by_a_killed_run(target: Target) -> str:
    temporary = Temporary(target)
    name = temporary.name("events")
    target.client("events").put_rule(Name=name, EventPattern=json.dumps({"source": ["aws.sagemaker"]}))
    return name


@pytest.fixture(scope="module")
def report(target: Target, left_by_a_killed_run: str) -> Report:
    return examine(target, jobs_s=300, tell=print)


def test_no_assumption_is_false_in_the_sandbox_and_all_are_examined(report: Report) -> None:
    findings = {each.check.name: each.finding for each in report.results}
    assert list(findings) == [check.name for check in CHECKS]
    assert [str(each) for each in findings.values() if each.verdict is Verdict.FALSE] == []
    unchecked = {name for name, each in findings.items() if each.verdict is Verdict.UNCHECKED}
    assert unchecked == UNSHOWN, {name: findings[name].answer for name in unchecked}


def test_the_report_says_that_it_is_of_a_sandbox_and_why_checks_were_left_out(report: Report, tmp_path: Path) -> None:
    markdown, document = report.write(tmp_path / "build")
    text = markdown.read_text(encoding="utf-8")
    assert "it proves nothing of AWS" in text
    assert "a sandbox cannot show it: its metrics come at once" in text
    assert [each["name"] for each in json.loads(document.read_text())["checks"]] == [each.name for each in CHECKS]


def test_nothing_is_left_of_it_nor_of_a_run_before(target: Target, report: Report, left_by_a_killed_run: str) -> None:
    assert left_by_a_killed_run.startswith(target.prefix)
    assert everything_of_runs(target) == []


def everything_of_runs(target: Target) -> list[str]:
    """The names of all that runs have created and that is there."""
    iam, events, sqs = target.client("iam"), target.client("events"), target.client("sqs")
    stacks = [each["StackName"] for each in target.client("cloudformation").describe_stacks()["Stacks"]]
    topics = [each["TopicArn"].rpartition(":")[2] for each in target.client("sns").list_topics()["Topics"]]
    urls = [each.rpartition("/")[2] for each in sqs.list_queues().get("QueueUrls", ())]
    alarms = target.client("cloudwatch").describe_alarms()["MetricAlarms"]
    names = [
        *(each["RoleName"] for each in iam.list_roles()["Roles"]),
        *(each["Name"] for each in events.list_rules()["Rules"]),
        *(each["AlarmName"].partition("/")[2] for each in alarms),
        *(job.name for job in target.api.list_jobs()),
        *stacks,
        *topics,
        *urls,
    ]
    assert any(name.startswith(target.stack) for name in names), "the queue's own are there"
    return [name for name in names if name.startswith(target.prefix)]
