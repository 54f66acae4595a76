from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headway_client.config import sandbox_state
from headway_client.config.loopback import is_loopback
from headway_client.config.profile import Connection, resolve_connection
from headway_client.errors import NotAllowedError, ProfileError, UsageError
from tests.client.sandbox_files import write_sandbox

FILE = """
default = "prod"

[profiles.prod]
endpoint = "https://abc.execute-api.eu-west-1.amazonaws.com/v1/"
aws_profile = "ml"
api_id = "abc"

[profiles.test]
endpoint = "https://queue.example.com/v1"
region = "eu-north-1"

[profiles.local]
endpoint = "http://127.0.0.1:4566/v1"
region = "us-east-1"
aws_access_key_id = "test"
aws_secret_access_key = "dummy-secret"

[profiles.empty]
region = "eu-north-1"
"""
STATE = {
    "endpoint": "http://127.0.0.1:4599/v1",
    "region": "us-east-1",
}


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """The profile file at its default path."""
    return write_profiles(tmp_path, FILE)


def write_profiles(home: Path, text: str) -> Path:
    path = home / ".config" / "headway" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def write_state(folder: Path, **changes: Any) -> Path:
    return write_sandbox(folder, STATE | changes, key="sandbox-key", secret="sandbox-secret")


def resolve(environment: Mapping[str, str] | None = None, **flags: Any) -> Connection:
    return resolve_connection(environment=environment or {}, **flags)


@pytest.mark.parametrize(
    ("environment", "flags", "expected"),
    [
        ({}, {}, "https://abc.execute-api.eu-west-1.amazonaws.com/v1"),
        ({"HEADWAY_PROFILE": "test"}, {}, "https://queue.example.com/v1"),
        ({"HEADWAY_PROFILE": "test"}, {"profile": "local"}, "http://127.0.0.1:4566/v1"),
        ({"HEADWAY_ENDPOINT": "https://env/v1", "AWS_REGION": "r"}, {}, "https://env/v1"),
        ({"HEADWAY_ENDPOINT": "https://env/v1"}, {"profile": "test"}, "https://queue.example.com/v1"),
        ({"HEADWAY_ENDPOINT": "https://env/v1"}, {"profile": "empty"}, "https://env/v1"),
        ({"HEADWAY_ENDPOINT": "https://env/v1", "HEADWAY_PROFILE": "test", "AWS_REGION": "r"}, {}, "https://env/v1"),
        ({"HEADWAY_ENDPOINT": "https://env/v1", "AWS_REGION": "r"}, {"endpoint": "https://flag/v1"}, "https://flag/v1"),
        ({"HEADWAY_ENDPOINT": "", "HEADWAY_PROFILE": ""}, {}, "https://abc.execute-api.eu-west-1.amazonaws.com/v1"),
    ],
)
def test_the_endpoint_is_taken_from_flags_then_variables_then_the_default_profile(
    profiles: Path, environment: Mapping[str, str], flags: Mapping[str, str], expected: str
):
    assert resolve(environment, **flags).endpoint == expected


