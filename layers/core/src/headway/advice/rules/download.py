"""Much of the time goes into copying the data."""

from __future__ import annotations

from headway.advice.figures import JobFigures
from headway.advice.outcome import Advice, Confidence, PriceOf
from headway.durations import in_words

LONG_DOWNLOAD_S = 300.0
"""Shortest download that is worth advice."""

LONG_DOWNLOAD_PERCENT = 10.0
"""Lowest share of the attempt's time that it has to take."""


def long_download(figures: JobFigures, price_of: PriceOf) -> Advice | None:  # noqa: ARG001 - all rules take the same
    """FastFile, for a job that copies its data for long before it trains.

    Args:
        figures: of the job.
        price_of: not used.
    """
    downloading_s, attempt_s = figures.downloading_s, figures.attempt_s
    if downloading_s is None or not attempt_s or not figures.reads_files:
        return None
    share = 100 * downloading_s / attempt_s
    if downloading_s < LONG_DOWNLOAD_S or share < LONG_DOWNLOAD_PERCENT:
        return None
    attempt = in_words(attempt_s * 1000)
    return Advice(
        code="LongDownload",
        finding="The instances wait while SageMaker copies the data.",
        remedy=(
            "Read the channels in InputMode FastFile, which begins at once; it suits large files that are read in "
            "order. For many small files, pack them first."
        ),
        figures=(f"Downloading {in_words(downloading_s * 1000)}, {share:.0f} % of the attempt's {attempt}",),
        confidence=Confidence.HIGH,
        saved_s=downloading_s,
    )
