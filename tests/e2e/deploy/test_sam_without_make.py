"""docs/how-to/sam.md, run in an empty clone against a sandbox: sam alone deploys, updates and deletes the queue."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.local import aws_account
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox import Sandbox
from headway_verification.upgrade import prompt_driver
from headway_verification.upgrade.prompt_driver import PromptDriver
from tests.e2e.command_line import CommandLine
from tests.service.world import P5

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/how-to/sam.md").read_text(encoding="utf-8")
STACK, TABLE = "headway", "sagemaker-queue"
"""What samconfig.toml calls the stack and the table of prod; the environment `default` has the same."""

SETTINGS = "samconfig.local.toml"
BUILT_FOR_LAMBDA = ".aws-sam/lambda"
LIVE: dict[str, dict[str, Any]] = {
    "pools": {P5: {"size": 3}, "ml.g5.xlarge": {"size": 8}},
    "teams": {"research": {"guaranteed": {P5: 1}}},
}


def commands(heading: str, block: int = 0) -> list[str]:
    """The lines of a block of commands of the page.

    Args:
        heading: of the section.
        block: its number in the section, from 0.
    """
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```console\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[block].splitlines()


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """A shell in a clone of the repository, with nothing of the checkout's environments but `sam`."""

    folder: Path
    environment: Mapping[str, str]

    def type(self, command: str, answers: Mapping[str, str] | None = None) -> PromptDriver:
        """Run a command; the test fails if it does.

        Args:
            command: as it is on the page.
            answers: to its questions, by their beginnings; Enter for all others.
        """
        done = prompt_driver.run_command(
            ["bash", "-euo", "pipefail", "-c", command],
            environment=self.environment,
            folder=self.folder,
            answers=answers or {},
        )
        assert done.status == 0, f"$ {command}\n{done.tail()}"
        return done

    def git_status(self) -> str:
        """What git shows as changed or new."""
        return self.type("git status --porcelain").text.strip()

    def settings(self, environment: str) -> dict[str, Any]:
        """What the settings that git ignores have for `sam deploy` in an environment."""
        document = tomllib.loads((self.folder / SETTINGS).read_text(encoding="utf-8"))
        parameters: dict[str, Any] = document[environment]["deploy"]["parameters"]
        return parameters

    def replace_in_settings(self, old: str, new: str) -> None:
        """Edit the settings that git ignores, as people do."""
        path = self.folder / SETTINGS
        text = path.read_text(encoding="utf-8")
        assert old in text, text
        path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A sandbox without a queue."""
    with Sandbox(deploy=False) as running:
        yield running


@pytest.fixture(scope="module")
def terminal(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    folder = tmp_path_factory.mktemp("clone")
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    tools = tmp_path_factory.mktemp("tools")
    (tools / "sam").symlink_to(Checkout(root=ROOT).sam())
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return Terminal(folder=folder, environment={**sandbox.info.environment(), "PATH": path})


@pytest.fixture(scope="module")
def answers(sandbox: Sandbox) -> dict[str, str]:
    """What only the account's owner knows; the rest is answered with Enter."""
    ours = aws_account.template_parameters(sandbox.info)
    asked = {f"Parameter {name} ": ours[name] for name in ("VpcEndpointIds", "TrainingRoleArns")}
    return {**asked, "Deploy this changeset?": "y"}


@pytest.fixture(scope="module")
def deployed(sandbox: Sandbox, terminal: Terminal, answers: dict[str, str]) -> Terminal:
    """The first deployment of the page, with the layer built for the Python that runs the functions here."""
    host = {"HEADWAY_LAYER_TARGET": "host", "HEADWAY_LAYER_PYTHON": str(Checkout(root=ROOT).sandbox_python())}
    ours = Terminal(folder=terminal.folder, environment={**terminal.environment, **host})
    for command in commands("The first deployment"):
        ours.type(command, answers)
    sandbox.use_stack(STACK)
    return ours


