"""Where the time of a submission on the sandbox goes: to the emulator, or to Headway."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from bench.metering.cpu_time import processor_ms
from bench.metering.empty_handler import make_empty_api
from bench.peers.headway import Headway
from bench.peers.side import anew, seconds


def submission_share(side: Headway, calls: int) -> dict[str, float]:
    """What a warm submission takes, beside the same call to a function that does nothing, ms.

    Args:
        side: is emptied first.
        calls: of each, one after the other; times are medians, processor time is a mean.
    """
    empty = side.transport(make_empty_api(side.sandbox))
    queue = side.client()
    anew(side)

    def call_empty() -> None:
        empty.send("POST", ["jobs"], body=side.request())

    def submit() -> None:
        queue.submit(side.request())

    for warm_up in (call_empty, submit):
        warm_up()
    empty_ms, submission_ms = _median_ms(call_empty, calls), _median_ms(submit, calls)
    side.come_to_rest()

    def submit_all() -> None:
        for _ in range(calls):
            submit()
        side.come_to_rest()

    used = processor_ms(side.sandbox, submit_all)
    return {
        "a submission": submission_ms,
        "the same call to an empty handler": empty_ms,
        **{f"processor time of {who}, all that follows included": ms / calls for who, ms in sorted(used.items())},
    }


def _median_ms(act: Callable[[], None], times: int) -> float:
    return statistics.median(seconds(act) for _ in range(times)) * 1000
