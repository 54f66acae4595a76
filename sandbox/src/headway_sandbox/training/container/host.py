"""`python -m headway_sandbox.training.container.host SPEC NUMBER`: one host of a training job.

Its command is process 1 of a PID namespace, as in a container: it ignores signals that it does not handle, and when it
ends, all processes that it has left end too. This process waits for it, passes SIGTERM on, and ends with its exit code.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

from headway_sandbox.training.container import linux, root_folder
from headway_sandbox.training.container.spec import ContainerSpec, HostSpec

NOT_FOUND, NOT_STARTED = 127, 125
"""Exit codes: there is no such program (as in shells); the container cannot be made (as of `docker run`)."""

_KILL_FIRST = "1000"


def main(path: str, number: int) -> int:
    """Run the host and return its exit code: 128 plus the signal's number if a signal ended it."""
    spec = ContainerSpec.read(Path(path))
    host = spec.hosts[number]
    linux.unshare(linux.NEW_MOUNTS | linux.NEW_HOSTNAME | linux.NEW_IPC | linux.NEW_PIDS)
    command = os.fork()
    if command == 0:
        _become_command(spec, host)
    signal.signal(signal.SIGTERM, lambda _number, _frame: os.kill(command, signal.SIGTERM))
    code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    return code if code >= 0 else 128 - code


def _become_command(spec: ContainerSpec, host: HostSpec) -> None:
    code = NOT_STARTED
    try:
        os.dup2(host.output, 1)
        os.dup2(host.output, 2)
        # If memory runs out, the kernel ends the script before anything else.
        Path("/proc/self/oom_score_adj").write_text(_KILL_FIRST, encoding="ascii")
        socket.sethostname(host.name)
        os.umask(0o022)
        known = "".join(f"{each.address} {each.name}\n" for each in spec.hosts)
        root_folder.enter(Path(host.folder), programs=spec.programs, hosts=f"127.0.0.1 localhost\n{known}")
        os.chdir(root_folder.ML)
        spec.limits.apply()
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        linux.drop_privileges(spec.user)
        code = NOT_FOUND
        os.execvpe(spec.command[0], list(spec.command), dict(spec.environment))  # noqa: S606  what this process is for
    except OSError as error:
        what = f"cannot run {spec.command[0]}" if code == NOT_FOUND else "cannot make the container"
        os.write(2, f"{what}: {error}\n".encode())
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
