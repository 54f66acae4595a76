"""The site loads nothing from third parties, and the terminal shows real output."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.site import badges, conf, selfcontained, terminal


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        '<img alt="a" src="http://badges.example/x.svg">',
        "@import 'https://fonts.example/x.css';",
        "@font-face { src: url(https://fonts.example/x.woff2) }",
    ],
)
def test_resources_of_other_hosts_are_detected(text: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(text)
    assert selfcontained.main([str(tmp_path)]) == 1


@pytest.mark.parametrize(
    "text", ['<a href="https://example.org">x</a>', '<script src="_static/x.js"></script>', "url(x.woff2)"]
)
def test_links_and_files_of_the_site_load_nothing_from_elsewhere(text: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(text)
    assert selfcontained.main([str(tmp_path)]) == 0


def test_the_terminal_shows_the_output_from_the_submission_of_job4_until_job1_resumes() -> None:
    output = "▶ start\n▶ submit job4 with priority 3\n  <b>\n▶ job2 finishes, and job1 resumes in its place\n"
    assert terminal.excerpt(output) == ["▶ submit job4 with priority 3", "  <b>"]
    assert "&lt;b&gt;" in terminal.svg(terminal.excerpt(output))


def test_output_without_these_lines_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks"):
        terminal.excerpt("nothing")


@pytest.mark.parametrize(
    ("page", "is_found"),
    [("docs/decisions/0047-x", False), ("docs/decisions/README", True), ("docs/how-to/release", True)],
)
def test_the_search_finds_no_decisions_before_the_pages_that_say_how(page: str, *, is_found: bool) -> None:
    source = ["# Update\n"]
    conf._read(None, page, source)
    assert source[0].startswith("---\nnosearch: true\n---\n# Update\n") != is_found


def test_the_badges_are_those_of_the_project() -> None:
    for name, text in badges.badges().items():
        assert (badges.FOLDER / name).read_text() == text, "run python -m docs.site.badges"


def test_the_start_page_and_the_list_of_decisions_name_every_page() -> None:
    docs = badges.ROOT / "docs"
    start, decisions = (docs / "README.md").read_text(), (docs / "decisions/README.md").read_text()
    for page in docs.rglob("*.md"):
        name = page.relative_to(docs).as_posix()
        if page.parent.name == "decisions" and page.name != "README.md":
            assert f"({page.name})" in decisions
        elif name != "README.md":
            assert f"({name})" in start
