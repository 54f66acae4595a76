"""Tells what a configuration would do if it were in force, by the code that decides then. Nothing is changed.

Decisions run forward on the queue as it is, once by the configuration in force and once by the other one
(:mod:`headway.forecasting.losses`). What happens by both is no effect of the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from headway.forecasting.losses import Losses, losses
from headway.reasons import clock_time
from headway_service.config import document as configuration
from headway_service.config.differences import differences
from headway_service.config.document import Configuration
from headway_service.effects import running, waiting
from headway_service.effects.effect import MAX_REQUESTS, WITHIN_MS, Effect, Effects
from headway_service.effects.instance_types import unknown_types
from headway_service.effects.rights import lost_rights
from headway_service.effects.teams import leaving_teams
from headway_service.errors import UnreadableRecord
from headway_service.forecast.snapshot import MAX_FORESEEN, ForecastSnapshot, snapshot_of
from headway_service.observability.logging import logger
from headway_service.pools.after_config import ledger_under
from headway_service.pools.apply_config import EffectiveConfig
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table
from headway_service.store.ledger import read_ledger_for_display
from headway_service.store.repository import find_request, find_request_of

_ASSUMES = "Holds if no other job comes, and every job runs as long as its limit lets it."


class ConfigurationEffects:
    """Tells the effects of configurations.

    Args:
        clocks: training time and machine time.
        in_force: returns the configuration in force.
        region: of the deployment; empty if it is not known.
    """

    def __init__(
        self, *, table: Table, clocks: Clocks, in_force: Callable[[], EffectiveConfig], region: str = ""
    ) -> None:
        self._table = table
        self._clocks = clocks
        self._in_force = in_force
        self._region = region

    def of(self, document: Any, account: str = "") -> Effects:
        """What a document would do.

        Args:
            document: the decoded document.
            account: of the deployment; empty if it is not known.

        Raises:
            InvalidConfiguration: the document is not valid, so it would do nothing.
        """
        text = configuration.new_text_to_keep(document, region=self._region, account=account)
        after = configuration.parse(text)
        before = self._in_force()
        changes = differences(before.text, text)
        if not changes:
            return Effects(version=before.version, changes=[], effects=[], note=_ASSUMES)
        effects, omitted = self._compare(before.configuration, after)
        note = " ".join([_ASSUMES, *omitted])
        return Effects(version=before.version, changes=changes, effects=effects, note=note, is_whole=not omitted)

    def _compare(self, before: Configuration, after: Configuration) -> tuple[list[Effect], list[str]]:
        """The effects, and what they omit, in sentences."""
        now_ms = self._clocks.training_ms()
        ledger = read_ledger_for_display(self._table).in_training_time(now_ms, self._clocks.machine_ms())
        left = ledger_under(after, ledger, now_ms)
        queue = snapshot_of(self._table, ledger, now_ms, before.policy())
        changed = snapshot_of(self._table, left, now_ms, after.policy())
        jobs = queue.snapshot.waiting
        kept = _losses(queue)
        # Most changes of people, prices and watches decide nothing.
        lost = kept if changed.snapshot == queue.snapshot else _losses(changed)
        request_of = partial(_readable, partial(find_request_of, self._table))
        request = partial(_readable, partial(find_request, self._table))
        of_teams = [(each.name, each.terms.team) for each in jobs]
        starting = [(each.job_name, each.team) for each in ledger.attempts if not each.ruled and not each.stop_cause]
        unjudged = [*starting, *of_teams]
        of_teams += [(each.job_name, each.team) for each in ledger.attempts]
        effects = [
            *running.lost_by_decisions(kept, lost),
            *running.watched(before, after, ledger, request_of, now_ms),
            *running.outside(before, after, ledger),
            *running.below_use(ledger, left),
            *waiting.never_starting(queue, changed),
            *waiting.ending(before, after, jobs, now_ms),
            *waiting.breaking_rules(before, after, unjudged, request),
            *waiting.above_maximum(before, after, jobs),
            *leaving_teams(before, after, of_teams),
            *lost_rights(before.access_rules(), after.access_rules()),
            *unknown_types(before, after),
        ]
        omitted = list(_omitted(queue, changed, min(kept.until_ms, lost.until_ms)))
        if before.watches != after.watches and sum(1 for _ in running.watchable(ledger)) > MAX_REQUESTS:
            omitted.append(f"Watches were tried on the first {MAX_REQUESTS} running jobs only.")
        if before.rules != after.rules and len(unjudged) > MAX_REQUESTS:
            omitted.append(f"Rules were tried on the first {MAX_REQUESTS} jobs only that wait or are starting.")
        return effects, omitted


def _losses(queue: ForecastSnapshot) -> Losses:
    until_ms = queue.snapshot.now_ms + WITHIN_MS
    return losses(queue.snapshot, until_ms, arrays=queue.to_come.arrays, steps=queue.steps)


def _readable(find: Callable[[Any], Mapping[str, Any] | None], of: Any) -> Mapping[str, Any] | None:
    """A request; None if its record cannot be read, which concerns its job alone."""
    try:
        return find(of)
    except UnreadableRecord as error:
        logger.warning("a request cannot be read", extra={"error": str(error)})
        return None


def _omitted(before: ForecastSnapshot, after: ForecastSnapshot, until_ms: int) -> Iterator[str]:
    """What the effects omit, in sentences."""
    now_ms = before.snapshot.now_ms
    if until_ms < now_ms + WITHIN_MS:
        yield f"Simulated until {clock_time(until_ms, now_ms)} only."
    if before.cut is not None or after.cut is not None:
        yield f"Only the first {MAX_FORESEEN} jobs in the queue were looked at."
