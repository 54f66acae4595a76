"""The page of `headway report --html` in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from headway_client.cli.output.usage.report import Report
from headway_client.models import Usage
from tests.client.board.browser.pictures import picture

HOSTILE = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>\u202eevil"
P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"


def usage(by: str, *rows: dict[str, Any], step: str = "total") -> Usage:
    return Usage.from_document(
        {
            "by": by, "from": "2026-11-01", "to": "2026-11-30", "step": step, "rows": list(rows), "currency": "USD",
            "prices": [{"pool": P5, "from": "2026-01-01", "perHour": 55.04}],
        }
    )  # fmt: skip


def row(name: str | None, hours: int, lost: int = 0, *, period: str | None = None, pool: str = P5) -> dict[str, Any]:
    waits = {"count": 9, "p50Seconds": 60, "p90Seconds": 7200}
    return {
        "name": name, "period": period, "jobs": {"completed": 9}, "attempts": 10, "preemptions": 1, "reused": 0,
        "usedSeconds": {pool: 3600 * hours}, "lostSeconds": {pool: 3600 * lost}, "billedSeconds": {},
        "unbilledSeconds": {}, "wait": waits, "run": waits, "cost": 55.04 * hours, "unpricedSeconds": {},
        "lostCost": 55.04 * lost,
    }  # fmt: skip


REPORT = Report(
    month="2026-11",
    sums=(
        usage("team", row("vision", 900, 20), row("search", 300), row(HOSTILE, 40, 4), row(None, 5)),
        usage("owner", row("arn:aws:sts::123456789012:assumed-role/researcher/ada", 1200, 24)),
        usage("pool", row(P5, 1000, 24), row(G5, 245, pool=G5)),
    ),
    daily=usage(
        "pool", *(row(P5, 10 + 7 * (day % 5), day % 3, period=f"2026-11-{day:02}") for day in range(1, 26)), step="day"
    ),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "report.html"
    found.write_text(REPORT.html(), encoding="utf-8")
    return found


@pytest.fixture(params=["light", "dark"])
def page(chromium: Browser, path: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = chromium.new_context(color_scheme=request.param, viewport={"width": 1100, "height": 800})
    opened = context.new_page()
    asked: list[str] = []
    problems: list[str] = []
    opened.on("request", lambda sent: asked.append(sent.url))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda each: problems.append(each.text))
    opened.goto(path.as_uri())
    yield opened
    picture(opened, f"report-{request.param}", full=True)
    context.close()
    assert asked == [path.as_uri()]
    assert problems == []


def test_it_has_a_plot_of_the_days_and_one_of_each_dimension(page: Page) -> None:
    expect(page.get_by_role("heading", name="Usage in 2026-11")).to_be_visible()
    days = page.get_by_role("img", name="Instance hours by day")
    expect(days.locator("rect.used")).to_have_count(30)
    plots = page.get_by_role("img", name="Instance hours", exact=True)
    expect(plots).to_have_count(3)
    expect(plots.first.locator("rect.used")).to_have_count(4)
    # A bar is as long as its hours, and of another color than the page.
    widths = [plots.first.locator("rect.used").nth(place).bounding_box() for place in range(2)]
    assert widths[0] is not None
    assert widths[1] is not None
    assert widths[0]["width"] == pytest.approx(3 * widths[1]["width"], rel=0.02)


def test_nothing_is_cut_off(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    beyond = """() => [...document.querySelectorAll("svg")].flatMap((each) => [...each.querySelectorAll("text")]
      .filter((text) => text.getBoundingClientRect().right > each.getBoundingClientRect().right + 0.5)
      .map((text) => text.textContent))"""
    assert page.evaluate(beyond) == []


def test_it_has_the_figures_as_tables(page: Page) -> None:
    expect(page.get_by_role("table")).to_have_count(3)
    expect(page.get_by_role("row", name="vision")).to_contain_text("900.00")
    expect(page.get_by_role("row", name="vision")).to_contain_text("1100.80")
    expect(page.get_by_text("55.04 USD an hour from 2026-01-01").first).to_be_visible()


def test_hostile_names_are_shown_as_text_and_no_script_runs(page: Page) -> None:
    expect(page.get_by_role("cell", name="<img src=x")).to_contain_text("\\u202eevil")
    assert page.title() == "Usage in 2026-11"
    assert page.locator("img, script, iframe, link, object").count() == 0
    assert "default-src 'none'" in (page.locator("meta[http-equiv]").get_attribute("content") or "")


CONTRAST = """(pairs) => {
  const light = (color) => {
    const parts = color.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = light(getComputedStyle(document.body).backgroundColor);
  return pairs.map(([selector, property]) => {
    const found = light(getComputedStyle(document.querySelector(selector))[property]);
    return (Math.max(found, back) + 0.05) / (Math.min(found, back) + 0.05);
  });
}"""
"""The contrast of elements to the page (WCAG 2.2, contrast ratio)."""


def test_it_is_readable_in_dark_and_in_light(page: Page) -> None:
    texts = [("body", "color"), ("td", "color"), ("svg text", "fill")]
    assert min(page.evaluate(CONTRAST, texts)) >= 4.5
    assert min(page.evaluate(CONTRAST, [(".used", "fill"), (".lost", "fill")])) >= 3
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(22, 22, 22)") is dark
