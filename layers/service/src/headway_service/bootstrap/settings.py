"""The deployment's settings of the functions, read from the environment once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.errors import HeadwayError

_DAY_S = 86_400

MAX_LAUNCHES_AT_ONCE = 16
"""The most launches of one tick that may be set to wait for SageMaker in parallel."""


class MissingSetting(HeadwayError):
    """A setting that a function needs is missing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Settings of a function; ``template.yaml`` sets the variables."""

    table: str
    retention_s: int
    #: The configuration document that a new queue begins with, JSON.
    first_configuration: str
    wake_queue_url: str = ""
    reconcile_after_s: int = 300
    #: How many launches of one tick may wait for SageMaker in parallel.
    launches_at_once: int = 8
    wake_dead_letters_url: str = ""
    event_dead_letters_url: str = ""
    observe_function: str = ""
    alarm_prefix: str = ""
    alarm_topic_arn: str = ""
    event_bus: str = ""
    notification_topic_arn: str = ""
    #: Of the deployment; Lambda sets the variable. Empty if it is not known.
    region: str = ""
    #: The buckets of inputs, sources and outputs by which equal jobs are found; empty if none is looked for.
    reuse_buckets: tuple[str, ...] = ()
    #: The buckets in which checkpoints of running jobs are looked for; empty for none.
    checkpoint_buckets: tuple[str, ...] = ()

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Settings:
        """The settings in an environment.

        Raises:
            MissingSetting: a variable is missing, not a number, or out of its range.
        """
        try:
            return cls(
                table=environment["HEADWAY_TABLE"],
                retention_s=int(environment["HEADWAY_RETENTION_DAYS"]) * _DAY_S,
                first_configuration=environment["HEADWAY_FIRST_CONFIGURATION"],
                wake_queue_url=environment.get("HEADWAY_WAKE_QUEUE_URL", ""),
                reconcile_after_s=int(environment.get("HEADWAY_RECONCILE_AFTER_S", "300")),
                launches_at_once=_launches_at_once(environment),
                wake_dead_letters_url=environment.get("HEADWAY_WAKE_DEAD_LETTERS_URL", ""),
                event_dead_letters_url=environment.get("HEADWAY_EVENT_DEAD_LETTERS_URL", ""),
                observe_function=environment.get("HEADWAY_OBSERVE_FUNCTION", ""),
                alarm_prefix=environment.get("HEADWAY_ALARM_PREFIX", ""),
                alarm_topic_arn=environment.get("HEADWAY_ALARM_TOPIC_ARN", ""),
                event_bus=environment.get("HEADWAY_EVENT_BUS", ""),
                notification_topic_arn=environment.get("HEADWAY_NOTIFICATION_TOPIC_ARN", ""),
                region=environment.get("AWS_REGION", ""),
                reuse_buckets=_bucket_names(environment.get("HEADWAY_REUSE_BUCKET_ARNS", "")),
                checkpoint_buckets=_bucket_names(environment.get("HEADWAY_CHECKPOINT_BUCKET_ARNS", "")),
            )
        except (KeyError, ValueError) as error:
            raise MissingSetting(
                f"the function's environment lacks a usable {error}; deploy template.yaml again"
            ) from None


def _launches_at_once(environment: Mapping[str, str]) -> int:
    number = int(environment.get("HEADWAY_LAUNCHES_AT_ONCE", "8"))
    if not 1 <= number <= MAX_LAUNCHES_AT_ONCE:
        raise ValueError("HEADWAY_LAUNCHES_AT_ONCE")
    return number


def _bucket_names(arns: str) -> tuple[str, ...]:
    """The names of buckets by their ARNs, which have commas between them."""
    return tuple(arn.rpartition(":")[2] for arn in arns.split(",") if arn)
