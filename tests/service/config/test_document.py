"""The configuration document: invalid ones are refused with reasons."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.session import Session

from headway.jobpolicy import requirements, rules, training_job
from headway.policy import Ageing, Fill, Order, Policy, Team
from headway.reasons.remedies import NOTIFIED_BY_DEFAULT
from headway_service.config import utilization
from headway_service.config.document import new_text_to_keep, parse, text_of, text_to_keep, validate
from headway_service.config.rules import MAX_RULES
from headway_service.config.utilization import MAX_WINDOW_S
from headway_service.errors import InvalidConfiguration
from tests.service.world import P5

GOOD: dict[str, Any] = {"pools": {"ml.p5.48xlarge": {"size": 2}}}


def test_a_good_document_round_trips() -> None:
    configuration = parse(json.dumps(GOOD))
    assert configuration.pools["ml.p5.48xlarge"].size == 2
    assert (configuration.priority.default, configuration.priority.maximum) == (0, 9999)
    assert parse(text_of(configuration)) == configuration


def test_a_document_without_rules_gets_the_default_policy() -> None:
    assert validate(GOOD).policy() == Policy()


def test_what_probes_may_cost_reaches_the_policy_and_a_job_is_given_up_after_three_days_by_default() -> None:
    policy = validate({**GOOD, "launches": {"probePercent": 50, "giveUpSeconds": 60}}).policy()
    assert policy == Policy(probe_percent=50)
    assert validate(GOOD).give_up_ms == 3 * 86_400_000


@pytest.mark.parametrize("order", list(Order))
def test_an_order_and_its_bound_reach_the_policy(order: Order) -> None:
    configuration = validate({**GOOD, "priority": {"order": str(order), "waitBound": 7}})
    assert configuration.policy() == Policy(order=order, wait_bound=7)
    assert parse(text_of(configuration)) == configuration


@pytest.mark.parametrize(
    ("priority", "message"),
    [
        ({"order": "lifo"}, "'fifo', 'short', 'shortest-remaining' or 'shared'"),
        ({"limitWeight": 10}, "^priority.limitWeight: does not exist any more: .* set priority.order to short"),
        ({"limitWeight": 0}, "^priority.limitWeight: .* leave it out"),
        ({"order": "short", "waitBound": 0}, "waitBound"),
        ({"order": "short", "waitBound": 1001}, "waitBound"),
    ],
)
def test_a_wrong_order_is_refused_with_what_to_change(priority: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        validate({**GOOD, "priority": priority})


@pytest.mark.parametrize("order", ["short", "shortest-remaining"])
def test_predictions_may_count_in_the_orders_that_compare_run_times(order: str) -> None:
    priority = {"order": order, "byPredictions": True}
    configuration = validate({**GOOD, "predictions": True, "priority": priority})
    assert configuration.policy() == Policy(order=Order(order), by_predictions=True)
    assert parse(text_of(configuration)) == configuration
    assert not validate({**GOOD, "predictions": True, "priority": {"order": order}}).policy().by_predictions
    with pytest.raises(InvalidConfiguration, match="needs predictions: set predictions to true"):
        validate({**GOOD, "priority": priority})


@pytest.mark.parametrize("order", ["fifo", "shared"])
def test_predictions_count_in_no_other_order(order: str) -> None:
    with pytest.raises(InvalidConfiguration, match=f"or set the order {order} to one of them"):
        validate({**GOOD, "predictions": True, "priority": {"order": order, "byPredictions": True}})


def test_every_rule_of_the_document_reaches_the_policy() -> None:
    rules = {
        "preemption": {
            "enabled": False,
            "minRunTimeSeconds": 60,
            "maxPerJob": 3,
            "checkpointIntervalSeconds": 30,
            "checkpointsEverySeconds": 40,
            "waitForCheckpointSeconds": 50,
            "optOut": True,
        },
        "priority": {"order": "shortest-remaining", "waitBound": 7},
        "backfill": {"enabled": False, "reservedHeads": 2, "window": 5},
        "ageing": {"intervalSeconds": 60, "cap": 7},
        "teams": {"a": {"guaranteed": {P5: 1}, "limit": {P5: 2}, "weight": 2, "maxPriority": 9}, "b": {}},
        "overheadSeconds": 10,
    }
    configuration = validate({**GOOD, **rules})
    assert configuration.policy() == Policy(
        order=Order.SHORTEST_REMAINING,
        wait_bound=7,
        preemption=False,
        min_run_time_ms=60_000,
        max_preemptions=3,
        checkpoint_interval_ms=30_000,
        checkpoints_every_ms=40_000,
        wait_for_checkpoint_ms=50_000,
        backfill=False,
        reserved_heads=2,
        backfill_window=5,
        ageing=Ageing(interval_ms=60_000, cap=7),
        teams={"a": Team(guaranteed={P5: 1}, limit={P5: 2}, weight=2, max_priority=9), "b": Team()},
    )
    assert parse(text_of(configuration)) == configuration


def test_a_document_is_stored_without_defaults() -> None:
    assert json.loads(text_of(validate(GOOD))) == GOOD


def test_every_requirement_and_condition_of_the_document_reaches_the_rules() -> None:
    document = {
        **GOOD,
        "teams": {"a": {}},
        "rules": {
            "all": {
                "when": {
                    "teams": ["a"],
                    "tags": {"env": ["prod"]},
                    "instanceTypes": ["ml.g5.*"],
                    "spot": True,
                    "preemptible": False,
                },
                "require": {
                    "tags": {"project": ["*"], "cost": ["cc-*", "x"]},
                    "forbiddenTags": ["legacy-*"],
                    "allowedTags": ["project", "cost"],
                    "instanceTypes": ["ml.g5.*"],
                    "maxInstances": 2,
                    "maxRunTimeSeconds": 3600,
                    "maxKeepAliveSeconds": 0,
                    "checkpoints": True,
                    "roles": ["arn:aws:iam::*:role/t-*"],
                    "images": ["*.amazonaws.com/*"],
                    "outputPaths": ["s3://b/*"],
                    "outputKeys": ["*"],
                    "volumeKeys": ["alias/volumes"],
                    "fileSystems": [
                        {"id": "fs-*", "type": "EFS", "directory": "/data/*", "accessMode": "ro"},
                        {"type": "FSxLustre"},
                    ],
                    "vpc": True,
                    "subnets": ["subnet-1"],
                    "securityGroups": ["sg-1"],
                    "networkIsolation": True,
                    "trafficEncryption": True,
                    "remoteDebug": False,
                },
                "onStart": "stop",
                "message": "ask Ada",
            },
            "always": {"require": {"vpc": True}},
        },
    }
    configuration = parse(json.dumps(document))
    everything, always = configuration.job_rules()
    assert everything == rules.Rule(
        name="all",
        when=rules.When(
            teams=("a",), tags={"env": ("prod",)}, instance_types=("ml.g5.*",), spot=True, preemptible=False
        ),
        requirements=(
            requirements.Tagged("project", ("*",)),
            requirements.Tagged("cost", ("cc-*", "x")),
            requirements.Untagged(("legacy-*",)),
            requirements.OnlyTagged(("project", "cost")),
            requirements.Allowed(training_job.INSTANCE_TYPE, ("ml.g5.*",)),
            requirements.Allowed("RoleArn", ("arn:aws:iam::*:role/t-*",)),
            requirements.Allowed("AlgorithmSpecification.TrainingImage", ("*.amazonaws.com/*",)),
            requirements.Allowed("OutputDataConfig.S3OutputPath", ("s3://b/*",)),
            requirements.Allowed("OutputDataConfig.KmsKeyId", ("*",)),
            requirements.Allowed("ResourceConfig.VolumeKmsKeyId", ("alias/volumes",)),
            requirements.Allowed("VpcConfig.Subnets", ("subnet-1",)),
            requirements.Allowed("VpcConfig.SecurityGroupIds", ("sg-1",)),
            requirements.Given("CheckpointConfig"),
            requirements.Given("VpcConfig"),
            requirements.Switched("EnableNetworkIsolation"),
            requirements.Switched("EnableInterContainerTrafficEncryption"),
            requirements.Switched("RemoteDebugConfig.EnableRemoteDebug", on=False),
            requirements.FileSystems(
                (
                    {
                        "FileSystemId": "fs-*",
                        "FileSystemType": "EFS",
                        "DirectoryPath": "/data/*",
                        "FileSystemAccessMode": "ro",
                    },
                    {"FileSystemType": "FSxLustre"},
                )
            ),
            requirements.MaxInstances(2),
            requirements.MaxRunTime(3600),
            requirements.AtMost("ResourceConfig.KeepAlivePeriodInSeconds", 0),
        ),
        on_start=rules.OnStart.STOP,
        note="ask Ada",
    )
    assert always == rules.Rule(name="always", requirements=(requirements.Given("VpcConfig"),))
    assert parse(text_of(configuration)) == configuration


def test_a_rule_that_allows_no_file_system_is_kept() -> None:
    document = {**GOOD, "rules": {"a": {"require": {"fileSystems": []}}}}
    configuration = parse(text_to_keep(document))
    assert [each.requirements for each in configuration.job_rules()] == [(requirements.FileSystems(()),)]


def test_rules_are_shown_without_defaults_and_can_be_set_again() -> None:
    document = {**GOOD, "rules": {"a": {"when": {"spot": True}, "require": {"checkpoints": True}}}}
    shown = validate(document).model_dump(mode="json")
    assert shown["rules"] == {
        "a": {"when": {"spot": True}, "require": {"checkpoints": True}, "onStart": "report"},
    }
    assert validate(shown).job_rules() == validate(document).job_rules()


def test_fifty_usual_rules_fit_beside_ten_teams() -> None:
    teams = {f"team-{i}": {"guaranteed": {P5: 1}, "limit": {P5: 2}, "maxPriority": 100} for i in range(10)}
    usual = [
        {"when": {"teams": ["team-1"]}, "require": {"instanceTypes": ["ml.g5.*"], "maxInstances": 4}},
        {"require": {"tags": {"cost-center": ["cc-*"], "project": ["*"]}}, "message": "see the wiki on cost centres"},
        {"require": {"roles": ["arn:aws:iam::123456789012:role/training-*"]}, "onStart": "stop"},
    ]
    named = {f"rule-name-{i}": usual[i % len(usual)] for i in range(MAX_RULES)}
    text_to_keep({"pools": {P5: {"size": 10}}, "teams": teams, "rules": named})


def ruled(**parts: Any) -> dict[str, Any]:
    return {**GOOD, "rules": {"a": {"require": {"vpc": True}, **parts}}}


BAD: list[tuple[str, Any, str, str]] = [
    ("no array", {**GOOD, "limits": {"arraysPerTeam": 0}}, "limits.arraysPerTeam", "at least 1"),
    ("arrays beyond counting", {**GOOD, "limits": {"arraysPerOwner": 10_001}}, "limits.arraysPerOwner", "10000"),
    ("not a number of arrays", {**GOOD, "limits": {"arraysPerOwner": "5"}}, "limits.arraysPerOwner", "whole number"),
    ("no pools", {}, "pools", "required"),
    ("an empty map of pools", {"pools": {}}, "pools", "at least 1"),
    (
        "a negative size",
        {"pools": {"ml.p5.48xlarge": {"size": -1}}},
        "pools.ml.p5.48xlarge.size",
        "at least 0",
    ),
    ("a size in words", {"pools": {"ml.p5.48xlarge": {"size": "2"}}}, "pools.ml.p5.48xlarge.size", "a whole number"),
    ("a size of true", {"pools": {"ml.p5.48xlarge": {"size": True}}}, "pools.ml.p5.48xlarge.size", "a whole number"),
    (
        "a size beyond reason",
        {"pools": {"ml.p5.48xlarge": {"size": 10_001}}},
        "pools.ml.p5.48xlarge.size",
        "must be at most",
    ),
    ("a pool that is no instance type", {"pools": {"p5": {"size": 1}}}, "pools.p5", "must be a"),
    ("an unknown key", {**GOOD, "pool": {}}, "pool", "is not known here"),
    (
        "an unknown key of a pool",
        {"pools": {"ml.p5.48xlarge": {"size": 1, "max": 2}}},
        "pools.ml.p5.48xlarge.max",
        "not",
    ),
    (
        "a default above the maximum",
        {**GOOD, "priority": {"default": 5, "maximum": 4}},
        "priority",
        "must not be above",
    ),
    ("51 pools", {"pools": {f"ml.a{i}.x": {"size": 1} for i in range(51)}}, "pools", "at most 50"),
    ("a team with a space", {**GOOD, "teams": {"a b": {}}}, "teams.a b", "must be a"),
    ("a team without a name", {**GOOD, "teams": {"": {}}}, "teams.", "must be a"),
    ("21 teams", {**GOOD, "teams": {f"t{i}": {} for i in range(21)}}, "teams", "at most 20"),
    ("a weight of 0", {**GOOD, "teams": {"a": {"weight": 0}}}, "teams.a.weight", "more than 0"),
    ("an infinite weight", {**GOOD, "teams": {"a": {"weight": float("inf")}}}, "teams.a.weight", "finite"),
    (
        "a guarantee in an unknown pool",
        {**GOOD, "teams": {"a": {"guaranteed": {"ml.x.y": 1}}}},
        "teams.a.guaranteed.ml.x.y",
        "there is no pool ml.x.y",
    ),
    (
        "a limit in an unknown pool",
        {**GOOD, "teams": {"a": {"limit": {"ml.x.y": 1}}}},
        "teams.a.limit.ml.x.y",
        "no pool",
    ),
    ("a negative limit", {**GOOD, "teams": {"a": {"limit": {P5: -1}}}}, f"teams.a.limit.{P5}", "at least 0"),
    (
        "a guarantee above the limit",
        {**GOOD, "teams": {"a": {"guaranteed": {P5: 2}, "limit": {P5: 1}}}},
        f"teams.a.guaranteed.{P5}",
        "2 must not be above the team's limit of 1",
    ),
    (
        "guarantees beyond the pool",
        {**GOOD, "teams": {"a": {"guaranteed": {P5: 2}}, "b": {"guaranteed": {P5: 1}}}},
        f"pools.{P5}.size",
        "2 is less than the 3 that teams are guaranteed (a 2, b 1)",
    ),
    (
        "too many lines",
        {"pools": {f"ml.a{i}.x": {"size": 1} for i in range(50)}, "teams": {f"t{i}": {} for i in range(4)}},
        "teams",
        "make 250 queues",
    ),
    (
        "a team's maximum too high",
        {**GOOD, "teams": {"a": {"maxPriority": 10_000}}},
        "teams.a.maxPriority",
        "must be at most",
    ),
    ("a field of Python's", {**GOOD, "teams": {"a": {"max_priority": 1}}}, "teams.a.max_priority", "is not known here"),
    ("a window too large", {**GOOD, "backfill": {"window": 10_001}}, "backfill.window", "must be at most"),
    ("no reserved head", {**GOOD, "backfill": {"reservedHeads": 0}}, "backfill.reservedHeads", "at least 1"),
    (
        "a negative run time",
        {**GOOD, "preemption": {"minRunTimeSeconds": -1}},
        "preemption.minRunTimeSeconds",
        "must be",
    ),
    (
        "checkpoints at no interval",
        {**GOOD, "preemption": {"checkpointsEverySeconds": 0}},
        "preemption.checkpointsEverySeconds",
        "at least 1",
    ),
    (
        "a wait of more than an hour",
        {**GOOD, "preemption": {"waitForCheckpointSeconds": 3601}},
        "preemption.waitForCheckpointSeconds",
        "at most 3600",
    ),
    ("ageing without a cap", {**GOOD, "ageing": {"intervalSeconds": 60}}, "ageing.cap", "required"),
    ("ageing without time", {**GOOD, "ageing": {"intervalSeconds": 0, "cap": 1}}, "ageing.intervalSeconds", "must be"),
    ("a short pending time", {**GOOD, "maxPendingSeconds": 599}, "maxPendingSeconds", "at least 600"),
    ("no time for probes", {**GOOD, "launches": {"probePercent": 0}}, "launches.probePercent", "at least 1"),
    ("much time for probes", {**GOOD, "launches": {"probePercent": 51}}, "launches.probePercent", "at most 50"),
    ("a short time to give up", {**GOOD, "launches": {"giveUpSeconds": 59}}, "launches.giveUpSeconds", "at least 60"),
    ("a long pending time", {**GOOD, "maxPendingSeconds": 28 * 86_400 + 1}, "maxPendingSeconds", "at most 2419200"),
    ("a negative overhead", {**GOOD, "overheadSeconds": -1}, "overheadSeconds", "at least 0"),
    ("a list", [], "(the document)", "must be an object"),
    ("a rule that asks for nothing", ruled(require={}), "rules.a.require", "asks for nothing"),
    ("a rule of a condition alone", {**GOOD, "rules": {"a": {"when": {}}}}, "rules.a.require", "required"),
    ("a requirement that nobody knows", ruled(require={"role": ["*"]}), "rules.a.require.role", "is not known here"),
    ("an empty list of what is allowed", ruled(require={"roles": []}), "rules.a.require.roles", "at least 1"),
    ("an empty list of a tag's values", ruled(require={"tags": {"x": []}}), "rules.a.require.tags.x", "at least 1"),
    ("no tag among those required", ruled(require={"tags": {}}), "rules.a.require.tags", "at least 1"),
    ("a pattern as a tag's key", ruled(require={"tags": {"x*": ["a"]}}), "rules.a.require.tags.x*", "must be a"),
    (
        "a regular expression for a tag's value",
        ruled(require={"tags": {"x": ["^cc-\\d+$"]}}),
        "rules.a.require.tags.x.0",
        "no pattern of a tag's value; * matches any text",
    ),
    (
        "an instance type without ml",
        ruled(require={"instanceTypes": ["ml.g5.*", "p5.*"]}),
        "rules.a.require.instanceTypes.1",
        "'p5.*' is no pattern of an instance type",
    ),
    ("a role by its name", ruled(require={"roles": ["training"]}), "rules.a.require.roles.0", "a role's ARN"),
    ("an output elsewhere", ruled(require={"outputPaths": ["/tmp"]}), "rules.a.require.outputPaths.0", "s3://"),
    ("a subnet by its name", ruled(require={"subnets": ["a"]}), "rules.a.require.subnets.0", "subnet's id"),
    ("a pattern of 257", ruled(require={"images": ["x" * 257]}), "rules.a.require.images.0", "at most 256"),
    ("51 patterns", ruled(require={"images": ["x"] * 51}), "rules.a.require.images", "at most 50"),
    ("no instance", ruled(require={"maxInstances": 0}), "rules.a.require.maxInstances", "at least 1"),
    ("a requirement that is off", ruled(require={"vpc": False}), "rules.a.require.vpc", "must be true"),
    (
        "a debugger that is required",
        ruled(require={"remoteDebug": True}),
        "rules.a.require.remoteDebug",
        "must be false",
    ),
    (
        "a longer keep-alive period than SageMaker's",
        ruled(require={"maxKeepAliveSeconds": 21_601}),
        "rules.a.require.maxKeepAliveSeconds",
        "at most 21600",
    ),
    (
        "51 file systems",
        ruled(require={"fileSystems": [{"type": "EFS"}] * 51}),
        "rules.a.require.fileSystems",
        "at most 50",
    ),
    (
        "any file system",
        ruled(require={"fileSystems": [{}]}),
        "rules.a.require.fileSystems.0",
        "name its id, its type, its directory or its access mode",
    ),
    (
        "a file system's name",
        ruled(require={"fileSystems": [{"id": "data"}]}),
        "rules.a.require.fileSystems.0.id",
        "no pattern of a file system's id",
    ),
    (
        "a directory without a slash",
        ruled(require={"fileSystems": [{"directory": "data/*"}]}),
        "rules.a.require.fileSystems.0.directory",
        "no pattern of a directory such as /data/*",
    ),
    (
        "an access mode of no file system",
        ruled(require={"fileSystems": [{"accessMode": "read"}]}),
        "rules.a.require.fileSystems.0.accessMode",
        "must be 'ro' or 'rw'",
    ),
    (
        "only tags without a key",
        ruled(require={"allowedTags": []}),
        "rules.a.require.allowedTags",
        "at least 1 entry",
    ),
    (
        "jobs on no instance type",
        ruled(when={"instanceTypes": []}),
        "rules.a.when.instanceTypes",
        "at least 1 entry",
    ),
    ("a team that is not configured", ruled(when={"teams": ["x"]}), "rules.a.when.teams", "there is no team x"),
    ("a condition on no team", ruled(when={"teams": []}), "rules.a.when.teams", "at least 1"),
    ("another thing to do", ruled(onStart="kill"), "rules.a.onStart", "'report' or 'stop'"),
    ("a long message", ruled(message="x" * 201), "rules.a.message", "at most 200"),
    ("a rule with a space", {**GOOD, "rules": {"a b": {"require": {"vpc": True}}}}, "rules.a b", "must be a"),
    (
        "51 rules",
        {**GOOD, "rules": {f"r{i}": {"require": {"vpc": True}} for i in range(51)}},
        "rules",
        "at most 50",
    ),
]


@pytest.mark.parametrize(("document", "field", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_bad_document_is_refused_with_the_field_and_the_reason(document: Any, field: str, message: str) -> None:
    with pytest.raises(InvalidConfiguration) as raised:
        validate(document)
    told = {error.field: error.message for error in raised.value.fields}
    assert message in told[field]


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is no JSON"), (" " * 9000, "at most 8192"), ("[" * 8000, "nested too deeply")],
    ids=["no JSON", "too long", "too deep"],
)
def test_a_text_that_cannot_be_a_document_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        parse(text)


def test_users_are_notified_of_unrequested_changes_by_default() -> None:
    notifications = validate(GOOD).notifications
    assert (notifications.codes, notifications.teams) == (list(NOTIFIED_BY_DEFAULT), None)
    assert notifications.tell("Failed", None)
    assert not notifications.tell("Started", "a")


def test_a_setting_of_messages_replaces_the_default() -> None:
    told = {"codes": ["Started"], "teams": ["a"]}
    configuration = validate({**GOOD, "teams": {"a": {}, "b": {}}, "notifications": told})
    notifications = configuration.notifications
    assert [notifications.tell("Started", team) for team in ("a", "b", None)] == [True, False, False]
    assert not notifications.tell("Failed", "a")
    assert parse(text_of(configuration)) == configuration


BAD_NOTIFICATIONS: list[tuple[dict[str, Any], str, str]] = [
    ({"codes": ["Started", "Exploded"]}, "notifications.codes.1", "no job changes for the reason 'Exploded'"),
    ({"codes": ["WaitsForCapacity"]}, "notifications.codes.0", "the reasons are Adopted, BreaksRules, "),
    ({"codes": "Failed"}, "notifications.codes", "list"),
    ({"codes": ["Failed"] * 100}, "notifications.codes", "at most"),
    ({"teams": []}, "notifications.teams", "at least 1"),
    ({"teams": ["nobody"]}, "notifications.teams", "there is no team nobody"),
    ({"colour": "blue"}, "notifications.colour", "is not known here"),
]


@pytest.mark.parametrize(("told", "field", "problem"), BAD_NOTIFICATIONS)
def test_an_invalid_policy_on_messages_is_refused(told: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(InvalidConfiguration) as raised:
        validate({**GOOD, "notifications": told})
    (error,) = raised.value.fields
    assert error.field == field
    assert problem in error.message


SAGEMAKERS: dict[str, Any] = {"periodSeconds": 20, "periods": 4}
OWN: dict[str, Any] = {**SAGEMAKERS, "namespace": "Mine", "metric": "gpu"}


def watching(watch: dict[str, Any]) -> dict[str, Any]:
    return {**GOOD, "watches": {"busy": {"fullScale": 100, **watch}}}


@pytest.mark.parametrize(
    ("watch", "period_s"),
    [
        (SAGEMAKERS, 60),
        ({**SAGEMAKERS, "periodSeconds": 60}, 60),
        ({**SAGEMAKERS, "periodSeconds": 120}, 120),
        (OWN, 20),
        ({**SAGEMAKERS, "periodSeconds": 10, "periods": 1440}, 60),
    ],
)
def test_an_alarm_on_sagemakers_metrics_has_a_period_of_a_minute_at_least(watch: dict[str, Any], period_s: int) -> None:
    """Documents of earlier versions have shorter ones, and stay valid."""
    (rule,) = [each for each in parse(json.dumps(watching(watch))).active_watches() if each.name == "busy"]
    assert (rule.period_s, rule.periods) == (period_s, watch["periods"])
    assert rule.window_ms <= MAX_WINDOW_S * 1000


def test_a_new_document_may_not_have_a_period_in_which_sagemaker_publishes_nothing() -> None:
    with pytest.raises(InvalidConfiguration) as raised:
        new_text_to_keep(watching(SAGEMAKERS))
    (error,) = raised.value.fields
    assert error.field == "watches.busy.periodSeconds"
    assert error.message == (
        "20 must be 60 or a multiple of it, as SageMaker publishes GPUUtilization once in 60 s; shorter periods need "
        "metrics of your own, in another namespace"
    )


@pytest.mark.parametrize("namespace", [":custom", "two\nlines"])
def test_a_new_document_may_not_have_a_namespace_that_cloudwatch_does_not_take(namespace: str) -> None:
    document = watching({**OWN, "namespace": namespace})
    parse(json.dumps(document))  # an earlier document stays valid
    with pytest.raises(InvalidConfiguration) as raised:
        new_text_to_keep(document)
    (error,) = raised.value.fields
    assert (error.field, error.message) == (
        "watches.busy.namespace",
        f"{namespace!r} must be one line that does not begin with a colon, as CloudWatch has it",
    )


def test_the_namespace_of_a_watch_is_checked_as_in_cloudwatchs_service_model() -> None:
    shape = Session().get_service_model("cloudwatch").shape_for("Namespace")
    assert shape.metadata == {"min": 1, "max": 255, "pattern": utilization._NAMESPACE.pattern}


@pytest.mark.parametrize(
    "document", [watching(OWN), watching({**OWN, "namespace": "a:b"}), {**GOOD, "watches": {"idle": None}}]
)
def test_a_new_document_may_have_short_periods_for_metrics_of_its_own(document: dict[str, Any]) -> None:
    assert new_text_to_keep(document) == text_to_keep(document)


@pytest.mark.parametrize(
    ("rules", "field", "message"),
    [
        ({"maxSeconds": 21_601}, "warmPools.maxSeconds", "must be at most 21600"),
        ({"maxSeconds": 0}, "warmPools.maxSeconds", "must be at least 1"),
        ({"teams": ["blue"]}, "warmPools.teams", "there is no team blue"),
        ({"maxInstances": {"ml.x.large": 1}}, "warmPools.maxInstances.ml.x.large", "there is no pool ml.x.large"),
        ({"maxInstances": {P5: -1}}, f"warmPools.maxInstances.{P5}", "must be at least 0"),
        ({"keep": True}, "warmPools.keep", "is not known here: remove it, or check its spelling"),
        ("keep", "warmPools", "must be 'leaveOut' or 'refuse'"),
        (3, "warmPools", "must be 'leaveOut' or 'refuse'"),
    ],
    ids=str,
)
def test_an_invalid_rule_on_warm_pools_is_refused_with_its_field(rules: Any, field: str, message: str) -> None:
    with pytest.raises(InvalidConfiguration) as raised:
        validate({"pools": {P5: {"size": 2}}, "teams": {"red": {}}, "warmPools": rules})
    (problem,) = raised.value.fields
    assert (problem.field, problem.message) == (field, message)


def test_warm_pools_last_as_long_as_the_guide_says_or_by_choice_as_the_service_model_does() -> None:
    model = Session().get_service_model("sagemaker").shape_for("KeepAlivePeriodInSeconds").metadata["max"]
    by_default = validate({"pools": {P5: {"size": 2}}, "warmPools": {}}).kept_warm_pools
    longest = validate({"pools": {P5: {"size": 2}}, "warmPools": {"maxSeconds": model}}).kept_warm_pools
    assert by_default is not None
    assert longest is not None
    assert (by_default.max_seconds, longest.max_seconds) == (3600, model)


def test_rules_on_warm_pools_are_kept_as_they_were_written() -> None:
    document = {"pools": {P5: {"size": 2}}, "warmPools": {"maxSeconds": 60, "acrossTeams": True}}
    assert json.loads(text_to_keep(document)) == document
    kept = validate(document)
    assert kept.policy().warm_across_teams
    assert not validate({**document, "warmPools": {}}).policy().warm_across_teams
    for word in ("leaveOut", "refuse"):
        assert validate({**document, "warmPools": word}).kept_warm_pools is None


def test_jobs_fill_gaps_only_where_they_can_be_stopped_for_it() -> None:
    fill = {"fill": "checkpointing"}
    assert validate(GOOD).policy().fill is Fill.PROVEN
    configuration = validate({**GOOD, "backfill": fill})
    assert configuration.policy() == Policy(fill=Fill.CHECKPOINTING)
    assert parse(text_of(configuration)) == configuration
    for off in ({"backfill": {**fill, "enabled": False}}, {"backfill": fill, "preemption": {"enabled": False}}):
        with pytest.raises(InvalidConfiguration, match=r'backfill.fill .* or fill to "proven"'):
            validate({**GOOD, **off})
    with pytest.raises(InvalidConfiguration, match="proven"):
        validate({**GOOD, "backfill": {"fill": "all"}})
