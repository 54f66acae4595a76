"""The settings of a function, read from its environment."""

from __future__ import annotations

import pytest

from headway_sandbox.inprocess.lambda_functions import ENVIRONMENT
from headway_service.bootstrap.settings import MAX_LAUNCHES_AT_ONCE, MissingSetting, Settings


@pytest.mark.parametrize("number", [1, MAX_LAUNCHES_AT_ONCE])
def test_launches_at_once_may_be_any_number_up_to_the_most(number: int) -> None:
    assert Settings.of({**ENVIRONMENT, "HEADWAY_LAUNCHES_AT_ONCE": str(number)}).launches_at_once == number


@pytest.mark.parametrize("number", ["0", str(MAX_LAUNCHES_AT_ONCE + 1), "many"])
def test_any_other_number_is_refused_with_what_to_do(number: str) -> None:
    with pytest.raises(MissingSetting, match=r"lacks a usable .*; deploy template\.yaml again"):
        Settings.of({**ENVIRONMENT, "HEADWAY_LAUNCHES_AT_ONCE": number})


def test_buckets_are_named_by_their_arns() -> None:
    arns = "arn:aws:s3:::research,arn:aws-cn:s3:::my.bucket-1"
    settings = Settings.of({**ENVIRONMENT, "HEADWAY_CHECKPOINT_BUCKET_ARNS": arns})
    assert settings.checkpoint_buckets == ("research", "my.bucket-1")
    assert Settings.of(ENVIRONMENT).checkpoint_buckets == ()
