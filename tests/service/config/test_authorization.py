"""Authorization: each permission and each caller, and no way around them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.prediction.run_times import RunTimes
from headway_sandbox.inprocess.queue_configuration import QueueConfiguration
from headway_service.config.authorization import Action, Caller, Details, known_caller, matches, name_of
from headway_service.config.document import Configuration, validate
from headway_service.errors import InvalidRequest, NameInUse, NotAllowed
from headway_service.forecast.service import ForecastService, SubmitRequest
from headway_service.jobs.commands import JobCommands
from headway_service.jobs.queries import JobQueries
from headway_service.jobs.request_changes import RequestChanges
from headway_service.jobs.submit import Submitter
from headway_service.places import Places
from headway_service.pools.apply_config import EffectiveConfig, get_effective
from headway_service.ports.clocks import Clocks
from headway_service.reuse.entry import ReuseEntry
from headway_service.reuse.twins import Twins
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import get_job
from headway_service.testing.memory_objects import MemoryObjects
from headway_service.testing.memory_role_permissions import MemoryRolePermissions
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import ACCOUNT, ADA, BOB, DAY_S, P5, ROOT, World, request

ROLE = "arn:aws:iam::123456789012:role/HeadwayTrainingRole"
SECRET = "hunter2"


def person(name: str, account: str = ACCOUNT) -> Caller:
    kind = "sts" if name.startswith("assumed-role") else "iam"
    return Caller(arn=f"arn:aws:{kind}::{account}:{name}", account=ACCOUNT)


LEAD = person("user/lea")
OTHER_LEAD = person("user/lou")
ADMIN = person("user/adam")
STRANGER = person("user/stranger")
DOCUMENT: dict[str, Any] = {
    "pools": {P5: {"size": 2}},
    "access": {"admins": ["user/adam"]},
    "teams": {
        "research": {"members": ["user/ada", "user/bob"], "leads": ["user/lea"], "maxPriority": 10},
        "products": {"members": ["user/bob"], "leads": ["user/lou"]},
        "open": {},
    },
}
#: All callers, with their relation to a job of user/ada in the team research.
PEOPLE = {
    "the owner": ADA,
    "a member of the team": BOB,
    "a lead of the team": LEAD,
    "a lead of another team": OTHER_LEAD,
    "an administrator": ADMIN,
    "the root of the account": ROOT,
    "a stranger": STRANGER,
    "a namesake in another account": person("user/ada", account="210987654321"),
    "the root of another account": person("root", account="210987654321"),
}
MAY_CHANGE = {"the owner", "a lead of the team", "an administrator", "the root of the account"}


def tagged(team: str | None) -> dict[str, Any]:
    return {"Tags": [{"Key": "team", "Value": team}] if team else []}


class Queue:
    """A queue without a scheduler: what people ask, over a table in memory."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.wakes: list[str] = []
        self._table = MemoryTable()
        self._first = json.dumps(document)
        self._clocks = Clocks(training_ms=self._clock, machine_ms=self._clock)
        self.submitter = Submitter(
            table=self._table,
            wake=self.wakes.append,
            clocks=self._clocks,
            in_force=self._in_force,
            reuse=ReuseEntry(
                self._table,
                Twins(self._table, MemoryObjects, Places(MemoryRolePermissions, self._clock), (), self._clocks),
                clocks=self._clocks,
                retention_s=DAY_S,
            ),
            run_times=lambda: RunTimes(0),
        )
        self.commands = JobCommands(
            table=self._table,
            wake=self.wakes.append,
            clocks=self._clocks,
            configuration=self._configured,
            retention_s=DAY_S,
        )
        self.changes = RequestChanges(
            table=self._table,
            wake=self.wakes.append,
            clocks=self._clocks,
            configuration=self._configured,
            run_times=lambda: RunTimes(0),
        )
        self.queries = JobQueries(table=self._table, clocks=self._clocks, configuration=self._configured)
        self.forecast_service = ForecastService(
            table=self._table,
            clocks=self._clocks,
            configuration=self._configured,
            run_times=lambda: RunTimes(0),
        )

    def _clock(self) -> int:
        return 1_800_000_000_000

    def _in_force(self) -> EffectiveConfig:
        return get_effective(self._table, self._first, self._clocks)

    def _configured(self) -> Configuration:
        return self._in_force().configuration

    def configure(self, document: dict[str, Any]) -> None:
        """Put another document in force."""
        QueueConfiguration(self._table, json.loads(self._first), self._clocks).write(document)

    def job(self, name: str) -> JobRecord:
        """A job as it is kept."""
        return get_job(self._table, name)


