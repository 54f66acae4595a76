"""A deployment ends with an invocation of each function: one that does not run makes it fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy import postflight
from tests.client.account.fake_account import FUNCTIONS, FakeAccount


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> FakeAccount:
    fake = FakeAccount()
    monkeypatch.setattr(postflight, "make_clients", lambda **_: fake.client)
    monkeypatch.setattr(postflight, "configured_connection", lambda: None)
    return fake


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "samconfig.toml"
    path.write_text('[dev.global.parameters]\nstack_name = "q"\n')
    return path


def test_each_function_is_invoked_once_and_told(account: FakeAccount, config: Path, capsys: pytest.CaptureFixture[str]):
    assert postflight.main([str(config), "dev"]) == 0
    out, err = capsys.readouterr()
    assert out.count("it runs.") == len(FUNCTIONS)
    assert err.startswith("note: GET /version through the API: no endpoint is configured.")
    invoked = [request["FunctionName"] for action, request in account.calls if action == "lambda:Invoke"]
    assert sorted(invoked) == sorted(f"headway-{name}Function-1" for name in FUNCTIONS)


def test_a_function_that_fails_is_told_with_its_error_and_how_to_roll_back(
    account: FakeAccount, config: Path, capsys: pytest.CaptureFixture[str]
):
    error = {"errorType": "Runtime.ImportModuleError", "errorMessage": "No module named 'x'"}
    account.answers["headway-WatchFunction-1"] = ("Unhandled", error)
    assert postflight.main([str(config), "dev"]) == 1
    err = capsys.readouterr().err
    assert (
        "problem: an invocation of WatchFunction (headway-WatchFunction-1): Runtime.ImportModuleError: No module named "
        "'x'. Roll back: `git switch --detach COMMIT`"
    ) in err


def test_a_function_that_may_not_be_invoked_is_told_and_does_not_fail_the_deployment(
    account: FakeAccount, config: Path, capsys: pytest.CaptureFixture[str]
):
    account.denied.add("lambda:Invoke")
    assert postflight.main([str(config), "dev"]) == 0
    assert capsys.readouterr().err.count("ask for lambda:InvokeFunction.") == len(FUNCTIONS)


@pytest.mark.parametrize("status", [None, "UPDATE_COMPLETE"])
def test_a_stack_without_functions_is_a_problem(account: FakeAccount, config: Path, status: str | None):
    account.status, account.resources = status, {}
    assert postflight.main([str(config), "dev"]) == 1
