"""The command advise: what would make a job faster or cheaper."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import connection, show_document
from headway_client.cli.interruption import UNCHANGED
from headway_client.cli.job_names import job_name

if TYPE_CHECKING:
    from headway.accounting.prices import AppliedPrice
    from headway.advice import Advice, Host, Option, Report
    from headway_client.job_figures.read import ReadFigures
    from headway_client.models import PoolUse


@click.command("advise", cls=Command, interrupted=UNCHANGED)
@job_name
@pass_common
def advise(common: CommonOptions, name: str) -> None:
    """Show what would make a job faster or cheaper, and on which figures that rests."""
    from headway.advice import advise as advise_on
    from headway_client.cli.output.advice import advice_lines, price_line
    from headway_client.http.api import HeadwayApi
    from headway_client.job_figures.prices import PriceList
    from headway_client.job_figures.read import read_figures

    found = connection(common)
    api = HeadwayApi.connect(found)
    job = api.get_job(name)
    sagemaker, cloudwatch = (found.aws_client(service) for service in ("sagemaker", "cloudwatch"))
    read = read_figures(job, sagemaker=sagemaker, cloudwatch=cloudwatch, now_s=api.now_s())
    prices = PriceList(api.get_config().settings, datetime.fromtimestamp(api.now_s(), UTC).date())
    report = advise_on(read.figures, price_of=prices.per_hour, data_types=_pools(api.capacity().pools))
    applied = [price for kind in _compared(read, report) if (price := prices.of(kind)) is not None]
    if common.is_document:
        show_document(
            common, {**_document(name, read, report), "currency": prices.currency, "prices": list(map(_price, applied))}
        )
        return
    for line in advice_lines(name, read.attempt, report, read.refused):
        print(line)
    if applied:
        print(price_line(applied, prices.currency))


def _compared(read: ReadFigures, report: Report) -> list[str]:
    """Return the instance types whose costs the report compares."""
    options = [option for each in report.advice for option in each.options if option.cost is not None]
    kinds = {kind for option in options for kind in option.instances}
    return sorted(kinds | {host.instance_type for host in read.figures.hosts}) if options else []


def _price(price: AppliedPrice) -> dict[str, Any]:
    return {"instanceType": price.pool, "from": price.first.isoformat(), "onDemandPerHour": price.per_hour}


def _pools(pools: Sequence[PoolUse]) -> list[str]:
    """Return the types of the queue's pools, which are preferred for hosts that prepare data."""
    from headway.instances import spec_of

    found = [pool.pool for pool in pools]
    return [name for name in found if (spec := spec_of(name)) is not None and not spec.gpus]


def _document(name: str, read: ReadFigures, report: Report) -> dict[str, Any]:
    return {
        "jobName": name,
        "attemptName": read.attempt,
        "advice": [_advice(each) for each in report.advice],
        "missing": [*report.missing, *read.refused],
        "hosts": [_host(each) for each in read.figures.hosts],
    }


def _advice(advice: Advice) -> dict[str, Any]:
    return {
        "code": advice.code,
        "finding": advice.finding,
        "remedy": advice.remedy,
        "confidence": advice.confidence.value,
        "figures": list(advice.figures),
        "savedSeconds": advice.saved_s,
        "options": [_option(each) for each in advice.options],
    }


def _host(host: Host) -> dict[str, Any]:
    return {
        "instanceType": host.instance_type,
        "minutes": host.minutes,
        "cpuPercent": host.cpu_percent,
        "gpuPercent": host.gpu_percent,
        "gpuPeakPercent": host.gpu_peak_percent,
        "gpuMemoryPeakPercent": host.gpu_memory_peak_percent,
    }


def _option(option: Option) -> dict[str, Any]:
    return {"instances": dict(option.instances), "speed": option.speed, "cost": option.cost}
