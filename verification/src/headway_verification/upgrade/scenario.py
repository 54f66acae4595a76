"""The chapters of the release: the actions, the checks, and the figures reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.credentials import Credentials

from headway_client.http.api import HeadwayApi
from headway_sandbox.errors import SandboxError
from headway_sandbox.local import aws_account
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.request_builder import G5
from headway_verification.chaos.raw_state import RawState
from headway_verification.chaos.run import POOLS
from headway_verification.chaos.workload import RETRIES
from headway_verification.upgrade import builds, table_adoption
from headway_verification.upgrade.prompt_driver import PromptDriver
from headway_verification.upgrade.stack_state import StackView
from headway_verification.upgrade.version_overlap import Overlap
from headway_verification.upgrade.workload import Traffic
from headway_verification.upgrade.workspace import STACK, Workspace

LIVE = {
    "pools": {pool: {"size": size} for pool, size in POOLS.items()},
    "access": {"details": "owner"},
    "retries": RETRIES,
}
"""The configuration that an administrator sets, with the pools that users need. The template's has one pool.

Some jobs of the workload fail whenever they run, for want of capacity: by default these are retried without end.
"""

TABLE = "sagemaker-queue"
OTHER_TABLE = "sagemaker-queue-2"
MOVING = "the stack is deleted"
"""Why the queue is paused before that."""

MOST_SILENCE_S = 60.0
"""The longest time the API may be unavailable while functions are replaced, including the clients' retries."""

