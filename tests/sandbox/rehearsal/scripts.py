"""Scripts that train in steps, as users write them: some survive a preemption, some forget something."""

from __future__ import annotations

STEP_S = 0.05
LAST, EVERY = 100, 5

_TRAINING = """
import json, os, pathlib, signal, sys, time
folder = pathlib.Path("/opt/ml/checkpoints")
step, loss = 0, 1.0
{load}
def save():
    state = json.dumps({{"step": step, "loss": loss}})
    {save}
{handler}
while step < {last}:
    time.sleep({step_s})
    step += 1
    loss *= 0.99
    print(f"step {{step}} loss={{loss:.6f}}")
    {periodically}
"""

_LOAD = """
if (folder / "state.json").exists():
    state = json.loads((folder / "state.json").read_text())
    step, loss = state["step"], state["loss"]
"""
_SAVE = '(folder / "draft").write_text(state); os.replace(folder / "draft", folder / "state.json")'
_HANDLER = "signal.signal(signal.SIGTERM, lambda *_: (save(), sys.exit(0)))"


def script(*, load: str = _LOAD, save: str = _SAVE, handler: str = "", every: int = EVERY, last: int = LAST) -> str:
    """Return a script.

    Args:
        load: How it loads a checkpoint.
        save: How it saves one.
        handler: What it does about SIGTERM.
        every: Steps between two checkpoints; 0: none are saved.
        last: Its last step.
    """
    periodically = f"if step % {every} == 0: save()" if every else ""
    return _TRAINING.format(load=load, save=save, handler=handler, last=last, step_s=STEP_S, periodically=periodically)


PERIODIC = script()
HANDLER_ONLY = script(handler=_HANDLER, every=0)
HANDLER = script(handler=_HANDLER)
WRITES_NOTHING = script(every=0)
READS_NOTHING = script(load="")
WRITES_ELSEWHERE = script(
    load=_LOAD.replace("folder /", 'pathlib.Path("/opt/ml/model") /'),
    save='pathlib.Path("/opt/ml/model/state.json").write_text(state)',
)
WRITES_IN_PLACE = script(save='(folder / "state.json").write_text(state)')
FORGETS_THE_LOSS = script(load=_LOAD.replace('step, loss = state["step"], state["loss"]', 'step = state["step"]'))
FORGETS_THE_STEP = script(
    load=_LOAD.replace('step, loss = state["step"], state["loss"]', 'step, loss = state["step"] + 1000, state["loss"]')
)
LOGS_IN_ITS_FOLDER = WRITES_IN_PLACE.replace(
    "    step += 1\n", '    step += 1\n    (folder / "events.log").write_text(f"{step} steps")\n'
)
FAILS = "import nonesuch"
SILENT = "print('done')"
