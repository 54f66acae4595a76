"""What users change about jobs."""

from __future__ import annotations

from headway_verification.soak.workload.people import NAMES, People


class Changers(People):
    """Users who change jobs. See :class:`People`."""

    def _stop(self) -> None:
        self.queue.ask("DELETE", f"/jobs/{self._some_job()}")

    def _prioritise(self) -> None:
        self.queue.ask("PATCH", f"/jobs/{self._some_job()}", {"priority": self.random.randint(0, 3)})

    def _change(self) -> None:
        """Change a job, usually one that waits first, or that instances are freed for."""
        random, items = self.random, self.queue.table.items()
        waiting = sorted({str(item["jobName"]) for item in items if item["pk"].startswith("line#")})
        name = random.choice(waiting) if waiting and random.random() < 0.7 else self._some_job()
        # At most as many as fit at rest, whatever the sizes of the pools are now.
        wanted = {"instances": random.choice([1, 1, 2, 2]), "maxRuntimeSeconds": random.choice([1800, 86_400, 90_000])}
        kept = random.choice([{*wanted}, {"instances"}, {"instances"}, {"maxRuntimeSeconds"}])
        self.queue.ask("POST", f"/jobs/{name}/change", {key: wanted[key] for key in sorted(kept)})

    def _hold(self) -> None:
        """Hold a job, usually one with a reservation: those change the most at the same time."""
        attempts = [item for item in self.queue.table.items() if item["sk"].startswith("attempt#")]
        owed = sorted({str(item["freedFor"]) for item in attempts if item.get("freedFor")})
        name = self.random.choice(owed) if owed and self.random.random() < 0.5 else self._some_job()
        self.queue.ask("POST", f"/jobs/{name}/hold")

    def _release(self) -> None:
        held = sorted(self.queue.invariants.held())
        self.queue.ask("POST", f"/jobs/{self._mostly(held, NAMES)}/release")
