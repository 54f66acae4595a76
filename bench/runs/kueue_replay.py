"""One replay of Kueue's test on the wall clock: jobs come when they are due, and ticks follow what changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from bench.peers.kueue_jobs import POOL_SIZE, POOLS, Submission, configuration
from bench.queues.kueue_queue import Queue
from bench.queues.timed_training_jobs import BrokenPromiseError, TimedTrainingJobs

_PATIENCE_S = 600.0


class Replay:
    """One run.

    Args:
        jobs: in the order in which they come.
        teams: whether there are guarantees and limits, or one line for each pool.
        limit_s: of each job's run time.
        min_run_time_s: for how long a running job is not preempted, s.

    Attributes:
        queue: the measured queue.
        training_jobs: the training jobs that it has started.
        wall_s: how long the run took.
        held_ms: instances held, times how long.
        busy_s: how long each step took, all together.
    """

    def __init__(self, jobs: Sequence[Submission], *, teams: bool, limit_s: int, min_run_time_s: int = 0) -> None:
        self.jobs = jobs
        self._teams = teams
        self._began_s = 0.0
        self._epoch_ms = 0
        self._accepted = 0
        self.training_jobs = TimedTrainingJobs(dict.fromkeys(POOLS, POOL_SIZE), self._since_ms)
        document = configuration(teams=teams, min_run_time_s=min_run_time_s)
        self.queue = Queue(document, self.training_jobs, self._now_ms, limit_s=limit_s)
        self.wall_s = 0.0
        self.held_ms = 0.0
        self.busy_s = dict.fromkeys(("submit", "observe", "tick", "check", "idle"), 0.0)

    def elapsed_s(self) -> float:
        """How long it has run, s."""
        return self._since_ms() / 1000

    def run(self) -> None:
        """Submit due jobs, observe ends, tick after changes, until all jobs are done.

        Raises:
            BrokenPromiseError: what must never happen has happened, or it does not come to its end.
        """
        self._began_s = time.perf_counter()
        self._epoch_ms = int(time.time() * 1000)
        held, held_since_ms = 0, 0.0
        while len(self.training_jobs.completed) < len(self.jobs) or self.training_jobs.next_end_ms() is not None:
            now_ms = self._since_ms()
            if now_ms > _PATIENCE_S * 1000:
                raise BrokenPromiseError(f"not done after {now_ms / 1000:.0f} s")
            self.held_ms += held * (now_ms - held_since_ms)
            held_since_ms = now_ms
            changed = self._timed("submit", self._submit_due) + self._timed("observe", self._observe_ended)
            if changed:
                self._timed("tick", self._tick)
                held = self._timed("check", self.queue.check)
            else:
                held = sum(self.training_jobs.in_use.values())
                self._timed("idle", self._sleep)
        self.wall_s = self.elapsed_s()

    def problems(self) -> list[str]:
        """See :meth:`bench.queues.kueue_queue.Queue.problems`."""
        return self.queue.problems(self.jobs)

    def _since_ms(self) -> float:
        return (time.perf_counter() - self._began_s) * 1000

    def _now_ms(self) -> int:
        return self._epoch_ms + int(self._since_ms())

    def _timed(self, what: str, step: Callable[[], int]) -> int:
        began_s = time.perf_counter()
        result = step()
        self.busy_s[what] += time.perf_counter() - began_s
        return result

    def _submit_due(self) -> int:
        before, now_ms = self._accepted, self._since_ms()
        while self._accepted < len(self.jobs) and self.jobs[self._accepted].due_ms <= now_ms:
            job = self.jobs[self._accepted]
            self.queue.accept(job, team=job.team if self._teams else "", entered_ms=self._epoch_ms + job.due_ms)
            self._accepted += 1
        return self._accepted - before

    def _observe_ended(self) -> int:
        count = 0
        for sighting in self.training_jobs.ended():
            self.queue.take(sighting)
            count += 1
        return count

    def _tick(self) -> int:
        self.queue.tick()
        return 1

    def _sleep(self) -> int:
        """Until the next thing happens."""
        coming = [each for each in (self.training_jobs.next_end_ms(), self._next_due_ms()) if each is not None]
        if not coming:
            # Whatever runs has an end that comes.
            raise BrokenPromiseError("nothing runs and nothing comes, yet jobs are left")
        time.sleep(max(0.0, min(coming) - self._since_ms()) / 1000)
        return 0

    def _next_due_ms(self) -> int | None:
        return self.jobs[self._accepted].due_ms if self._accepted < len(self.jobs) else None
