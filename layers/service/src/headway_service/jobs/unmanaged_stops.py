"""Notes that an operator wants a rogue job stopped. The patrol stops it: no other function has the permission."""

from __future__ import annotations

from headway_service.errors import Busy, RogueJobNotFound
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.store import transitions
from headway_service.store.records.unmanaged_job import RogueRecord
from headway_service.store.repository import find_unmanaged_job, retry_on_conflict


class RogueStops:
    """Takes requests of operators to stop rogue jobs.

    Args:
        table: the table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def ask(self, name: str, by: str) -> RogueRecord:
        """Have a rogue job stopped. If that was asked for already, nothing changes.

        Args:
            name: of the training job.
            by: who asks for it, in words.

        Returns:
            The rogue job, with who asked first.

        Raises:
            RogueJobNotFound: the queue has seen no such training job, or it has ended.
            Busy: others keep changing it.
        """

        def ask() -> RogueRecord:
            known = find_unmanaged_job(self._table, name)
            if known is None:
                raise RogueJobNotFound(
                    f"the queue knows no live training job `{name}` that did not come through it: `headway queue "
                    "--all` lists those that it knows, a new one within minutes; a job of the queue is stopped with "
                    f"`headway stop {name}`"
                )
            if known.stop_asked_by:
                return known
            asked, writes = transitions.ask_to_stop(known, by)
            self._table.write(writes)
            logger.info("a rogue job is to be stopped", extra={"rogue": name, "by": by})
            return asked

        return retry_on_conflict(ask, otherwise=Busy(f"`{name}` keeps changing; try again in a moment"))
