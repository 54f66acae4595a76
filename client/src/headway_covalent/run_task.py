"""Runs a task in its training job: only this file, the task and cloudpickle are there, and the image's own packages.

Its exit code is 1 if the task raises: the exception is the job's FailureReason, the traceback is in its log.
"""

import base64
import json
import sys
import traceback
from pathlib import Path

ML = Path("/opt/ml")
CHANNEL = "task"
TASK, PICKLER, SCRIPT = "task.json", "cloudpickle.zip", "run_task.py"
RESULT = "result.pkl"


def main(ml: Path = ML) -> int:
    """Run the task that the channel has, and write its result into the folder of the model."""
    channel = ml / "input" / "data" / CHANNEL
    task = json.loads((channel / TASK).read_text(encoding="utf-8"))
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if here != task["python"]:
        return _failed(
            ml,
            f"The workflow was written with Python {task['python']}, the training image has Python {here}, and pickled "
            f"functions need the same: name an image with Python {task['python']}.",
        )
    sys.path.insert(0, str(channel / PICKLER))
    import cloudpickle

    def load(pickle: str) -> object:
        return cloudpickle.loads(base64.b64decode(pickle))

    try:
        function = load(task["function"])
        args = [load(each) for each in task["args"]]
        kwargs = {name: load(each) for name, each in task["kwargs"].items()}
        result = function(*args, **kwargs)  # type: ignore[operator]  # it is the task's
        (ml / "model" / RESULT).write_bytes(cloudpickle.dumps(result))
    except Exception as error:  # noqa: BLE001  the task's, whatever it is
        traceback.print_exc()
        return _failed(ml, "".join(traceback.format_exception_only(error)).strip())
    return 0


def _failed(ml: Path, reason: str) -> int:
    (ml / "output").mkdir(exist_ok=True)
    (ml / "output" / "failure").write_text(reason, encoding="utf-8")
    sys.stderr.write(f"{reason}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
