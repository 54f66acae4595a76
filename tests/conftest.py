"""What holds for all tests, in every environment that they run in."""

import signal

from hypothesis import settings

# Hypothesis would repeat the same examples in each run where CI is set. New ones find more, and a failure prints
# what repeats it (print_blob). No deadline: the time of an example says little on a shared machine.
settings.register_profile("headway", derandomize=False, print_blob=True, deadline=None)
settings.load_profile("headway")

# A shell ignores Ctrl-C for what it starts in the background, and all that is started from there inherits that: tests
# that press it would wait in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