@pytest.mark.parametrize(
    ("environment", "flags", "expected"),
    [
        ({}, {"profile": "test", "region": "flag"}, "flag"),
        ({"HEADWAY_REGION": "env"}, {"profile": "test", "region": "flag"}, "flag"),
        ({"HEADWAY_REGION": "env"}, {"profile": "test"}, "eu-north-1"),
        ({"HEADWAY_REGION": "env"}, {"profile": "local", "endpoint": "https://queue/v1"}, "env"),
        ({"HEADWAY_REGION": "env", "HEADWAY_PROFILE": "test"}, {}, "env"),
        ({"AWS_REGION": "aws"}, {"profile": "test"}, "eu-north-1"),
        # The API's host name contains its region ...
        ({"AWS_REGION": "aws"}, {}, "eu-west-1"),
        ({}, {"endpoint": "https://vpce-1-2.execute-api.ap-south-1.vpce.amazonaws.com/v1"}, "ap-south-1"),
        ({}, {"endpoint": "https://a.execute-api.cn-north-1.amazonaws.com.cn/v1"}, "cn-north-1"),
        # ... which takes precedence over a profile with another endpoint.
        ({}, {"endpoint": "https://a.execute-api.us-west-2.amazonaws.com/v1", "profile": "test"}, "us-west-2"),
        ({}, {"endpoint": "https://queue/v1", "profile": "test"}, "eu-north-1"),
        ({"AWS_REGION": "aws", "AWS_DEFAULT_REGION": "other"}, {"endpoint": "https://queue/v1"}, "aws"),
        ({"AWS_DEFAULT_REGION": "other"}, {"endpoint": "https://queue/v1"}, "other"),
        ({}, {"endpoint": "https://queue/v1", "fallback_region": "last"}, "last"),
    ],
)
def test_the_region_is_that_of_the_endpoint_in_use(
    profiles: Path, environment: Mapping[str, str], flags: Mapping[str, str], expected: str
):
    assert resolve(environment, **flags).region == expected


def test_a_missing_region_is_reported_with_the_fix():
    with pytest.raises(UsageError, match="--region or set HEADWAY_REGION"):
        resolve(endpoint="https://queue/v1")


def test_an_api_id_belongs_to_the_endpoint_of_its_profile(profiles: Path):
    assert resolve().api_id == "abc"
    assert resolve(endpoint="https://queue/v1", region="r").api_id is None
    assert resolve({"HEADWAY_API_ID": "env"}).api_id == "env"
    assert resolve({"HEADWAY_API_ID": "env"}, profile="test").api_id is None
    assert resolve({"HEADWAY_API_ID": "env"}, profile="test", endpoint="https://queue/v1").api_id == "env"


def test_plain_keys_are_accepted_for_this_machine_only(profiles: Path, tmp_path: Path):
    frozen = resolve(profile="local").credentials().get_frozen_credentials()
    assert (frozen.access_key, frozen.secret_key) == ("test", "dummy-secret")
    # They are never used for any endpoint but the profile's own.
    assert resolve(profile="local", endpoint="https://queue/v1").keys is None

    write_profiles(tmp_path, FILE.replace("http://127.0.0.1:4566/v1", "https://queue.example.com/v1"))
    with pytest.raises(ProfileError, match=r"\[profiles.local\] has an AWS key.*Remove aws_access_key_id"):
        resolve(profile="local")


def test_keys_are_not_shown(profiles: Path):
    assert "dummy-secret" not in repr(resolve(profile="local"))


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        ("http://localhost:1/v1", True),
        ("http://abc.execute-api.localhost:4566/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://[::1]:80/v1", True),
        ("http://localhost.example.com/v1", False),
        ("http://127.0.0.1.example.com/v1", False),
        ("http://10.0.0.1/v1", False),
        ("https://queue/v1", False),
    ],
)
def test_only_names_of_this_machine_are_loopback(endpoint: str, expected: bool):
    assert is_loopback(endpoint) is expected


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ("queue.example.com/v1", "https://HOST/v1"),
        ("ftp://queue/v1", "https://HOST/v1"),
        ("https:///v1", "https://HOST/v1"),
        ("https://queue:port/v1", "https://HOST/v1"),
        ("https://[queue/v1", "https://HOST/v1"),
        ("https://me:secret@queue/v1", "https://HOST/v1"),
        ("https://queue/v1?x=1", "https://HOST/v1"),
        ("http://queue/v1", "start with https://"),
    ],
)
def test_an_invalid_endpoint_is_refused(endpoint: str, words: str):
    with pytest.raises(UsageError, match=words):
        resolve(endpoint=endpoint, region="r")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\ndefault = prod", "not valid TOML: .*line 2, column 11"),
        ('defualt = "x"', "`defualt` is not a known key.*default, profiles"),
        (f"x = {'[' * 10_000}", "not valid TOML"),
        (f"x = {'9' * 5000}", "not valid TOML"),
        (f"profiles.{'a.' * 2000}x = 1", "has to be a non-empty string|is not a known key|not valid TOML"),
        ("profiles = 5", "`profiles` has to be tables"),
        ("[profiles]\nprod = 5", r"\[profiles.prod\] has to be a table"),
        ('[profiles.prod]\nendpiont = "x"', r"\[profiles.prod\] `endpiont`.*endpoint, region"),
        ("[profiles.prod]\nendpoint = 5", r"\[profiles.prod\] `endpoint` has to be a non-empty string"),
        ('[profiles.prod]\nregion = " "', r"`region` has to be a non-empty string"),
        ('default = "nope"', r'`default` names "nope".*no \[profiles.nope\]'),
        ('default = "a"\n[profiles.a]\naws_access_key_id = "x"', "go together; one is missing"),
        ('default = "a"\n[profiles.a]\nregion = "x"', r"\[profiles.a\] has no endpoint"),
        ('default = "a"\n[profiles.a]\nendpoint = "queue"', r"\[profiles.a\]: `endpoint` is 'queue'"),
    ],
)
def test_an_invalid_file_is_reported_with_its_name_the_key_and_the_fix(tmp_path: Path, text: str, words: str):
    path = write_profiles(tmp_path, text)

    with pytest.raises(UsageError, match=words) as caught:
        resolve()
    assert str(path) in caught.value.message


