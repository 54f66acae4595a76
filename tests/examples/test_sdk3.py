"""The example of SDK 3 notices when a job does not resume as it should; the preemption itself is tested end to end."""

from __future__ import annotations

import pytest

from tests.examples.environments import run_with


@pytest.mark.parametrize(("begin", "problem"), [(70, None), (60, "18 steps were lost, not 0 to 10")])
def test_the_exit_code_tells_whether_it_was_shown(begin: int, problem: str | None):
    code = f"""
import sys
from types import SimpleNamespace
from examples.checkpoints.run import Attempt
from examples.sdk3 import run

class Queue:
    def submit(self, trainer, priority):
        return SimpleNamespace(priority=priority, result=lambda **_: None)

def attempts_of(job):
    low = [Attempt(begin=0, last=78, weights=None), Attempt(begin={begin}, last=300, weights="a")]
    return low if job.priority == 1 else [Attempt(begin=0, last=300, weights="a")]

run.TrainingQueue, run.attempts_of, run.wait_for_step = Queue, attempts_of, lambda *_: None
run.trainer = lambda *_: None
sys.argv = ["run", "--role", "r", "--bucket", "b"]
run.main()
"""
    ended = run_with("sdk3", code)
    assert ended.returncode == (0 if problem is None else 1), ended.stderr
    assert problem is None or problem in ended.stderr
