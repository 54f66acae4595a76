"""Runs before the program of each Python process whose ``PYTHONPATH`` has this folder.

It is not imported from `headway_client`: `headway_client.child_processes.inherit` says how it gets here. The process
may be of a Python without `headway_client`, so only the standard library is certain.
"""

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path


def _connect() -> None:
    if find_spec("headway_client") is not None:
        from headway_client.child_processes.inherit import install_on_import

        install_on_import()
    elif find_spec("botocore") is not None:
        print(
            f"headway: headway_client is not installed for {sys.executable}: training jobs of this process go to "
            "SageMaker, not to the queue",
            file=sys.stderr,
        )


def _run_hidden_module() -> None:
    """Run the module ``sitecustomize`` that this one hides, if there is one."""
    folder = Path(__file__).parent
    sys.path[:] = [path for path in sys.path if Path(path) != folder]
    own = sys.modules.pop("sitecustomize")
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = own


_connect()
_run_hidden_module()