Act = Callable[[Queue, Caller], object]
ACTS: dict[Action, Act] = {
    Action.STOP: lambda queue, who: queue.commands.stop("a", who),
    Action.HOLD: lambda queue, who: queue.commands.hold("a", who),
    Action.RELEASE: lambda queue, who: queue.commands.release("a", who),
    Action.CHANGE: lambda queue, who: queue.changes.change("a", RequestChange(max_runtime_s=60), who),
    Action.COMMENT: lambda queue, who: queue.commands.set_comment("a", "x", who),
    Action.REPRIORITISE: lambda queue, who: queue.commands.set_priority("a", 9, who),
}


def configured(**changes: Any) -> Queue:
    return Queue(DOCUMENT | changes)


@pytest.fixture
def queue() -> Queue:
    """A job `a` of user/ada in the team research, held."""
    queue = configured()
    queue.submitter.submit(request("a", **tagged("research")), ADA)
    queue.commands.hold("a", ADA)
    return queue


# ------------------------------------------------------------------------------------------------------------- changes


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("who", PEOPLE)
def test_only_owner_lead_and_administrator_change_a_job(queue: Queue, who: str, action: Action) -> None:
    if action is Action.HOLD:
        queue.commands.release("a", ADA)
    before = queue.job("a")
    if who in MAY_CHANGE:
        ACTS[action](queue, PEOPLE[who])
        assert queue.job("a").version > before.version
    else:
        with pytest.raises(NotAllowed) as refused:
            ACTS[action](queue, PEOPLE[who])
        assert str(refused.value) == (
            f"{PEOPLE[who].name} may not {action} `a`: only its owner (user/ada), a lead of the team research or an "
            "administrator of the queue may; ask one of them"
        )
        assert queue.job("a") == before


def test_the_owner_sees_who_changed_the_job(queue: Queue) -> None:
    queue.commands.set_priority("a", 3, LEAD)
    assert queue.job("a").history[-1].reason.message == "priority changed from 0 to 3 by user/lea"
    queue.commands.stop("a", ADMIN)
    assert queue.job("a").reason.message == "stopped by user/adam while it waited"


@pytest.mark.parametrize("action", Action)
def test_a_stranger_gets_not_found_for_a_missing_job_and_only_a_denial_for_an_ended_one(
    queue: Queue, action: Action
) -> None:
    queue.commands.stop("a", ADA)
    with pytest.raises(NotAllowed):
        ACTS[action](queue, STRANGER)


def test_without_access_rules_users_change_their_own_jobs_and_the_root_all() -> None:
    queue = Queue({"pools": DOCUMENT["pools"]})
    queue.submitter.submit(request("a"), ADA)
    for act in ACTS.values():
        with pytest.raises(NotAllowed, match=r"only its owner \(user/ada\) or an administrator"):
            act(queue, BOB)
    ACTS[Action.HOLD](queue, ADA)
    ACTS[Action.STOP](queue, ROOT)


def test_a_lead_has_no_access_to_jobs_without_a_team_or_of_a_removed_team(queue: Queue) -> None:
    queue.configure({"pools": DOCUMENT["pools"]})
    with pytest.raises(NotAllowed):
        queue.commands.stop("a", LEAD)


@pytest.mark.parametrize("who", ["the owner", "a lead of the team", "an administrator", "the root of the account"])
def test_the_maximum_priority_of_the_team_applies_to_all(queue: Queue, who: str) -> None:
    with pytest.raises(InvalidRequest, match="from 0 to 10 for the team research"):
        queue.commands.set_priority("a", 11, PEOPLE[who])
    with pytest.raises(InvalidRequest, match="from 0 to 10 for the team research"):
        queue.submitter.submit(
            request("b", 11, Tags=[*tagged("research")["Tags"], {"Key": "priority", "Value": "11"}]), ROOT
        )


def test_the_maximum_of_a_team_applies_also_if_the_caller_determines_the_team(queue: Queue) -> None:
    with pytest.raises(InvalidRequest, match="from 0 to 10 for the team research"):
        queue.submitter.submit(request("b", 11), ADA)


# A session of another name is another caller, even with the same role.
_PERSON = st.sampled_from(
    [*PEOPLE.values(), person("assumed-role/R/ada"), person("assumed-role/R/bob"), person("user/x/ada")]
)


