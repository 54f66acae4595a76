"""The dashboard shows metrics that exist."""

import json
import re

import pytest

from headway_service.observability import metrics
from headway_service.observability.metrics import NAMESPACE, Metric
from tests.template.conditions import deployed, holding, resolved

OWN = {(each.name, each.by) for each in vars(metrics).values() if isinstance(each, Metric)}
SEARCHED = re.compile(
    r"""(?P<filled>FILL\()?SEARCH\('\{Headway,service,(?P<by>\w+)\} """
    r"""MetricName="(?P<name>\w+)" service="AWS::StackName"', """
    r"""'(?P<stat>Sum|Minimum|Maximum|p\d\d)', (?P<period_s>60|300|3600)\)(, 0\))?( / (?P<minutes>5|60))?"""
)
#: AWS's metrics and their dimensions: the guides of Lambda, SQS, API Gateway and DynamoDB.
OTHERS = {
    "AWS/Lambda": ({"Errors", "Throttles", "Invocations"}, ["FunctionName"]),
    "AWS/SQS": ({"ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"}, ["QueueName"]),
    "AWS/ApiGateway": ({"Count", "4XXError", "5XXError", "Latency"}, ["ApiName", "Stage"]),
    "AWS/DynamoDB": ({"ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"}, ["TableName"]),
}


def body_of(of_type, *holds):
    """Return the body for these conditions, with its references."""
    body, given = resolved(of_type("AWS::CloudWatch::Dashboard")["Dashboard"]["DashboardBody"]["Fn::Sub"], *holds)
    others = given["Others"]
    return body.replace("${Others}", others["Fn::Sub"] if others else "")


@pytest.fixture(scope="session")
def text(of_type):
    """The body with all alarms; references by their names in the template."""
    return re.sub(r"\$\{([\w:.]+)\}", r"\1", body_of(of_type, "HasAllAlarms"))


@pytest.fixture(scope="session")
def widgets(text):
    return json.loads(text)["widgets"]


def lines(widgets):
    return [line for widget in widgets if widget["type"] == "metric" for line in widget["properties"]["metrics"]]


def test_every_metric_that_it_names_exists(widgets):
    named = [line for line in lines(widgets) if isinstance(line[0], str)]
    assert named
    for namespace, name, *rest in named:
        dimensions = [each for each in rest if isinstance(each, str)][::2]
        if namespace == NAMESPACE:
            assert (name, "") in OWN
            assert dimensions == ["service"]
        else:
            names, expected = OTHERS[namespace]
            assert name in names
            assert dimensions == expected


def test_every_metric_that_it_searches_for_is_published_by_that_dimension(widgets):
    expressions = [line[0]["expression"] for line in lines(widgets) if isinstance(line[0], dict)]
    searches = [each for each in expressions if "SEARCH" in each]
    assert searches
    for each in searches:
        found = SEARCHED.fullmatch(each)
        assert found is not None, each
        assert (found["name"], found["by"]) in OWN
    assert [each for each in expressions if "SEARCH" not in each] == ["lost / 3600"]


def test_averages_count_the_minutes_in_which_a_pool_was_at_rest_and_published_nothing(widgets):
    searches = [SEARCHED.fullmatch(line[0]["expression"]) for line in lines(widgets) if isinstance(line[0], dict)]
    shown = {(each["name"], each["period_s"]): each for each in searches if each and each["by"] == "pool"}
    for name in ("Allocated", "Utilisation", "Reserved", "Rogue"):
        each = shown[name, "300"]
        assert (each["filled"], each["stat"], each["minutes"]) == ("FILL(", "Sum", "5")
    # In those minutes all instances are free, so they do not change the minimum.
    assert (shown["Free", "300"]["stat"], shown["Free", "300"]["filled"]) == ("Minimum", None)


def test_every_own_metric_is_shown(widgets):
    shown = {(line[1], "") for line in lines(widgets) if line[0] == NAMESPACE}
    searched = [
        SEARCHED.fullmatch(line[0].get("expression", "")) for line in lines(widgets) if isinstance(line[0], dict)
    ]
    assert shown | {(each["name"], each["by"]) for each in searched if each} == OWN


def test_it_shows_the_state_of_every_alarm(widgets, of_type):
    (alarms,) = [widget["properties"]["alarms"] for widget in widgets if widget["type"] == "alarm"]
    assert sorted(alarms) == sorted(f"{name}.Arn" for name in of_type("AWS::CloudWatch::Alarm"))


def test_it_names_no_alarm_that_is_left_out(of_type, resources):
    body = body_of(of_type)
    json.loads(re.sub(r"\$\{[\w:.]+\}", "x", body))
    shown = {name for name in re.findall(r"\$\{(\w+)\.Arn\}", body) if name.endswith("Alarm")}
    alarms = {name: each for name, each in resources.items() if each["Type"] == "AWS::CloudWatch::Alarm"}
    always = {name for name, each in alarms.items() if "Condition" not in each}
    assert shown == always != set()


def test_the_dashboard_exists_on_request(template):
    with_it = deployed(template, CreateDashboard="true")["Resources"]
    assert set(with_it) - set(deployed(template)["Resources"]) == {"Dashboard"}
    assert template["Outputs"]["DashboardUrl"]["Condition"] == template["Resources"]["Dashboard"]["Condition"]


def test_all_references_of_the_dashboard_are_in_the_template(of_type, resources, template):
    body = body_of(of_type, "HasAllAlarms")
    referred = {name.partition(".")[0] for name in re.findall(r"\$\{([\w:.]+)\}", body)}
    assert referred - {"AWS::StackName", "AWS::Region"} <= set(resources) | set(template["Parameters"])


def test_each_row_has_a_question_and_widgets_do_not_overlap(widgets):
    questions = [widget["properties"]["markdown"] for widget in widgets if widget["type"] == "text"]
    assert questions
    assert all(re.fullmatch(r"## .+\?", each) for each in questions)
    taken = [
        (x, y)
        for each in widgets
        for x in range(each["x"], each["x"] + each["width"])
        for y in range(each["y"], each["y"] + each["height"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24


@pytest.mark.parametrize(
    ("partition", "console"),
    [
        ("aws", "console.aws.amazon.com"),
        ("aws-cn", "console.amazonaws.cn"),
        ("aws-us-gov", "console.amazonaws-us-gov.com"),
        ("aws-iso", "console.aws.amazon.com"),
    ],
)
def test_its_link_leads_to_the_console_of_the_partition(template, partition, console):
    holds = holding(template, {"AWS::Partition": partition})
    text, given = resolved(template["Outputs"]["DashboardUrl"]["Value"]["Fn::Sub"], *holds)
    link = text.replace("${Domain}", given["Domain"])
    assert link == f"https://{console}/cloudwatch/home?region=${{AWS::Region}}#dashboards/dashboard/${{Dashboard}}"
