"""The training of examples/checkpoints resumes exactly, and its run.py notices when a job does not."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.checkpoints import run, train
from examples.checkpoints.run import Attempt, problems, steps_lost
from examples.checkpoints.train import State
from headway_client import QueuedJob

SEED = 3


def after(steps: int, state: State) -> State:
    for _ in range(steps):
        state, _ = train.train_step(state, *train.batch(SEED, state.step))
    return state


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


@settings(max_examples=20)
@given(st.integers(0, 30))
def test_a_training_that_is_interrupted_after_any_step_ends_with_the_same_weights(folder: Path, interrupted: int):
    checkpoint = folder / "state.npz"
    after(interrupted, State.initial()).save(checkpoint)
    resumed = after(30 - interrupted, State.load(checkpoint))
    undisturbed = after(30, State.initial())
    assert np.array_equal(resumed.weights, undisturbed.weights)
    assert resumed.step == undisturbed.step


def test_a_kill_while_a_checkpoint_is_written_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    checkpoint, saved = tmp_path / "state.npz", after(2, State.initial())
    saved.save(checkpoint)

    def killed(file, **_):
        file.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", killed)
    with pytest.raises(KeyboardInterrupt):
        after(1, saved).save(checkpoint)
    assert State.load(checkpoint).step == 2


def test_the_training_learns():
    state, losses = State.initial(), []
    for step in range(100):
        state, loss = train.train_step(state, *train.batch(SEED, step))
        losses.append(loss)
    assert losses[0] == pytest.approx(np.log(train.CLASSES))
    assert np.mean(losses[-10:]) < 0.5 * losses[0]


def attempt(folder: Path, *options: str, stop_at: str | None = None) -> Attempt:
    """Run the script on its checkpoint in a folder; it receives SIGTERM after a line that begins with `stop_at`."""
    folders = ("--checkpoint-dir", str(folder / "checkpoints"), "--model-dir", str(folder / "model"))
    command = [sys.executable, str(Path(train.__file__)), *folders, *options]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            if stop_at is not None and line.startswith(stop_at):
                process.send_signal(signal.SIGTERM)
    return Attempt.from_log(lines)


def test_a_script_that_saves_on_sigterm_continues_after_its_last_step(tmp_path: Path):
    long = ("--steps", "5000", "--pause-s", "0.01", "--checkpoint-every", "1000")
    first = attempt(tmp_path, *long, stop_at="step 3 ")
    second = attempt(tmp_path, "--steps", str(first.last + 1))
    assert 3 <= first.last < 1000
    assert (second.begin, second.last) == (first.last, first.last + 1)
    assert first.weights is None
    assert second.weights is not None


def test_a_script_that_does_not_continues_after_its_last_checkpoint(tmp_path: Path):
    long = ("--steps", "5000", "--pause-s", "0.2", "--checkpoint-every", "4", "--save-on-sigterm", "no")
    first = attempt(tmp_path, *long, stop_at="step 5 ")
    second = attempt(tmp_path, "--steps", "1")
    assert first.last >= 5
    assert second.begin == 4


def test_the_log_has_each_step_of_a_checkpoint_even_if_the_script_ends_while_it_saves(tmp_path: Path):
    (tmp_path / "checkpoints" / "state.draft").mkdir(parents=True)  # saving fails
    assert attempt(tmp_path, "--checkpoint-every", "4").last == 4


def test_the_log_of_an_attempt_says_where_it_begins_and_ends():
    assert Attempt.from_log(["begins after step 40", "step 41 loss=1.0", "step 42 loss=0.9", "weights ab"]) == Attempt(
        begin=40, last=42, weights="ab"
    )
    assert Attempt.from_log(["begins after step 40"]) == Attempt(begin=40, last=40, weights=None)


def test_a_log_of_something_else_is_an_error():
    with pytest.raises(ValueError, match="has the script run"):
        Attempt.from_log(["Sandbox: it is a timer"])


STOPPED = Attempt(begin=0, last=78, weights=None)
UNDISTURBED = Attempt(begin=0, last=300, weights="a")


@pytest.mark.parametrize(
    ("low", "high", "problem"),
    [
        ([STOPPED, Attempt(begin=70, last=300, weights="a")], [UNDISTURBED], None),
        ([STOPPED, Attempt(begin=60, last=300, weights="a")], [UNDISTURBED], "18 steps were lost"),
        ([STOPPED, Attempt(begin=80, last=300, weights="a")], [UNDISTURBED], "-2 steps were lost"),
        ([STOPPED, Attempt(begin=70, last=300, weights="b")], [UNDISTURBED], "other weights"),
        ([STOPPED, STOPPED], [STOPPED], "other weights"),
        ([UNDISTURBED], [UNDISTURBED], "1 and 1 attempts"),
    ],
    ids=["resumed", "too much lost", "steps left out", "other weights", "no weights", "not preempted"],
)
def test_a_preemption_that_went_wrong_is_noticed(low: list[Attempt], high: list[Attempt], problem: str | None):
    found = problems(low, high, at_most=10)
    assert len(found) > 0 if problem else found == []
    assert problem is None or any(problem in sentence for sentence in found)


def test_the_steps_between_the_stop_and_the_checkpoint_are_lost():
    assert steps_lost([STOPPED, Attempt(begin=70, last=300, weights="a")]) == 8


def test_the_job_is_preempted_after_its_first_checkpoint():
    assert run.PREEMPT_AFTER > run.CHECKPOINT_EVERY


def test_a_job_that_ends_before_it_is_preempted_ends_the_example(monkeypatch: pytest.MonkeyPatch):
    details = SimpleNamespace(has_ended=True, reason=SimpleNamespace(message="the script failed"))
    job = SimpleNamespace(job_name="low", describe=lambda: details)
    monkeypatch.setattr(run, "log", lambda _: [])
    with pytest.raises(SystemExit, match="low did not reach step 25: the script failed"):
        run.wait_for_step(cast("QueuedJob", job), 25)


def test_a_job_that_does_not_get_far_ends_the_example(monkeypatch: pytest.MonkeyPatch):
    details = SimpleNamespace(has_ended=False, reason=SimpleNamespace(message="it waits"))
    job = SimpleNamespace(job_name="low", describe=lambda: details)
    monkeypatch.setattr(run, "log", lambda _: [SimpleNamespace(message="step 24 loss=0.1")])
    monkeypatch.setattr(run, "TIMEOUT_S", 0.0)
    with pytest.raises(SystemExit, match="low did not reach step 25: it waits"):
        run.wait_for_step(cast("QueuedJob", job), 25)
