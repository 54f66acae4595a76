"""What happens in the account beside the queue."""

from __future__ import annotations

import contextlib

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.request_builder import G5, P5, training_request
from headway_service.sagemaker_api.names import attempt_name
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_verification.soak.invariants.queue import FORGED
from headway_verification.soak.workload.people import LARGE, NAMES, SMALL, People

FOREIGN = "ml.c5.xlarge"
"""The instance type of unrelated training jobs, which is not a pool of the queue."""

TIGHT = {P5: 2, G5: 3}
"""Quotas equal to the pools: a start right after an end is refused while the ended job still counts."""

THROTTLED = [
    "CreateTrainingJob",
    "DescribeTrainingJob",
    "StopTrainingJob",
    "UpdateTrainingJob",
    "ListTrainingJobs",
    "ListTags",
    "DescribeTrainingPlan",
]
"""SageMaker operations that may be throttled by a rate."""


class Outsiders(People):
    """Users of the account who do not know of the queue, and the account itself. See :class:`People`."""

    def _faults(self) -> None:
        random = self.random
        account = Faults(
            event_drop=random.choice([0.0, 0.0, 0.3]),
            event_duplicate=random.choice([0.0, 0.5]),
            event_delay=random.choice([0.0, 0.5]),
            event_shuffle=random.choice([0.0, 1.0]),
            quotas=random.choice([{}, {}, {P5: 1}, TIGHT]),
            spot_quotas=random.choice([{}, {}, {P5: 1, G5: 0}]),
            quota_lag_s=random.choice([0.0, 0.0, 20.0, 150.0]),
            rates=self._rates(),
            capacity=random.choice([{}, {}, {}, {G5: 1}, {P5: 1}, {P5: 0, G5: 0}]),
            capacity_wait_s=random.choice([0.0, 300.0, 3000.0]),
            pending_expiry=random.choice(["Stopped", "Failed"]),
            event_hides_selection=random.random() < 0.5,
            event_hides_metrics=random.random() < 0.5,
            preferences_count=random.choice(["selected", "all"]),
            # Mostly enough, as without a quota SageMaker keeps nothing.
            warm_pool_quotas=random.choice([{}, {P5: 1}, *[{P5: 9, G5: 9}] * 4]),
            warm_pool_choice=random.choice(["oldest", "any", "any", "none"]),
            warm_pool_lag_s=random.choice([0.0, 0.0, 60.0]),
            warm_pool_release_s=random.choice([0.0, 60.0, 300.0]),
            warm_pool_update_completed_only=random.random() < 0.2,
        ).with_changes(self.queue.temper)
        self.queue.set_account(account)

    def _rates(self) -> dict[str, dict[str, float]]:
        """Return rate limits of SageMaker below the queue's call rate."""
        rare = {"per_s": 0.1, "burst": 1}
        return {operation: rare for operation in THROTTLED if self.random.random() < 0.15}

    def _take_name(self) -> None:
        """Create an unrelated training job with a name that the queue uses."""
        name = self.random.choice([attempt_name(name, self.random.choice([1, 2])) for name in NAMES])
        with contextlib.suppress(AwsError):
            self.queue.fleet.create(training_request(name, [(FOREIGN, 1)], run_s=60), now=self.queue.now_s)

    def _bypass(self) -> None:
        """Create a rogue training job on the queue's instances, sometimes with the queue's tags."""
        random = self.random
        forged = random.random() < 0.3
        tags = {JOB_TAG: random.choice(NAMES), ATTEMPT_TAG: FORGED} if forged else {}
        # A job with the queue's tags is not stopped, so it has to end by itself.
        run_s = random.choice([60, 900] if forged else [60, 900, 1_000_000])
        name = self._mostly([f"r{number}" for number in range(20)], NAMES)
        with contextlib.suppress(AwsError):
            request = training_request(name, random.choice([*SMALL, *LARGE]), run_s=run_s, tags=tags)
            if random.random() < 0.2:
                # Only outside of the queue SageMaker selects one of several types.
                listed = [{"InstanceType": kind, "InstanceCount": 1} for kind in random.sample([P5, G5], 2)]
                request["ResourceConfig"] = {"InstancePreferences": listed, "VolumeSizeInGB": 30}
            self.queue.fleet.create(request, now=self.queue.now_s)

    def _interrupt(self) -> None:
        """Interrupt a training job on spot instances."""
        spot = [each.name for each in self.queue.fleet.jobs(now=self.queue.now_s) if each.spot and not each.ended]
        with contextlib.suppress(AwsError, IndexError):
            self.queue.fleet.interrupt(self.random.choice(spot), now=self.queue.now_s)

    def _stop_outside(self) -> None:
        with contextlib.suppress(AwsError, IndexError):
            name = self.random.choice(self.queue.fleet.jobs(now=self.queue.now_s)).name
            self.queue.fleet.stop(name, now=self.queue.now_s)

    def _delete_outside(self) -> None:
        with contextlib.suppress(AwsError, IndexError):
            name = self.random.choice(self.queue.fleet.jobs(now=self.queue.now_s)).name
            self.queue.fleet.delete(name, now=self.queue.now_s)

    def _write_input(self) -> None:
        self.queue.s3.write_input(self.random.choice([b"", b"1", b"2"]))
