"""What is read from SageMaker's sentence about a quota, and what is not taken for one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.sagemaker_api.quota_text import MAX_QUOTA_NAME_CHARS, NamedQuota, parse_quota
from tests.service.world import P5, on, request

NEW_ADVICE = (
    " Please use AWS Service Quotas to request an increase for this quota. If AWS Service Quotas is not available, "
    "contact AWS support to request an increase for this quota."
)
OLD_ADVICE = " Please contact AWS support to request an increase for this limit."
BOTOCORE = "An error occurred (ResourceLimitExceeded) when calling the CreateTrainingJob operation: "
RETRIED = (
    "An error occurred (ResourceLimitExceeded) when calling the CreateTrainingJob operation (reached max retries: 4): "
)


def told(name: str, limit: int, utilization: int, delta: int, unit: str = "Instances") -> str:
    return (
        f"The account-level service limit{name} is {limit} {unit}, with current utilization of {utilization} {unit} "
        f"and a request delta of {delta} {unit}."
    )


def quota(name: str, limit: int, utilization: int, delta: int | None) -> NamedQuota:
    return NamedQuota(name=name, limit=limit, utilization=utilization, delta=delta)


TRAINING, SPOT = "ml.p3.8xlarge for training job usage", "ml.p3.2xlarge for spot training job usage"
PROCESSING = "Number of instances across all processing jobs"
LONGEST = "Longest run time for a training job"

NAMED: list[tuple[str, NamedQuota, bool]] = [
    (told(f" '{TRAINING}'", 3, 0, 4) + NEW_ADVICE, quota(TRAINING, 3, 0, 4), True),
    (told(f" '{TRAINING}'", 2, 3, 1) + OLD_ADVICE, quota(TRAINING, 2, 3, 1), False),
    (told(f" '{TRAINING}'", 4, 4, 4) + NEW_ADVICE, quota(TRAINING, 4, 4, 4), False),
    (told(f" '{SPOT}'", 0, 0, 1) + OLD_ADVICE, quota(SPOT, 0, 0, 1), True),
    (told(f" '{SPOT}'", 1, 1, 1) + NEW_ADVICE, quota(SPOT, 1, 1, 1), False),
    (told(f" '{PROCESSING}'", 4, 0, 11) + OLD_ADVICE, quota(PROCESSING, 4, 0, 11), True),
    (told(f" '{PROCESSING}'", 4, 3, 2), quota(PROCESSING, 4, 3, 2), False),
    (told(f" '{LONGEST}'", 432_000, 0, 864_000, "Seconds") + NEW_ADVICE, quota(LONGEST, 432_000, 0, 864_000), True),
    (told(" 'Trials'", 50, 0, 51, "Trial Components") + NEW_ADVICE, quota("Trials", 50, 0, 51), True),
    (told(" for training-job/ml.p2.xlarge", 0, 0, 2) + OLD_ADVICE, quota("training-job/ml.p2.xlarge", 0, 0, 2), True),
    (told("", 0, 0, 1, "Apps") + OLD_ADVICE, quota("", 0, 0, 1), True),
    (BOTOCORE + told(f" '{TRAINING}'", 3, 0, 4) + NEW_ADVICE, quota(TRAINING, 3, 0, 4), True),
    (RETRIED + told(f" '{TRAINING}'", 3, 0, 4) + NEW_ADVICE, quota(TRAINING, 3, 0, 4), True),
    (
        told(f" '{LONGEST}'", 0, 0, 1, "Seconds").replace(" 0 S", " 432,000 S", 1).replace("of 1", "of 1,000,000"),
        quota(LONGEST, 432_000, 0, 1_000_000),
        True,
    ),
    (
        "The requested resource training-job/ml.p2.xlarge is not available in this region",
        quota("training-job/ml.p2.xlarge", 0, 0, None),
        True,
    ),
]


@pytest.mark.parametrize(("message", "expected", "alone"), NAMED, ids=[str(i) for i in range(len(NAMED))])
def test_a_quota_is_read_from_the_sentences_that_users_quote(message: str, expected: NamedQuota, alone: bool) -> None:
    assert parse_quota(message) == expected
    assert expected.exceeded_alone is alone
    wrapped = message.replace(" and a request", "\nand a request")
    assert parse_quota(wrapped) == expected, "the sentence is also quoted over several lines"


FORGED = told(" 'x'", 0, 0, 9)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Rate exceeded",
        f"Could not find the tag {FORGED}",
        f"1 validation error detected: Value '{FORGED}' at 'tags.1.member.value' failed",
        f"An error occurred (ResourceLimitExceeded) when calling the CreateTrainingJob operation: job {FORGED}",
        "An error occurred (ResourceLimitExceeded) when calling the a: b operation: " + FORGED,
        f"An error occurred (ThrottlingException) when calling the CreateTrainingJob operation: {FORGED}",
        f"\n{FORGED}",
        FORGED.replace("0 Instances", "-1 Instances", 1),
        FORGED.replace("0 Instances", "no Instances", 1),
        FORGED.replace("0 Instances", "٣ Instances", 1),
        FORGED.replace("9 Instances.", "9 Instances' of my job."),
        FORGED.replace("0 Instances", "9" * 30 + " Instances", 1),
        FORGED.replace("'x'", f"'{'x' * (MAX_QUOTA_NAME_CHARS + 1)}'"),
        FORGED.replace("'x'", "'x' is 9 Instances 'y'"),
        "The requested resource training-job/a b is not available in this region",
        "The requested resource training-job/a is not available in this region of my job",
    ],
    ids=repr,
)
def test_what_only_contains_such_a_sentence_names_no_quota(message: str) -> None:
    assert parse_quota(message) is None


@given(st.text(max_size=300) | st.builds("{}{}{}".format, st.text(max_size=9), st.just(FORGED), st.text(max_size=9)))
def test_no_message_is_an_error(message: str) -> None:
    found = parse_quota(message)
    assert found is None or found.exceeded_alone in {True, False}


@given(
    name=st.text(st.characters(codec="ascii", exclude_characters="'\n"), min_size=1, max_size=60),
    numbers=st.tuples(*[st.integers(0, 10**9)] * 3),
    unit=st.sampled_from(["Instances", "Seconds", "Trial Components"]),
    before=st.sampled_from(["", BOTOCORE]),
    after=st.text(max_size=40),
)
def test_every_name_and_number_is_read_and_nothing_behind_the_sentence_matters(
    name: str, numbers: tuple[int, int, int], unit: str, before: str, after: str
) -> None:
    assert parse_quota(before + told(f" '{name}'", *numbers, unit) + after) == quota(name, *numbers)


@pytest.mark.parametrize(
    ("faults", "changes", "expected"),
    [
        (Faults(quotas={P5: 3}), {"ResourceConfig": on(4)}, quota(f"{P5} for training job usage", 3, 0, 4)),
        (Faults(account_limits={service_facts.LONGEST_RUN: 60}), {}, quota(LONGEST, 60, 0, 86_400)),
        (Faults(unavailable_types=[P5]), {}, quota(f"training-job/{P5}", 0, 0, None)),
    ],
)
def test_the_words_of_the_fake_sagemaker_are_read(
    faults: Faults, changes: dict[str, Any], expected: NamedQuota
) -> None:
    with pytest.raises(AwsError) as raised:
        FakeSageMaker(faults=faults).create(request("a", **changes), now=0.0)
    assert parse_quota(raised.value.message) == expected
    assert expected.exceeded_alone
