"""Records the calls of simulated functions beside those of sandboxes, to be compared with the policies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from headway_sandbox.call_recorder import Call, Decision, RunRecorder
from headway_sandbox.local.checkout import Checkout


def keep(name: str, needed: Iterable[Counter[tuple[str, str]]]) -> None:
    """Leave a record of a run.

    Args:
        name: what kind of run it was.
        needed: what functions would have had to be allowed to do, function and action.
    """
    checkout = Checkout.here()
    record = RunRecorder(checkout.calls_folder(), name=name, sources=checkout.code_hash())
    for calls in needed:
        for (function, action), count in calls.items():
            role = f"{function.capitalize()}FunctionRole"
            record.calls.add(Call(role=role, action=action, decision=Decision.SIMULATED, count=count))
    record.write()
