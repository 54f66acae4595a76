"""What is said when somebody who waits for jobs is interrupted: the jobs go on, and how to stop them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from headway_client.botocore_hooks.job_cache import QueueJobs
from headway_client.botocore_hooks.progress import Notify
from headway_client.text import to_stderr

MAX_PRINTED_JOBS = 20
"""The most jobs that are named, one a line."""

PRINT_TIMEOUT_S = 2.0
"""For so long an interrupt waits for the queue's answer; who wants to leave is not kept."""


def print_unfinished_jobs(jobs: QueueJobs, notify: Notify = to_stderr) -> None:
    """Name the jobs that this process has submitted and that have not ended; each is named only once."""
    names = jobs.unfinished()
    for name in names[:MAX_PRINTED_JOBS]:
        notify(f"{name} stays in the queue; `headway stop {name}` stops it")
    if len(names) > MAX_PRINTED_JOBS:
        notify(f"so do {len(names) - MAX_PRINTED_JOBS} more; `headway queue` shows them")


@contextmanager
def print_unfinished_on_interrupt(jobs: QueueJobs) -> Iterator[None]:
    """Say farewell where Ctrl-C ends what is done within, and let it end."""
    try:
        yield
    except KeyboardInterrupt:
        print_unfinished_jobs(jobs)
        raise


def print_unfinished_at_ctrl_c(jobs: QueueJobs) -> Callable[[], None]:
    """Say farewell at each Ctrl-C from now on, whatever else it does, and return what ends that.

    Not where it ends the process: the SageMaker SDKs swallow it in ``fit`` and ``train`` (the ``return`` under
    ``finally`` in their telemetry, seen in 2.257.7 and 3.27.0), so that a program goes on behind them as if the job had
    ended. In a thread other than the main one, which no signal reaches, nothing is done.
    """
    before = signal.getsignal(signal.SIGINT)

    def at_ctrl_c(number: int, frame: FrameType | None) -> None:
        asking = threading.Thread(target=print_unfinished_jobs, args=(jobs,), name="headway-unfinished-jobs")
        asking.start()
        # What it says is to stand before what the interrupt prints. A process that ends waits for the thread anyway.
        asking.join(PRINT_TIMEOUT_S)
        if callable(before):
            before(number, frame)

    def end() -> None:
        if signal.getsignal(signal.SIGINT) is at_ctrl_c:
            signal.signal(signal.SIGINT, before)

    # Somebody who ignores Ctrl-C, as a shell does for programs in the background, goes on doing so.
    if threading.current_thread() is threading.main_thread() and callable(before):
        signal.signal(signal.SIGINT, at_ctrl_c)
    return end
