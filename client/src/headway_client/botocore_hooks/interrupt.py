"""Print the unfinished jobs when waiting for them is interrupted, with the commands for them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from headway_client.botocore_hooks.progress import Notify
from headway_client.job_sentences import unfinished_sentence
from headway_client.text import to_stderr

MAX_PRINTED_JOBS = 20
"""Maximum number of jobs that are printed by name."""

PRINT_TIMEOUT_S = 2.0
"""How long an interrupt is delayed for the request to the queue."""


class Submitted(Protocol):
    """The jobs that this process has submitted."""

    def unfinished(self) -> list[str]:
        """Return the names of those that have not ended; each is returned only once."""


def print_unfinished_jobs(jobs: Submitted, notify: Notify = to_stderr) -> None:
    """Print the jobs that this process has submitted and that have not ended, each only once.

    Args:
        jobs: the submitted jobs.
        notify: prints a sentence.
    """
    names = jobs.unfinished()
    for name in names[:MAX_PRINTED_JOBS]:
        notify(unfinished_sentence(name))
    if len(names) > MAX_PRINTED_JOBS:
        notify(f"so do {len(names) - MAX_PRINTED_JOBS} more; `headway queue` shows them")


@contextmanager
def print_unfinished_on_interrupt(jobs: Submitted) -> Iterator[None]:
    """Print the unfinished jobs if Ctrl-C interrupts the body, and re-raise the KeyboardInterrupt."""
    try:
        yield
    except KeyboardInterrupt:
        print_unfinished_jobs(jobs)
        raise


def print_unfinished_at_ctrl_c(jobs: Submitted) -> Callable[[], None]:
    """Print the unfinished jobs on each Ctrl-C from now on, before its other effects.

    A signal handler is necessary, as the SageMaker SDKs swallow the KeyboardInterrupt in ``fit`` and ``train`` (the
    ``return`` under ``finally`` in their telemetry, observed in 2.257.7 and 3.27.0), and the program continues as if
    the job had ended. In a thread other than the main one, which can't handle signals, nothing is done.

    Returns:
        A function that restores the previous handler.
    """
    before = signal.getsignal(signal.SIGINT)

    def at_ctrl_c(number: int, frame: FrameType | None) -> None:
        printer = threading.Thread(target=print_unfinished_jobs, args=(jobs,), name="headway-unfinished-jobs")
        printer.start()
        # Print before the traceback of the interrupt. A process that exits waits for the thread in any case.
        printer.join(PRINT_TIMEOUT_S)
        if callable(before):
            before(number, frame)

    def end() -> None:
        if signal.getsignal(signal.SIGINT) is at_ctrl_c:
            signal.signal(signal.SIGINT, before)

    # If Ctrl-C is ignored, as in background processes of a shell, keep it so.
    if threading.current_thread() is threading.main_thread() and callable(before):
        signal.signal(signal.SIGINT, at_ctrl_c)
    return end
