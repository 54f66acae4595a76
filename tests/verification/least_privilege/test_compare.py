"""The comparison of policies with recorded calls detects every fault of a policy."""

from __future__ import annotations

import json

import pytest

from headway_sandbox.call_recorder import Call, Decision, Run
from headway_sandbox.errors import SandboxError
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.template import expanded
from headway_verification.least_privilege import __main__ as command
from headway_verification.least_privilege.compare import Fault, narrower, prove, role_of
from headway_verification.least_privilege.exceptions import GRANTED_WITHOUT_A_RUN, Reason
from headway_verification.least_privilege.grants import Grant, granted

ROLE = "ApiFunctionRole"
TABLE = "arn:aws:dynamodb:eu-west-1:123456789012:table/sagemaker-queue"
JOBS = "arn:aws:sagemaker:eu-west-1:123456789012:training-job/"
STATEMENTS = [
    {
        "Sid": "Jobs",
        "Effect": "Allow",
        "Action": ["dynamodb:GetItem"],
        "Resource": {"Fn::GetAtt": ["JobsTable", "Arn"]},
    },
    {"Sid": "Logs", "Effect": "Allow", "Action": "logs:PutLogEvents", "Resource": {"Fn::GetAtt": ["Logs", "Arn"]}},
]
REASON = Reason(sid="Logs", actions=frozenset({"logs:PutLogEvents"}), because="Lambda does.", source="its guide")


