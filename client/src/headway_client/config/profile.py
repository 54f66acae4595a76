"""Resolve the queue's endpoint and the credentials from flags, the environment and the profile file.

Flags take precedence over the environment, and the environment over the profile. Without any endpoint, a sandbox is
used (`headway_client.config.sandbox_state`). The file is TOML, by default ``~/.config/headway/config.toml``::

    default = "prod"  # the profile to use if none is named

    [profiles.prod]
    endpoint = "https://abc123.execute-api.eu-west-1.amazonaws.com/v1"
    region = "eu-west-1"  # optional if the endpoint's host name contains it
    aws_profile = "ml-team"  # optional, of ~/.aws/config
    api_id = "abc123"  # only if the endpoint is a VPC endpoint's own name
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from headway_client.config import sandbox_state
from headway_client.config.loopback import is_loopback
from headway_client.errors import NotAllowedError, ProfileError, UsageError

if TYPE_CHECKING:
    from headway_client.config.credentials_source import CredentialsSource

DEFAULT_FILE = Path("~/.config/headway/config.toml")
SANDBOX_PROFILE = "sandbox"
"""The profile of the sandbox that is found from the current folder, unless the file has a profile of that name."""

_TOP_KEYS = ("default", "profiles")
_PROFILE_KEYS = (
    "endpoint",
    "region",
    "aws_profile",
    "api_id",
    "aws_access_key_id",
    "aws_secret_access_key",
)
_MAX_FILE_BYTES = 1_000_000

_AWS_CONNECT_TIMEOUT_S = 5
_AWS_READ_TIMEOUT_S = 30
_AWS_TRIES = 4

# The region is a label of API Gateway's host names, both public ones and those of VPC endpoints:
# abc123.execute-api.eu-west-1.amazonaws.com, vpce-0a-b.execute-api.eu-west-1.vpce.amazonaws.com
# (source: API Gateway's guide, "Invoke a private API").
_REGION_IN_HOST = re.compile(r"\.execute-api\.([a-z0-9-]+)\.(?:vpce\.)?amazonaws\.")


@dataclass(frozen=True, kw_only=True)
class StaticKeys:
    """Dummy credentials of a sandbox. They are not secret, but never shown."""

    access_key_id: str
    secret_access_key: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The settings of a profile; None for those that are not set."""

    source: str
    endpoint: str | None = None
    region: str | None = None
    aws_profile: str | None = None
    api_id: str | None = None
    keys: StaticKeys | None = None
    aws_endpoint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Connection:
    """The resolved settings for calling the queue.

    Attributes:
        endpoint: the API's URL with its stage.
        region: the region for which requests are signed.
        aws_profile: the AWS profile whose credentials sign; None for botocore's credential chain.
        api_id: the API's id, if the endpoint is a VPC endpoint's own name.
        keys: a sandbox's dummy credentials, for loopback endpoints only.
        note: a sentence for the user about an implicit choice, or None.
        source: the origin of the endpoint: an option, a variable, or a place in a file.
        aws_endpoint: the URL at which a sandbox emulates AWS; None for AWS.
    """

    endpoint: str
    region: str
    aws_profile: str | None = None
    api_id: str | None = None
    keys: StaticKeys | None = None
    note: str | None = None
    source: str = ""
    aws_endpoint: str | None = None

    @property
    def has_credentials(self) -> bool:
        """Whether the profile names the credentials that sign, so that no others are used."""
        return self.keys is not None or self.aws_profile is not None

    def credentials(self) -> CredentialsSource:
        """Return the credentials for signing; raises `NotAllowedError` if there are none."""
        from botocore.credentials import Credentials

        if self.keys is not None:
            return cast("CredentialsSource", Credentials(self.keys.access_key_id, self.keys.secret_access_key))
        return _aws_credentials(self.aws_profile)

    def aws_client(self, service: str, *, tries: int = _AWS_TRIES) -> Any:
        """Return a boto3 client of an AWS service, with the region and the credentials of this connection.

        Args:
            service: the service's name, such as ``logs``.
            tries: maximum number of tries of a call.

        Raises:
            NotAllowedError: the AWS profile can't be used.
        """
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        keys: dict[str, Any] = {}
        if self.keys is not None:
            keys = {
                "aws_access_key_id": self.keys.access_key_id,
                "aws_secret_access_key": self.keys.secret_access_key,
            }
        config = Config(
            connect_timeout=_AWS_CONNECT_TIMEOUT_S,
            read_timeout=_AWS_READ_TIMEOUT_S,
            retries={"mode": "standard", "total_max_attempts": tries},
        )
        try:
            session = boto3.Session(profile_name=self.aws_profile, region_name=self.region, **keys)
            client: Any = session.client
            return client(service, endpoint_url=self.aws_endpoint, config=config)
        except BotoCoreError as error:
            raise _unusable(error) from error


