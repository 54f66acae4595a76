from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway_client.cli.commands.local import sandbox
from headway_client.install_hint import install_command
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.template import expanded
from headway_sandbox.training.container import isolation
from tests.client.command_line import Run


def test_a_missing_sandbox_package_is_reported_with_the_command_to_install_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(sandbox, "import_module", missing)

    for action in ("up", "down", "status", "demo"):
        code, _, err = run("sandbox", action)
        assert code == 2
        assert "headway_sandbox.errors is missing" in err
        assert f"run `{install_command('sandbox')}`, or type `make setup-sandbox`" in err


class FakeSandbox:
    """A fake of the parts of `headway_sandbox` that the command line uses."""

    class SandboxError(Exception):
        pass

    class SetupMissing(SandboxError):
        pass

    class WrongUsage(SandboxError):
        pass

    class PortInUse(WrongUsage):
        pass

    class NotRunning(SandboxError):
        pass

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.error: Exception | None = None
        self.info: Any = None
        self.code = 0
        self.has = False

    def _act(self, name: str, **options: Any) -> Any:
        self.calls.append((name, options))
        if self.error is not None:
            raise self.error
        return self.info

    def up(self, *, report: Callable[[str], None], **options: Any) -> Any:
        report("starting")
        return self._act("up", **options)

    def down(self) -> bool:
        return bool(self._act("down"))

    def status(self) -> Any:
        return self._act("status")

    def default_state_dir(self) -> Path:
        return Path("project", ".sandbox")

    def user(self, name: str, **options: Any) -> Any:
        return self._act("user", user=name, **options)

    def has_state(self, **_options: Any) -> bool:
        return self.has

    def reset(self, **options: Any) -> bool:
        self._act("reset", **options)
        return True

    def main(self, arguments: list[str]) -> int:
        self._act("demo")
        return self.code


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeSandbox:
    made = FakeSandbox()
    monkeypatch.setattr(sandbox, "import_module", lambda _: made)
    return made


def sandbox_info() -> Any:
    from headway_sandbox.local.sandbox_info import SandboxInfo

    return SandboxInfo(
        endpoint="http://127.0.0.1:4566/v1", aws_endpoint="http://127.0.0.1:4566", port=4566, pid=42,
        region="eu-west-1", account="123456789012", access_key="test", secret_key="test", role_arn="arn:role",
        bucket="jobs", speed=60.0, stack="headway",
    )  # fmt: skip


def test_the_sandbox_is_started_and_its_addresses_printed(run: Run, fake: FakeSandbox):
    fake.info = sandbox_info()

    code, out, err = run("sandbox", "up", "--port", "4567", "--speed", "60")

    assert (code, err) == (0, "headway: starting\n")
    assert fake.calls == [("up", {"port": 4567, "speed": 60.0})]
    assert "In project `headway queue` finds it by itself." in out
    assert "export HEADWAY_ENDPOINT=http://127.0.0.1:4566/v1" in out
    assert "export AWS_ENDPOINT_URL=http://127.0.0.1:4566" in out
    assert json.loads(run("sandbox", "up", "-o", "json")[1])["bucket"] == "jobs"


def test_the_variables_of_another_user_are_printed_for_a_shell(run: Run, fake: FakeSandbox):
    fake.info = replace(sandbox_info(), access_key="AKIAADA", sagemaker_config="a folder/sagemaker.yaml")

    code, out, _ = run("sandbox", "user", "ada", "--policy", "LeadPolicy")

    assert (code, fake.calls) == (0, [("user", {"user": "ada", "policy": "LeadPolicy"})])
    assert all(line.startswith("export ") for line in out.splitlines())
    assert {"export AWS_ACCESS_KEY_ID=AKIAADA", "export HEADWAY_ENDPOINT=http://127.0.0.1:4566/v1"} < {
        *out.splitlines()
    }
    assert "export SAGEMAKER_USER_CONFIG_OVERRIDE='a folder/sagemaker.yaml'" in out
    assert json.loads(run("sandbox", "user", "ada", "-o", "json")[1]) == fake.info.exports()
    assert fake.calls[-1] == ("user", {"user": "ada", "policy": "UserPolicy"})


