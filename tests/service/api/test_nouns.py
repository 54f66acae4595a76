"""The path of a call says which module has it, so that the first call loads it."""

from __future__ import annotations

import pkgutil

import pytest

from headway_service.api import routes
from headway_service.api.nouns import NOUNS, nouns_of, router_of

CALLS = [(noun, path) for noun in NOUNS for path, *_ in router_of(noun)._routes]


def test_each_module_of_calls_is_known() -> None:
    assert {each.name for each in pkgutil.iter_modules(routes.__path__)} == set(NOUNS)


@pytest.mark.parametrize(("noun", "path"), CALLS)
def test_the_path_of_a_call_says_its_module(noun: str, path: str) -> None:
    assert noun in nouns_of(path.replace("<name>", "train").replace("<pool>", "ml.p5.48xlarge"))


@pytest.mark.parametrize(
    ("path", "nouns"),
    [
        ("/jobs/train", {"jobs"}),
        ("/jobs/train/explanation", {"jobs", "forecast"}),
        ("/jobs/pools", {"jobs", "pools"}),
        ("/pools/ml.p5.48xlarge/pause", {"pools"}),
        ("/", set()),
        ("/job", set()),
        ("jobs", {"jobs"}),
    ],
)
def test_a_path_loads_its_nouns_only(path: str, nouns: set[str]) -> None:
    assert nouns_of(path) == nouns
