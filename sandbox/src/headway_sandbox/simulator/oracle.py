"""The average JCT of a trace with known run times, which no queue has."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from headway_sandbox.simulator.errors import InvalidInput
from headway_sandbox.simulator.trace import Trace, write_trace


def oracle_jct_s(traces: Path, trace: Trace) -> float:
    """Return the average JCT of the reference with preemption by what is left of run times times instances.

    Args:
        traces: the folder of the traces, with the reference.

    Raises:
        InvalidInput: the reference failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.csv.gz")
        write_trace(trace, path)
        script, capacity = traces / "sim" / "orders.py", sum(trace.pools.values())
        command = [sys.executable, str(script), str(path), "--cap", str(capacity), "--only", "srsf oracle"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise InvalidInput(f"the reference for orders failed with exit code {done.returncode}")
    return float(json.loads(done.stdout)["avg_jct"])
