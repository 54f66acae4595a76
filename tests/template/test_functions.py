"""Each function's settings, runtime, environment and logs."""

import ast
import re

import pytest

from headway_sandbox.inprocess.lambda_functions import ENVIRONMENT
from headway_service.bootstrap.settings import MAX_LAUNCHES_AT_ONCE, Settings
from tests.template.conditions import deployed

FUNCTIONS = (
    "ApiFunction",
    "ScheduleFunction",
    "ObserveFunction",
    "ReconcileFunction",
    "PatrolFunction",
    "TellFunction",
    "WatchFunction",
)
TOLD_ALL = {
    "HEADWAY_TABLE",
    "HEADWAY_FIRST_CONFIGURATION",
    "HEADWAY_RETENTION_DAYS",
    "POWERTOOLS_SERVICE_NAME",
    "POWERTOOLS_LOG_LEVEL",
}
TOLD = {
    "ApiFunction": {
        "HEADWAY_WAKE_QUEUE_URL",
        "HEADWAY_WAKE_DEAD_LETTERS_URL",
        "HEADWAY_EVENT_DEAD_LETTERS_URL",
        "HEADWAY_OBSERVE_FUNCTION",
        "HEADWAY_REUSE_BUCKET_ARNS",
    },
    "ScheduleFunction": {"HEADWAY_REUSE_BUCKET_ARNS", "HEADWAY_LAUNCHES_AT_ONCE"},
    "ObserveFunction": {"HEADWAY_WAKE_QUEUE_URL"},
    "ReconcileFunction": {
        "HEADWAY_WAKE_QUEUE_URL",
        "HEADWAY_RECONCILE_AFTER_S",
        "HEADWAY_CHECKPOINT_BUCKET_ARNS",
    },
    "PatrolFunction": {"HEADWAY_WAKE_QUEUE_URL", "HEADWAY_RECONCILE_AFTER_S"},
    "TellFunction": {"HEADWAY_EVENT_BUS", "HEADWAY_NOTIFICATION_TOPIC_ARN"},
    "WatchFunction": {"HEADWAY_WAKE_QUEUE_URL", "HEADWAY_ALARM_PREFIX", "HEADWAY_ALARM_TOPIC_ARN"},
}


