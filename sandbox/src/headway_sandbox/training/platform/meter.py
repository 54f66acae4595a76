"""Measures the hosts of a running job: against their limits, and for CloudWatch."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from headway_sandbox.training.container.limits import Limits
from headway_sandbox.training.container.usage import Usage
from headway_sandbox.training.platform import failure_reason, folders, simulated_gpu, utilization
from headway_sandbox.training.platform.hosts import Host


class Meter:
    """Measures the hosts of one job.

    Args:
        hosts: Its hosts, whose processes start now.
        limits: The limits of each.
        log: Writes a line to the log of a host.
    """

    def __init__(self, hosts: Sequence[Host], limits: Limits, *, log: Callable[[Host, str], None]) -> None:
        self._hosts = hosts
        self._limits = limits
        self._log = log
        self._memory_bytes = limits.memory_bytes or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        self._disk_used = dict.fromkeys((host.number for host in hosts), 0)
        start = Usage(at_s=time.monotonic(), cpu_s=0.0, memory_bytes=0)
        self._before = dict.fromkeys(self._disk_used, start)
        self._noted: set[str] = set()

    def exceeded(self, usages: Mapping[int, Usage]) -> str | None:
        """Return the FailureReason of a host that exceeds a limit; None if none does.

        Args:
            usages: What the processes of each host use, by the host's number.
        """
        for host in self._hosts:
            usage, limit = usages.get(host.number), self._limits.memory_bytes
            if usage is not None and limit is not None and usage.memory_bytes > limit:
                return failure_reason.of_memory(limit, host.name)
            self._disk_used[host.number] = folders.size_of(host.folder)
            if self._disk_used[host.number] > self._limits.disk_bytes:
                return failure_reason.of_disk(self._limits.disk_bytes, host.name)
        return None

    def figures(self, usages: Mapping[int, Usage]) -> Iterator[tuple[Host, Mapping[str, float]]]:
        """Return the values for CloudWatch of each running host by the name of their metric, percent.

        Args:
            usages: What the processes of each host use, by the host's number.
        """
        for host in self._hosts:
            usage, before = usages.get(host.number), self._before[host.number]
            if usage is None or usage.at_s <= before.at_s:
                continue  # it has ended, or there is no new measurement
            self._before[host.number] = usage
            yield (
                host,
                utilization.percentages(
                    before,
                    usage,
                    memory_bytes=self._memory_bytes,
                    disk_used=self._disk_used[host.number],
                    disk_bytes=self._limits.disk_bytes,
                    gpu=self._gpu(host),
                ),
            )

    def _gpu(self, host: Host) -> float | None:
        maximum = simulated_gpu.maximum(host)
        text = simulated_gpu.read(host)
        if not maximum or not text:
            return None
        percent = simulated_gpu.parse(text, maximum)
        if percent is None:
            self._note(host, f"{simulated_gpu.VARIABLE}: '{text}' is not a number from 0 to {maximum:g}")
        else:
            self._note(host, f"the GPU utilization is simulated: it is what the script writes to {simulated_gpu.PATH}")
        return percent

    def _note(self, host: Host, text: str) -> None:
        """Write a line to a host's log, unless it is there already."""
        if text not in self._noted:
            self._noted.add(text)
            self._log(host, f"Sandbox: {text}")
