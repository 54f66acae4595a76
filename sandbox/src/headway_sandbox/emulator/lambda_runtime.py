"""Patches of ministack's Lambda: how execution environments start and end.

An execution environment is a process that runs one invocation of a function at a time.

- The number of environments that start at once is limited by the machine's cores. ministack starts one for each
  invocation without an idle environment, so on a small machine a burst of events, or an update, starts dozens, and none
  is ready in time. An environment that died while idle is removed; ministack would restart it outside this limit.
- All environments share the unpacked layers.
- An invocation returns as soon as its function has returned, with its complete output. ministack waits 50 ms for more
  output and drops what comes later.
- An environment that cannot start fails only its own invocation.
- After an update, busy environments finish their invocation with the old code; new invocations get the new code.

Written for the ministack version in `patches.VERSION`.
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
# A process that has died prints no end.
_END_WITHIN_S = 0.25
# Run in each function's process, where stdout is left to the answers, and what is printed goes to stderr.
_PRINT_END_OF_LOG = f"""
class _HeadwayAnswers:
    def __init__(self, answers, log):
        self._answers, self._log = answers, log
    def write(self, answer):
        # Output before "ready" belongs to the log of the first invocation.
        if '"ready"' not in answer[:20]:
            self._log.write("{_END_OF_LOG}\\n")
            self._log.flush()
        return self._answers.write(answer)
    def flush(self):
        self._answers.flush()
import sys
sys.stdout = _HeadwayAnswers(sys.stdout, sys.stderr)
"""
#: Number of updates per function.
_updates: Counter[str] = Counter()
_updating: ContextVar[bool] = ContextVar("updating", default=False)


def prepare() -> None:
    """Apply the patches. Called once, after `patches.prepare`."""
    _limit_concurrent_starts(os.cpu_count() or 1)
    _record_code_and_mount_layers()
    _return_at_once()
    _fail_own_invocation_only()
    _finish_with_old_code()


def _limit_concurrent_starts(most: int) -> None:
    """Make an invocation wait while `most` environments start, unless one becomes idle meanwhile.

    On Lambda, too, an invocation uses the first environment that is ready, new or used.
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
                    # Requested before the update, so it runs the old code, for one invocation only.
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
            # An idle environment that died after it was acquired.
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
    """Return whether a live environment is idle. Dead idle ones are removed, so that no invocation gets one."""
    with runtime._lock:
        idle = [worker for worker in runtime._workers.get(key, ()) if not worker.in_use]
        dead = [worker for worker in idle if worker._proc is None or worker._proc.poll() is not None]
        for worker in dead:
            runtime._workers[key].remove(worker)
    runtime.kill_workers(dead)
    return len(idle) > len(dead)


def _record_code_and_mount_layers() -> None:
    """Record the code that each process runs, as an update may change its function's code, and share the layers."""
    runtime = module("core.lambda_runtime")
    spawn = runtime.Worker._spawn

    def start(worker: Any) -> Any:
        # Once only: a process that died between two invocations restarts with the same code and layers.
        if not hasattr(worker, "headway_code"):
            layers = [layer if isinstance(layer, str) else layer["Arn"] for layer in worker.config.get("Layers") or []]
            worker.headway_code = " ".join([worker.config.get("CodeSha256", ""), *layers])
            worker.config = with_mounted_layers(worker.config)
        return spawn(worker)

    runtime.Worker._spawn = start


def _return_at_once() -> None:
    """Read an invocation's output up to its end mark."""
    runtime = module("core.lambda_runtime")
    runtime._PYTHON_WORKER_SCRIPT = _PRINT_END_OF_LOG + runtime._PYTHON_WORKER_SCRIPT

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


def _fail_own_invocation_only() -> None:
    """Fail only the invocation of an environment that cannot start; ministack ends all others of its function.

    Source: Lambda developer guide, "Understanding the Lambda execution environment lifecycle", "Failures during the
    Init phase".
    """
    runtime = module("core.lambda_runtime")
    original = runtime.Worker.invoke

    def invoke(worker: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return original(worker, *arguments, **named)
        except Exception as error:  # noqa: BLE001  any error fails this invocation only
            runtime.kill_workers([worker])
            return {"status": "error", "error": str(error)}

    runtime.Worker.invoke = invoke


def _finish_with_old_code() -> None:
    """Let busy processes finish their invocation when their function is updated; ministack kills them.

    Source: Lambda developer guide, "Understanding the Lambda execution environment lifecycle": an update creates new
    environments, and existing ones end once they are idle.
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
                # Under a key that no invocation uses, but that is included when all processes are ended.
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
