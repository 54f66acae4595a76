"""The examples of the docs are run, page by page, from top to bottom."""

from __future__ import annotations

import pytest

from tests.docs.test_docs import blocks

PAGES = ("docs/reference/semantics.md",)


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_the_page_work_as_documented(page: str) -> None:
    names: dict[str, object] = {}
    examples = blocks(page, "python")
    assert len(examples) > 1
    for i, example in enumerate(examples, start=1):
        exec(compile(example, f"example {i} of {page}", "exec"), names)
