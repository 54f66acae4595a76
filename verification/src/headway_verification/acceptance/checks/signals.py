"""What AWS tells of running jobs: events, metrics and alarms."""

from __future__ import annotations

from headway.jobpolicy.utilization import HOST, UtilizationRule
from headway_service.sagemaker_api.status import parse_status
from headway_verification.acceptance.evidence import AlarmSent, Events, Figures
from headway_verification.acceptance.verdict import Finding, decided, is_false, unchecked

CPU, MEMORY = "CPUUtilization", "MemoryUtilization"
HUNDRED = 100.0
ROUNDING = 5.0
"""Points above the full scale that are taken for an error of measurement."""
LONGEST_DELAY_S = UtilizationRule(name="as by default").period_s
"""A period of a watch by default: a figure that comes later is missing in the verdict on its period."""
LOGGED = ("DEBUG", "INFO")


def event_for_each_status(events: Events) -> Finding:
    """Whether SageMaker sends an event for each secondary status that DescribeTrainingJob shows."""
    sent = {(each.get("TrainingJobName"), each.get("SecondaryStatus")) for each in events.details}
    expected = {(job, status) for job, statuses in events.statuses.items() for status in statuses}
    if not expected:
        return unchecked("no training job was launched")
    lacking = sorted(f"{job}: {status}" for job, status in expected - sent)
    if lacking:
        return is_false(f"{len(events.details)} events; none for {', '.join(lacking)}")
    return decided(f"{len(events.details)} events, with each of {len(expected)} statuses", true=True)


def event_fields(events: Events) -> Finding:
    """Whether the queue's parser reads each event, and its times."""
    if not events.details:
        return unchecked("no event came")
    for detail in events.details:
        try:
            found = parse_status(detail)
        except (KeyError, TypeError, ValueError) as error:
            return is_false(f"an event cannot be read ({error!r}); it has {', '.join(sorted(detail))}")
        if not found.arn or not found.modified_ms or found.created_ms is None:
            return is_false(f"an event lacks its ARN or a time; it has {', '.join(sorted(detail))}")
    tags = {type(each.get("Tags")).__name__ for each in events.details}
    return decided(f"{len(events.details)} events; Tags as {', '.join(sorted(tags))}", true=True)


def host_dimension(figures: Figures) -> Finding:
    """Whether CloudWatch has the metrics of a host under the name that the queue's alarms use."""
    listed = sorted({f"{name}={value}" for each in figures.dimensions for name, value in each.items()})
    count = len(figures.values.get(CPU, ()))
    return decided(f"{count} values of {CPU} for {HOST}; listed: {', '.join(listed) or 'nothing'}", true=count > 0)


def full_scale(figures: Figures) -> Finding:
    """Whether the CPU's figure runs to 100 for each core, and the memory's to 100."""
    cpu, memory = figures.values.get(CPU, ()), figures.values.get(MEMORY, ())
    if not cpu or not memory:
        return unchecked(f"no values of {CPU if not cpu else MEMORY}")
    said = f"{figures.vcpus} busy cores: {CPU} up to {max(cpu):g}, {MEMORY} up to {max(memory):g}"
    if figures.vcpus < 2:
        return unchecked(f"{said}: the instance type has one core")
    right = HUNDRED + ROUNDING < max(cpu) <= figures.vcpus * HUNDRED + ROUNDING and max(memory) <= HUNDRED
    return decided(said, true=right)


def metric_delay(figures: Figures) -> Finding:
    """Whether figures come before the verdict on their period is given."""
    if figures.delay_s is None:
        return unchecked(f"no values of {CPU}")
    return decided(
        f"the first minute's value came {figures.delay_s:.0f} s after its end", true=figures.delay_s <= LONGEST_DELAY_S
    )


def alarm_reaches_function(alarm: AlarmSent) -> Finding:
    """Whether an alarm gets through the topic to the watch function."""
    said = "; ".join(alarm.actions) or "no action in the alarm's history"
    if any("Failed" in each for each in alarm.actions) or not alarm.actions:
        return is_false(said)
    if not alarm.heard and alarm.log_level not in LOGGED:
        return unchecked(f"{said}; with LogLevel {alarm.log_level} the function does not log that it was invoked")
    return decided(f"{said}; the function {'logged' if alarm.heard else 'did not log'} its name", true=alarm.heard)
