"""The permissions that simulated functions used, stored with the records of sandboxes.

`headway_verification.least_privilege` compares both with the policies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from headway_sandbox.call_recorder import Call, Decision, RunRecorder
from headway_sandbox.local.checkout import Checkout


def keep(name: str, needed: Iterable[Counter[tuple[str, str]]]) -> None:
    """Store the record of a run.

    Args:
        name: the kind of the run.
        needed: how often each function needed each permission.
    """
    checkout = Checkout.here()
    record = RunRecorder(checkout.calls_folder(), name=name, sources=checkout.code_hash())
    for calls in needed:
        for (function, action), count in calls.items():
            role = f"{function.capitalize()}FunctionRole"
            record.calls.add(Call(role=role, action=action, decision=Decision.SIMULATED, count=count))
    record.write()