def test_a_binary_too_large_or_unreadable_file_is_reported(tmp_path: Path):
    path = write_profiles(tmp_path, "")
    path.write_bytes(b"\xff")
    with pytest.raises(ProfileError, match="not valid TOML"):
        resolve()
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(ProfileError, match="larger than 1,000,000 bytes"):
        resolve()
    path.unlink()
    path.mkdir()
    with pytest.raises(ProfileError, match="can't be read"):
        resolve()


def test_another_file_can_be_chosen(tmp_path: Path):
    other = tmp_path / "other.toml"
    with pytest.raises(ProfileError, match="does not exist"):
        resolve({"HEADWAY_CONFIG_FILE": str(other)})
    other.write_text(FILE)
    assert resolve({"HEADWAY_CONFIG_FILE": str(other)}, profile="test").region == "eu-north-1"


def test_the_profile_file_is_in_the_folder_of_xdg_unless_only_the_usual_one_has_it(tmp_path: Path, profiles: Path):
    assert profiles == tmp_path / ".config/headway/config.toml"
    base = tmp_path / "xdg"
    environment = {"XDG_CONFIG_HOME": str(base)}
    assert resolve(environment, profile="test").region == "eu-north-1"
    (base / "headway").mkdir(parents=True)
    (base / "headway/config.toml").write_text('[profiles.test]\nendpoint = "https://a.b/v1"\nregion = "eu-west-3"\n')
    assert resolve(environment, profile="test").region == "eu-west-3"
    assert resolve({"XDG_CONFIG_HOME": "relative"}, profile="test").region == "eu-north-1"


def test_an_unknown_profile_is_reported_with_the_known_ones(profiles: Path):
    with pytest.raises(ProfileError, match=r'no profile "nope".*empty, local, prod, test'):
        resolve(profile="nope")


def test_without_settings_the_error_has_the_command_to_type():
    with pytest.raises(UsageError) as caught:
        resolve()
    for words in ("export HEADWAY_ENDPOINT=", "~/.config/headway/config.toml", "headway sandbox up"):
        assert words in caught.value.message


def test_the_sandbox_of_a_checkout_is_found_from_folders_below_it(tmp_path: Path):
    write_state(tmp_path)
    below = tmp_path / "docs" / "deep"
    below.mkdir(parents=True)

    found = resolve(folder=below)

    assert (found.endpoint, found.region) == (STATE["endpoint"], "us-east-1")
    assert found.credentials().get_frozen_credentials().access_key == "sandbox-key"
    assert found.note == f"No endpoint is set: using the sandbox of {tmp_path}."


