"""sam's configuration is read as sam reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway_client.account.samconfig import Target, read_overrides, read_target
from headway_client.errors import UsageError

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    "text",
    [
        '["A=1", "B=x,y", "C="]',
        '"A=1 B=x,y C="',
        # What `sam deploy --guided` saves.
        r'"A=\"1\" B=\"x,y\" C=\"\""',
        '["ParameterKey=A,ParameterValue=1 ParameterKey=B,ParameterValue=x,y", "C="]',
    ],
)
def test_the_overrides_are_read_as_people_and_sam_write_them(tmp_path: Path, text: str):
    config = tmp_path / "samconfig.toml"
    config.write_text(f"[dev.deploy.parameters]\nparameter_overrides = {text}\n")
    assert read_overrides(config, "dev") == {"A": "1", "B": "x,y", "C": ""}
    assert read_overrides(config, "prod") == {}


def test_settings_of_one_command_win_over_those_of_all(tmp_path: Path):
    config = tmp_path / "samconfig.toml"
    config.write_text(
        """[dev.global.parameters]
stack_name = "one"
region = "eu-west-1"
[dev.deploy.parameters]
stack_name = "two"
profile = "ml"
"""
    )
    assert read_target(config, "dev") == Target(stack="two", region="eu-west-1", profile="ml")


@pytest.mark.parametrize(("env", "stack"), [("dev", "headway-dev"), ("prod", "headway")])
def test_the_projects_own_configuration_names_a_stack_for_each_environment(env: str, stack: str):
    assert read_target(ROOT / "samconfig.toml", env) == Target(stack=stack)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "can't be read (No such file or directory). Name sam's configuration."),
        ("[", "is not valid TOML: "),
        ("[prod.deploy.parameters]\n", "names no stack_name for dev: is it dev or prod?"),
    ],
)
def test_a_file_that_is_no_configuration_is_told(tmp_path: Path, text: str | None, said: str):
    config = tmp_path / "samconfig.toml"
    if text is not None:
        config.write_text(text)
    with pytest.raises(UsageError) as refused:
        read_target(config, "dev")
    assert f"{config} {said}" in str(refused.value)