@pytest.fixture(scope="module")
def with_tools(terminal: Terminal) -> Terminal:
    """The same, with a Python and with the client."""
    tools = [str(Checkout(root=ROOT).sam().parent), str(Path(sys.executable).parent)]
    path = os.pathsep.join([*tools, terminal.environment["PATH"]])
    return Terminal(folder=terminal.folder, environment={**terminal.environment, "PATH": path})


@pytest.fixture(scope="module")
def built_for_lambda(terminal: Terminal) -> str:
    """A build as the page has it, without any variable, in another folder than the one for the sandbox."""
    assert not any(name.startswith("HEADWAY_") for name in terminal.environment)
    (command,) = [each for each in commands("Update") if each.startswith("sam build")]
    terminal.type(f"{command} --build-dir {BUILT_FOR_LAMBDA}")
    return BUILT_FOR_LAMBDA


@pytest.fixture
def cli(sandbox: Sandbox, tmp_path: Path) -> Iterator[CommandLine]:
    with closing(CommandLine(sandbox, tmp_path)) as command_line:
        yield command_line


def stack(sandbox: Sandbox) -> dict[str, Any]:
    (found,) = sandbox.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    return dict(found)


def parameters(sandbox: Sandbox) -> dict[str, str]:
    return {each["ParameterKey"]: each["ParameterValue"] for each in stack(sandbox)["Parameters"]}


def outputs(sandbox: Sandbox) -> dict[str, str]:
    return {each["OutputKey"]: each["OutputValue"] for each in stack(sandbox)["Outputs"]}


def tags(sandbox: Sandbox) -> set[str]:
    return {f"{each['Key']}={each['Value']}" for each in stack(sandbox)["Tags"]}