@settings(deadline=None, max_examples=60)
@given(
    owner=_PERSON,
    acts=st.lists(st.tuples(_PERSON, st.sampled_from(list(Action))), max_size=8),
    team=st.sampled_from(["research", "products", "open"]),
)
def test_only_the_owner_a_lead_or_an_administrator_ever_changes_a_job(
    owner: Caller, acts: list[tuple[Caller, Action]], team: str
) -> None:
    queue = configured()
    leads = {"research": LEAD, "products": OTHER_LEAD}
    try:
        queue.submitter.submit(request("a", **tagged(team)), owner)
    except NotAllowed:
        return
    for who, action in acts:
        before, wakes = queue.job("a"), len(queue.wakes)
        entitled = who.arn in {owner.arn, ROOT.arn, ADMIN.arn} or who == leads.get(team)
        try:
            ACTS[action](queue, who)
        except NotAllowed:
            assert not entitled
            assert (queue.job("a"), len(queue.wakes)) == (before, wakes)
        except Exception:  # noqa: BLE001 - whatever else is wrong, such as that it has ended
            assert entitled
        else:
            assert entitled


# --------------------------------------------------------------------------------------------------------- submissions


@pytest.mark.parametrize(
    ("who", "named", "expected"),
    [
        (ADA, None, "research"),
        (ADA, "research", "research"),
        (ADA, "open", "open"),
        (LEAD, None, "research"),
        (BOB, "products", "products"),
        (STRANGER, "open", "open"),
        (ADMIN, "research", "research"),
        (ROOT, "products", "products"),
    ],
)
def test_a_job_is_charged_to_a_team_of_its_owner(who: Caller, named: str | None, expected: str) -> None:
    queue = configured()
    job = queue.submitter.submit(request("a", **tagged(named)), who)[0].job
    assert (job.team, job.owner) == (expected, who.arn)


@pytest.mark.parametrize(
    ("who", "named", "error", "sentence"),
    [
        (ADA, "products", NotAllowed, "user/ada is not a member of team products: use one of"),
        (STRANGER, "research", NotAllowed, "user/stranger is not a member of team research: use one of open"),
        (BOB, None, InvalidRequest, "names no team, and you belong to several: add .* with one of products, research"),
        (STRANGER, None, InvalidRequest, "names no team: add the tag 'team' with one of open"),
        (STRANGER, "nonsense", InvalidRequest, "'nonsense', which is no team: use one of open"),
        (ADMIN, None, InvalidRequest, "with one of open, products, research"),
    ],
)
def test_a_team_that_is_not_the_callers_is_refused_with_what_to_do(
    who: Caller, named: str | None, error: type[Exception], sentence: str
) -> None:
    queue = configured()
    with pytest.raises(error, match=sentence):
        queue.submitter.submit(request("a", **tagged(named)), who)
    with pytest.raises(error, match=sentence):
        queue.forecast_service.dry_run(request("a", **tagged(named)), who)
    with pytest.raises(error, match=sentence):
        queue.forecast_service.what_if([SubmitRequest(request=request("a", **tagged(named)))], who)


def test_a_user_without_a_team_is_referred_to_an_administrator() -> None:
    teams = {name: team for name, team in DOCUMENT["teams"].items() if name != "open"}
    for named in (None, "research"):
        with pytest.raises(
            NotAllowed, match=r"ask an administrator of the queue to make you a member \(user/stranger\)"
        ):
            configured(teams=teams).submitter.submit(request("a", **tagged(named)), STRANGER)


def test_the_default_team_accepts_only_its_members_if_it_lists_any() -> None:
    queue = configured(teams={**DOCUMENT["teams"], "default": {"members": ["user/dora"]}})
    assert queue.submitter.submit(request("a"), person("user/dora"))[0].job.team == "default"
    with pytest.raises(NotAllowed, match="is not a member of team default"):
        queue.submitter.submit(request("b"), STRANGER)


def test_rules_and_watches_apply_by_the_charged_team() -> None:
    rule = {"when": {"teams": ["research"]}, "require": {"maxInstances": 1}}
    queue = configured(rules={"small": rule})
    with pytest.raises(Exception, match="rule `small`"):
        queue.submitter.submit(
            request("a", ResourceConfig={"InstanceType": P5, "InstanceCount": 2, "VolumeSizeInGB": 1}), ADA
        )


# ----------------------------------------------------------------------------------------------------------- one name