def resolve_connection(
    *,
    endpoint: str | None = None,
    profile: str | None = None,
    region: str | None = None,
    aws_profile: str | None = None,
    fallback_region: str | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Connection:
    """Resolve the queue's endpoint, region and credentials.

    Args:
        endpoint: the endpoint from a flag.
        profile: the profile from a flag.
        region: the region from a flag.
        aws_profile: the AWS profile from a flag, whose credentials sign in place of all others.
        fallback_region: the region if no other is configured.
        environment: environment variables; those of the process by default.
        folder: the folder from which a sandbox is searched; the current folder by default.

    Raises:
        ProfileError: the profile file is not valid; the message names the file, the key and the fix.
        UsageError: no endpoint is configured, or it is not valid.
    """
    env = os.environ if environment is None else environment
    start = folder or Path.cwd()
    named = profile or env.get("HEADWAY_PROFILE")
    chosen = _profile(named, env, start) or Profile(source="")
    # A profile that the caller names wins over variables: a forgotten one must not select another queue.
    wins = profile is not None and chosen.endpoint is not None
    explicit = endpoint or (None if wins else env.get("HEADWAY_ENDPOINT"))
    note = None
    if not explicit and chosen.endpoint is None and not named:
        chosen, note = _sandbox_as_last_resort(chosen, start)
    if not explicit and chosen.endpoint is None:
        raise UsageError(_no_endpoint(chosen), code="NoEndpoint")
    url = _checked_endpoint(explicit or str(chosen.endpoint), chosen.source if not explicit else "")
    is_sandbox = chosen.keys is not None and is_loopback(url)
    if chosen.keys is not None and not is_sandbox and not explicit:
        raise ProfileError(
            f"{chosen.source} has an AWS key in plain text, which is accepted only for a sandbox on this machine, not "
            f"for {url}. Remove aws_access_key_id and aws_secret_access_key there, and set aws_profile."
        )
    regions = (env.get("HEADWAY_REGION"), None if explicit else chosen.region)
    api_ids = (env.get("HEADWAY_API_ID"), None if explicit else chosen.api_id)
    return Connection(
        endpoint=url,
        region=_region(
            url,
            (region, *(reversed(regions) if wins else regions)),
            (chosen.region, env.get("AWS_REGION"), env.get("AWS_DEFAULT_REGION"), fallback_region),
        ),
        aws_profile=aws_profile or chosen.aws_profile,
        # A profile's API id is for the profile's endpoint only.
        api_id=chosen.api_id if wins and not endpoint else api_ids[0] or api_ids[1],
        keys=chosen.keys if is_sandbox and aws_profile is None else None,
        note=note,
        source="--endpoint" if endpoint else "HEADWAY_ENDPOINT" if explicit else chosen.source,
        # The same is true of a sandbox's AWS endpoint and dummy keys.
        aws_endpoint=chosen.aws_endpoint if is_sandbox else None,
    )


def read_profiles(path: Path) -> tuple[str | None, dict[str, Profile]]:
    """Read a profile file.

    Returns:
        The name of the default profile, if any, and the profiles by name.

    Raises:
        ProfileError: it can't be read, is not TOML, or has an unknown key or a wrong value.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
        if len(content) > _MAX_FILE_BYTES:
            raise ProfileError(f"{path} is larger than {_MAX_FILE_BYTES:,} bytes, the limit for a profile file.")
        document = tomllib.loads(content.decode())
    except OSError as error:
        raise ProfileError(f"{path} can't be read ({error.strerror}). Check its permissions.") from error
    except (ValueError, RecursionError) as error:
        # Python's parser raises its own error for a syntax only, not for a number or a nesting that is too much for it.
        raise ProfileError(f"{path} is not valid TOML: {error}. Correct that file.") from error
    _refuse_unknown(document, _TOP_KEYS, f"{path}:")
    tables = document.get("profiles", {})
    if not isinstance(tables, dict):
        raise ProfileError(f"{path}: `profiles` has to be tables: write [profiles.NAME].")
    profiles = {name: _read_profile(path, name, table) for name, table in tables.items()}
    default = _optional_text(document, "default", f"{path}:")
    if default is not None and default != SANDBOX_PROFILE and default not in profiles:
        raise ProfileError(f'{path}: `default` names "{default}", but there is no [profiles.{default}].')
    return default, profiles


def _read_profile(path: Path, name: str, table: object) -> Profile:
    where = f"{path}: [profiles.{name}]"
    if not isinstance(table, dict):
        raise ProfileError(f"{where} has to be a table with keys such as endpoint.")
    _refuse_unknown(table, _PROFILE_KEYS, where)
    texts = {key: _optional_text(table, key, where) for key in _PROFILE_KEYS}
    key_id, secret = texts.pop("aws_access_key_id"), texts.pop("aws_secret_access_key")
    if (key_id is None) != (secret is None):
        raise ProfileError(f"{where}: aws_access_key_id and aws_secret_access_key go together; one is missing.")
    keys = None
    if key_id is not None and secret is not None:
        keys = StaticKeys(access_key_id=key_id, secret_access_key=secret)
    return Profile(source=where, keys=keys, **texts)


def _refuse_unknown(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            raise ProfileError(f"{where} `{key}` is not a known key; known keys: {', '.join(known)}.")


def _optional_text(table: Mapping[str, Any], key: str, where: str) -> str | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise ProfileError(f'{where} `{key}` has to be a non-empty string: write {key} = "...".')
    return value.strip()


def _profile(named: str | None, env: Mapping[str, str], folder: Path) -> Profile | None:
    path = Path(env.get("HEADWAY_CONFIG_FILE") or default_file(env)).expanduser()
    default, profiles = read_profiles(path) if path.exists() else (None, {})
    if not path.exists() and env.get("HEADWAY_CONFIG_FILE"):
        raise ProfileError(f"{path}, which HEADWAY_CONFIG_FILE names, does not exist. Create it, or unset that.")
    name = named or default
    if name is None:
        return None
    if name in profiles:
        return profiles[name]
    if name == SANDBOX_PROFILE:
        state = sandbox_state.find(folder)
        if state is None:
            raise ProfileError(f"No sandbox was found in {folder} or above. Run `headway sandbox up` first.")
        return _sandbox_profile(state)
    known = ", ".join(sorted(profiles)) or "none"
    raise ProfileError(f'There is no profile "{name}": add [profiles.{name}] to {path} (profiles there: {known}).')


def _sandbox_profile(state: sandbox_state.SandboxState) -> Profile:
    return Profile(
        source=str(state.path),
        endpoint=state.endpoint,
        region=state.region,
        keys=StaticKeys(access_key_id=state.access_key_id, secret_access_key=state.secret_access_key),
        aws_endpoint=state.aws_endpoint,
    )


def _sandbox_as_last_resort(chosen: Profile, folder: Path) -> tuple[Profile, str | None]:
    state = sandbox_state.find(folder, own_only=True)
    if state is None:
        return chosen, None
    _, *others = (str(path.parent.parent) for path in sandbox_state.locate(folder, own_only=True))
    note = f"No endpoint is set: using the sandbox of {state.path.parent.parent}."
    if others:
        note += f" There are others in {' and '.join(others)}: run `headway` there to use them."
    return replace(_sandbox_profile(state), region=chosen.region or state.region), note


def default_file(env: Mapping[str, str]) -> Path:
    """Return where the profile file is unless HEADWAY_CONFIG_FILE says so.

    It is in $XDG_CONFIG_HOME if that is an absolute path (XDG base directory specification), unless only ~/.config has
    one.
    """
    base = Path(env.get("XDG_CONFIG_HOME", ""))
    if not base.is_absolute():
        return DEFAULT_FILE
    path = base / "headway" / "config.toml"
    return DEFAULT_FILE if not path.exists() and DEFAULT_FILE.expanduser().exists() else path


def _no_endpoint(chosen: Profile) -> str:
    if chosen.source:
        return f'{chosen.source} has no endpoint. Add endpoint = "https://HOST/v1" there.'
    return (
        "The endpoint of the queue is not configured. Run `export HEADWAY_ENDPOINT=https://HOST/v1` (the stack's "
        f'output), or put it into {DEFAULT_FILE}: [profiles.prod] endpoint = "https://HOST/v1" and, above it, '
        'default = "prod"; or run `headway sandbox up` to try it on this machine.'
    )


def _checked_endpoint(endpoint: str, source: str) -> str:
    where = f"{source}: `endpoint`" if source else "The endpoint"
    try:
        parts = urlsplit(endpoint)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
        parts = urlsplit("")
    if not valid or parts.query or parts.fragment or parts.username is not None:
        raise UsageError(f"{where} is {endpoint!r}; it has to be a URL such as https://HOST/v1.")
    if parts.scheme == "http" and not is_loopback(endpoint):
        raise UsageError(f"{where} is {endpoint}; for another machine it has to start with https://.")
    return endpoint.rstrip("/")


def _region(endpoint: str, before: Iterable[str | None], after: Iterable[str | None]) -> str:
    """Return the first region of `before`, of the endpoint's host name, or of `after`."""
    in_host = _REGION_IN_HOST.search(urlsplit(endpoint).hostname or "")
    for region in (*before, in_host.group(1) if in_host else None, *after):
        if region:
            return region
    raise UsageError(
        f"The region of {endpoint} is not configured. Give --region or set HEADWAY_REGION, or `region` in the profile."
    )


def _aws_credentials(aws_profile: str | None) -> CredentialsSource:
    import botocore.session
    from botocore.exceptions import BotoCoreError

    try:
        found = botocore.session.Session(profile=aws_profile).get_credentials()
    except BotoCoreError as error:
        raise _unusable(error) from error
    if found is None:
        raise NotAllowedError(
            "There are no AWS credentials for signing. Give --aws-profile, set AWS_PROFILE (or `aws_profile` in the "
            "profile), or run `aws configure sso`.",
            code="NoCredentials",
        )
    return found


def _unusable(error: Exception) -> NotAllowedError:
    return NotAllowedError(
        f"The AWS credentials can't be used: {error} Check --aws-profile, AWS_PROFILE, `aws_profile` in the profile, "
        "and ~/.aws/config.",
        code="NoCredentials",
    )
