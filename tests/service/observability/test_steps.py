"""Steps of an invocation that do not depend on each other."""

from __future__ import annotations

import pytest

from headway_service.observability.steps import isolated_steps


def test_all_steps_are_run_and_the_first_error_is_raised_at_the_end() -> None:
    done = []

    def run() -> None:
        with isolated_steps() as step:
            for number in range(4):
                with step(f"step {number}"):
                    if number % 2:
                        raise ValueError(f"in step {number}")
                    done.append(number)
            done.append(9)

    with pytest.raises(ValueError, match="in step 1"):
        run()
    assert done == [0, 2, 9]


def test_without_an_error_nothing_is_raised() -> None:
    with isolated_steps() as step, step("one"):
        pass


def test_what_ends_the_process_is_not_kept_from_it() -> None:
    with pytest.raises(KeyboardInterrupt), isolated_steps() as step, step("one"):
        raise KeyboardInterrupt
