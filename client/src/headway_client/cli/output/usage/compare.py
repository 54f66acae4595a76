"""Jobs side by side: time, instance hours, cost, attempts and final metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway_client.cli.output import times, values
from headway_client.cli.output.table import NONE, Table
from headway_client.cli.output.usage.tables import hours, price_notes
from headway_client.models import JobDetails

_ROWS: Sequence[tuple[str, Callable[[JobDetails], str]]] = (
    ("State", lambda job: job.state),
    ("Demand", lambda job: values.demand(job.demand)),
    ("Wait", lambda job: times.duration(times.between(job.entry_time, job.started_time))),
    ("Run", lambda job: times.duration(times.between(job.started_time, job.ended_time))),
    ("Attempts", lambda job: str(job.attempt_count)),
    ("Preemptions", lambda job: str(job.preemptions)),
    ("Instance hours", lambda job: values.total_hours(job.instance_seconds)),
    ("Hours by pool", lambda job: values.instance_hours(job.instance_seconds)),
    ("Lost hours", lambda job: hours(job.lost_seconds)),
    ("Billed hours", lambda job: values.total_hours(job.billed_seconds)),
    ("Cost", lambda job: _money(job.cost, job.currency)),
    ("Lost cost", lambda job: _money(job.lost_cost, job.currency)),
    ("Estimate for spot", lambda job: _money(job.estimated_cost, job.currency)),
    ("Saved by spot", lambda job: _money(job.saved_cost, job.currency)),
    ("Hours without price", lambda job: values.instance_hours(job.unpriced_seconds)),
    ("Lost hours without price", lambda job: values.instance_hours(job.lost_unpriced_seconds)),
)


def comparison(jobs: Sequence[JobDetails]) -> Table:
    """Return a table with a column for each job."""
    rows = [[name, *(cell(job) for job in jobs)] for name, cell in _ROWS]
    metrics = sorted({name for job in jobs for name in job.metrics})
    rows += [
        [f"Metric {name}", *(f"{job.metrics[name]:g}" if name in job.metrics else NONE for job in jobs)]
        for name in metrics
    ]
    return Table(headers=["", *(job.name for job in jobs)], rows=rows, note=price_notes(jobs))


def _money(amount: float | None, currency: str | None) -> str:
    return NONE if amount is None else f"{amount:.2f} {currency}"
