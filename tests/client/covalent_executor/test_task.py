"""What is sent to the training job of a task."""

from __future__ import annotations

import json
import platform
from typing import Any

import pytest

from headway_covalent.errors import UnsupportedTask
from headway_covalent.task import Task
from tests.client.covalent_executor.tasks import assembled


def add(first: int, second: int) -> int:
    return first + second


def test_a_task_has_the_pickles_of_the_function_and_its_arguments_and_the_version_of_python():
    call, args, kwargs = assembled(add, 1, second=2)
    sent = json.loads(Task.of(call, args, kwargs).to_json())
    assert sent == {
        "function": call.args[0].get_serialized(),
        "args": [args[0].get_serialized()],
        "kwargs": {"second": kwargs["second"].get_serialized()},
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


@pytest.mark.parametrize("steps", [{"before": ("pip",)}, {"after": ("call",)}])
def test_a_task_with_steps_before_or_after_it_is_refused(steps: dict[str, Any]):
    with pytest.raises(UnsupportedTask, match="leave them out, and name an image"):
        Task.of(*assembled(add, 1, **steps))
