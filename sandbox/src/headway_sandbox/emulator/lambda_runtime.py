"""With its siblings `emulated_…` and `emulator` the one place that touches ministack: where functions run.

An execution environment is a process that runs one invocation of a function at a time. Put right here is how it starts
and ends:

- So many start at once as the machine can start. ministack starts one for each invocation that finds none idle, so on
  a small machine a burst of events, or an update, starts dozens, of which none is ready in time. One that died while
  it was idle is gone; ministack would start it again, and beside this limit.
- All share what layers contain.
- An invocation is answered as soon as its function has answered, with all that it printed. ministack waits 50 ms for
  what it might still print, and takes only what has come by then.
- One that cannot start fails its own invocation only.
- A function that is updated ends what it is at with its old code, while new invocations get the new code.

Written against the ministack that `emulator` asks for.
"""

# ruff: noqa: SLF001  private names are what this module is for

from __future__ import annotations

import os
import queue
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from headway_sandbox.emulator.layer_cache import with_mounted_layers
from headway_sandbox.emulator.patches import module

_RETIRED = ":retired"
_PAUSE_S = 0.05
_END_OF_LOG = "headway: this invocation prints no more"
# A process that has died says nothing.
_END_WITHIN_S = 0.25
# Run in each function's process, where stdout is left to the answers, and what is printed goes to stderr.
_TELL_END_OF_LOG = f"""
class _HeadwayAnswers:
    def __init__(self, answers, log):
        self._answers, self._log = answers, log
    def write(self, answer):
        # It is ready for the first invocation, which is to have in its log what it has printed so far.
        if '"ready"' not in answer[:20]:
            self._log.write("{_END_OF_LOG}\\n")
            self._log.flush()
        return self._answers.write(answer)
    def flush(self):
        self._answers.flush()
import sys
sys.stdout = _HeadwayAnswers(sys.stdout, sys.stderr)
"""
#: How often each function has been updated.
_updates: Counter[str] = Counter()
_updating: ContextVar[bool] = ContextVar("updating", default=False)


def prepare() -> None:
    """Fill ministack's gaps that matter here. Called once, after `emulator.prepare`."""
    _start_few_at_once(os.cpu_count() or 1)
    _note_the_code_and_mount_layers()
    _answer_at_once()
    _fail_alone()
    _end_with_the_old_code()


def _start_few_at_once(most: int) -> None:
    """Have an invocation wait while so many environments start, and take one that becomes idle meanwhile.

    On Lambda too an invocation goes to the first environment that is ready for it, be it new or used.
    """
    functions, runtime = module("services.lambda_svc"), module("core.lambda_runtime")
    lease, spawn, give_back = functions.acquire_worker, runtime.Worker._spawn, functions.release_worker
    starting: set[Any] = set()
    changed = threading.Condition()

    def acquire(name: str, config: Mapping[str, Any], *rest: Any, qualifier: str = "$LATEST", **named: Any) -> Any:
        key, updates = runtime._worker_key(name, config, qualifier), _updates[name]
        with changed:
            while not _has_living_idle(runtime, key) and len(starting) >= most:
                changed.wait(_PAUSE_S)
            worker, how = lease(name, config, *rest, qualifier=qualifier, **named)
            if how == "spawn":
                starting.add(worker)
                if _updates[name] != updates:
                    # It was asked for before the update, so it runs the old code, and for one invocation only.
                    with runtime._lock:
                        runtime._workers[key].remove(worker)
                        runtime._workers.setdefault(key + _RETIRED, []).append(worker)
            return worker, how

    def started(worker: Any) -> None:
        with changed:
            starting.discard(worker)
            changed.notify_all()

    def start(worker: Any) -> None:
        with changed:
            # One that was idle when it was taken, and has died since.
            while worker not in starting and len(starting) >= most:
                changed.wait(_PAUSE_S)
            starting.add(worker)
        try:
            spawn(worker)
        finally:
            started(worker)

    def release(worker: Any) -> None:
        give_back(worker)
        started(worker)

    functions.acquire_worker, runtime.Worker._spawn, functions.release_worker = acquire, start, release


