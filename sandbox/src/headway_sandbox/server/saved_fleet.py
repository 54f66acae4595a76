"""The training jobs of the fake SageMaker in the journal."""

from __future__ import annotations

import random

from headway_sandbox.errors import JournalDamaged, JournalOfOtherVersion
from headway_sandbox.journal.journal import Journal
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.state_machine import Document, SageMakerSettings

JOBS = "training jobs"
"""The collection of the training jobs."""

_FLEET, _STATE = "fleet", "state"


def load_fleet(journal: Journal, settings: SageMakerSettings, rng: random.Random) -> FakeSageMaker:
    """Return the fake SageMaker with the saved training jobs, or a new one without any.

    Args:
        journal: the journal of the state directory.
        rng: the source of randomness.

    Raises:
        JournalOfOtherVersion: the saved training jobs are of another account or region.
        JournalDamaged: the journal cannot be read.
    """
    fleet = FakeSageMaker(settings=settings, rng=rng)
    state = journal.read(_FLEET).get(_STATE)
    if state is None:
        return fleet
    try:
        if (state["account"], state["region"]) != (settings.account, settings.region):
            raise JournalOfOtherVersion(
                f"The state directory has training jobs of account {state['account']} in {state['region']}. Remove it, "
                f"or start with that account and region."
            )
        fleet.load(journal.read(JOBS).values(), state)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        # What a server saves is whole: somebody else has changed it.
        raise JournalDamaged(
            f"The saved training jobs cannot be read ({type(error).__name__}: {error}). Remove the state directory to "
            "begin with an empty sandbox."
        ) from error
    return fleet


class SavedFleet:
    """Adds what changes in the fake SageMaker to the journal's next commit.

    Args:
        fleet: the fake SageMaker.
    """

    def __init__(self, fleet: FakeSageMaker, journal: Journal) -> None:
        self._fleet = fleet
        self._journal = journal
        self._state: Document = {}

    def put_changes(self) -> None:
        """Add what has changed since the last call."""
        state = self._fleet.to_document()
        if state != self._state:
            self._journal.put(_FLEET, _STATE, state)
            self._state = state
        for name, document in self._fleet.pop_changes().items():
            if document is None:
                self._journal.remove(JOBS, name)
            else:
                self._journal.put(JOBS, name, document)
