"""How Sphinx builds the site. `make docs` runs it strictly: a warning, such as a broken link or anchor, fails."""

from __future__ import annotations

import re
from typing import Any

project = "Headway"
extensions = ["myst_parser"]
root_doc = "docs/README"
# The repository is the source folder, so that links work here as they do in the repository.
include_patterns = ["docs/**.md", "bench/README.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
exclude_patterns = [".*", "build", "layers", "client", "sandbox", "verification", "tests", "functions", "docs/site"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Headway"
html_copy_source = False
html_show_sphinx = False
suppress_warnings = ["misc.highlighting_failure", "myst.header"]

_SECTION = re.compile(r"^## (?P<title>.+)\n(?P<text>(?:(?!## ).*\n)*)", re.MULTILINE)
_PAGE = re.compile(r"\]\((?P<page>[\w./-]+)\.md\)")
_DIAGRAM = re.compile(r"^```mermaid\nstateDiagram-v2\n(?P<rows>.*?)^```$", re.MULTILINE | re.DOTALL)
_ARROW = re.compile(r"^ *(\S+) --> ([^:\s]+)(?:: (.+))?$", re.MULTILINE)


def _navigation(text: str) -> str:
    """The pages that the start page links to, as hidden tables of contents, one for each section."""
    trees = []
    for section in _SECTION.finditer(text):
        pages = dict.fromkeys(_PAGE.findall(section["text"]))
        if pages:
            trees.append("\n".join(["```{toctree}", ":hidden:", f":caption: {section['title']}", "", *pages, "```"]))
    return "\n\n".join(trees)


def _table(diagram: re.Match[str]) -> str:
    """A diagram of states as a table: drawing it in a browser would need a script of somebody else's."""
    rows = [f"| {a} | {why or ''} | {b} |" for a, b, why in _ARROW.findall(diagram["rows"])]
    return "\n".join(["| state | event | next state |", "| --- | --- | --- |", *rows]).replace("[*]", "-")


def _read(_app: Any, name: str, source: list[str]) -> None:
    if name.startswith("docs/decisions/0"):
        # Why something is as it is would hide how it is used.
        source[0] = "---\nnosearch: true\n---\n" + source[0]
    source[0] = _DIAGRAM.sub(_table, source[0])
    if name == root_doc:
        source[0] += "\n" + _navigation(source[0])
    if name == "docs/decisions/README":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n"


def setup(app: Any) -> None:
    """Register how pages are read."""
    app.connect("source-read", _read)
