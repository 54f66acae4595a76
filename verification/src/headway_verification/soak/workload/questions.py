"""What users ask of a queue: nothing of it changes anything."""

from __future__ import annotations

from typing import Any

from headway_verification.soak.workload.people import ALL, NAMES
from headway_verification.soak.workload.requests import Submitters


class Askers(Submitters):
    """Users who ask. See :class:`headway_verification.soak.workload.people.People`."""

    def _look(self) -> None:
        path, query = self.random.choice(
            [
                (f"/jobs/{self._some_job()}", None),
                ("/jobs", None),
                ("/jobs", {"state": ["preempted", "completed"], "limit": ["2"]}),
                ("/jobs", {"team": ["a"], "nameContains": ["j1"], "mine": ["true"], "limit": ["2"]}),
                ("/capacity", None),
                ("/config", None),
            ]
        )
        self.queue.ask("GET", path, query=query)

    def _explain(self) -> None:
        """Ask why a job is where it is, usually one that waits."""
        items = self.queue.table.items()
        waiting = sorted({str(item["jobName"]) for item in items if item["pk"].startswith("line#")})
        name = self._mostly(waiting, NAMES)
        self.queue.ask("GET", self.random.choice([f"/jobs/{name}", f"/jobs/{name}/explanation"]))

    def _forecast(self) -> None:
        random = self.random
        path, query = random.choice(
            [
                ("/forecast", None),
                ("/forecast", {"limit": ["3"]}),
                ("/forecast", {"job": [self._some_job()]}),
                ("/summary", None),
            ]
        )
        self.queue.ask("GET", path, query=query)

    def _ask_what_if(self) -> None:
        random = self.random
        request, _ = self._request()
        kinds: list[dict[str, Any]] = [
            {"change": "submit", "request": request},
            {"change": "withdraw", "jobName": self._some_job()},
            {"change": "reprioritise", "jobName": self._some_job(), "priority": random.randint(0, 3)},
            {"change": "resize", "pool": random.choice(ALL), "size": random.choice([0, 1, 2, 4])},
        ]
        self.queue.ask("POST", "/what-if", {"changes": random.sample(kinds, random.randint(1, 3))})

    def _try_dry(self) -> None:
        """Ask what a submission would do."""
        request, terms = self._request()
        path, body = ("/add-job", {"jobDetails": request, **terms}) if terms else ("/jobs", request)
        self.queue.ask("POST", path, body, query={"dryRun": ["true"]})