def template(*statements, **role):
    """A template with a function whose role has these statements, and a role without a function."""
    policies = [{"PolicyName": "p", "PolicyDocument": {"Statement": [*STATEMENTS, *statements]}}]
    other = {"Policies": [{"PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}}]}
    return {
        "Resources": {
            "Api": {"Type": "AWS::Lambda::Function", "Properties": {"Role": {"Fn::GetAtt": [ROLE, "Arn"]}}},
            ROLE: {"Type": "AWS::IAM::Role", "Properties": {"Policies": policies, **role}},
            "ApiLoggingRole": {"Type": "AWS::IAM::Role", "Properties": other},
        }
    }


def call(action="dynamodb:GetItem", sid="Jobs", **more):
    given = {"role": f"headway-{ROLE}-ABC123", "decision": Decision.ALLOWED, "granted": TABLE, "resource": TABLE}
    return Call(**{**given, "action": action, "sid": sid, **more})


def faults(calls, *statements, reasons=(REASON,), **role):
    run = Run(name="sandbox", sources="", calls=tuple(calls))
    findings = prove(granted(template(*statements, **role)), [run], reasons).findings
    return [(finding.fault, finding.role, finding.action, finding.resource) for finding in findings]


def test_used_grants_and_grants_with_a_reason_have_no_findings():
    assert faults([call()]) == []


def test_a_refused_call_is_missing_with_role_action_and_resource():
    refused = call("dynamodb:PutItem", "", decision=Decision.REFUSED, granted="")
    assert faults([call(), refused]) == [(Fault.MISSING, ROLE, "dynamodb:PutItem", TABLE)]


def test_a_refused_pass_role_is_intended_if_other_roles_may_be_passed():
    scheduler = "ScheduleFunctionRole"
    given = template({"Sid": "Pass", "Effect": "Allow", "Action": "iam:PassRole", "Resource": {"Ref": "Roles"}})
    given["Resources"] = json.loads(json.dumps(given["Resources"]).replace(ROLE, scheduler))
    passed = call("iam:PassRole", "Pass", role=scheduler)
    other = call("iam:PassRole", "", role=scheduler, decision=Decision.REFUSED, resource="arn:aws:iam::1:role/other")
    run = Run(name="sandbox", sources="", calls=(call(role=scheduler), passed, other))
    assert prove(granted(given), [run], [REASON]).findings == []
    without = [grant for grant in granted(given) if grant.action != "iam:PassRole"]
    assert Fault.MISSING in {finding.fault for finding in prove(without, [run], [REASON]).findings}


def test_a_call_forbidden_by_a_test_is_not_missing():
    assert faults([call(), call("dynamodb:PutItem", "", decision=Decision.FORBIDDEN)]) == []


def test_a_simulated_call_without_a_grant_is_missing():
    simulated = call("dynamodb:Query", "", role=ROLE, decision=Decision.SIMULATED, granted="", resource="")
    assert faults([call(), simulated]) == [(Fault.MISSING, ROLE, "dynamodb:Query", "*")]


def test_a_call_allowed_by_a_statement_outside_the_template_is_missing():
    assert faults([call(), call("dynamodb:PutItem", "Somebodys")]) == [(Fault.MISSING, ROLE, "dynamodb:PutItem", TABLE)]


def test_an_unneeded_action_and_an_unneeded_resource_are_unused():
    assert faults([]) == [(Fault.UNUSED, ROLE, "dynamodb:GetItem", "JobsTable")]
    two = {"Sid": "Two", "Effect": "Allow", "Action": "sqs:SendMessage", "Resource": [{"Ref": "One"}, {"Ref": "Other"}]}
    used = call("sqs:SendMessage", "Two", position=1, granted="arn:other", resource="arn:other")
    assert faults([call(), used], two) == [(Fault.UNUSED, ROLE, "sqs:SendMessage", "One")]


def test_a_parameter_that_stands_for_several_resources_is_one_grant():
    roles = {"Sid": "Pass", "Effect": "Allow", "Action": "iam:PassRole", "Resource": {"Ref": "TrainingRoleArns"}}
    assert faults([call(), call("iam:PassRole", "Pass", position=3)], roles) == []


def test_a_managed_policy_is_unused_because_its_contents_are_unknown():
    arn = "arn:aws:iam::aws:policy/AmazonSageMakerFullAccess"
    assert faults([call()], ManagedPolicyArns=[arn]) == [(Fault.UNUSED, ROLE, "*", arn)]


@pytest.mark.parametrize("branch", [0, 1])
def test_a_conditional_grant_also_needs_a_run_or_a_reason(branch):
    statement = {"Sid": "May", "Effect": "Allow", "Action": "sagemaker:StopTrainingJob", "Resource": "*"}
    branches = [{"Ref": "AWS::NoValue"}, {"Ref": "AWS::NoValue"}]
    branches[branch] = statement
    conditional = {"Fn::If": ["MayStop", *branches]}
    assert Grant(ROLE, "May", "sagemaker:StopTrainingJob", 0, "*", "MayStop") in granted(template(conditional))
    assert faults([call()], conditional) == [(Fault.UNUSED, ROLE, "sagemaker:StopTrainingJob", "*")]


def test_a_denial_grants_nothing():
    deny = {"Sid": "No", "Effect": "Deny", "Action": "ec2:*", "Resource": "*"}
    assert granted(template(deny)) == granted(template())


def test_a_simulation_uses_a_grant_only_if_it_is_unambiguous():
    wake = {"Sid": "Wake", "Effect": "Allow", "Action": "sqs:SendMessage", "Resource": {"Ref": "Wake"}}
    bury = {**wake, "Sid": "Bury", "Resource": {"Ref": "Dead"}}
    sent = call("sqs:SendMessage", "", role=ROLE, decision=Decision.SIMULATED, granted="", resource="")
    assert faults([call(), sent], wake) == []
    assert len(faults([call(), sent], wake, bury)) == 2
    lambdas = Reason(sid="Bury", actions=frozenset({"sqs:SendMessage"}), because="Lambda does.", source="its guide")
    assert faults([call(), sent], wake, bury, reasons=(REASON, lambdas)) == []


@pytest.mark.parametrize("calls", [[call(), call("logs:PutLogEvents", "Logs")], [call()]])
def test_a_needless_reason_is_reported(calls):
    stale = Reason(sid="Gone", actions=frozenset({"kms:Decrypt"}), because="It was.", source="its guide")
    reasons = (REASON, stale) if len(calls) == 1 else (REASON,)
    assert [fault for fault, *_ in faults(calls, reasons=reasons)] == [Fault.NEEDLESS_REASON]


def test_a_resource_that_is_too_wide_is_reported_with_a_sufficient_one():
    stop = {"Sid": "Stop", "Effect": "Allow", "Action": "sagemaker:StopTrainingJob", "Resource": "*"}
    stopped = call("sagemaker:StopTrainingJob", "Stop", granted="*", resource=f"{JOBS}t*")
    run = Run(name="sandbox", sources="", calls=(call(), stopped))
    (finding,) = prove(granted(template(stop)), [run], [REASON]).findings
    assert str(finding) == (f"too wide: {ROLE} sagemaker:StopTrainingJob on *: Stop grants *, but {JOBS}* suffices")


def test_a_resource_needed_by_one_stack_is_not_too_wide_for_another():
    alarms = {"Sid": "Alarms", "Effect": "Allow", "Action": "cloudwatch:PutMetricAlarm", "Resource": {"Ref": "Alarms"}}

    def put(stack, resource):
        return call("cloudwatch:PutMetricAlarm", "Alarms", granted=f"arn:{stack}/*", resource=f"arn:{stack}/{resource}")

    assert faults([call(), put("small", "one/a"), put("large", "*")], alarms) == []
    assert [fault for fault, *_ in faults([call(), put("small", "one/a"), put("other", "one/*")], alarms)] == [
        Fault.TOO_WIDE
    ]


@pytest.mark.parametrize(
    ("pattern", "seen", "enough"),
    [
        (TABLE, TABLE, None),
        ("*", "*", None),
        (f"{JOBS}*", f"{JOBS}*", None),
        (f"{JOBS}*", f"{JOBS}team-*", None),
        (f"{JOBS}*", f"{JOBS}job", f"{JOBS}job"),
        ("*", f"{JOBS}job-*", f"{JOBS}*"),
        ("arn:aws:sagemaker:*:*:training-job/*", f"{JOBS}j*", f"{JOBS}*"),
        ("arn:aws:dynamodb:eu-west-1:123456789012:table/*", TABLE, TABLE),
        ("arn:alarm:headway-watch/*", "arn:alarm:headway-watch/one/*", "arn:alarm:headway-watch/one/*"),
    ],
)
def test_a_pattern_is_too_wide_if_a_whole_part_never_varies(pattern, seen, enough):
    assert narrower(pattern, seen) == enough


def test_dropped_calls_make_a_record_incomplete():
    run = Run(name="sandbox", sources="", calls=(call(),), dropped=3)
    assert [finding.fault for finding in prove(granted(template()), [run], [REASON]).findings] == [Fault.INCOMPLETE]


@pytest.mark.parametrize(
    ("name", "role"),
    [(ROLE, ROLE), (f"stack-{ROLE}-0AF3", ROLE), ("ApiLoggingRole", None), (f"x{ROLE}", None), ("observer", None)],
)
def test_a_role_is_known_by_its_logical_id(name, role):
    assert role_of(name, [ROLE, "ObserveFunctionRole"]) == role


@pytest.fixture(scope="module")
def grants() -> list[Grant]:
    """The grants of the real template."""
    return granted(expanded(Checkout.here(), VpcEndpointIds="vpce-0123456789abcdef0"))


def test_each_statement_of_the_real_template_has_a_unique_name(grants):
    assert len({grant.role for grant in grants}) == 7
    assert all(grant.sid for grant in grants)
    named = [(grant.role, grant.sid, grant.action, grant.position) for grant in grants]
    assert len(named) == len(set(named))


@pytest.mark.parametrize("reason", GRANTED_WITHOUT_A_RUN, ids=lambda reason: reason.sid)
def test_reasons_match_the_real_template_and_the_docs(grants, reason):
    assert {grant.action for grant in grants if reason.covers(grant)} == reason.actions
    page = (Checkout.here().root / "docs" / "reference" / "security.md").read_text("utf-8")
    actions = ", ".join(f"`{action}`" for action in sorted(reason.actions))
    assert f"| {reason.sid} | {actions} | {reason.because} | {reason.source} |" in page


def test_the_command_reports_a_missing_record(tmp_path, capsys):
    assert command.main([str(tmp_path / "none")]) == 1
    assert "There is no record of a run of these sources" in capsys.readouterr().err


def test_the_command_ignores_records_of_other_sources(tmp_path, capsys):
    head = {"name": "sandbox", "sources": "older", "dropped": 0}
    (tmp_path / "sandbox-1.jsonl").write_text(json.dumps(head) + "\n")
    assert command.main([str(tmp_path)]) == 1
    assert "only 1 of other sources" in capsys.readouterr().err


def test_the_command_reports_a_file_that_is_not_a_record(tmp_path, capsys):
    (tmp_path / "odd.jsonl").write_text("[]\n")
    assert command.main([str(tmp_path)]) == 1
    assert "odd.jsonl is not a record of calls" in capsys.readouterr().err


def test_the_command_prints_the_findings(tmp_path, capsys):
    head = {"name": "sandbox", "sources": Checkout.here().code_hash(), "dropped": 0}
    refused = {"role": f"s-{ROLE}-1", "action": "s3:GetObject", "decision": "refused", "resource": "arn:aws:s3:::b/k"}
    (tmp_path / "sandbox-1.jsonl").write_text(json.dumps(head) + "\n" + json.dumps(refused) + "\n")
    assert command.main([str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert f"missing: {ROLE} s3:GetObject on arn:aws:s3:::b/k: the call was refused" in output.err
    assert "Runs of these sources: 1;" in output.out
    assert "FindTheStream" in output.out


def test_a_template_that_cannot_be_expanded_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWAY_SANDBOX_PYTHON", str(Checkout.here().sandbox_python()))
    (tmp_path / "template.yaml").write_text("Resources: {Odd: {Type: AWS::Serverless::Function, Properties: {}}}")
    with pytest.raises(SandboxError, match=r"Cannot expand template\.yaml"):
        expanded(Checkout(root=tmp_path))
