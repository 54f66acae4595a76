"""Tasks as Covalent hands them to executors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from covalent._workflow.transportable_object import TransportableObject
from covalent.executor.utils.wrappers import wrapper_fn


def assembled(
    function: Callable[..., Any], *args: Any, before: tuple[Any, ...] = (), after: tuple[Any, ...] = (), **kwargs: Any
) -> tuple[partial[Any], list[TransportableObject], dict[str, TransportableObject]]:
    """Return a function and its arguments as ``covalent_dispatcher/_core/runner.py`` of covalent 0.240 does."""
    return (
        partial(wrapper_fn, TransportableObject(function), list(before), list(after)),
        [TransportableObject(each) for each in args],
        {name: TransportableObject(value) for name, value in kwargs.items()},
    )
