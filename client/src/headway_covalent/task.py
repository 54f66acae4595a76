"""A task of Covalent, as it is sent to a training job.

Covalent hands an executor ``partial(wrapper_fn, function, call_before, call_after)`` and the arguments, all of them
pickled already (covalent 0.240, ``covalent_dispatcher/_core/runner.py``). The pickles are passed on as they are: the
executor loads none of them, and the job needs no Covalent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from headway_covalent.errors import UnsupportedTask


class Pickled(Protocol):
    """A part of Covalent's ``TransportableObject``."""

    @property
    def python_version(self) -> str:
        """The Python that made the pickle, such as ``3.11.7``."""

    def get_serialized(self) -> str:
        """Return the pickle in base64."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A function and its arguments, each pickled by cloudpickle, in base64."""

    function: str
    args: Sequence[str]
    kwargs: Mapping[str, str]
    python: str
    """The Python that they need, such as ``3.11``."""

    @classmethod
    def of(cls, call: partial[Any], args: Sequence[Pickled], kwargs: Mapping[str, Pickled]) -> Task:
        """Return the task that Covalent hands to an executor.

        Raises:
            UnsupportedTask: It has steps before or after the function, such as the installation of packages.
        """
        function, before, after = call.args
        if before or after:
            raise UnsupportedTask(
                "The electron has deps_bash, deps_pip, call_before or call_after, which would not run in the training "
                "job: leave them out, and name an image that has what the task needs."
            )
        return cls(
            function=function.get_serialized(),
            args=[each.get_serialized() for each in args],
            kwargs={name: each.get_serialized() for name, each in kwargs.items()},
            python=".".join(function.python_version.split(".")[:2]),
        )

    def to_json(self) -> str:
        """Return it for `headway_covalent.run_task`."""
        return json.dumps({"function": self.function, "args": self.args, "kwargs": self.kwargs, "python": self.python})
