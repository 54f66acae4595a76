"""What the pages type into a shell to deploy, to change or to operate a deployment is what this repository deploys."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from headway_sandbox.local.checkout import Checkout
from tests.docs.deployment import Deployment, parameter_problem
from tests.docs.shell_commands import PAGES, ROOT, Typed, commands_of, spans

COMMANDS = {page: list(commands_of(page.read_text(encoding="utf-8"))) for page in PAGES}
DEPLOYMENT = Deployment.with_made_by([typed for commands in COMMANDS.values() for typed in commands])
TEMPLATES = ("template.yaml", "deploy/network.yaml", "deploy/key.yaml")
NETWORK = "aws cloudformation deploy --stack-name headway-network --template-file deploy/network.yaml"
PARAMETER = re.compile(r"([A-Z][a-z]+[A-Za-z]*)=(\S*)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_addresses_what_is_deployed(page: Path) -> None:
    wrong = [
        f"{name_of(page)}:{typed.line}: {' '.join(typed.words)}: {problem}"
        for typed in COMMANDS[page]
        if (problem := DEPLOYMENT.problem(typed)) is not None
    ]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_parameter_with_a_value_is_accepted_by_a_template(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    quoted = [(text.count("\n", 0, found.start()) + 1, found[1]) for found in re.finditer(r'^"(\S+=\S*)"$', text, re.M)]
    wrong = [
        f"{name_of(page)}:{line}: {problem}"
        for line, span in [*spans(text), *quoted]
        if (given := PARAMETER.fullmatch(span)) is not None
        and (problem := parameter_problem(given[1], given[2], TEMPLATES)) is not None
    ]
    assert wrong == []


def test_the_pages_have_commands_of_each_program() -> None:
    programs = [typed.program for commands in COMMANDS.values() for typed in commands if typed.shown]
    assert min(programs.count(name) for name in ("make", "sam", "aws", "python")) >= 5


def shown(command: str) -> Typed:
    (typed,) = commands_of(f"```console\n{command}\n```\n")
    return typed


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("make deplyo ENV=prod", "no target deplyo"),
        ("make deploy STAGE=prod", "no variable STAGE"),
        ("make deploy ENV=production", "no environment production"),
        ("make deploy ENV=prod REPLACE=JobsTable", "the Makefile reads no variable REPLACE"),
        ("sam deploy --config-env prod --config-file samconfig.yaml", "no settings samconfig.yaml"),
        ("sam deploy --config-env staging", "no environment staging"),
        ("sam delete --stack-name headway-prod", "no deployment makes the stack headway-prod"),
        ("sam deploy", "it names no stack"),
        ("sam deploy --config-env prod --parameter-overrides PoolSize=4", "undoes --parameter-overrides"),
        ("aws cloudformation describe-stacks --stack-name queue", "no deployment makes the stack queue"),
        ("aws cloudformation describe-stack --stack-name headway", "no operation describe-stack"),
        ("aws cloudformation wait stack-delete --stack-name headway", "no operation stack-delete"),
        ("aws cloudfront describe-stacks", "no operation describe-stacks"),
        ("aws cloudfoundation describe-stacks", "no service cloudfoundation"),
        ("aws dynamodb scan --table headway", "no option --table"),
        ("aws dynamodb delete-table", "needs --table-name"),
        ("aws dynamodb delete-table --table-name headway", "no deployment makes the table headway"),
        (
            "aws dynamodb restore-table-to-point-in-time --source-table-name jobs --target-table-name t",
            "no deployment makes the table jobs",
        ),
        (
            "aws cloudformation describe-stacks --stack-name headway --query \"Stacks[0].Outputs[?OutputKey=='Url']\"",
            "no output Url",
        ),
        (
            "aws cloudformation deploy --stack-name headway-network --template-file deploy/vpc.yaml",
            "no file deploy/vpc.yaml",
        ),
        (f"{NETWORK} --guided", "no option --guided"),
        (f"{NETWORK} --parameter-overrides Vpc=vpc-0123456789abcdef0", "Vpc is no parameter"),
        (f"{NETWORK} --parameter-overrides VpcId=headway", 'VpcId: it can\'t be "headway"'),
        ("python -m deploy.stack_policies samconfig.toml prod", "no module deploy.stack_policies"),
        ("python deploy/restore.py copies samconfig.toml prod", "invalid choice: 'copies'"),
        ("python -m deploy.stack_policy samconfig.toml production", "no environment production"),
        ("python -m deploy.preflight config.toml prod", "no environment"),
        ("python -m deploy.preflight samconfig.prod.toml prod", "no settings samconfig.prod.toml"),
        ("python -m deploy.contents", "takes 1 arguments, not 0"),
        (
            "python -m deploy.move save sagemaker-queue-9 queue.json.gz",
            "no deployment makes the table sagemaker-queue-9",
        ),
    ],
)
def test_a_command_that_addresses_something_else_is_found(command: str, problem: str) -> None:
    found = DEPLOYMENT.problem(shown(command))
    assert found is not None
    assert problem in found


@pytest.mark.parametrize(
    "command",
    [
        "make deploy ENV=prod GUIDED=1 CHECKS=no",
        "git switch --detach COMMIT",
        "for each in $(aws sqs list-queues); do aws sqs get-queue-url --queue-name NAME; done",
        "aws dynamodb wait table-exists --table-name sagemaker-queue-dev",
        "aws dynamodb update-table --table-name sagemaker-queue --no-deletion-protection-enabled",
        "aws cloudformation describe-stacks --stack-name headway-network --query \"[?OutputKey=='VpcEndpointIds']\"",
        ".envs/sam/bin/python -m deploy.stack_policy samconfig.local.toml dev",
    ],
)
def test_a_command_that_addresses_the_deployment_is_accepted(command: str) -> None:
    typed = list(commands_of(f"```console\n{command}\n```\n"))
    assert [DEPLOYMENT.problem(each) for each in typed] == [None] * len(typed)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("PoolSizes=4", "no parameter"),
        ("PoolSize=0", "can't be"),
        ("KeepTable=no", "can't be"),
        ("TableName=a/b", "can't be"),
    ],
)
def test_a_parameter_that_the_templates_refuse_is_found(given: str, problem: str) -> None:
    name, _, value = given.partition("=")
    assert problem in (parameter_problem(name, value, TEMPLATES) or "")


def test_a_problem_is_on_the_line_of_its_command() -> None:
    page = (
        "One `make deplyo`,\nand `sam\nbuild`.\n\n```console\n$ make a \\\n    b\noutput\n$ make c\n```\n\n`make d`\n"
    )
    found = {" ".join(typed.words): typed.line for typed in commands_of(page)}
    assert found == {"make a b": 6, "make c": 9, "make deplyo": 1, "sam build": 2, "make d": 12}


PARSE = """
import json, sys
import click
from samcli.cli.main import cli
def error(words):
    # Without an object of the context sam returns commands without options.
    context = click.Context(cli, info_name="sam", obj=object())
    command = cli
    while hasattr(command, "get_command"):
        if not words:
            return None
        found = command.get_command(context, words[0])
        if found is None:
            return "there is no command " + words[0]
        command, words = found, words[1:]
        context = click.Context(command, parent=context, info_name=command.name)
    try:
        # Only the parser: it reads no settings and calls nothing.
        command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        return error.format_message()
print(json.dumps([error(words) for words in json.load(sys.stdin)]))
"""


def sam_errors(commands: list[list[str]]) -> list[str | None]:
    """What sam has against the arguments of commands."""
    done = subprocess.run(
        [str(Checkout(root=ROOT).sam().with_name("python")), "-c", PARSE],
        input=json.dumps(commands), capture_output=True, text=True, check=True, env={"SAM_CLI_TELEMETRY": "0"},
    )  # fmt: skip
    found: list[str | None] = json.loads(done.stdout)
    return found


@pytest.mark.e2e
def test_sam_has_every_command_and_option_of_the_pages() -> None:
    wrong = [["deploy", "--guide"], ["deplyo"], ["local", "call"]]
    refused = sam_errors(wrong)
    assert None not in refused, refused
    typed = [(page, each) for page, commands in COMMANDS.items() for each in commands if each.program == "sam"]
    errors = sam_errors([list(each.words[1:]) for _, each in typed])
    found = [
        f"{name_of(page)}:{each.line}: {error}"
        for (page, each), error in zip(typed, errors, strict=True)
        if error is not None
    ]
    assert found == []
