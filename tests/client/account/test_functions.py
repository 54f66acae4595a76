"""Each function of the template has an event that changes nothing, and each service it calls is checked."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from headway_client.account import read
from headway_client.account.functions import EVENTS
from headway_client.account.network import NEEDED
from headway_service.sagemaker_api.status import parse_status
from tests.template.security.test_network import Plain

ROOT = Path(__file__).resolve().parents[3]
TEMPLATE = yaml.load((ROOT / "template.yaml").read_text(encoding="utf-8"), Plain)
NETWORK = yaml.load((ROOT / "deploy/network.yaml").read_text(encoding="utf-8"), Plain)


def test_each_function_of_the_template_has_an_event():
    functions = {name for name, each in TEMPLATE["Resources"].items() if each["Type"] == "AWS::Serverless::Function"}
    assert set(EVENTS) == functions


def test_the_event_of_a_training_job_names_none_that_can_exist():
    sighting = parse_status(EVENTS["ObserveFunction"]["detail"])
    assert sighting.ended
    assert not re.fullmatch(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}", sighting.attempt)


def test_the_services_that_functions_call_are_those_of_the_networks_template():
    # Logs are for clients only; DynamoDB's endpoint is a gateway.
    services = set(NETWORK["Parameters"]["Services"]["Default"].split(","))
    assert set(NEEDED) == services - {"logs"} | {"dynamodb"}


def test_no_function_runs_longer_than_an_invocation_is_waited_for():
    functions = [each for each in TEMPLATE["Resources"].values() if each["Type"] == "AWS::Serverless::Function"]
    timeouts = [int(each["Properties"]["Timeout"]) for each in functions]
    assert max(timeouts) < read.INVOCATIONS.read_timeout  # type: ignore[attr-defined]  # a setting of botocore's


def test_the_documented_policy_has_the_permissions_of_all_calls():
    page = (ROOT / "docs/reference/access.md").read_text(encoding="utf-8")
    section = page.partition("## Who checks the account")[2].partition("\n## ")[0]
    documented = set(re.findall(r'"([a-z0-9]+:[A-Za-z]+)"', section))
    source = Path(read.__file__).read_text(encoding="utf-8")
    needed = set(re.findall(r'"((?:[a-z0-9]+):[A-Z][A-Za-z]+)\b', source))
    needed = {each for each in needed if not each.startswith("aws:")}
    assert documented == needed
