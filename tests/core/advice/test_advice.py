"""Advice: each rule at and beside its thresholds, what it estimates, and what it says when figures are missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.advice import Advice, Confidence, Host, JobFigures, Report, advise
from headway.advice.figures import ENOUGH_MINUTES
from headway.advice.rules.starved_gpus import speed_with
from headway.instances import all_specs

G5 = "ml.g5.xlarge"
"""4 vCPUs, 1 GPU."""
P5 = "ml.p5.48xlarge"
"""192 vCPUs, 8 GPUs."""


def host(instance_type: str = G5, **figures: Any) -> Host:
    """A host that is used well."""
    known: dict[str, Any] = {
        "minutes": 60, "cpu_percent": 200.0, "gpu_percent": 90.0, "gpu_peak_percent": 100.0,
        "gpu_memory_peak_percent": 80.0,
    }  # fmt: skip
    if instance_type == P5:
        known |= {"cpu_percent": 9600.0, "gpu_percent": 720.0, "gpu_peak_percent": 800.0}
        known |= {"gpu_memory_peak_percent": 640.0}
    return Host(instance_type=instance_type, **known | figures)


STARVED = host(cpu_percent=400.0, gpu_percent=25.0)


def report(*hosts: Host, **figures: Any) -> Report:
    return advise(JobFigures(hosts=hosts, **figures))


def only(found: Report) -> Advice:
    (one,) = found.advice
    return one


def codes(found: Report) -> list[str]:
    return [each.code for each in found.advice]


def test_a_job_that_is_used_well_gets_no_advice() -> None:
    found = report(
        *(host(), host(P5)), attempt_s=3600.0, downloading_s=60.0, reads_files=True, limit_s=7200, completed_s=3600.0,
        checkpoints=True,
    )  # fmt: skip
    assert found == Report(advice=(), missing=())


@pytest.mark.parametrize(
    ("figures", "is_starved"),
    [
        ({"cpu_percent": 340.0, "gpu_percent": 60.0}, True),
        ({"cpu_percent": 339.0, "gpu_percent": 60.0}, False),
        ({"cpu_percent": 340.0, "gpu_percent": 61.0}, False),
        ({"cpu_percent": 400.0, "gpu_percent": 1.0}, False),
        ({"cpu_percent": None, "gpu_percent": 25.0}, False),
        ({"cpu_percent": 400.0, "gpu_percent": None}, False),
        ({"cpu_percent": 400.0, "gpu_percent": 25.0, "minutes": ENOUGH_MINUTES}, True),
        ({"cpu_percent": 400.0, "gpu_percent": 25.0, "minutes": ENOUGH_MINUTES - 1}, False),
    ],
)
def test_full_processors_beside_waiting_gpus_are_found(figures: dict[str, Any], is_starved: bool) -> None:
    assert codes(report(host(**figures))) == ["StarvedGpus"] * is_starved


def test_a_host_without_values_of_a_metric_says_nothing_about_the_others() -> None:
    assert codes(report(STARVED, replace(STARVED, gpu_percent=None))) == []


def test_a_starved_job_gets_a_larger_type_or_a_group_of_hosts_for_its_data() -> None:
    advice = only(report(STARVED))
    larger, group = advice.options
    # A GPU that is busy a quarter of the time takes four times the vCPUs: 16.
    assert (dict(larger.instances), larger.speed) == ({"ml.g5.4xlarge": 1}, 4.0)
    assert (dict(group.instances), group.speed) == ({G5: 1, "ml.c5.4xlarge": 1}, 4.0)
    assert advice.figures == (
        "CPUUtilization 100 % of the vCPUs of ml.g5.xlarge",
        "GPUUtilization 25 % of its GPUs",
        "60 min of values",
    )


def test_the_hosts_for_data_are_of_the_given_types_and_few() -> None:
    (advice,) = advise(JobFigures(hosts=(STARVED,)), data_types=["ml.c5.2xlarge", P5, "ml.unknown.large"]).advice
    assert dict(advice.options[1].instances) == {G5: 1, "ml.c5.2xlarge": 2}


def test_hosts_that_would_prepare_no_more_data_than_the_job_does_are_not_advised() -> None:
    starved = host(P5, cpu_percent=19_200.0, gpu_percent=80.0)
    (advice,) = advise(JobFigures(hosts=(starved,)), data_types=["ml.c5.xlarge"]).advice
    assert advice.options == ()


def test_without_hosts_for_data_only_a_larger_type_is_advised() -> None:
    (advice,) = advise(JobFigures(hosts=(STARVED,)), data_types=[P5]).advice
    assert [dict(each.instances) for each in advice.options] == [{"ml.g5.4xlarge": 1}]


def test_where_no_type_suffices_the_largest_is_advised() -> None:
    (advice,) = report(host(cpu_percent=400.0, gpu_percent=2.0)).advice
    assert (dict(advice.options[0].instances), advice.options[0].speed) == ({"ml.g5.16xlarge": 1}, 16.0)


@pytest.mark.parametrize(("minutes", "confidence"), [(59, Confidence.MEDIUM), (60, Confidence.HIGH)])
def test_a_long_measurement_is_more_certain(minutes: int, confidence: Confidence) -> None:
    assert only(report(replace(STARVED, minutes=minutes))).confidence is confidence
    assert only(report(STARVED, replace(STARVED, minutes=minutes))).confidence is confidence


def test_the_cost_of_an_option_needs_the_prices_of_all_its_types() -> None:
    prices = {G5: 1.0, "ml.g5.4xlarge": 2.0}
    (advice,) = advise(JobFigures(hosts=(STARVED,)), price_of=prices.get).advice
    # Twice the price for a quarter of the time.
    assert [each.cost for each in advice.options] == [0.5, None]
    assert [each.cost for each in only(report(STARVED)).options] == [None, None]


@pytest.mark.parametrize(("peak", "code"), [(105.0, ["UnusedGpus"]), (106.0, []), (0.0, ["UnusedGpus"]), (None, [])])
def test_a_host_that_uses_one_gpu_of_several_is_found(peak: float | None, code: list[str]) -> None:
    assert codes(report(host(P5, gpu_peak_percent=peak))) == code


def test_a_job_that_uses_one_gpu_gets_an_instance_with_one_and_no_other_advice_on_its_gpus() -> None:
    figures = {"gpu_peak_percent": 100.0, "gpu_percent": 90.0, "gpu_memory_peak_percent": 90.0, "cpu_percent": 19200.0}
    advice = only(report(host(P5, **figures)))
    assert [(dict(each.instances), each.speed) for each in advice.options] == [({"ml.p5.4xlarge": 1}, 1.0)]
    assert "at most one GPU is used" in advice.finding
    four = only(report(host("ml.g5.12xlarge")))
    assert [dict(each.instances) for each in four.options] == [{"ml.g5.8xlarge": 1}], "no more vCPUs than it has"
    assert "no GPU is used" in only(report(host(P5, gpu_peak_percent=5.0))).finding
    assert codes(report(host(P5, **figures), host(P5))) == []


@pytest.mark.parametrize(
    ("peak", "code"), [(30.0, ["EmptyGpuMemory"]), (31.0, []), (0.0, []), (None, [])]
)  # fmt: skip
def test_nearly_empty_memory_of_gpus_is_found(peak: float | None, code: list[str]) -> None:
    assert codes(report(host(gpu_memory_peak_percent=peak))) == code


def test_a_smaller_gpu_has_a_margin_over_the_memory_that_was_used() -> None:
    # 30 % of 22888 MiB and a half more are 10300 MiB: a T4 has 15360 MiB.
    advice = only(report(host(gpu_memory_peak_percent=30.0)))
    assert [(dict(each.instances), each.speed) for each in advice.options] == [({"ml.g4dn.xlarge": 1}, None)]
    assert advice.confidence is Confidence.LOW
    # 30 % of 45776 MiB and a half more are 20600 MiB, for which a T4 is too small.
    larger = only(report(host("ml.g6e.xlarge", gpu_memory_peak_percent=30.0)))
    assert [dict(each.instances) for each in larger.options] == [{"ml.g5.xlarge": 1}]
    assert only(report(host("ml.g4dn.xlarge", gpu_memory_peak_percent=10.0))).options == ()


@pytest.mark.parametrize(
    ("downloading_s", "attempt_s", "reads_files", "code"),
    [
        (300.0, 3000.0, True, ["LongDownload"]),
        (299.0, 2990.0, True, []),
        (300.0, 3001.0, True, []),
        (300.0, 3000.0, False, []),
        (None, 3000.0, True, []),
        (300.0, None, True, []),
    ],
)
def test_long_downloads_are_found(
    downloading_s: float | None, attempt_s: float | None, reads_files: bool, code: list[str]
) -> None:
    found = report(host(), downloading_s=downloading_s, attempt_s=attempt_s, reads_files=reads_files)
    assert codes(found) == code
    assert [each.saved_s for each in found.advice] == [downloading_s] * len(code)


@pytest.mark.parametrize(
    ("preempted_s", "checkpoints", "code"),
    [
        ((600.0,), False, ["LostWork"]),
        ((599.0,), False, []),
        ((), False, []),
        ((600.0,), True, []),
        ((300.0, 300.0), True, ["CheckpointInterval"]),
        ((300.0, 299.0), True, []),
    ],
)
def test_lost_work_is_found(preempted_s: tuple[float, ...], checkpoints: bool, code: list[str]) -> None:
    assert codes(report(host(), preempted_s=preempted_s, checkpoints=checkpoints)) == code


def test_the_interval_of_checkpoints_is_a_tenth_of_the_time_between_preemptions() -> None:
    advice = only(report(host(), preempted_s=(3000.0, 6000.0), checkpoints=True))
    assert "at least every 7 min 30 s: then a preemption loses 3 min 45 s" in advice.remedy
    assert only(report(host(), preempted_s=(3000.0, 6000.0))).saved_s == 9000.0


@pytest.mark.parametrize(
    ("completed_s", "limit_s", "better_s"),
    [
        (3600.0, 10_800, 5400),
        (3600.0, 10_799, None),
        (10.0, 86_400, 600),
        (10.0, 600, None),
        (None, 86_400, None),
        (3600.0, None, None),
        (4000.0, 86_400, 6000),
        (4001.0, 86_400, 6600),
    ],
)
def test_a_limit_far_above_the_run_time_is_found(
    completed_s: float | None, limit_s: int | None, better_s: int | None
) -> None:
    found = report(host(), completed_s=completed_s, limit_s=limit_s)
    assert codes(found) == ["LooseLimit"] * (better_s is not None)
    for advice in found.advice:
        assert f"MaxRuntimeInSeconds to {better_s} " in advice.remedy


def test_what_is_missing_is_named() -> None:
    assert report().missing == (
        "utilization: 0 of at least 10 min",
        "how long the data was downloaded",
        "the run time: the job has not completed",
    )
    found = report(host("ml.x9.large"), downloading_s=0.0, completed_s=1.0)
    assert found == Report(advice=(), missing=("what an instance of type ml.x9.large has is not known",))


GPU_TYPES = [spec for spec in all_specs() if spec.gpus]


@given(st.data())
def test_an_option_is_never_the_same_instances_and_never_estimated_as_slower(data: st.DataObject) -> None:
    spec = data.draw(st.sampled_from(GPU_TYPES))
    share = st.floats(0, 100)
    gpu, peak = sorted((data.draw(share), data.draw(share)))
    one = Host(
        instance_type=spec.name,
        minutes=data.draw(st.integers(0, 100)),
        cpu_percent=data.draw(share) * spec.vcpus,
        gpu_percent=gpu * spec.gpus,
        gpu_peak_percent=peak * spec.gpus,
        gpu_memory_peak_percent=data.draw(share) * spec.gpus,
    )
    count = data.draw(st.integers(1, 4))
    for advice in advise(JobFigures(hosts=(one,) * count)).advice:
        assert advice.figures
        for option in advice.options:
            assert option.instances != {spec.name: count}
            assert option.speed is None or 1.0 <= option.speed <= 100.0


@given(st.integers(1, 500), st.integers(1, 500), st.floats(0.01, 1.0))
def test_more_processors_never_slow_a_job_down_and_never_keep_its_gpus_busier_than_always(
    vcpus: int, now_vcpus: int, gpu_share: float
) -> None:
    speed = speed_with(vcpus, now_vcpus=now_vcpus, gpu_share=gpu_share)
    assert 1.0 <= speed <= speed_with(vcpus + 1, now_vcpus=now_vcpus, gpu_share=gpu_share) <= 1 / gpu_share + 1e-9
