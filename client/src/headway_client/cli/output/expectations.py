"""Format when a job is expected to start or to end: by limits, and as is likely."""

from __future__ import annotations

from headway_client.cli.output import times
from headway_client.models import Explanation, PredictedTime


def expectation_lines(explanation: Explanation) -> list[tuple[str, str]]:
    """Return lines, each with its title, on the start of a waiting job or the end of a running one; none if unknown."""
    lines = []
    if explanation.expected_start is not None:
        lines.append(("Starts", times.expected_both(explanation.expected_start)))
    lines += _likely_line(explanation.predicted_start)
    if explanation.expected_end is not None:
        lines.append(("Ends by", times.expected_both(explanation.expected_end)))
    return lines + _likely_line(explanation.predicted_end)


def _likely_line(time: PredictedTime | None) -> list[tuple[str, str]]:
    if time is None:
        return []
    between = f"between {times.local(time.from_)} and {times.local(time.until)}"
    return [("Likely", f"about {times.expected_both(time.about)}, {between}")]
