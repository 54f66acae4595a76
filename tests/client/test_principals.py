from __future__ import annotations

import pytest

from headway_client.principals import short_name


@pytest.mark.parametrize(
    ("arn", "name"),
    [
        ("arn:aws:iam::123456789012:user/ada", "ada"),
        ("arn:aws:iam::123456789012:user/division/ada", "ada"),
        ("arn:aws:sts::123456789012:assumed-role/Research/ada@example.com", "ada@example.com"),
        ("arn:aws:iam::123456789012:root", "root"),
        ("ada", "ada"),
        ("", ""),
        (None, None),
    ],
)
def test_a_principal_is_named_by_its_last_word(arn: str | None, name: str | None):
    assert short_name(arn) == name