def test_a_user_without_a_running_sandbox_is_not_reachable(run: Run, fake: FakeSandbox):
    fake.error = FakeSandbox.NotRunning("No sandbox with a queue runs here.")
    assert run("sandbox", "user", "ada") == (6, "", "headway: No sandbox with a queue runs here.\n")


def test_the_policies_of_users_are_those_of_the_template():
    resources = expanded(Checkout.here())["Resources"]
    assert set(sandbox.POLICIES) == {
        name for name, each in resources.items() if each["Type"] == "AWS::IAM::ManagedPolicy"
    }


def test_a_reset_asks_before_it_removes_the_state(run: Run, fake: FakeSandbox):
    Path("project", ".sandbox").mkdir(parents=True)
    assert run("sandbox", "reset", "--yes")[1] == "There is no sandbox in project.\n"
    fake.has = True
    code, _, err = run("sandbox", "reset")
    assert (code, fake.calls) == (2, [])
    assert "this needs a confirmation; add --yes" in err
    assert run("sandbox", "reset", "--yes")[1] == (
        f"The sandbox's state, {Path('project', '.sandbox')}, is removed. `headway sandbox up` starts an empty one "
        "with other keys and maybe another port: other users then run `headway sandbox user` again.\n"
    )
    assert fake.calls == [("reset", {"state_dir": Path("project", ".sandbox")})]
    assert json.loads(run("sandbox", "reset", "--yes", "-o", "json")[1]) == {"hadState": True}


class FakeTrainingOptions:
    def settings(self, images: tuple[str, ...], **options: Any) -> Any:
        return (images, options)


def test_scripts_run_with_train_in_real_time(run: Run, fake: FakeSandbox, monkeypatch: pytest.MonkeyPatch):
    fake.info = sandbox_info()
    parts = {"headway_sandbox.local.training_options": FakeTrainingOptions()}
    monkeypatch.setattr(sandbox, "import_module", lambda name: parts.get(name, fake))

    assert (
        run(
            "sandbox",
            "up",
            "--train",
            "--image",
            "*torch*=/envs/torch/bin/python",
            "--stop-grace",
            "5",
            "--memory",
            "2",
        )[0]
        == 0
    )

    training = (("*torch*=/envs/torch/bin/python",), {"stop_grace_s": 5.0, "memory_gib": 2.0, "speed": None})
    assert fake.calls == [("up", {"port": None, "speed": 1.0, "training": training})]


@pytest.mark.parametrize("option", [("--image", "*=python"), ("--stop-grace", "5"), ("--memory", "2")])
def test_the_options_of_scripts_need_train(run: Run, fake: FakeSandbox, option: tuple[str, str]):
    code, _, err = run("sandbox", "up", *option)
    assert (code, fake.calls) == (2, [])
    assert "--image, --stop-grace and --memory need --train" in err


def test_the_status_of_the_sandbox_is_printed_and_in_the_exit_code(run: Run, fake: FakeSandbox):
    assert run("sandbox", "status")[0] == 6
    assert run("sandbox", "status", "-o", "json")[:2] == (6, '{\n  "running": false\n}\n')
    fake.info = sandbox_info()
    assert run("sandbox", "status")[:2] == (
        0,
        "The sandbox runs at http://127.0.0.1:4566/v1 (process 42, 60 times real speed).\n",
    )


def test_the_status_names_the_files_for_sam_local(run: Run, fake: FakeSandbox):
    fake.info = replace(sandbox_info(), function_variables="/s/functions.json", container_variables="/s/container.json")
    assert "For `sam local invoke`: /s/functions.json and /s/container.json." in run("sandbox", "status")[1]


