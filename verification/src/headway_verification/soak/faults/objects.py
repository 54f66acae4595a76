"""Objects in S3 as the functions see them: their calls fail, and training jobs that complete leave outputs."""

from __future__ import annotations

from collections.abc import Callable

from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.errors import ObjectsUnreadable
from headway_service.ports.objects import ObjectPage
from headway_service.testing.memory_objects import MemoryObjects
from headway_verification.soak.faults.injection import FaultInjector

OUTPUTS = "jobs"
"""The bucket of the outputs and the checkpoints of all jobs."""

DATA = "data"
"""The bucket of the inputs."""

CHECKPOINTS_EVERY_MS = 150_000
"""Time between the checkpoints that are seen, ms: none of the intervals that jobs declare."""


class FaultyObjects:
    """A :class:`headway_service.ports.objects.Objects` with faults.

    Args:
        fleet: the training jobs.
        edge: the fault injector.
        clock_s: the virtual time, s.
    """

    def __init__(self, fleet: FakeSageMaker, edge: FaultInjector, clock_s: Callable[[], float]) -> None:
        self._objects = MemoryObjects({OUTPUTS: {}, DATA: {}})
        self._fleet = fleet
        self._edge = edge
        self._clock_s = clock_s
        self._written: set[str] = set()
        #: When the input was listed, virtual time, ms.
        self.input_reads: list[int] = []
        #: When the input was written, virtual time, ms.
        self.input_writes: list[int] = []
        self.write_input(b"")

    def write_input(self, content: bytes) -> None:
        """Write the input that all jobs read which may be answered by others."""
        self.input_writes.append(int(self._clock_s() * 1000))
        self._objects.put(DATA, "in/a", content, self.input_writes[-1])

    def list(self, bucket: str, prefix: str, token: str | None = None) -> ObjectPage:
        """See :class:`headway_service.ports.objects.Objects`."""

        def work() -> ObjectPage:
            self._write_outputs()
            self._write_checkpoint()
            if bucket == DATA:
                self.input_reads.append(int(self._clock_s() * 1000))
            return self._objects.list(bucket, prefix, token)

        return self._edge.call("ListObjectsV2", work, about=f"{bucket}/{prefix}", refused=_unreadable)

    def read(self, bucket: str, key: str, etag: str, size: int) -> bytes:
        """See :class:`headway_service.ports.objects.Objects`."""
        return self._edge.call(
            "GetObject",
            lambda: self._objects.read(bucket, key, etag, size),
            about=f"{bucket}/{key}",
            refused=_unreadable,
        )

    def _write_outputs(self) -> None:
        for job in self._fleet.jobs(now=self._clock_s()):
            if job.status == "Completed" and job.name not in self._written:
                self._written.add(job.name)
                self._objects.put(OUTPUTS, f"output/{job.name}/output/model.tar.gz", b"")

    def _write_checkpoint(self) -> None:
        """Have the checkpoint that all jobs write at the same times."""
        now_ms = int(self._clock_s() * 1000)
        self._objects.put(OUTPUTS, "checkpoints/last", b"", now_ms - now_ms % CHECKPOINTS_EVERY_MS)


def _unreadable() -> Exception:
    return ObjectsUnreadable("no answer")
