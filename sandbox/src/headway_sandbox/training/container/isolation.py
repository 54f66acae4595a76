"""How scripts are isolated on this machine: found by trying, as many things can forbid it."""

from __future__ import annotations

import os
import sys
import tempfile
from enum import StrEnum
from pathlib import Path

from headway_sandbox.errors import WrongUsage
from headway_sandbox.training.container.limits import Limits
from headway_sandbox.training.container.process import Container
from headway_sandbox.training.container.spec import ContainerSpec, HostSpec

_FIRST_USER, _USERS = 100_000, 400_000
_TRIAL_PORT = 80
_TRIAL_DISK_BYTES = 2**20
_TRIAL_S = 20.0
_ALLOW_USER_NAMESPACES = (
    "Allow unprivileged user namespaces (sysctl user.max_user_namespaces, "
    "kernel.apparmor_restrict_unprivileged_userns), or start the sandbox as root."
)
_ALLOW_NAMESPACES = "Give root CAP_SYS_ADMIN and CAP_NET_ADMIN (a container usually lacks them)."


class CannotIsolate(WrongUsage):
    """Scripts cannot be isolated on this machine."""


class Isolation(StrEnum):
    """What the namespaces are made with."""

    ROOT = "root"
    """By root: each job has a user of its own, which owns nothing else."""
    USER_NAMESPACE = "user-namespace"
    """By a user namespace: on this machine the job is the sandbox's user, and in its container user 0."""

    @property
    def prefix(self) -> tuple[str, ...]:
        """The command that makes a job's namespaces, to be followed by their first process."""
        owner = () if self is Isolation.ROOT else ("--user", "--map-root-user")
        return ("unshare", *owner, "--net", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc", "--")

    def user(self) -> int | None:
        """Return the user that a job's script runs as; None: that of the user namespace.

        It differs between jobs that run at the same time, as it follows from the number of this process.
        """
        return _FIRST_USER + os.getpid() % _USERS if self is Isolation.ROOT else None


def find() -> Isolation:
    """Return the isolation for this user, after a trial.

    Raises:
        CannotIsolate: It does not work here; the message says what to change.
    """
    if not sys.platform.startswith("linux"):
        raise CannotIsolate("Scripts run in namespaces, which need Linux. Without it, training jobs are timers.")
    # Never root in a user namespace: it would own the machine's files.
    isolation = Isolation.ROOT if os.geteuid() == 0 else Isolation.USER_NAMESPACE
    failure = trial(isolation)
    if failure is None:
        return isolation
    remedy = _ALLOW_USER_NAMESPACES if isolation is Isolation.USER_NAMESPACE else _ALLOW_NAMESPACES
    raise CannotIsolate(f"Scripts cannot be isolated on this machine, so none is run. {remedy} What failed: {failure}")


def trial(isolation: Isolation) -> str | None:
    """Return why a container that does nothing fails with this isolation; None if it works."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryFile() as output:
        host = Path(name, "algo-1")
        for part in ("ml", "tmp"):
            (host / part).mkdir(parents=True)
        spec = ContainerSpec(
            command=["true"],
            environment={"PATH": os.defpath},
            hosts=[HostSpec(name=host.name, address="127.0.1.1", folder=str(host), output=os.dup(output.fileno()))],
            user=isolation.user(),
            programs=[],
            port=_TRIAL_PORT,
            limits=Limits(disk_bytes=_TRIAL_DISK_BYTES),
        )
        try:
            container = Container(spec, Path(name, "spec.json"), prefix=isolation.prefix)
        except OSError as error:
            return str(error)
        try:
            container.wait_for_end(_TRIAL_S)
        finally:
            container.kill()
        output.seek(0)
        if container.exit_codes == {0: 0}:
            return None
        return output.read().decode(errors="replace").strip() or f"{container.exit_codes}"
