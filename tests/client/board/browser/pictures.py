"""Screenshots for the docs, and to be looked at."""

from __future__ import annotations

import os

from playwright.sync_api import Page

PICTURES = os.environ.get("HEADWAY_BOARD_PICTURES")
"""A folder for screenshots; none are taken without it."""


def picture(page: Page, name: str, *, full: bool = False) -> None:
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}.png", full_page=full)