def test_the_sandbox_of_the_checkout_is_found_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    checkout = tmp_path / "checkout"
    write_state(checkout)
    monkeypatch.setattr(sandbox_state, "CHECKOUT", checkout)

    assert resolve(folder=tmp_path).note == f"No endpoint is set: using the sandbox of {checkout}."
    assert resolve(folder=tmp_path, profile="sandbox").endpoint == STATE["endpoint"]


def test_of_two_sandboxes_the_nearest_is_used_and_the_other_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    checkout, near = tmp_path / "checkout", tmp_path / "project"
    write_state(checkout)
    write_state(near, endpoint="http://127.0.0.1:4600/v1")
    monkeypatch.setattr(sandbox_state, "CHECKOUT", checkout)

    found = resolve(folder=near)

    assert found.endpoint == "http://127.0.0.1:4600/v1"
    assert found.note == (
        f"No endpoint is set: using the sandbox of {near}. There are others in {checkout}: run `headway` there to use "
        "them."
    )


def test_the_sandbox_is_the_last_resort_unless_it_is_named(profiles: Path, tmp_path: Path):
    write_state(tmp_path)

    assert resolve(folder=tmp_path).endpoint.startswith("https://abc.")
    assert resolve(folder=tmp_path, profile="sandbox").endpoint == STATE["endpoint"]
    assert resolve(folder=tmp_path, profile="sandbox").note is None
    with pytest.raises(UsageError, match="has no endpoint"):
        resolve(folder=tmp_path, profile="empty")


def test_a_profile_of_ones_own_may_be_called_sandbox(tmp_path: Path):
    write_profiles(tmp_path, FILE.replace("profiles.test", "profiles.sandbox"))
    write_state(tmp_path)

    assert resolve(folder=tmp_path, profile="sandbox").endpoint == "https://queue.example.com/v1"


def test_a_sandbox_of_another_user_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write_state(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)

    with pytest.raises(
        UsageError, match=r"The endpoint of the queue is not configured\..* or run `headway sandbox up` to"
    ):
        resolve(folder=tmp_path)
    with pytest.raises(ProfileError, match=r"belongs to another user.*headway sandbox up") as caught:
        resolve(folder=tmp_path, profile="sandbox")
    assert str(path) in caught.value.message


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
@pytest.mark.parametrize("named", [None, "sandbox"])
def test_a_sandbox_file_that_others_can_change_is_refused(tmp_path: Path, mode: int, named: str | None):
    path = write_state(tmp_path)
    path.chmod(mode)

    with pytest.raises(ProfileError, match=f"can be changed by other users.*chmod go-w {path}"):
        resolve(folder=tmp_path, profile=named)
    path.chmod(mode & 0o755)
    assert resolve(folder=tmp_path, profile=named).endpoint == STATE["endpoint"]


@pytest.mark.parametrize("key", ["endpoint", "aws_endpoint"])
@pytest.mark.parametrize(
    "url",
    [
        "https://queue.example.com/v1",
        "http://10.0.0.1:4566",
        "http://127.0.0.1@evil.example",
        "http://127.0.0.1.evil.example",
        "http://[",
        "evil.example",
        "http://0.0.0.0:4566",
    ],
)
@pytest.mark.parametrize("named", [None, "sandbox"])
def test_a_sandbox_file_names_only_this_machine(tmp_path: Path, key: str, url: str, named: str | None):
    path = write_state(tmp_path, **{key: url})

    with pytest.raises(ProfileError, match=f"`{key}` is .*a sandbox is on this machine") as caught:
        resolve(folder=tmp_path, profile=named)
    assert str(path) in caught.value.message
    assert url in caught.value.message


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"endpoint": "http://127.0.0.1/v1"}', "\xff", "[" * 100_000, " " * 2_000_000 + "{}"]
)
def test_a_broken_sandbox_file_is_reported_with_the_fix(tmp_path: Path, content: str):
    write_state(tmp_path).write_text(content, encoding="latin-1")

    with pytest.raises(ProfileError, match="headway sandbox down"):
        sandbox_state.find(tmp_path)


