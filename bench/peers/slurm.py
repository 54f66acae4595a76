"""Slurm as a peer: its own commands, as users call them, on the controller and nodes that slurm_setup.sh starts."""

from __future__ import annotations

import getpass
import os
import re
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from bench.peers.side import PREEMPTION_LOOK_S, seconds, until

SETUP = Path(__file__).with_name("slurm_setup.sh")
ENDLESS = "trap '' TERM; sleep 100000"
"""Ignores the stop, so that it uses its whole grace period (KillWait)."""
HOLDS = ("--nodes=1", "--ntasks-per-node=1", "--gres=gpu:8", "--output=/dev/null", "--chdir=/tmp")
"""A whole node, whose eight GPUs correspond to Headway's instance."""
CLIENTS_OF_A_LONG_LINE = 4
_PATIENCE_S = 900.0


class SlurmMissing(Exception):
    """Slurm is neither installed nor can it be."""


class Slurm:
    """A Slurm that lives as long as its `with` block.

    Low and high priority are two partitions; the second preempts the first by requeueing its jobs.

    Args:
        nodes: how many.
        grace_s: how long a job may take to stop, s.
        parameters: Slurm's SchedulerParameters; empty for its defaults.
    """

    def __init__(self, nodes: int, *, grace_s: int, parameters: str = "") -> None:
        self._nodes = nodes
        self._folder = tempfile.TemporaryDirectory(prefix="slurm-bench-", ignore_cleanup_errors=True)
        self._environment = {
            **os.environ,
            "SLURM_BENCH_DIR": self._folder.name,
            "SLURM_CONF": f"{self._folder.name}/slurm.conf",
            "KILL_WAIT": str(grace_s),
            "SCHEDULER_PARAMETERS": parameters,
        }

    def __enter__(self) -> Slurm:
        if os.geteuid():
            self._folder.cleanup()
            raise SlurmMissing("it takes root to run Slurm, and this was not root")
        try:
            self._setup("start", str(self._nodes))
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        self._setup("stop")
        self._folder.cleanup()

    def _setup(self, *words: str) -> None:
        # Its daemons inherit its output, so it may not be a pipe, which would never close.
        with tempfile.TemporaryFile("w+") as said:
            done = subprocess.run(  # noqa: S603  our own script
                [str(SETUP), *words], env=self._environment, stdout=said, stderr=said, check=False
            )
            if done.returncode:
                said.seek(0)
                raise SlurmMissing(f"{SETUP.name} {words[0]} ended with {done.returncode}:\n{said.read()[-2000:]}")

    @property
    def version(self) -> str:
        """Slurm's own words."""
        return self._ask("scontrol", "--version").strip()

    def clear(self) -> None:
        """See :class:`bench.peers.side.Side`."""
        self._ask("scancel", f"--user={getpass.getuser()}")
        until(lambda: not self._jobs(), "Slurm has no jobs", timeout_s=_PATIENCE_S)
        until(lambda: self._nodes_in("idle") == self._nodes, "all nodes are idle", timeout_s=_PATIENCE_S)

    def fill(self) -> None:
        """See :class:`bench.peers.side.Side`."""
        for _ in range(self._nodes):
            self._submit(ENDLESS)
        until(lambda: len(self._jobs("RUNNING")) == self._nodes, "all nodes are taken", timeout_s=_PATIENCE_S)

    def submit(self, jobs: int, clients: int) -> float:
        """See :class:`bench.peers.side.Side`. Each submission is a separate `sbatch`, as there is no other way."""
        with ThreadPoolExecutor(clients) as pool:
            return seconds(lambda: list(pool.map(lambda _: self._submit(ENDLESS), range(jobs))))

    def submit_together(self, jobs: int) -> float:
        """See :class:`bench.peers.side.Side`. A job array."""
        return seconds(lambda: self._submit(ENDLESS, f"--array=0-{jobs - 1}"))

    def submit_array(self, members: int) -> float:
        """See :class:`bench.peers.side.Side`."""
        return self.submit_together(members)

    def lengthen(self, waiting: int) -> None:
        """See :class:`bench.peers.side.Side`."""
        self.submit(waiting - len(self._jobs("PENDING")), CLIENTS_OF_A_LONG_LINE)

    def list_jobs(self, first: int | None) -> float:
        """See :class:`bench.peers.side.Side`. `squeue` lists the whole queue, so the first jobs take as long."""
        return seconds(lambda: self._ask("squeue").splitlines()[:first])

    def preempt(self) -> float:
        """See :class:`bench.peers.side.Side`."""

        def start() -> None:
            job = self._submit(ENDLESS, partition="high")
            until(
                lambda: job in self._jobs("RUNNING"), "a job preempts", timeout_s=_PATIENCE_S, every_s=PREEMPTION_LOOK_S
            )

        return seconds(start)

    def drain(self, jobs: int) -> float:
        """See :class:`bench.peers.side.Side`."""

        def run_all() -> None:
            self._submit("true", f"--array=0-{jobs - 1}")
            until(lambda: not self._jobs(), "all jobs have ended", timeout_s=_PATIENCE_S, every_s=0.5)

        return seconds(run_all)

    def cycle_ms(self, churn_s: int) -> float:
        """See :class:`bench.peers.side.Side`. The main scheduler's; backfill, which is slower, is left out."""
        self._ask("sdiag", "--reset")
        for _ in range(churn_s):
            self._ask("scancel", self._jobs("RUNNING")[0])
            time.sleep(1)
        return mean_cycle_ms(self._ask("sdiag"))

    def _submit(self, script: str, *words: str, partition: str = "low") -> str:
        """The new job's id."""
        command = ("sbatch", "--parsable", f"--partition={partition}", "--time=1440", *HOLDS, *words, "--wrap", script)
        return self._ask(*command).partition(";")[0].strip()

    def _jobs(self, *states: str) -> list[str]:
        """The ids of the jobs in these states, or of all that have not ended; each element of an array for itself."""
        chosen = [f"--states={','.join(states)}"] if states else []
        return self._ask("squeue", "--noheader", "--array", "--format=%i", *chosen).split()

    def _runs(self, job: str) -> bool:
        return job in self._jobs("RUNNING")

    def _nodes_in(self, state: str) -> int:
        return sum(map(int, self._ask("sinfo", "--noheader", "--format=%D", f"--states={state}").split()))

    def _ask(self, *command: str) -> str:
        return subprocess.run(  # noqa: S603  Slurm's own commands
            command, env=self._environment, capture_output=True, text=True, check=True
        ).stdout


def mean_cycle_ms(sdiag: str) -> float:
    """The mean cycle of the main scheduler in what `sdiag` prints, ms; it counts µs (its manual page).

    Raises:
        ValueError: there was no cycle.
    """
    main = sdiag.partition("Main schedule statistics")[2].partition("Backfilling stats")[0]
    found = re.search(r"Mean cycle:\s+(\d+)", main)
    if found is None:
        raise ValueError(f"sdiag tells of no cycle:\n{sdiag}")
    return int(found[1]) / 1000
