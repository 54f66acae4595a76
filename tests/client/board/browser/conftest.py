"""A Chromium for all tests of pages; they are skipped if the machine has none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    # A package of the operating system, which `make` cannot install everywhere; the pages have tests without it, too.
    if CHROMIUM is None:
        pytest.skip("the machine has no Chromium")
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not start as root.
        flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()
