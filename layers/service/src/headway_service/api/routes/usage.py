"""Ended jobs by time, and sums of usage."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Body, Query
from pydantic import BaseModel, ConfigDict, Field

from headway.accounting.differences import Difference
from headway.api_documents.usage import HistoryPage, Recount, ScannedJob, Usage, UsageComparison, UsageRepair
from headway.days import day_of, kept_since
from headway.lifecycle import TERMINAL, JobState
from headway_service.accounting.compare import compare_day
from headway_service.accounting.reader import Step, read_usage_until
from headway_service.accounting.rebuild import rebuild
from headway_service.accounting.records import MAX_NAME_BYTES
from headway_service.accounting.repair import MAX_REPAIRED
from headway_service.accounting.run_times import read_quality
from headway_service.api.documents.usage import history_document, quality_document, usage_document
from headway_service.api.request_context import caller, container
from headway_service.api.router import DocumentedRouter
from headway_service.api.routes.jobs import MAX_ARN_CHARS
from headway_service.api.times import DAY, DAY_FORMAT, TIME, time_ms
from headway_service.errors import InvalidRequest, NotAllowed, SumsChanged, UnsupportedMediaType
from headway_service.sagemaker_api.names import MAX_NAME_CHARS
from headway_service.store.job_filter import JobFilter
from headway_service.store.job_listing import MAX_LISTED, list_ended
from headway_service.validation_messages import explained

router = DocumentedRouter("Usage")

MAX_TOKEN_CHARS = 2000
"""The longest token of a page: it has the key of an item, up to 1 KB."""

_BY = explained(
    r"^(team|owner|pool|tag:[A-Za-z0-9_.:/=+@-]{1,128})$", "team, owner, pool, or tag: and the key of a tag"
)

MAX_FIGURE_CHARS = 300
"""The longest name of a figure: a kind and a pool."""

_ENDED: dict[str, Any] = {"items": {"type": "string", "enum": sorted(TERMINAL)}}
"""What a schema says of states beside that they are some: jobs in these have ended."""

_COMPARED = explained(r"^(team|owner|pool)$", "team, owner or pool")

NextToken = Annotated[
    str | None, Query(alias="nextToken", max_length=MAX_TOKEN_CHARS, description="The token of the previous page.")
]


@router.call("GET /history", {HTTPStatus.OK: "A page of ended jobs."}, InvalidRequest, NotAllowed)
def list_history(
    *,
    request: Request,
    since: Annotated[
        str, Query(pattern=TIME, description="Only jobs that ended then or later; a day is its first moment, in UTC.")
    ],
    until: Annotated[
        str | None, Query(pattern=TIME, description="Only jobs that ended before; by default up to now.")
    ] = None,
    state: Annotated[
        list[JobState] | None,
        Query(json_schema_extra=_ENDED, description="Only these terminal states; may be repeated."),
    ] = None,
    mine: Annotated[bool, Query(description="Only the caller's jobs.")] = False,
    owner: Annotated[
        str | None, Query(min_length=1, max_length=MAX_ARN_CHARS, description="Only jobs of the owner with this ARN.")
    ] = None,
    team: Annotated[
        str | None, Query(min_length=1, max_length=MAX_NAME_CHARS, description="Only jobs of this team.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED, description="The most entries to return.")] = MAX_LISTED,
    next_token: NextToken = None,
) -> HistoryPage:
    """List jobs that ended in a span of time with what they used, the newest first."""
    if live := frozenset(state or ()) - TERMINAL:
        raise InvalidRequest(f"state {min(live)} is of jobs that have not ended: use {', '.join(sorted(TERMINAL))}")
    given = container(request)
    owners = [owner] if owner is not None else []
    if mine:
        owners.append(caller(request).arn)
    wanted = JobFilter(states=frozenset(state or TERMINAL), owners=frozenset(owners), team=team)
    # Without an end, the span is the same for each page: it ends after all jobs.
    until_ms = _MAX_TIME_MS if until is None else min(_MAX_TIME_MS, time_ms(until, "until"))
    page, following = list_ended(given.table, wanted, time_ms(since, "since"), until_ms, limit, next_token)
    return history_document(page, following, given.prices)


@router.call("GET /usage", {HTTPStatus.OK: "The sums."}, InvalidRequest, NotAllowed)
def show_usage(
    *,
    request: Request,
    by: Annotated[
        str, Query(pattern=_BY, description="`team`, `owner`, `pool`, or `tag:` and a tag of the configuration.")
    ],
    first: Annotated[
        str, Query(alias="from", pattern=DAY, json_schema_extra=DAY_FORMAT, description="The first UTC day.")
    ],
    last: Annotated[
        str | None,
        Query(
            alias="to",
            pattern=DAY,
            json_schema_extra=DAY_FORMAT,
            description="The last UTC day, which is included; default today.",
        ),
    ] = None,
    step: Annotated[
        Step, Query(description="A row for the whole range, each month, or each day. Default total.")
    ] = Step.TOTAL,
    predictions: Annotated[
        bool, Query(description="Whether to show how good predictions were in the months of the range. Default false.")
    ] = False,
) -> Usage:
    """Show what was used, from daily and monthly sums.

    Attempts are in the sums when they have ended. What running ones have used until now is shown beside them.
    """
    given = container(request)
    now_ms = given.clocks.training_ms()
    today = day_of(now_ms)
    begin, end = _day(first, "from"), today if last is None else _day(last, "to")
    prices = given.prices
    rows = read_usage_until(
        given.table,
        by,
        begin,
        end,
        step,
        by_days=prices.changing_months(),
        kept_since=kept_since(today),
        now_ms=now_ms,
        tags=lambda: given.usage_tags,
    )
    found = usage_document(by, begin, end, step, rows, prices, now_ms)
    if not predictions:
        return found
    return replace(found, predictions=quality_document(read_quality(given.table, begin, end)))


@router.call("POST /usage/recount", {HTTPStatus.OK: "What was compared and repaired."}, InvalidRequest, NotAllowed)
def recount_usage(request: Request, next_token: NextToken = None) -> Recount:
    """Compare a page of the jobs that are kept with the sums, and add what these lack.

    Nothing is counted twice: it may be repeated, and interrupted, at any time.
    """
    given = container(request)
    result = rebuild(given.table, lambda: given.accountant, next_token)
    return Recount(
        compared=result.compared, repaired=result.repaired, unreadable=result.unreadable, next_token=result.token
    )


@router.call("GET /usage/comparison", {HTTPStatus.OK: "A page of the comparison."}, InvalidRequest, NotAllowed)
def compare_usage(
    *,
    request: Request,
    by: Annotated[str, Query(pattern=_COMPARED, description="`team`, `owner` or `pool`.")],
    day: Annotated[
        str,
        Query(
            pattern=DAY,
            json_schema_extra=DAY_FORMAT,
            description="A UTC day that is over, and of which all jobs are kept.",
        ),
    ],
    next_token: NextToken = None,
) -> UsageComparison:
    """Show what a page of jobs has in a day, and, on the last page, the sums of the day. Nothing is written."""
    given = container(request)
    page = compare_day(
        given.table,
        by,
        _day(day, "day"),
        next_token,
        now_ms=given.clocks.training_ms(),
        machine_ms=given.clocks.machine_ms(),
        retention_s=given.settings.retention_s,
    )
    return UsageComparison(
        by=by,
        day=day,
        scanned=page.scanned,
        jobs=tuple(ScannedJob(name=each.job, sums=each.sums, complete=each.complete) for each in page.jobs),
        unreadable=page.unreadable,
        keeps_earlier=page.keeps_earlier,
        stored=page.stored,
        revision=page.revision,
        changed=page.changed,
        next_token=page.token,
    )


class DifferingFigure(BaseModel):
    """A figure of the sums of a day that differs from the jobs."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: Annotated[str, Field(max_length=MAX_NAME_BYTES, description="Of which sum; empty for none.")]
    figure: Annotated[str, Field(max_length=MAX_FIGURE_CHARS, description="Which figure, as it is stored.")]
    stored: Annotated[int, Field(ge=0, description="Its value in the sum.")]
    computed: Annotated[int, Field(ge=0, description="Its value by the jobs.")]


