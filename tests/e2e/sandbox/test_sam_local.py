"""The files for `sam local invoke`: what they have, what sam makes of them, and that handlers work with them.

sam runs functions in Docker, which these tests do without: they run sam's own code that reads the files, and the
handler in a process with the variables.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.local import deployment, sam_local
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.local.template import expanded
from tests.e2e.command_line import CommandLine
from tests.e2e.queue_view import QueueView

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[3]
CHECKOUT = Checkout(root=ROOT)
PAGE = (ROOT / "docs/how-to/sam.md").read_text(encoding="utf-8")

INVOKE = """
import json, sys, types
sys.path[:0] = json.loads(sys.argv[1])
import app
context = types.SimpleNamespace(
    function_name="ApiFunction", memory_limit_in_mb=128, aws_request_id="c0ffee00-0000-4000-8000-000000000000",
    invoked_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:ApiFunction",
    get_remaining_time_in_millis=lambda: 30_000,
)
answer = app.handler(json.load(sys.stdin), context)
print("\\n" + json.dumps(answer))
"""

RESOLVE = """
import json, sys
from samcli.commands.local.cli_common.invoke_context import InvokeContext
from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.commands.local.lib.debug_context import DebugContext
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
from samcli.local.docker.lambda_container import LambdaContainer
template, variables, container = sys.argv[1:]
stacks, _ = SamLocalStackProvider.get_stacks(template)
read = InvokeContext._get_env_vars_value
runner = LocalLambdaRunner(None, SamFunctionProvider(stacks), ".", ".", env_vars_values=read(variables))
found = {f.name: runner._make_env_vars(f).resolve() for f in SamFunctionProvider(stacks).get_all()}
passed = {}
for port in (None, (5890,)):
    debug = DebugContext(debug_ports=port, container_env_vars=read(container))
    passed["with" if port else "without"] = LambdaContainer._get_debug_settings("python3.13", debug)[1]
print(json.dumps({"functions": found, "container": passed}))
"""


def read(sb: Sandbox, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((sb.state_dir / name).read_text(encoding="utf-8"))
    return document


def key(sb: Sandbox) -> dict[str, str]:
    """The sandbox's key, as sam passes it on."""
    return {"AWS_ACCESS_KEY_ID": sb.info.access_key, "AWS_SECRET_ACCESS_KEY": sb.info.secret_key}


def given_by_the_template() -> dict[str, set[str]]:
    """The names of the variables of each function of the template."""
    resources = expanded(CHECKOUT)["Resources"].items()
    return {
        name: set(each["Properties"]["Environment"]["Variables"])
        for name, each in resources
        if each["Type"] == "AWS::Lambda::Function"
    }


def test_each_function_has_the_variables_that_the_template_gives_it_with_what_is_deployed(sb: Sandbox) -> None:
    found = read(sb, sam_local.VARIABLES_FILE)
    assert {name: set(variables) for name, variables in found.items()} == given_by_the_template()
    tables = sb.client("dynamodb").list_tables()["TableNames"]
    queues = sb.client("sqs").list_queues()["QueueUrls"]
    assert {variables["HEADWAY_TABLE"] for variables in found.values()} <= set(tables)
    urls = {value for each in found.values() for name, value in each.items() if name.endswith("_URL")}
    assert urls
    assert urls <= set(queues)


def test_sam_passes_on_the_variables_of_the_functions_and_for_a_debugger_those_of_the_container(sb: Sandbox) -> None:
    (exported,) = re.findall(r"^export (\w+)=\.sandbox/(\w+)$", PAGE, re.MULTILINE)
    environment = {name: value for name, value in sb.info.environment().items() if not name.startswith("AWS_")}
    environment |= {exported[0]: str(sb.state_dir / exported[1]), "AWS_EC2_METADATA_DISABLED": "true"}
    files = [sb.state_dir / name for name in (sam_local.VARIABLES_FILE, sam_local.CONTAINER_FILE)]
    done = subprocess.run(
        [str(CHECKOUT.sam().with_name("python")), "-c", RESOLVE, str(CHECKOUT.template()), *map(str, files)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    for name, variables in read(sb, sam_local.VARIABLES_FILE).items():
        assert variables.items() <= said["functions"][name].items()
        assert key(sb).items() <= said["functions"][name].items()
        # So the second file is needed.
        assert "AWS_ENDPOINT_URL" not in said["functions"][name]
    container = read(sb, sam_local.CONTAINER_FILE)
    assert container["AWS_ENDPOINT_URL"] == sb.info.aws_endpoint
    assert container.items() <= said["container"]["with"].items()
    assert said["container"]["without"] == {}


def test_the_handler_answers_with_the_variables_of_both_files_alone(sb: Sandbox, queue: QueueView) -> None:
    queue.submit("listed")
    queue.wait_for(listed="running")
    variables = {**read(sb, sam_local.VARIABLES_FILE)["ApiFunction"], **read(sb, sam_local.CONTAINER_FILE), **key(sb)}
    built = deployment.build(CHECKOUT, region=sb.info.region)
    layers = [built / layer / "python" for layer in ("CoreLayer", "ServiceLayer", "DependenciesLayer")]
    paths = [built / "ApiFunction", *layers]
    done = subprocess.run(
        [str(CHECKOUT.sandbox_python()), "-c", INVOKE, json.dumps([str(path) for path in paths])],
        env={"PATH": os.environ["PATH"], **variables}, input=(ROOT / "events/api-list.json").read_text("utf-8"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["statusCode"] == 200, answer
    assert f"{queue.prefix}listed" in {job["jobName"] for job in json.loads(answer["body"])["jobs"]}


def test_status_names_the_files_of_the_page(sb: Sandbox, cli: CommandLine) -> None:
    (command,) = [
        line for line in re.findall(r"^sam local invoke (?:.*\\\n)*.*$", PAGE, re.MULTILINE) if "--env-vars" in line
    ]
    words = shlex.split(command.replace("\\\n", " "))
    named = [words[words.index(option) + 1] for option in ("--env-vars", "--container-env-vars")]
    assert named == [f".sandbox/{sam_local.VARIABLES_FILE}", f".sandbox/{sam_local.CONTAINER_FILE}"]
    assert (ROOT / words[words.index("--event") + 1]).is_file()
    (cli.folder / ".sandbox").symlink_to(sb.state_dir)
    shown = cli("sandbox", "status").out
    assert all(str((cli.folder / name).resolve()) in shown for name in named), shown