def steps(when: str) -> list[str]:
    """The commands of a table of what make adds, in their order."""
    section = PAGE.partition(f"\n| {when} | adds |\n")[2].partition("\n\n")[0]
    return [command for row in section.splitlines() for command in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


def test_a_plain_build_needs_no_variable_and_the_steps_that_make_adds_accept_it(
    with_tools: Terminal, built_for_lambda: str
) -> None:
    said = [
        with_tools.type(each.replace(".aws-sam/build", built_for_lambda)).text for each in steps("after `sam build`")
    ]
    assert len(said) == 3
    assert "nothing but what is pinned" in said[0]
    assert list((with_tools.folder / built_for_lambda).glob("*.zip"))


def test_the_answers_are_in_a_file_that_git_ignores(deployed: Terminal, answers: dict[str, str]) -> None:
    assert deployed.git_status() == ""
    kept = deployed.settings("prod")["parameter_overrides"]
    assert all(value in kept for question, value in answers.items() if question.startswith("Parameter"))


def test_the_settings_of_prod_are_deployed(sandbox: Sandbox, deployed: Terminal) -> None:
    assert deployed.settings("prod")["tags"] == ["project=headway", "environment=prod"]
    assert tags(sandbox) == {"project=headway", "environment=prod"}
    found = parameters(sandbox)
    assert {name: found[name] for name in ("Alarms", "RetentionDays", "CreateDashboard")} == {
        "Alarms": "all",
        "RetentionDays": "90",
        "CreateDashboard": "true",
    }


def test_the_checks_run_without_make(deployed: Terminal, with_tools: Terminal) -> None:
    assert deployed.folder == with_tools.folder
    (before,) = steps("before `sam deploy`")
    assert "the stack headway" in with_tools.type(before).text
    # The other one needs the AWS CLI; tests/docs resolves it.
    _policy, invoke = steps("after `sam deploy`")
    assert "ApiFunction" in with_tools.type(invoke).text


def test_another_pool_size_and_other_tags_leave_the_live_configuration_as_it_is(
    sandbox: Sandbox, deployed: Terminal, cli: CommandLine
) -> None:
    cli("config", "set", cli.write("live.json", LIVE), "--force")
    before = cli("config", "show", "--output", "json").document
    assert cli("config", "show").document["pools"].keys() == LIVE["pools"].keys()
    deployed.replace_in_settings('PoolSize=\\"2\\"', 'PoolSize=\\"5\\"')
    deployed.replace_in_settings('"environment=prod"]', '"environment=prod", "owner=platform"]')
    for command in commands("Change a parameter"):
        deployed.type(command, {"Deploy this changeset?": "y"})
    assert parameters(sandbox)["PoolSize"] == "5"
    assert "owner=platform" in tags(sandbox)
    # A running function remembers the configuration for a while; a new process reads what is stored.
    sandbox.kill_functions()
    assert cli("config", "show", "--output", "json").document == before


def test_an_update_by_sam_alone_deploys_the_commit(sandbox: Sandbox, deployed: Terminal) -> None:
    functions = sandbox.client("lambda")

    def layers() -> list[str]:
        found = functions.get_function_configuration(FunctionName=outputs(sandbox)["ApiFunctionName"])
        return sorted(layer["Arn"] for layer in found["Layers"])

    before = layers()
    module = deployed.folder / "layers/core/src/headway/__init__.py"
    module.write_text(f"{module.read_text(encoding='utf-8')}\nNEXT = True\n", encoding="utf-8")
    commit = ("git", "-c", "user.name=ops", "-c", "user.email=ops@example.com", "commit", "-qam", "the next version")
    subprocess.run(commit, cwd=deployed.folder, check=True)
    for command in commands("Update"):
        deployed.type(command.replace("COMMIT", "HEAD"), {"Deploy this changeset?": "y"})
    assert stack(sandbox)["StackStatus"] == "UPDATE_COMPLETE"
    assert layers() != before


def test_without_options_the_answers_land_in_a_tracked_file_and_can_be_moved(
    sandbox: Sandbox, deployed: Terminal, answers: dict[str, str]
) -> None:
    (deployed.folder / SETTINGS).rename(deployed.folder / "samconfig.prod.toml")
    try:
        (promised,) = re.findall(r"`(sam build && sam deploy --guided)`", PAGE)
        deployed.type(promised, answers)
        assert "M samconfig.toml" in deployed.git_status()
        for command in commands("The first deployment", 1):
            deployed.type(command)
        assert "samconfig" not in deployed.git_status().replace("?? samconfig.prod.toml", "")
        assert tags(sandbox) == {"project=headway"}
        (later,) = commands("Change a parameter")
        said = deployed.type(later.replace("--config-env prod ", ""))
        assert "No changes to deploy" in said.text
        assert tags(sandbox) == {"project=headway"}
    finally:
        (deployed.folder / "samconfig.prod.toml").replace(deployed.folder / SETTINGS)


def test_sam_refuses_settings_that_do_not_exist(deployed: Terminal) -> None:
    command = commands("The first deployment")[-1].replace(SETTINGS, "samconfig.missing.toml")
    with pytest.raises(AssertionError, match="does not exist or could not be read"):
        deployed.type(command)


def test_the_policy_of_the_stack_is_set_without_make(
    sandbox: Sandbox, deployed: Terminal, with_tools: Terminal
) -> None:
    assert deployed.folder == with_tools.folder
    for command in steps("after `sam deploy`"):
        with_tools.type(command)
    policy = sandbox.client("cloudformation").get_stack_policy(StackName=STACK)["StackPolicyBody"]
    assert json.loads(policy) == json.loads((ROOT / "deploy/stack-policy.json").read_text(encoding="utf-8"))


def test_the_deletion_keeps_the_table(sandbox: Sandbox, deployed: Terminal) -> None:
    for command in commands("Delete"):
        deployed.type(command, {"Are you sure": "y"})
    found = sandbox.client("cloudformation").describe_stacks()["Stacks"]
    assert STACK not in {each["StackName"] for each in found if each["StackStatus"] != "DELETE_COMPLETE"}
    assert TABLE in sandbox.client("dynamodb").list_tables()["TableNames"]
