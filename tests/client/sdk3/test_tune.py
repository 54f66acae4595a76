"""A tuner of SDK 3 as an array."""

from __future__ import annotations

from typing import Any

import pytest
from sagemaker.core.parameter import CategoricalParameter, ContinuousParameter
from sagemaker.train.tuner import HyperparameterTuner

from headway_client import HeadwayApi, tune
from headway_client.errors import UsageError
from headway_client.sagemaker_sdk.training_queue import TrainingQueue
from tests.client.fakes.aws_stub import AwsStub
from tests.client.fakes.server import ContractServer
from tests.client.sdk3.test_training import trainer

pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")


def tuner(sources: str, **options: Any) -> HyperparameterTuner:
    ranges = {"lr": ContinuousParameter(0.001, 0.1), "optimizer": CategoricalParameter(["adam", "sgd"])}
    settings: dict[str, Any] = {"strategy": "Random", "max_jobs": 5, "hyperparameter_ranges": ranges}
    return HyperparameterTuner(trainer(sources), "loss", **settings | options)


def test_a_random_tuner_is_an_array(server: ContractServer, api: HeadwayApi, aws: AwsStub, sources: str):
    del aws
    metrics = [{"Name": "loss", "Regex": "x"}]
    tune(tuner(sources, metric_definitions=metrics), job_name="sweep", queue=TrainingQueue(api=api))
    array = server.queue.arrays["sweep"]
    assert (array.sweep.count, array.at_once, array.sweep.document()["seed"]) == (5, 1, 0)
    algorithm = server.queue.jobs["sweep"]["request"]["AlgorithmSpecification"]
    assert algorithm["MetricDefinitions"] == metrics
    assert array.sweep.document()["random"] == {
        "optimizer": {"choice": ["adam", "sgd"]},
        "lr": {"uniform": [0.001, 0.1]},
    }


def test_a_tuner_that_learns_from_results_is_refused(api: HeadwayApi, aws: AwsStub, sources: str):
    del aws
    with pytest.raises(UsageError, match="The strategy Bayesian chooses each job by the results of others"):
        tune(tuner(sources, strategy="Bayesian"), queue=TrainingQueue(api=api))