@pytest.mark.parametrize("content", [None, "", "[default]\naws_access_key_id = a\n", "no section", "\xff"])
def test_a_sandbox_without_a_key_is_reported_with_the_fix(tmp_path: Path, content: str | None):
    key = write_state(tmp_path).with_name(sandbox_state.CREDENTIALS)
    if content is None:
        key.unlink()
    else:
        key.write_text(content, encoding="latin-1")

    with pytest.raises(ProfileError, match=r"credentials.*headway sandbox down"):
        sandbox_state.find(tmp_path)


def test_a_sandbox_without_a_queue_is_reported_with_the_command_to_start_it(tmp_path: Path):
    write_state(tmp_path, endpoint="")

    with pytest.raises(ProfileError, match="headway sandbox up"):
        resolve(folder=tmp_path)


def test_a_missing_sandbox_is_reported_with_the_command_to_start_it(tmp_path: Path):
    with pytest.raises(ProfileError, match="headway sandbox up"):
        resolve(profile="sandbox", folder=tmp_path)


def test_missing_credentials_are_reported_with_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(NotAllowedError, match=r"no AWS credentials.*AWS_PROFILE"):
        resolve(endpoint="https://queue/v1", region="r").credentials()

    write_profiles(tmp_path, FILE)
    with pytest.raises(NotAllowedError, match=r"profile .ml. could not be found.*aws_profile"):
        resolve().credentials()


def test_the_aws_profile_of_a_flag_signs_in_place_of_all_other_credentials(profiles: Path, tmp_path: Path):
    assert resolve().aws_profile == "ml"
    assert resolve(aws_profile="mine").aws_profile == "mine"
    local = resolve(profile="local", aws_profile="mine")
    assert (local.keys, local.aws_profile) == (None, "mine")
    with pytest.raises(NotAllowedError, match=r"profile .mine. could not be found.*--aws-profile"):
        local.credentials()

    write_state(tmp_path, endpoint="http://127.0.0.1:4566/v1", aws_endpoint="http://127.0.0.1:4566", region="eu-west-1")
    sandbox = resolve(profile="sandbox", folder=tmp_path, aws_profile="mine")
    # A caller of one's own in a sandbox has its AWS, too.
    assert (sandbox.keys, sandbox.aws_endpoint) == (None, "http://127.0.0.1:4566")


# ------------------------------------------------------------------------------------------------ the way to AWS itself


def test_the_endpoint_and_its_source_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "config.toml"
    path.write_text('default = "prod"\n[profiles.prod]\nendpoint = "https://host/v1"\nregion = "eu-west-1"\n')
    environment = {"HEADWAY_CONFIG_FILE": str(path)}

    assert resolve_connection(environment=environment).source == f"{path}: [profiles.prod]"
    named = environment | {"HEADWAY_ENDPOINT": "https://other/v1"}
    assert resolve_connection(environment=named).source == "HEADWAY_ENDPOINT"
    assert resolve_connection(environment=named, endpoint="https://third/v1").source == "--endpoint"


def test_a_sandbox_also_emulates_aws_for_its_keys(tmp_path: Path):
    write_state(tmp_path, endpoint="http://127.0.0.1:4566/v1", aws_endpoint="http://127.0.0.1:4566", region="eu-west-1")

    connection = resolve_connection(profile="sandbox", environment={}, folder=tmp_path)
    client = connection.aws_client("logs")

    assert (client.meta.endpoint_url, client.meta.region_name) == ("http://127.0.0.1:4566", "eu-west-1")
    assert client._request_signer._credentials.access_key == "sandbox-key"
    elsewhere = resolve_connection(
        profile="sandbox", endpoint="https://host/v1", region="eu-west-1", environment={}, folder=tmp_path
    )
    assert elsewhere.aws_endpoint is None


def test_a_missing_aws_profile_is_reported_with_the_file(tmp_path: Path):
    connection = Connection(endpoint="https://host/v1", region="eu-west-1", aws_profile="nobody")

    with pytest.raises(NotAllowedError, match="aws_profile"):
        connection.aws_client("logs")
