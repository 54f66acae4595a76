"""The table of instance types is the one that the script writes, and agrees with the counts of GPUs of watches."""

from __future__ import annotations

import pytest

from deploy.instance_specs import TABLE, table
from headway.instances import all_specs, spec_of
from headway.jobpolicy.accelerators import gpus_of


def test_the_table_is_current():
    assert TABLE.read_text(encoding="utf-8") == table(), "run `make instance-specs`"


@pytest.mark.parametrize("spec", all_specs(), ids=lambda spec: spec.name)
def test_an_instance_has_as_many_gpus_as_watches_count(spec):
    assert gpus_of(spec.name) in {spec.gpus, None}
    assert spec.vcpus > 0
    assert (spec.gpu_memory_mib > 0) == (spec.gpu != "") == (spec.gpus > 0)


def test_a_type_that_is_not_known_has_no_specs():
    assert spec_of("ml.x9.large") is None
    assert spec_of("ml.g5.xlarge") is not None