def test_the_question_of_a_reset_names_what_it_removes(run: Run, fake: FakeSandbox, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    monkeypatch.setattr(sandbox, "confirm", lambda _, question, **__: asked.append(question))
    fake.has = True
    run("sandbox", "reset")
    assert asked == [f"Stop the sandbox and remove its state, {Path('project', '.sandbox')}?"]


def test_the_status_of_a_sandbox_that_was_stopped_says_that_its_state_is_kept(run: Run, fake: FakeSandbox):
    assert run("sandbox", "status")[1] == "No sandbox runs here. Start one with `headway sandbox up`.\n"
    fake.has = True
    code, out, _ = run("sandbox", "status")
    assert code == 6
    assert f"but {Path('project', '.sandbox')} has the state of one. `headway sandbox up` continues it." in out


def test_the_status_of_a_sandbox_without_the_queue_says_so(run: Run, fake: FakeSandbox):
    fake.info = replace(sandbox_info(), endpoint="")
    assert run("sandbox", "status")[:2] == (
        6,
        "The sandbox runs (process 42), but the queue is not deployed to it. Deploy it with `headway sandbox up`.\n",
    )
    code, out, _ = run("sandbox", "status", "-o", "json")
    assert (code, json.loads(out)["running"], json.loads(out)["endpoint"]) == (6, True, "")


def test_an_interrupted_start_says_what_may_run(run: Run, fake: FakeSandbox, monkeypatch: pytest.MonkeyPatch):
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fake, "up", interrupt)
    code, _, err = run("sandbox", "up")
    assert code == 130
    assert err == f"headway: interrupted; {sandbox._UP_INTERRUPTED}\n"
    assert "`headway sandbox up` continues, `headway sandbox down` stops it." in err


def test_stopping_the_sandbox_reports_whether_it_ran(run: Run, fake: FakeSandbox):
    assert run("sandbox", "down")[:2] == (0, "No sandbox was running.\n")
    fake.info = sandbox_info()
    assert "state is kept" in run("sandbox", "down")[1]
    assert json.loads(run("sandbox", "down", "-o", "json")[1]) == {"wasRunning": True}


def test_the_demos_exit_code_is_passed_on(run: Run, fake: FakeSandbox):
    assert run("sandbox", "demo")[0] == 0
    fake.code = 1
    assert run("sandbox", "demo")[0] == 1


def test_the_sandboxs_own_errors_are_printed_as_sentences(run: Run, fake: FakeSandbox):
    fake.error = FakeSandbox.SetupMissing("Run `make setup-sandbox`.")
    assert run("sandbox", "up")[0] == 2
    fake.error = FakeSandbox.SandboxError("The server ended.")
    code, _, err = run("sandbox", "up")
    assert (code, err) == (1, "headway: starting\nheadway: The server ended.\n")


def test_an_option_of_the_sandbox_that_has_to_be_changed_is_wrong_usage(run: Run, fake: FakeSandbox):
    fake.error = FakeSandbox.PortInUse("Port 4567 is in use.")
    code, _, err = run("sandbox", "up", "--port", "4567")
    assert (code, err) == (2, "headway: starting\nheadway: Port 4567 is in use.\n")
    error = json.loads(run("sandbox", "up", "-o", "json")[2].partition("\n")[2])
    assert (error["error"]["code"], error["exitCode"]) == ("PortInUse", 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--image", "foo=bar"], "bar is no Python that runs"),
        (["--image", "foo"], "PATTERN=PYTHON"),
        (["--speed", "30"], "--train needs --speed 1, not 30"),
        (["--memory", "0.01"], "--memory is at least 0.0625"),
        ([], "cannot be isolated on this machine"),
    ],
)
def test_what_scripts_cannot_run_with_is_wrong_usage(
    run: Run, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
):
    monkeypatch.setattr(isolation, "trial", lambda _isolation: "Operation not permitted")
    code, _, err = run("sandbox", "up", "--train", *options)
    assert code == 2
    assert message in err


def test_the_real_sandbox_package_has_what_the_commands_need():
    assert issubclass(sandbox.load("errors").SetupMissing, sandbox.load("errors").SandboxError)
    for name in ("WrongUsage", "NotRunning"):
        assert issubclass(getattr(sandbox.load("errors"), name), sandbox.load("errors").SandboxError)
    for name in ("up", "down", "status", "user", "reset", "has_state"):
        assert callable(getattr(sandbox.load("local.manager"), name))
