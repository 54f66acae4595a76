"""Settings of all tests, in every environment."""

import os
import signal
from contextlib import suppress
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

# A run on a developer's machine draws new examples, which find more, and a failure prints how to repeat it
# (print_blob). CI repeats the same examples, so that it judges the change and not the draw. No deadline, and no failure
# because examples are slow to make: such times mean little on a shared machine.
settings.register_profile(
    "headway",
    derandomize="CI" in os.environ,
    print_blob=True,
    deadline=None,
    suppress_health_check=(HealthCheck.too_slow,),
)
settings.load_profile("headway")
# For `make mutants`: the same examples for each mutant, fewer of them as each survivor runs them all, and no shrinking
# of failures.
settings.register_profile(
    "mutants",
    parent=settings.get_profile("headway"),
    derandomize=True,
    max_examples=25,
    phases=(Phase.explicit, Phase.generate),
)

# The files that take longest come first, so that no worker is left alone with one. An order of the files on the command
# line would not do it: pytest collects a file once, with its folder.
_LONGEST = (
    "tests/e2e/deploy/test_restore.py",
    "tests/e2e/client/test_sdk.py",
    "tests/security/test_least_privilege.py",
    "tests/verification/upgrade/test_upgrade_e2e.py",
    "tests/e2e/test_chaos.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the longest files to the front."""
    items.sort(key=lambda item: not item.nodeid.startswith(_LONGEST))


# A shell makes background processes ignore Ctrl-C; child processes inherit that, and tests that send it would wait in
# vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Each botocore session reads its service models again, and nearly every test has one: that took longer than everything
# else. The core's environment has no botocore.
with suppress(ImportError):
    from botocore import loaders

    _loader: Any = loaders.JSONFileLoader
    _read = cache(partial(_loader._load_file, _loader()))
    _loader._load_file = lambda _self, path, opener: _read(path, opener)
