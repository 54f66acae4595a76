"""The alarms of a watch, and their combined result."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import InvalidPolicy
from headway.jobpolicy.rules import When
from headway.jobpolicy.training_job import TrainingJob
from headway.jobpolicy.utilization import MAX_HOSTS, Alarm, Coverage, UtilizationRule, Watched, coverage

IDLE = UtilizationRule(name="idle")
P5, G5, TRAINIUM = "ml.p5.48xlarge", "ml.g5.2xlarge", "ml.trn1.32xlarge"


def covered(watch: UtilizationRule, *hosts: str, job: TrainingJob | None = None) -> Coverage:
    watched = Watched(attempt="a", hosts=hosts, job=job or TrainingJob(description={}))
    (found,) = coverage(watched, [watch])
    return found


@pytest.mark.parametrize(
    ("watch", "host", "threshold"),
    [
        (IDLE, P5, 8.0),
        (IDLE, G5, 1.0),
        (replace(IDLE, below_percent=80), P5, 640.0),
        (replace(IDLE, metric="GPUMemoryUtilization", below_percent=5), "ml.g5.12xlarge", 20.0),
        (replace(IDLE, metric="MemoryUtilization", below_percent=5), "ml.m5.large", 5.0),
        (replace(IDLE, metric="CPUUtilization", full_scale=9600), "ml.m5.24xlarge", 96.0),
        (replace(IDLE, metric="NeuronCore", namespace="Mine", full_scale=100), TRAINIUM, 1.0),
    ],
)
def test_a_threshold_is_a_fraction_of_the_maximum_of_its_instance_type(
    watch: UtilizationRule, host: str, threshold: float
) -> None:
    (alarm,) = covered(watch, host).alarms
    assert alarm.threshold == pytest.approx(threshold)
    assert (alarm.host, alarm.period_s, alarm.periods) == ("a/algo-1", 300, 3)


def test_one_busy_gpu_of_eight_is_not_idle() -> None:
    (alarm,) = covered(IDLE, P5).alarms
    assert alarm.threshold < 100, "one GPU in full use shows 100"


def test_each_host_has_its_own_alarm_with_sagemakers_host_number() -> None:
    found = covered(IDLE, "ml.c5.xlarge", P5, P5)
    assert [(alarm.number, alarm.host) for alarm in found.alarms] == [(2, "a/algo-2"), (3, "a/algo-3")]


@pytest.mark.parametrize(
    ("hosts", "note"),
    [
        ((P5,), ""),
        (
            (TRAINIUM,),
            "`idle` does not watch ml.trn1.32xlarge, which has no GPU: give it a watch with a metric of its own",
        ),
        (
            ("ml.g99.large", P5),
            "`idle` does not watch ml.g99.large, which is not known here: give it a watch with a metric of its own",
        ),
        ((P5,) * (MAX_HOSTS + 1), f"`idle` watches jobs of up to {MAX_HOSTS} hosts, and this one has {MAX_HOSTS + 1}"),
    ],
)
def test_unwatched_hosts_are_reported(hosts: tuple[str, ...], note: str) -> None:
    assert covered(IDLE, *hosts).note == note


def test_hosts_outside_of_a_watch_are_not_reported_as_unwatched() -> None:
    found = covered(replace(IDLE, instance_types=("ml.p5.*",)), TRAINIUM, P5)
    assert ([alarm.number for alarm in found.alarms], found.note) == ([2], "")


@pytest.mark.parametrize(("team", "watches"), [("vision", 1), ("speech", 0)])
def test_a_watch_applies_only_to_jobs_that_meet_its_condition(team: str, watches: int) -> None:
    watched = Watched(attempt="a", hosts=(P5,), job=TrainingJob(description={}, team=team))
    assert len(coverage(watched, [replace(IDLE, when=When(teams=("vision",)))])) == watches


def test_a_metric_without_a_known_scale_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match="CPUUtilization"):
        UtilizationRule(name="cpu", metric="CPUUtilization")


HOSTS = st.lists(st.sampled_from([P5, G5, TRAINIUM]), min_size=1, max_size=6)


@given(hosts=HOSTS, data=st.data(), all_hosts=st.booleans())
def test_a_job_is_idle_if_all_watched_hosts_are_or_with_any_one_of_them(
    hosts: list[str], data: st.DataObject, all_hosts: bool
) -> None:
    found = covered(replace(IDLE, all_hosts=all_hosts), *hosts)
    firing: set[Alarm] = data.draw(st.sets(st.sampled_from(found.alarms))) if found.alarms else set()
    strangers = {replace(alarm, attempt="b") for alarm in found.alarms}
    idle = found.is_underused(firing | strangers)
    if all_hosts:
        assert idle == (bool(found.alarms) and firing == set(found.alarms))
    else:
        assert idle == bool(firing)


@pytest.mark.parametrize(
    ("period_s", "ready_s"),
    [(300, 1800 + 900 + 60), (10, 1800 + 30 + 10), (3600, 1800 + 3 * 3600 + 60)],
)
def test_a_verdict_counts_once_its_whole_window_is_after_the_warm_up(period_s: int, ready_s: int) -> None:
    watch = replace(IDLE, period_s=period_s)
    assert not watch.is_warm(1000, 1000 + ready_s * 1000 - 1)
    assert watch.is_warm(1000, 1000 + ready_s * 1000)
