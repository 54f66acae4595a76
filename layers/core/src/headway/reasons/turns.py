"""What a team used lately, in words: why its jobs come before or after those of others."""

from __future__ import annotations

from headway.durations import in_words

_WORTH_SAYING = 0.05


def turn_of(team: str, *, used: float, weight: float, unknown: float, half_life_ms: int) -> str:
    """The sentence on a team where past use counts.

    Args:
        team: empty for jobs without one.
        used: the part that it used of what all teams used, 0 to 1.
        weight: its weight as a part of all weights, 0 to 1.
        unknown: the part of its past of which nothing is known, 0 to 1.
        half_life_ms: the time in which use fades to a half, ms.
    """
    who = f"team `{team}`" if team else "jobs without a team"
    its = "its weight is" if team else "their weight is"
    said = (
        f"{who} used {used:.0%} of what all teams used lately (half-life {in_words(half_life_ms)}), and {its} "
        f"{weight:.0%} of all weights"
    )
    if team and unknown >= _WORTH_SAYING:
        said += f"; of {unknown:.0%} of the time nothing is known of it yet, which counts as the average of all teams"
    return said