def test_these_are_all_functions(of_type):
    assert set(of_type("AWS::Lambda::Function")) == set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_runs_python_3_13_on_arm64_with_our_layers_before_all_others(of_type, name):
    function = of_type("AWS::Lambda::Function")[name]
    assert (function["Runtime"], function["Architectures"]) == ("python3.13", ["arm64"])
    layers = [re.sub(r"[0-9a-f]{10}$", "", layer["Ref"]) for layer in function["Layers"]]
    assert layers == ["CoreLayer", "ServiceLayer", "DependenciesLayer"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_functions_handler_exists(root, text, name):
    folder = root / "functions" / name.removesuffix("Function").lower()
    assert f"CodeUri: functions/{folder.name}\n" in text
    tree = ast.parse((folder / "app.py").read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    names |= {t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    assert "handler" in names


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_only_the_environment_that_it_needs(of_type, name):
    function = of_type("AWS::Lambda::Function")[name]
    assert function["Handler"] == "app.handler"
    assert set(function["Environment"]["Variables"]) == TOLD_ALL | TOLD[name]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_traced_if_the_parameter_is_set(of_type, template, name):
    assert of_type("AWS::Lambda::Function")[name]["TracingConfig"] == {"Mode": {"Ref": "Tracing"}}
    assert template["Parameters"]["Tracing"]["Default"] == "PassThrough"
    assert template["Parameters"]["Tracing"]["AllowedValues"] == ["Active", "PassThrough"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_a_separate_log_group_with_a_retention(of_type, name):
    group = of_type("AWS::Lambda::Function")[name]["LoggingConfig"]["LogGroup"]["Ref"]
    assert group == f"{name}Logs"
    assert of_type("AWS::Logs::LogGroup")[group]["RetentionInDays"] == {"Ref": "LogRetentionDays"}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("level", ["DEBUG", "INFO"])
def test_a_function_logs_no_start_and_report_of_each_invocation_by_default(template, name, level):
    logging = deployed(template, LogLevel=level)["Resources"][name]["Properties"]["LoggingConfig"]
    assert logging == {
        "LogGroup": {"Ref": f"{name}Logs"},
        "LogFormat": "JSON",
        # Lambda's filter applies to metrics, too, which count as INFO.
        "ApplicationLogLevel": {"Ref": "LogLevel"},
        "SystemLogLevel": {"Ref": "PlatformLogLevel"},
    }
    assert template["Parameters"]["PlatformLogLevel"]["Default"] == "WARN"


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("level", ["WARN", "ERROR"])
def test_where_lambda_would_drop_the_metrics_as_well_it_filters_nothing(template, name, level):
    logging = deployed(template, LogLevel=level)["Resources"][name]["Properties"]["LoggingConfig"]
    assert logging == {"LogGroup": {"Ref": f"{name}Logs"}, "LogFormat": "Text"}


def test_every_log_group_has_a_retention(of_type):
    assert all("RetentionInDays" in group for group in of_type("AWS::Logs::LogGroup").values())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_has_a_separate_role(of_type, name):
    assert of_type("AWS::Lambda::Function")[name]["Role"] == {"Fn::GetAtt": [f"{name}Role", "Arn"]}


def test_the_api_functions_timeout_is_below_api_gateways(of_type):
    assert of_type("AWS::Lambda::Function")["ApiFunction"]["Timeout"] < 29


def test_the_scheduler_takes_each_number_of_launches_at_once_that_the_template_allows(of_type, template):
    parameter, function = template["Parameters"]["LaunchesAtOnce"], of_type("AWS::Lambda::Function")["ScheduleFunction"]
    assert function["Environment"]["Variables"]["HEADWAY_LAUNCHES_AT_ONCE"] == {"Ref": "LaunchesAtOnce"}
    assert (parameter["MinValue"], parameter["MaxValue"]) == (1, MAX_LAUNCHES_AT_ONCE)
    assert Settings.of(ENVIRONMENT).launches_at_once == parameter["Default"]


@pytest.mark.parametrize("name", ["ReconcileFunction", "PatrolFunction", "WatchFunction"])
def test_the_timeout_of_a_function_that_runs_every_minute_is_below_a_minute(of_type, name):
    assert of_type("AWS::Lambda::Function")[name]["Timeout"] < 60


def test_only_the_scheduler_reserves_concurrency_and_it_can_be_disabled(of_type, template):
    functions = of_type("AWS::Lambda::Function")
    assert functions["ScheduleFunction"]["ReservedConcurrentExecutions"] == {
        "Fn::If": ["HasReservedConcurrency", {"Ref": "ScheduleConcurrency"}, {"Ref": "AWS::NoValue"}]
    }
    assert template["Conditions"]["HasReservedConcurrency"] == {
        "Fn::Not": [{"Fn::Equals": [{"Ref": "ScheduleConcurrency"}, 0]}]
    }
    assert not [n for n in FUNCTIONS[:1] + FUNCTIONS[2:] if "ReservedConcurrentExecutions" in functions[n]]


def test_no_concurrency_is_reserved_by_default_as_an_account_may_have_none_to_reserve(template):
    functions = deployed(template)["Resources"]
    assert [name for name in FUNCTIONS if "ReservedConcurrentExecutions" in functions[name]["Properties"]] == []


def test_a_layer_is_built_from_the_folder_that_tests_import(text):
    assert re.findall(r"ContentUri: (\S+)", text) == [
        "layers/core/src",
        "layers/service/src",
        "layers/dependencies",
    ]