class Repair(BaseModel):
    """Differences that a comparison has found."""

    model_config = ConfigDict(extra="forbid", strict=True)
    by: Annotated[str, Field(pattern=_COMPARED, description="`team`, `owner` or `pool`.")]
    day: Annotated[str, Field(pattern=DAY, json_schema_extra=DAY_FORMAT, description="The UTC day that was compared.")]
    revision: Annotated[int, Field(ge=0, description="That of the comparison.")]
    differences: Annotated[list[DifferingFigure], Field(min_length=1, max_length=MAX_REPAIRED)]


@router.call(
    "POST /usage/repair",
    {HTTPStatus.OK: "What was repaired."},
    InvalidRequest,
    UnsupportedMediaType,
    NotAllowed,
    SumsChanged,
)
def repair_usage(request: Request, repair: Annotated[Repair, Body()]) -> UsageRepair:
    """Give figures of a day the values that the jobs have, as a comparison of all pages has found them.

    It takes effect only if the sums have not been repaired since the comparison. It may be repeated.
    """
    found = [Difference(**each.model_dump()) for each in repair.differences]
    day = _day(repair.day, "day")
    revision = container(request).usage_repairer.repair(repair.by, day, found, repair.revision, caller(request).arn)
    return UsageRepair(by=repair.by, day=repair.day, repaired=len(found), revision=revision)


_MAX_TIME_MS = 10**13 - 1
"""The latest time that a key of the listing holds."""


def _day(text: str, name: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(f"{name}: there is no day {text}") from None
