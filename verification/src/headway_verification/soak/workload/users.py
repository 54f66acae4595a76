"""All users of a queue."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from headway_verification.soak.workload.account import Outsiders
from headway_verification.soak.workload.changes import Changers
from headway_verification.soak.workload.configurations import Operators
from headway_verification.soak.workload.questions import Askers

CALM_ACTS = ("submit", "submit a batch", "stop", "priority", "change", "hold", "release", "look")
"""What users do while SageMaker refuses launches and nothing else goes wrong."""


class Workload(Askers, Changers, Operators, Outsiders):
    """Users who do anything. See :class:`headway_verification.soak.workload.people.People`."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        queue, plan = self.queue, self.plan
        self._acts: dict[str, tuple[int, Callable[[], None]]] = {
            "submit": (12, self._submit),
            "submit a batch": (1, self._submit_batch),
            "stop": (2, self._stop),
            "priority": (2, self._prioritise),
            "change": (2, self._change),
            "hold": (2, self._hold),
            "release": (2, self._release),
            "look": (2, self._look),
            "explain": (1, self._explain),
            "forecast": (1, self._forecast),
            "what if": (1, self._ask_what_if),
            "dry run": (1, self._try_dry),
            "configure": (3, self._configure),
            "pause": (2, self._pause),
            "resume": (2, self._resume),
            "resize": (1, self._resize),
            "faults": (3, self._faults),
            "take a name": (1, self._take_name),
            "bypass": (2, self._bypass),
            "write an input": (1, self._write_input),
            "interrupt": (3, self._interrupt),
            "stop outside": (1, self._stop_outside),
            "delete outside": (1, self._delete_outside),
            "poison": (1, queue.poison),
        }
        if plan is not None:
            self._acts["change the plan"] = (3, plan.change)

    def act(self, kinds: Collection[str] = ()) -> None:
        """Perform an action.

        Args:
            kinds: the kinds to choose from; empty for all.
        """
        known = {name: each for name, each in self._acts.items() if not kinds or name in kinds}
        name = self.random.choices(list(known), [weight for weight, _ in known.values()])[0]
        self.acts[name] += 1
        if self.queue.faults.happens():
            self.queue.note("people", name)
            self._acts[name][1]()