@pytest.mark.parametrize("who", [BOB, LEAD, ROOT])
@pytest.mark.parametrize("changes", [{}, {"HyperParameters": {"token": "a guess"}}], ids=["equal", "another"])
def test_the_name_of_anothers_job_is_in_use_without_revealing_whether_the_request_is_equal(
    who: Caller, changes: dict[str, Any]
) -> None:
    queue = configured()
    told = {"HyperParameters": {"token": SECRET}, **tagged("research")}
    queue.submitter.submit(request("a", **told), ADA, "key")
    with pytest.raises(NameInUse) as refused:
        queue.submitter.submit(request("a", **{**told, **changes}), who, "key")
    assert str(refused.value) == "`a` is the name of another job in the queue (pending): choose a new name"
    assert queue.wakes == ["submitted"]


# --------------------------------------------------------------------------------------------------------------- roles


GRANTS = [
    {"roles": ["arn:aws:iam::*:role/HeadwayTrainingRole"], "teams": ["research"]},
    {"roles": ["arn:aws:iam::*:role/Sandbox-?"], "callers": ["user/*"]},
]


@pytest.mark.parametrize(
    ("who", "team", "role", "allowed"),
    [
        (ADA, "research", ROLE, True),
        (ADA, "open", ROLE, False),
        (ADA, "open", "arn:aws:iam::123456789012:role/Sandbox-1", True),
        (ADA, "open", "arn:aws:iam::123456789012:role/Sandbox-10", False),
        (ADMIN, "open", ROLE, False),
        (ADMIN, "research", ROLE, True),
        (person("assumed-role/R/ada"), "open", "arn:aws:iam::123456789012:role/Sandbox-1", False),
    ],
)
def test_a_job_runs_only_with_a_role_that_is_granted_to_its_owner_or_its_team(
    who: Caller, team: str, role: str, allowed: bool
) -> None:
    queue = configured(access={"admins": ["user/adam"], "trainingRoles": GRANTS})
    asked = request("a", RoleArn=role, **tagged(team))
    tries: list[Callable[[], object]] = [
        lambda: queue.forecast_service.dry_run(asked, who),
        lambda: queue.forecast_service.what_if([SubmitRequest(request=asked)], who),
        lambda: queue.submitter.submit(asked, who),
    ]
    for attempt in tries:
        if allowed:
            attempt()
            continue
        with pytest.raises(NotAllowed, match=f"which your jobs of the team {team} may not run with") as refused:
            attempt()
        assert [each.field.rpartition(".")[2] for each in refused.value.fields] == ["RoleArn"]


def test_a_waiting_job_starts_with_its_role_and_records_the_stopping_caller() -> None:
    world = World()
    world.configuration.write(DOCUMENT)
    world.submitter.submit(request("a", **tagged("research")), ADA)
    world.configuration.write(DOCUMENT | {"access": {"trainingRoles": GRANTS[1:]}})
    world.tick()
    assert world.states("a") == {"a": "running"}
    world.commands.stop("a", LEAD)
    assert world.seen("a").reason.message == "stop requested by user/lea; its instances are freed when it has stopped"


# ------------------------------------------------------------------------------------------------------------- details


@pytest.mark.parametrize(
    ("details", "sees"),
    [
        (Details.EVERYONE, set(PEOPLE)),
        (Details.TEAM, MAY_CHANGE | {"a member of the team"}),
        (Details.OWNER, MAY_CHANGE),
    ],
)
def test_the_policy_decides_who_sees_hyperparameters_and_environment(details: Details, sees: set[str]) -> None:
    queue = configured(access={"admins": ["user/adam"], "details": details})
    secrets: dict[str, Any] = {"HyperParameters": {"token": SECRET}, "Environment": {"KEY": SECRET}}
    queue.submitter.submit(request("a", **secrets, **tagged("research")), ADA)
    for who, caller in PEOPLE.items():
        shown = queue.queries.show("a", caller)[2]
        assert (SECRET in json.dumps(dict(shown.request))) is (who in sees), who
        assert shown.withheld == (() if who in sees else ("Environment", "HyperParameters"))
        assert shown.request["RoleArn"] == ROLE


def test_missing_members_of_a_request_are_not_withheld() -> None:
    queue = configured(access={"details": "owner"})
    queue.submitter.submit(request("a", Environment=None, **tagged("open")), ADA)
    assert queue.queries.show("a", BOB)[2].withheld == ()


