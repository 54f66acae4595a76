"""`sam build` and `sam deploy` of Headway's template to the sandbox.

As on AWS, with three differences: the dependencies are built for this machine's Python, which runs the functions; the
endpoint is the sandbox's; and sam polls more often.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from headway_sandbox.errors import DeployFailed
from headway_sandbox.local.checkout import Checkout

STACK = "headway-sandbox"
# Builds of earlier sources are kept, so that switching between two states of the sources builds neither again.
_BUILDS_KEPT = 3
_TIMEOUT_S = 600
_TAIL_LINES = 30


def environment(*, region: str, endpoint: str | None, credentials: tuple[str, str]) -> dict[str, str]:
    """Return the environment variables for sam and other clients of the sandbox, without settings of real accounts.

    Args:
        region: The sandbox's region.
        endpoint: AWS_ENDPOINT_URL; None: not set.
        credentials: Access key and secret key.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "SAM_")) and name != "PYTHONPATH"
    }
    access_key, secret_key = credentials
    kept.update(
        AWS_ACCESS_KEY_ID=access_key,
        AWS_SECRET_ACCESS_KEY=secret_key,
        AWS_DEFAULT_REGION=region,
        AWS_CONFIG_FILE=os.devnull,
        AWS_SHARED_CREDENTIALS_FILE=os.devnull,
        AWS_EC2_METADATA_DISABLED="true",
        SAM_CLI_TELEMETRY="0",
        SAM_CLI_POLL_DELAY="0.2",  # seconds; the default of 5 is for stacks that take minutes
        NO_PROXY=",".join(filter(None, ("127.0.0.1", "localhost", os.environ.get("NO_PROXY", "")))),
    )
    if endpoint is not None:
        kept["AWS_ENDPOINT_URL"] = endpoint
    return kept


def build(checkout: Checkout, *, region: str) -> Path:
    """Build the template unless there is a build of the same sources.

    Args:
        checkout: The sources.
        region: The sandbox's region.

    Returns:
        The folder of the build.

    Raises:
        DeployFailed: sam failed.
        SetupMissing: sam or the sandbox's interpreter is not installed.
    """
    sources = checkout.sources_hash()
    home = checkout.root / ".aws-sam" / "sandbox"
    done = home / sources
    home.mkdir(parents=True, exist_ok=True)
    with locked(home / "lock"):  # two sandboxes of one checkout do not build at the same time
        if not (done / "template.yaml").is_file():
            draft = home / "draft"
            shutil.rmtree(draft, ignore_errors=True)
            _build(checkout, draft=draft, cache=home / "cache", region=region)
            draft.replace(done)
        (done / "template.yaml").touch()  # so that the builds in use are the newest
        _remove_old(home)
    return done


def _build(checkout: Checkout, *, draft: Path, cache: Path, region: str) -> None:
    python = checkout.sandbox_python()
    # sam's cache key of a layer has its files but not its Makefile's variables, so there is one cache per interpreter.
    cache /= python.resolve().name
    settings = environment(region=region, endpoint=None, credentials=("none", "none"))
    settings.update(HEADWAY_LAYER_TARGET="host", HEADWAY_LAYER_PYTHON=str(python))
    where = ["--template-file", str(checkout.template()), "--build-dir", str(draft), "--cache-dir", str(cache)]
    words = [str(checkout.sam()), "build", *where, "--cached"]
    _run(words, settings, cwd=checkout.root)


def deploy(checkout: Checkout, *, built: Path, parameters: Mapping[str, str], settings: Mapping[str, str]) -> None:
    """Deploy a build.

    Args:
        checkout: The sources.
        built: Folder of the build.
        parameters: The template's parameters.
        settings: Environment variables of the sandbox (`environment`).

    Raises:
        DeployFailed: sam failed, or the stack could not be created.
    """
    overrides = [f"ParameterKey={name},ParameterValue={value}" for name, value in parameters.items()]
    what = ["--template-file", str(built / "template.yaml"), "--stack-name", STACK, "--parameter-overrides", *overrides]
    how = ["--resolve-s3", "--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset", "--no-progressbar"]
    words = [str(checkout.sam()), "deploy", *what, *how, "--no-fail-on-empty-changeset"]
    _run(words, settings, cwd=built)


def _run(words: Sequence[str], settings: Mapping[str, str], *, cwd: Path) -> None:
    try:
        done = subprocess.run(
            list(words), env=dict(settings), cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise DeployFailed(f"`sam {words[1]}` took more than {_TIMEOUT_S} s.") from error
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-_TAIL_LINES:])
        raise DeployFailed(f"`sam {words[1]}` failed with status {done.returncode}:\n{tail}")


def _remove_old(home: Path) -> None:
    builds = sorted(home.glob("*/template.yaml"), key=lambda path: path.stat().st_mtime)
    for old in builds[:-_BUILDS_KEPT]:
        shutil.rmtree(old.parent, ignore_errors=True)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Lock a file, waiting until it is free. Yield whether it is still there: who held it may have removed it."""
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield path.exists() and os.path.samestat(os.fstat(held.fileno()), path.stat())
