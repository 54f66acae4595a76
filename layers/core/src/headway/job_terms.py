"""What a decision has to know of a job besides its name, its instances and where it is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from headway.payers import Payer


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What a job is compared by with its equals. It stays as it is while the job waits, and while an attempt runs."""

    #: Among jobs of one priority it ranks as if it had been accepted this much later, ms: see
    #: :func:`headway.scheduling.ordering.handicap_ms`.
    handicap_ms: int = 0
    #: What is left of its limit, as far as its checkpoints go, ms; None if the order in which it entered does not
    #: compare that. If neither this nor ``attained_ms`` is known, it preempts no equals and gives way to none.
    left_ms: int | None = None
    #: What is left of its expected run time, ms, and by how much that is extended when it runs for longer. None if it
    #: counts with its limit.
    expected_ms: int | None = None
    extension_ms: int = 0
    #: For how long its attempts have held instances, times these, instance-ms; None if the order in which it entered
    #: does not compare that.
    attained_ms: int | None = None
    #: The most that its handicap may become by that, ms.
    max_handicap_ms: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class JobTerms:
    """What a decision has to know of a job: a value that goes with it from its queue to its attempts and back.

    A new field is declared here, stored by :mod:`headway_service.store.records.terms`, and set by whoever knows it.
    """

    #: 0 to 9999; higher goes first.
    priority: int
    #: When the job was accepted, ms. It keeps this through preemptions.
    entry_time_ms: int
    #: Of a job that runs: when its attempt was started. It applies again when the job waits again.
    standing: Standing = Standing()
    #: The team that is charged; empty for none.
    team: str = ""
    #: It holds its instances no longer than this once it has started, ms; None if nothing limits it.
    limit_ms: int | None = None
    #: What its limit has beside the MaxRuntimeInSeconds of its request, ms; None if that is not known, or its limit
    #: comes from another member.
    allowance_ms: int | None = None
    #: Whether it may be stopped for another job at all.
    preemptible: bool = True
    #: How often it has been preempted already.
    preemptions: int = 0
    #: How often it may be preempted, if its request allows less than the policy; None for what the policy says.
    max_preemptions: int | None = None
    #: How often it is retried after failures of one kind, the same way. No decision depends on it.
    max_retries: int | None = None
    #: Whether it writes checkpoints, so that stopping it loses little.
    checkpoints: bool = False
    #: The time from one checkpoint to the next as it declares it, ms; None if it does not.
    checkpoints_every_ms: int | None = None
    #: SageMaker may launch it in a warm pool with this key (and the same demand), and matches the one that it leaves by
    #: it; empty if in none.
    warm_key: str = ""
    #: How long its instances are kept warm after it has ended, ms.
    keep_ms: int = 0
    #: Whether it may start although it may still run when a pool that stops attempts becomes smaller.
    stops_for_size: bool = False
    #: Whose it is (:func:`owner_hash`).
    owner: str = ""
    #: What it runs, by which its run time is predicted. No decision depends on it.
    source: str = ""
    #: Those of its tags that budgets are by, such as ``project=thesis``.
    budget_tags: tuple[str, ...] = ()

    @property
    def payer(self) -> Payer:
        """Whom it is of, as budgets tell jobs apart."""
        return Payer(team=self.team, owner=self.owner, tags=self.budget_tags)

    @property
    def turn_ms(self) -> int:
        """What jobs of one priority are ordered by."""
        return self.entry_time_ms + self.standing.handicap_ms


def owner_hash(owner: str | None) -> str:
    """A short mark of an owner; empty for none.

    An ARN may have 2048 characters, and queue entries are read by the thousand.

    Args:
        owner: the ARN of the caller.
    """
    return hashlib.sha256(owner.encode()).hexdigest()[:16] if owner else ""
