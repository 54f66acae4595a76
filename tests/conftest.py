"""What holds for all tests, in every environment that they run in."""

import signal
from contextlib import suppress
from functools import cache, partial
from typing import Any

from hypothesis import Phase, settings

# Hypothesis would repeat the same examples in each run where CI is set. New ones find more, and a failure prints
# how to repeat it (print_blob). No deadline: the time of an example means little on a shared machine.
settings.register_profile("headway", derandomize=False, print_blob=True, deadline=None)
settings.load_profile("headway")
# For `make mutants`: the same examples for each mutant, fewer of them as each survivor costs them all, and no time to
# shorten what fails.
settings.register_profile(
    "mutants",
    parent=settings.get_profile("headway"),
    derandomize=True,
    max_examples=25,
    phases=(Phase.explicit, Phase.generate),
)

# A shell makes background processes ignore Ctrl-C, and nohup SIGHUP; all processes started from
# there inherits that, and tests that send these signals would wait in vain.
for _signal, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, _usual)

# Each session of botocore reads its service models again, and nearly every test has one: that took longer than all
# else. The environment of the core has no botocore.
with suppress(ImportError):
    from botocore import loaders

    _loader: Any = loaders.JSONFileLoader
    _read = cache(partial(_loader._load_file, _loader()))
    _loader._load_file = lambda _self, path, opener: _read(path, opener)
