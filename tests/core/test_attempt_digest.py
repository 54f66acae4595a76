"""The digest by which an attempt's name says its job."""

from __future__ import annotations

import pytest

from headway.attempt_digest import digest_in, digest_of


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        (f"train-{digest_of('train')}-2", digest_of("train")),
        (f"rain-{digest_of('train')}-10", digest_of("train")),
        ("train", None),
        ("train-0123abcd", None),
        ("train-0123abcd-0", None),
        ("train-0123ABCD-2", None),
        ("train-0123abcde-2", None),
        ("train-0123abcd-2-more", None),
    ],
)
def test_the_digest_is_before_the_number(name: str, digest: str | None) -> None:
    assert digest_in(name) == digest


def test_jobs_have_different_digests() -> None:
    assert digest_of("train") != digest_of("train2")