ALARM_S = 150.0
"""The longest delay of an alarm with a period of a minute."""

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The builds to update from and to, and the folder for other versions."""

    old: Path
    new: Path
    folder: Path
    seed: int
    short: bool
    """Leaves out the rollbacks, the stack policy and the next stack, which take minutes."""
    old_sources: Path | None = None
    """The sources of the old version, which is deployed with its own Makefile; None if it is the present one."""

    @property
    def migrates(self) -> bool:
        """Whether the old version has its configuration in a parameter (decision 115)."""
        return "HEADWAY_CONFIG_PARAMETER" in (self.old / "template.yaml").read_text(encoding="utf-8")


class Scenario:
    """Plays a release on a sandbox without a deployment.

    Args:
        sandbox: with the speed and the durations of chaos.
        workplace: the folder to deploy from.
        plan: the builds.
        tell: called with each line of the report.

    Attributes:
        violations: failed checks.
        asked: the questions of the guided deployment, and the answers.
    """

    def __init__(self, sandbox: Sandbox, workplace: Workspace, plan: Plan, *, tell: Tell = print) -> None:
        self._sandbox = sandbox
        self._workplace = workplace
        self._plan = plan
        self._tell = tell
        self._stack = StackView(sandbox)
        self._live: Mapping[str, Any] = {}
        self.violations: list[str] = []
        self.asked: list[tuple[str, str]] = []

    def play(self) -> None:
        """Play all chapters."""
        self._deploy_first()
        self._work()
        self._replace()
        self._delete()
        if not self._plan.short:
            self._deploy_again()

    # ------------------------------------------------------------------------------------------------- the chapters

    def _deploy_first(self) -> None:
        self._title("The first deployment: make deploy ENV=prod GUIDED=1")
        self._workplace.install(self._plan.old, tools=self._plan.old_sources)
        ours = aws_account.template_parameters(self._sandbox.info)
        parameters = {name: ours[name] for name in ("VpcEndpointIds", "TrainingRoleArns")}
        # Lost events are recovered sooner, as training is faster here.
        parameters["ReconcileAfterSeconds"] = "1"
        answers = {f"Parameter {name} ": value for name, value in parameters.items()}
        guided = self._workplace.deploy_guided(answers)
        self.asked = guided.asked
        self._expect_success(guided, "CREATE_COMPLETE")
        self._say(f"{len(guided.asked)} questions answered, deployed in {guided.took_s:.0f} s")
        again = self._workplace.deploy_without_make()
        self._expect_success(again, "CREATE_COMPLETE")
        self._expect("No changes to deploy" in again.text, "a second deployment changes nothing", again)
        self._say("sam deploy with the saved answers: nothing to change")
        self._sandbox.use_stack(STACK)

    def _work(self) -> None:
        traffic = Traffic(self._sandbox, seed=self._plan.seed)
        traffic.begin()
        try:
            work = traffic.wait_for_work()
            self._title(f"Users at work: {_listed(work)}")
            traffic.answers()
            self._configure()
            self._update(traffic)
            self._change_first_pool()
            if self._plan.migrates:
                self._return_to_old_version(traffic)
            if not self._plan.short:
                self._refused_half_way(traffic)
                self._bad_version(traffic)
        except BaseException:
            traffic.stop()
            raise
        self._title("The queue comes to rest")
        self._come_to_rest(traffic)

    def _configure(self) -> None:
        self._title("An administrator sets another configuration than the template's")
        self._live = self._api().put_config(LIVE, force=True, reason="the pools that we have").settings
        self._say(f"version {self._live['version']}: {_pools_of(self._live)}")

    def _change_first_pool(self) -> None:
        self._title("An update: another PoolSize, other tags of the stack")
        self._workplace.set_parameter("PoolSize", "1")
        self._workplace.set_tag("environment", "production")
        update = self._workplace.deploy()
        self._expect_success(update, "UPDATE_COMPLETE")
        self._expect_configuration("another PoolSize and other tags leave the configuration alone", update)
        self._say(f"the configuration is the same: {_pools_of(self._live)}")

    def _return_to_old_version(self, traffic: Traffic) -> None:
        self._title("A rollback to the version that keeps its configuration in a parameter")
        traffic.allow(G5, POOLS[G5] - 1)
        self._resize(G5, POOLS[G5] - 1)
        # docs/how-to/migration.md
        key = {"pk": {"S": "config"}, "sk": {"S": "config"}}
        item = self._sandbox.client("dynamodb").get_item(TableName=TABLE, Key=key, ConsistentRead=True)["Item"]
        self._sandbox.client("ssm").put_parameter(
            Name=f"/headway/{STACK}/config",
            Value=item["document"]["S"],
            Overwrite=True,
            Tier="Intelligent-Tiering",
        )
        self._workplace.install(self._plan.old, tools=self._plan.old_sources)
        back = self._workplace.deploy()
        self._expect_success(back, "UPDATE_COMPLETE")
        self._expect_configuration("a rollback leaves the configuration alone", back)
        self._resize(G5, POOLS[G5])
        self._expect_configuration("the old version changes it", back)
        self._workplace.install(self._plan.new, tools=Checkout.here().root)
        again = self._workplace.deploy()
        self._expect_success(again, "UPDATE_COMPLETE")
        self._expect_configuration("the next update takes over what the old version has set", again)
        self._say(f"back and forth again: {_pools_of(self._live)}")

    def _resize(self, pool: str, size: int) -> None:
        api = self._api()
        api.resize(pool, size)
        self._live = api.get_config().settings

    def _expect_configuration(self, what: str, said: PromptDriver) -> None:
        api = self._api()
        found = {name: value for name, value in api.get_config().settings.items() if name != "version"}
        wanted = {name: value for name, value in self._live.items() if name != "version"}
        self._expect(found == wanted, f"{what}: {found}", said)
        sizes = {pool.pool: pool.size for pool in api.capacity().pools}
        self._expect(sizes == {pool: each["size"] for pool, each in wanted["pools"].items()}, f"{what}: {sizes}", said)

    def _update(self, traffic: Traffic) -> None:
        self._title("An update: new code, another parameter")
        before = self._stack.codes()
        self._workplace.install(self._plan.new, tools=Checkout.here().root)
        self._workplace.set_parameter("LogLevel", "DEBUG")
        with Overlap(self._sandbox, before) as overlap:
            update = self._workplace.deploy()
        self._expect_success(update, "UPDATE_COMPLETE")
        after = self._stack.codes()
        same = [name for name, code in before.items() if after.get(name) == code]
        self._expect(not same, f"all functions run the new code; {same} do not", update)
        self._expect(overlap.side_by_side_s > 0, "old and new code ran side by side", update)
        self._expect_answers(traffic)
        self._expect_configuration("new code leaves the configuration alone", update)
        both = f"; {len(overlap.in_both)}  functions ran both concurrently" if overlap.in_both else ""
        self._say(f"old and new code ran side by side for {overlap.side_by_side_s:.1f} s{both}")

    def _refused_half_way(self, traffic: Traffic) -> None:
        self._title("An update that CloudFormation rolls back halfway, after the functions")
        self._make_stray_table()
        before = self._stack.codes()
        self._workplace.install(builds.refused(self._plan.new, self._plan.folder / "refused"))
        refused = self._workplace.deploy()
        self._expect_rolled_back(refused, "already exists")
        self._expect(self._stack.codes() == before, "the functions run the previous code again", refused)
        self._expect_answers(traffic)
        self._say("rolled back by CloudFormation: the functions run the previous code")

    def _bad_version(self, traffic: Traffic) -> None:
        self._title("A version that no function can import")
        self._workplace.install(builds.broken(self._plan.new, self._plan.folder / "broken"))
        self._expect_refusal(self._workplace.deploy(), "Roll back: `git switch")
        status = self._stack.status()
        if status != "UPDATE_COMPLETE":
            raise SandboxError(f"The version that no function can import should have been deployed; it is {status}.")
        traffic.until_unanswered()
        self._say("CloudFormation reports UPDATE_COMPLETE: it does not run the functions. The API answers 502.")
        self._say("make deploy invokes each function at its end, and fails with the error and the way back")
        down_since = time.monotonic()
        running = len(traffic.observe().running)
        self._wait_for_alarm("ApiFunctionErrors")
        self._say(f"{running} training jobs continue in SageMaker")
        self._workplace.install(self._plan.new)
        self._expect_success(self._workplace.deploy(), "UPDATE_COMPLETE")
        traffic.until_answered()
        self._say(f"the previous version is deployed; the API was down for {time.monotonic() - down_since:.0f} s")

    def _come_to_rest(self, traffic: Traffic) -> None:
        observed = traffic.end()
        people = traffic.people
        lost = [name for name in people.accepted if name not in observed.jobs]
        self.violations += [violation.sentence for violation in traffic.violations]
        self._say(f"{len(observed.jobs)} jobs: {_listed(observed)}; {_preemptions(observed)} preemptions")
        self._say(f"user requests: {people.asked['submissions']} submissions, {_others(traffic)}")
        self._say(f"accepted {len(people.accepted)}, lost {len(lost)}, violations {len(traffic.violations)}")

    def _replace(self) -> None:
        self._title("An update that would replace the table")
        with self._nothing_may_happen("make deploy with another TableName"):
            self._workplace.set_parameter("TableName", OTHER_TABLE)
            self._expect_refusal(self._workplace.deploy(), f"the stack's table is {TABLE}")
        self._say("make deploy refuses another TableName before any change")
        if not self._plan.short:
            past = self._workplace.deploy_without_make()
            self._expect_rolled_back(past, "Action denied by stack policy")
            self._say("sam deploy bypasses that: CloudFormation refuses by the stack policy, and rolls back")
        self._workplace.set_parameter("TableName", TABLE)
        if not self._plan.short:
            self._rekey()

    def _rekey(self) -> None:
        self._workplace.install(builds.rekeyed(self._plan.new, self._plan.folder / "rekeyed"))
        self._expect_rolled_back(self._workplace.deploy(), "Action denied by stack policy")
        self._say("another sort key would replace the table: CloudFormation refuses by the stack policy")
        self._workplace.install(self._plan.new)

    def _delete(self) -> None:
        self._title("sam delete, of a paused queue")
        self._api().pause(MOVING)
        items = self._stack.items(TABLE)
        deleted = self._workplace.delete()
        self._expect(deleted.status == 0, "sam delete succeeds", deleted)
        self._expect(self._stack.status() == "DELETE_COMPLETE", "the stack is deleted", deleted)
        kept = [fate for fate in self._stack.fates() if fate.kept]
        gone = [fate for fate in self._stack.fates() if not fate.kept]
        self._expect("JobsTable" in {fate.logical_id for fate in kept}, "the table is kept", deleted)
        # Until it is deleted, the functions that run every minute may write further ones.
        lost = sorted(items - self._stack.items(TABLE))
        self._expect(not lost, f"all its items are kept; missing: {lost}", deleted)
        self._expect(not self._stack.leftovers(), f"nothing else remains: {self._stack.leftovers()}", deleted)
        kinds = sorted({fate.kind for fate in kept})
        self._say(f"{len(gone)} resources are deleted, the table remains with its {len(items)} items")
        self._say(f"kept: {', '.join(kinds)}")

    def _deploy_again(self) -> None:
        self._title("A deployment while the table still exists")
        items = self._stack.items(TABLE)
        self._stack.forget()
        self._expect_refusal(self._workplace.deploy(), f"the table {TABLE}: it already exists and has items")
        self._say("make deploy refuses before any change: the table already exists")
        again = self._workplace.deploy_without_make()
        self._expect(
            again.status != 0 and "already exists" in again.text, "an existing table is not overwritten", again
        )
        self._expect(self._stack.items(TABLE) == items, "the table keeps its items", again)
        self._say("sam deploy bypasses that: CloudFormation refuses. The table's items are unchanged")
        self._expect(self._workplace.delete().status == 0, "the rest of the stack can be deleted", again)
        self._stack.forget()
        table_adoption.adopt(self._sandbox, self._workplace)
        self._sandbox.use_stack(STACK)
        self._expect(self._stack.items(TABLE) >= items, "the stack has the table with its items", again)
        self._say("a change set with --import-existing-resources imports the table with all jobs")
        api = self._api()
        is_paused = all(pool.pause is not None and pool.pause.reason == MOVING for pool in api.capacity().pools)
        self._expect(is_paused, "it is still paused, so nothing starts or is preempted", again)
        self._expect_configuration("the new stack has the configuration that its table had", again)
        api.resume()
        self._say("the pause of before the deletion is still there: nothing has started, until it is resumed")

    def _api(self) -> HeadwayApi:
        info = self._sandbox.info
        credentials = Credentials(info.access_key, info.secret_key)
        return HeadwayApi(self._sandbox.endpoint, region=info.region, credentials=credentials)

    # ---------------------------------------------------------------------------------------------------- checking

    def _expect(self, holds: bool, what: str, said: PromptDriver) -> None:  # noqa: FBT001 - positional for readability
        if not holds:
            self.violations.append(what)
            self._tell(f"  ✗ failed: {what}\n{said.tail()}")

    def _expect_success(self, said: PromptDriver, status: str) -> None:
        found = self._stack.status() if said.status == 0 else f"exit code {said.status}"
        if found != status:
            raise SandboxError(f"The deployment should have ended as {status}, and ended with {found}:\n{said.tail()}")

    def _expect_rolled_back(self, said: PromptDriver, why: str) -> None:
        status = self._stack.status()
        self._expect(said.status != 0, "sam deploy fails", said)
        self._expect(status == "UPDATE_ROLLBACK_COMPLETE", f"the update is rolled back, not {status}", said)
        reasons = [event.get("ResourceStatusReason", "") for event in self._stack.events()]
        self._expect(any(why in reason for reason in reasons), f"the reason is: {why}", said)

    def _expect_refusal(self, said: PromptDriver, why: str) -> None:
        self._expect(said.status != 0 and why in said.text, f"make deploy refuses with: {why}", said)

    def _expect_answers(self, traffic: Traffic) -> None:
        answers = traffic.answers()
        missing = ", ".join(f"{count} {kind}" for kind, count in sorted(answers.unanswered.items())) or "none"
        silence = f"{answers.longest_silence_s:.1f} s"
        if answers.longest_silence_s > MOST_SILENCE_S:
            self.violations.append(f"the API was unavailable for {silence}; without an answer: {missing}")
        self._say(
            f"the API answered {answers.answered} reads, the longest outage was {silence}; not answered: {missing}"
        )

    @contextmanager
    def _nothing_may_happen(self, what: str) -> Iterator[None]:
        before = len(self._stack.events())
        yield
        if len(self._stack.events()) != before:
            self.violations.append(f"{what} changed the stack")

    def _wait_for_alarm(self, name: str) -> None:
        alarms = self._sandbox.client("cloudwatch")
        deadline = time.monotonic() + ALARM_S
        while time.monotonic() < deadline:
            ringing = alarms.describe_alarms(StateValue="ALARM")["MetricAlarms"]
            if any(name in alarm["AlarmName"] for alarm in ringing):
                self._say(f"the alarm {name} fires")
                return
            time.sleep(1)
        self.violations.append(f"the alarm {name} did not fire within {ALARM_S:g} s")

    def _make_stray_table(self) -> None:
        self._sandbox.client("dynamodb").create_table(
            TableName=builds.STRAY_TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )

    def _title(self, title: str) -> None:
        self._tell(f"\n▶ {title}")

    def _say(self, line: str) -> None:
        self._tell(f"  {line}")


def _pools_of(document: Mapping[str, Any]) -> str:
    return ", ".join(f"{each['size']} {pool}" for pool, each in document["pools"].items())


def _listed(observed: RawState) -> str:
    return ", ".join(f"{count} {state}" for state, count in observed.states.most_common())


def _preemptions(observed: RawState) -> int:
    return sum(step["jobState"] == "preempted" for job in observed.jobs.values() for step in job["history"])


def _others(traffic: Traffic) -> str:
    counted = {what: count for what, count in sorted(traffic.people.asked.items()) if what != "submissions"}
    return ", ".join(f"{count} {what}" for what, count in counted.items())
