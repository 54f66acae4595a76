"""A job that writes checkpoints fills a gap before a reserved start, and is stopped for the job ahead."""

from __future__ import annotations

from headway_service.store.ledger import read_ledger
from tests.service.world import P5, World

LONG = {"SANDBOX_RUN_SECONDS": "90000"}
LONGER = {"MaxRuntimeInSeconds": 400_000}
CHECKPOINTS = {"CheckpointConfig": {"S3Uri": "s3://jobs/checkpoints/filler"}}


def world() -> World:
    made = World(pools={P5: 2})
    made.configuration.write({**made.configuration.document, "backfill": {"fill": "checkpointing"}})
    return made


def test_a_job_that_writes_checkpoints_fills_a_gap_and_gives_way_to_the_job_ahead() -> None:
    at = world()
    at.submit("long", 5, Environment=LONG)
    at.tick()
    at.submit("head", 5, ResourceConfig={"InstanceType": P5, "InstanceCount": 2, "VolumeSizeInGB": 1})
    at.now_s += 1
    at.submit("filler", 5, Environment=LONG, StoppingCondition=LONGER, **CHECKPOINTS)
    at.tick()
    at.tick()
    attempts = {each.job_name: each.opportunistic for each in read_ledger(at.table).attempts}
    assert attempts == {"long": False, "filler": True}
    assert "fills a gap" in at.seen("filler").job.history[-1].reason.message
    at.check()


def test_one_that_writes_none_waits() -> None:
    at = world()
    at.submit("long", 5, Environment=LONG)
    at.tick()
    at.submit("head", 5, ResourceConfig={"InstanceType": P5, "InstanceCount": 2, "VolumeSizeInGB": 1})
    at.now_s += 1
    at.submit("filler", 5, Environment=LONG, StoppingCondition=LONGER)
    at.tick()
    at.tick()
    assert {each.job_name for each in read_ledger(at.table).attempts} == {"long"}
