"""Records requests of operators to stop rogue training jobs. The patrol stops them: only it has the permission."""

from __future__ import annotations

from headway_service.actions.action import ActionKind, ActionRecord, Author
from headway_service.errors import RetryLater, RogueJobNotFound
from headway_service.observability.logging import logger
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table
from headway_service.store import transitions
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.store.repository import find_rogue_job, retry_on_conflict


class RogueJobStops:
    """Records requests of operators to stop rogue training jobs.

    Args:
        clocks: the two times.
    """

    def __init__(self, table: Table, clocks: Clocks) -> None:
        self._table = table
        self._clocks = clocks

    def ask(self, name: str, by: str, address: str = "") -> RogueJobRecord:
        """Request the stop of a rogue training job. A second request changes nothing.

        Args:
            name: of the training job.
            by: the name of the caller.
            address: the IP address of the call.

        Returns:
            The training job, with the first caller who requested its stop.

        Raises:
            RogueJobNotFound: the queue knows no such live training job.
            RetryLater: others keep changing it.
        """

        def ask() -> RogueJobRecord:
            known = find_rogue_job(self._table, name)
            if known is None:
                raise RogueJobNotFound(
                    f"the queue knows no live training job `{name}` that did not come through it: `headway queue "
                    "--all` lists those that it knows, a new one within minutes; a job of the queue is stopped with "
                    f"`headway stop {name}`"
                )
            if known.stop_asked_by:
                return known
            asked, writes = transitions.request_stop(known, by)
            action = ActionRecord.of(ActionKind.STOP_ROGUE, name, Author(by, address), self._clocks)
            self._table.write([*writes, action.put()])
            logger.info("a rogue job is to be stopped", extra={"rogue": name, "by": by})
            return asked

        return retry_on_conflict(ask, otherwise=RetryLater(f"`{name}` keeps changing; try again in a moment"))
