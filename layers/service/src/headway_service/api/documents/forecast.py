"""Why jobs wait, when they start, and the effect of changes."""

from __future__ import annotations

from headway.api_documents.forecast import Ahead, Explanation, Forecast, ForecastEntry, PredictedTime, WhatIf
from headway.prediction.likely_times import LikelyTime
from headway_service.api.documents.jobs import expected_run_document, reason_document, shift_document
from headway_service.api.documents.pools import pool_document
from headway_service.api.times import time_text
from headway_service.forecast import results


def explanation_document(found: results.Explanation) -> Explanation:
    """Why a job is where it is."""
    job = found.seen.job
    return Explanation(
        job_name=job.job_name,
        job_state=job.job_state,
        held=job.held,
        place=found.seen.place,
        reason=reason_document(found.seen.reason),
        expected_start=time_text(found.expected_start_ms),
        expected_end=time_text(found.expected_end_ms),
        note=found.note,
        ahead=tuple(
            Ahead(
                job_name=each.job,
                job_state=each.job_state,
                priority=each.priority,
                demand=each.demand,
                owner=each.owner,
                started_time=time_text(each.started_ms),
                expected_end=time_text(each.expected_end_ms),
            )
            for each in found.ahead
        ),
        more=found.more,
        pools=tuple(pool_document(use) for use in found.pools),
        remedy=found.remedy,
        predicted_start=_predicted_time(found.predicted_start),
        predicted_end=_predicted_time(found.predicted_end),
        expected_run=expected_run_document(job),
        turn=found.turn,
    )


def forecast_document(found: results.Outlook) -> Forecast:
    """When waiting jobs are expected to start."""
    return Forecast(
        as_of=time_text(found.as_of_ms),
        until=time_text(found.until_ms),
        note=found.note,
        jobs=tuple(
            ForecastEntry(
                job_name=each.seen.job.job_name,
                job_state=each.seen.job.job_state,
                place=each.seen.place,
                priority=each.seen.job.priority,
                demand=each.seen.job.demand,
                held=each.seen.job.held,
                expected_start=time_text(each.start_ms),
                after=tuple(name for name, _ in each.seen.job.awaited),
                predicted_start=_predicted_time(each.predicted_start),
            )
            for each in found.jobs
        ),
        more=found.more,
    )


def _predicted_time(found: LikelyTime | None) -> PredictedTime | None:
    if found is None:
        return None
    return PredictedTime(
        about=time_text(found.about_ms), from_=time_text(found.from_ms), until=time_text(found.until_ms)
    )


def what_if_document(found: results.Consequences) -> WhatIf:
    """What changes would do."""
    return WhatIf(
        starts=tuple(found.starts),
        preempts=tuple(found.preempts),
        releases=tuple(found.releases),
        moved=tuple(shift_document(move) for move in found.moved),
        note=found.note,
    )