def _has_living_idle(runtime: Any, key: str) -> bool:
    """Whether an environment is idle and lives. Those that died idle are forgotten, so that none is taken for one."""
    with runtime._lock:
        idle = [worker for worker in runtime._workers.get(key, ()) if not worker.in_use]
        dead = [worker for worker in idle if worker._proc is None or worker._proc.poll() is not None]
        for worker in dead:
            runtime._workers[key].remove(worker)
    runtime.kill_workers(dead)
    return len(idle) > len(dead)


def _note_the_code_and_mount_layers() -> None:
    """Note with each process which code it runs, as its function's may be another one soon, and share the layers'."""
    runtime = module("core.lambda_runtime")
    spawn = runtime.Worker._spawn

    def start(worker: Any) -> Any:
        # Once only: a process that died between two invocations is started again with what it had.
        if not hasattr(worker, "headway_code"):
            layers = [layer if isinstance(layer, str) else layer["Arn"] for layer in worker.config.get("Layers") or []]
            worker.headway_code = " ".join([worker.config.get("CodeSha256", ""), *layers])
            worker.config = with_mounted_layers(worker.config)
        return spawn(worker)

    runtime.Worker._spawn = start


def _answer_at_once() -> None:
    """Take what an invocation printed up to its end, which it tells."""
    runtime = module("core.lambda_runtime")
    runtime._PYTHON_WORKER_SCRIPT = _TELL_END_OF_LOG + runtime._PYTHON_WORKER_SCRIPT

    def printed(worker: Any) -> str:
        lines: list[str] = []
        try:
            while not (line := worker._stderr_queue.get(timeout=_END_WITHIN_S)).endswith(_END_OF_LOG):
                lines.append(line)
        except queue.Empty:
            return "\n".join(lines)
        unended = line.removesuffix(_END_OF_LOG)
        return "\n".join([*lines, *([unended] if unended else [])])

    runtime.Worker._drain_stderr_bounded = printed


def _fail_alone() -> None:
    """An environment that cannot start fails its own invocation; ministack then ends all others of its function.

    Source: Lambda developer guide, "Understanding the Lambda execution environment lifecycle", "Failures during the
    Init phase".
    """
    runtime = module("core.lambda_runtime")
    original = runtime.Worker.invoke

    def invoke(worker: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return original(worker, *arguments, **named)
        except Exception as error:  # noqa: BLE001  whatever it is, it is this invocation's
            runtime.kill_workers([worker])
            return {"status": "error", "error": str(error)}

    runtime.Worker.invoke = invoke


def _end_with_the_old_code() -> None:
    """Let busy processes end their invocation when their function is updated, where ministack kills them.

    Source: Lambda developer guide, "Understanding the Lambda execution environment lifecycle": an update makes new
    environments, and those that are there are ended once they are idle.
    """
    functions, runtime = module("services.lambda_svc"), module("core.lambda_runtime")
    invalidate, release = functions.invalidate_worker, functions.release_worker

    def updating(operation: Callable[..., Any]) -> Callable[..., Any]:
        def marked(*arguments: Any, **named: Any) -> Any:
            token = _updating.set(True)
            try:
                return operation(*arguments, **named)
            finally:
                _updating.reset(token)

        return marked

    def retire(name: str, **scope: Any) -> None:
        if not _updating.get():
            invalidate(name, **scope)
            return
        with runtime._lock:
            _updates[name] += 1
            keys = [key for key in runtime._workers if key.split(":")[2:] == [name, "$LATEST"]]
            replaced = {key: runtime._workers.pop(key) for key in keys}
            for key, workers in replaced.items():
                # Under a name that no invocation asks for, but that is known when all processes are ended.
                busy = [worker for worker in workers if worker.in_use]
                runtime._workers.setdefault(key + _RETIRED, []).extend(busy)
        idle = [worker for workers in replaced.values() for worker in workers if not worker.in_use]
        runtime.kill_workers(idle)

    def end_if_retired(worker: Any) -> None:
        release(worker)
        with runtime._lock:
            pools = [pool for key, pool in runtime._workers.items() if key.endswith(_RETIRED) and worker in pool]
            for pool in pools:
                pool.remove(worker)
        if pools:
            runtime.kill_workers([worker])

    functions._update_code = updating(functions._update_code)
    functions._update_config = updating(functions._update_config)
    functions.invalidate_worker = retire
    functions.release_worker = end_if_retired