def test_other_users_are_not_members_of_an_open_team() -> None:
    queue = configured(access={"details": "team"})
    queue.submitter.submit(request("a", **tagged("open")), ADA)
    assert queue.queries.show("a", BOB)[2].withheld == ("Environment",)


# --------------------------------------------------------------------------------------------------- names and patterns


@pytest.mark.parametrize(
    ("arn", "name"),
    [
        ("arn:aws:iam::123456789012:user/ada", "user/ada"),
        ("arn:aws:iam::123456789012:user/division/ada", "user/division/ada"),
        ("arn:aws:sts::123456789012:assumed-role/R/ada@example.com", "assumed-role/R/ada@example.com"),
        ("arn:aws-cn:iam::123456789012:root", "root"),
        ("arn:aws:iam::210987654321:user/ada", "210987654321:user/ada"),
        ("arn:aws:iam::210987654321:root", "210987654321:root"),
        # A path may contain a colon; the text behind it is not the name.
        ("arn:aws:iam::123456789012:user/x:root/eve", "user/x:root/eve"),
        ("nonsense", ":nonsense"),
    ],
)
def test_the_name_of_a_principal(arn: str, name: str) -> None:
    assert name_of(arn, ACCOUNT) == name


def test_a_call_without_a_caller_is_refused() -> None:
    with pytest.raises(NotAllowed, match="sign the call"):
        known_caller("", ACCOUNT)


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("user/ada", "user/ada", True),
        ("user/ada", "user/a?a", True),
        ("user/ada", "user/*", True),
        ("user/x/ada", "user/*", True),
        ("user/ada", "user/a", False),
        ("user/ada", "USER/ADA", False),
        ("user/ada", "user/[a]da", False),
        ("user/[a]da", "user/[a]da", True),
        ("user/!", "user/[!]", False),
        ("user/ada\n", "user/ada", False),
        ("210987654321:user/ada", "user/*", False),
    ],
)
def test_patterns_are_as_in_iam(text: str, pattern: str, expected: bool) -> None:
    assert matches(text, [pattern]) is expected
    assert matches(text, []) is False


# ------------------------------------------------------------------------------------------------------- configuration


@pytest.mark.parametrize(
    ("changes", "field", "sentence"),
    [
        (
            {"access": {"admins": ["arn:aws:iam::1:user/a"]}},
            "access.admins.0",
            "write the part of the ARN after the account",
        ),
        ({"access": {"admins": ["role/Research"]}}, "access.admins.0", "not a pattern of callers"),
        ({"access": {"admins": ["*/ada"]}}, "access.admins.0", "not a pattern of callers"),
        ({"access": {"admins": ["user/"]}}, "access.admins.0", "not a pattern of callers"),
        ({"access": {"admins": ["user/" + "a" * 252]}}, "access.admins.0", "at most 256 characters"),
        ({"access": {"admins": ["user/a"] * 51}}, "access.admins", "at most 50 entries"),
        ({"access": {"details": "nobody"}}, "access.details", "'everyone', 'team' or 'owner'"),
        ({"access": {"admin": []}}, "access.admin", "is not known here: remove it"),
        ({"teams": {"a": {"leads": ["ada"]}}}, "teams.a.leads.0", "not a pattern of callers"),
        (
            {"access": {"trainingRoles": [{"roles": [ROLE], "teams": ["nowhere"]}]}},
            "access.trainingRoles.0.teams",
            "there is no team nowhere",
        ),
        (
            {"access": {"trainingRoles": [{"roles": [ROLE], "teams": ["open"]}]}},
            "access.trainingRoles.0.teams",
            "list its members",
        ),
        ({"access": {"trainingRoles": [{"roles": [ROLE]}]}}, "access.trainingRoles.0", "granted to no one"),
        (
            {"access": {"trainingRoles": [{"roles": ["Training-*"], "callers": ["*"]}]}},
            "access.trainingRoles.0.roles.0",
            "no pattern of a role's ARN",
        ),
    ],
)
def test_an_invalid_access_value_is_refused_with_the_valid_ones(
    changes: dict[str, Any], field: str, sentence: str
) -> None:
    with pytest.raises(Exception, match=sentence) as refused:
        validate(DOCUMENT | changes)
    assert field in [each.field for each in getattr(refused.value, "fields", ())]


@pytest.mark.parametrize("name", ["*", "user/ada", "assumed-role/R/*", "federated-user/bob", "210987654321:user/ada"])
def test_callers_are_named(name: str) -> None:
    assert validate(DOCUMENT | {"access": {"admins": [name]}}).access.admins == [name]
