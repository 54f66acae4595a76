"""All rules on the figures of a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headway.advice.figures import ENOUGH_MINUTES, JobFigures
from headway.advice.outcome import PriceOf, Report
from headway.advice.rules.download import long_download
from headway.advice.rules.gpu_memory import gpu_memory
from headway.advice.rules.preemption import lost_work
from headway.advice.rules.run_limit import loose_limit
from headway.advice.rules.starved_gpus import starved_gpus
from headway.advice.rules.unused_gpus import unused_gpus

_RULES = (unused_gpus, gpu_memory, long_download, lost_work, loose_limit)


def _no_price(_: str) -> None:
    return None


def advise(figures: JobFigures, *, price_of: PriceOf = _no_price, data_types: Sequence[str] = ()) -> Report:
    """What would make a job faster or cheaper.

    Args:
        figures: of the job.
        price_of: the price of an instance of a type per hour; without it no cost is estimated.
        data_types: instance types for hosts that prepare data, such as those of the queue's pools.
    """
    found = [starved_gpus(figures, price_of, data_types), *(rule(figures, price_of) for rule in _RULES)]
    return Report(advice=tuple(each for each in found if each is not None), missing=tuple(_missing(figures)))


def _missing(figures: JobFigures) -> Iterator[str]:
    """Which figures the rules lack."""
    unknown = sorted({host.instance_type for host in figures.hosts if host.spec is None})
    if unknown:
        yield f"what an instance of type {', '.join(unknown)} has is not known"
    minutes = max((host.minutes for host in figures.hosts), default=0)
    if minutes < ENOUGH_MINUTES:
        yield f"utilization: {minutes} of at least {ENOUGH_MINUTES} min"
    if figures.downloading_s is None:
        yield "how long the data was downloaded"
    if figures.completed_s is None:
        yield "the run time: the job has not completed"
