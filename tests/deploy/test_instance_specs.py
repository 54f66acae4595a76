"""The table of instance types is the one that the script writes, and knows each type that SageMaker trains on."""

from __future__ import annotations

import botocore.session
import pytest

from deploy.instance_specs import TABLE, table
from headway.instances import all_specs, gpus_of, known_types, spec_of
from headway.instances.undescribed import UNDESCRIBED
from headway.jobpolicy.accelerators import is_accelerated


def test_the_table_is_current():
    assert TABLE.read_text(encoding="utf-8") == table(), "run `make instance-specs`"


_MODEL = botocore.session.get_session().get_service_model("sagemaker")
TRAINED_ON: list[str] = _MODEL.shape_for("TrainingInstanceType").metadata["enum"]


def test_each_type_that_sagemaker_trains_on_is_known_and_no_other():
    assert known_types() == set(TRAINED_ON)


@pytest.mark.parametrize("name", [each for each in TRAINED_ON if is_accelerated(each)])
def test_each_accelerated_type_has_gpus_unless_it_is_trainium(name):
    assert (gpus_of(name) == 0) is name.startswith("ml.trn")


@pytest.mark.parametrize("name", TRAINED_ON)
def test_an_instance_has_figures_that_agree_with_each_other(name):
    spec = spec_of(name)
    assert spec is not None
    assert spec.vcpus > 0
    assert spec.memory_mib > 0
    assert (spec.gpu_memory_mib > 0) == (spec.gpu != "") == (spec.gpus > 0)


def test_types_that_ec2_does_not_describe_are_known_and_never_proposed():
    assert not UNDESCRIBED.keys() & {each.name for each in all_specs()}
    assert (gpus_of("ml.p3.8xlarge"), gpus_of("ml.p6e-gb200.36xlarge")) == (4, 4)


def test_a_type_that_is_not_known_has_no_specs():
    assert spec_of("ml.x9.large") is None
    assert spec_of("ml.g5.xlarge") is not None
