"""A tuner of SDK 2 as an array."""

from __future__ import annotations

from typing import Any

import pytest
from sagemaker.parameter import CategoricalParameter, ContinuousParameter, IntegerParameter
from sagemaker.pytorch import PyTorch
from sagemaker.tuner import HyperparameterTuner

from headway_client import HeadwayApi, tune
from headway_client.errors import UsageError
from headway_client.sagemaker_sdk.training_queue import TrainingQueue
from tests.client.fakes.aws_stub import AwsStub
from tests.client.fakes.server import ContractServer
from tests.client.sdk2.test_session import ROLE, session

RANGES = {
    "lr": ContinuousParameter(0.001, 0.1, scaling_type="Logarithmic"),
    "dropout": ContinuousParameter(0, 0.5),
    "layers": IntegerParameter(2, 8),
    "optimizer": CategoricalParameter(["adam", "sgd"]),
}
METRICS = [{"Name": "loss", "Regex": "loss=([0-9.]+)"}]


@pytest.fixture
def queue(api: HeadwayApi) -> TrainingQueue:
    return TrainingQueue(api=api)


@pytest.fixture
def tuner(aws: AwsStub, sources: str) -> Any:
    del aws

    def make(**options: Any) -> HyperparameterTuner:
        estimator = PyTorch(
            entry_point="train.py",
            source_dir=sources,
            role=ROLE,
            framework_version="2.1.0",
            py_version="py310",
            instance_type="ml.p5.48xlarge",
            instance_count=1,
            hyperparameters={"epochs": 3},
            sagemaker_session=session(),
        )
        settings: dict[str, Any] = {
            "strategy": "Random",
            "max_jobs": 12,
            "max_parallel_jobs": 3,
            "random_seed": 7,
            "metric_definitions": METRICS,
            "hyperparameter_ranges": RANGES,
        }
        return HyperparameterTuner(estimator, "loss", **settings | options)

    return make


def test_a_random_tuner_is_an_array_of_as_many_members_and_as_many_at_once(
    tuner: Any, server: ContractServer, queue: TrainingQueue
):
    job = tune(tuner(tags=[{"Key": "project", "Value": "x"}]), job_name="sweep", queue=queue, priority=4)
    assert job.job_name == "sweep"
    array, request = server.queue.arrays["sweep"], server.queue.jobs["sweep"]["request"]
    assert (array.sweep.count, array.at_once) == (12, 3)
    assert array.sweep.document() == {
        "random": {
            "optimizer": {"choice": ['"adam"', '"sgd"']},
            "layers": {"integer": [2, 8]},
            "lr": {"logUniform": [0.001, 0.1]},
            "dropout": {"uniform": [0, 0.5]},
        },
        "count": 12,
        "seed": 7,
    }
    assert request["AlgorithmSpecification"]["MetricDefinitions"] == METRICS
    assert request["HyperParameters"]["epochs"] == "3"
    assert {"Key": "project", "Value": "x"} in request["Tags"]


def test_a_grid_tuner_has_all_combinations(tuner: Any, server: ContractServer, queue: TrainingQueue):
    ranges = {"optimizer": CategoricalParameter(["adam", "sgd"]), "layers": CategoricalParameter([2, 4])}
    tune(tuner(strategy="Grid", max_jobs=None, hyperparameter_ranges=ranges), job_name="sweep", queue=queue)
    assert server.queue.arrays["sweep"].sweep.count == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "Bayesian"}, "The strategy Bayesian chooses each job by the results of others"),
        ({"strategy": "Hyperband"}, "The strategy Hyperband chooses"),
        ({"early_stopping_type": "Auto"}, "early_stopping_type, which an array cannot follow"),
        ({"max_runtime_in_seconds": 60}, "max_runtime_in_seconds, which an array cannot follow"),
        ({"strategy": "Grid", "max_jobs": None}, "layers has to be a CategoricalParameter, as the strategy is Grid"),
        (
            {"hyperparameter_ranges": {"n": IntegerParameter(1, 9, scaling_type="Logarithmic")}},
            "n has the scaling Logarithmic; an array supports Auto, Linear for it",
        ),
    ],
)
def test_a_tuner_that_an_array_cannot_follow_is_refused(
    tuner: Any, queue: TrainingQueue, options: dict[str, Any], message: str
):
    with pytest.raises(UsageError, match=message):
        tune(tuner(**options), queue=queue)
