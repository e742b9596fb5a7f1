"""A real browser for the tests of the page: the system's Chromium, driven by Playwright; nothing is downloaded."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
REQUIRED = "TOPICLOOM_NEED_BROWSER"
"""If this variable is 1, a browser that is missing fails the tests rather than skips them."""


def _without(reason: str) -> None:
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"{reason}, and {REQUIRED}=1 asks for it")
    pytest.skip(reason)


@contextmanager
def running_browser() -> Iterator[Any]:
    """A browser; the tests that ask for it are skipped, with the reason, where there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        _without("no Chromium is installed (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _without("Playwright is not installed (pip install playwright)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One visitor with storage of its own. What goes wrong in the page, and every request, is written down."""

    def __init__(self, browser: Any, file: Path, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.context.set_default_timeout(15_000)
        self.address = file.as_uri()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page = self.new_page()

    def new_page(self) -> Any:
        page = self.context.new_page()
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("pageerror", lambda error: self.errors.append(f"error: {error}"))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", lambda dialog: self.errors.append(f"dialog: {dialog.message}") or dialog.dismiss())
        return page

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.errors.append(f"{kind}: {text}")

    def open(self, route: str = "", page: Any = None) -> Any:
        """Load the file anew at a route, and wait until its documents are read and the view is there."""
        page = page or self.page
        page.goto("about:blank")
        page.goto(f"{self.address}#/{route}")
        page.wait_for_selector("html[data-docs]")
        self._drawn(page)
        return page

    def go(self, route: str) -> None:
        """Go to a route by the address alone."""
        before = self.page.evaluate("document.querySelector('#view').firstElementChild.dataset.old = '1'")
        assert before == "1"
        self.page.evaluate("hash => { location.hash = hash }", f"#/{route}")
        self.page.wait_for_selector("#view > :not([data-old])")
        self._drawn(self.page)

    def _drawn(self, page: Any) -> None:
        """Wait for the figures: each is drawn when its width is known; those that are hidden have none."""
        drawn = "s => s.hasAttribute('height') || !s.checkVisibility()"
        self.until(f"[...document.querySelectorAll('svg.drawing')].every({drawn})", page=page)

    def until(self, expression: str, argument: Any = None, *, page: Any = None) -> None:
        """Wait until an expression holds; asked from here, since the page's policy forbids to compile text."""
        end = time.monotonic() + 15
        while not (page or self.page).evaluate(expression, argument):
            assert time.monotonic() < end, f"never true: {expression}"
            (page or self.page).wait_for_timeout(30)

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()

    def saved(self, selector: str) -> bytes:
        """What a click saves."""
        with self.page.expect_download() as started:
            self.page.locator(selector).click()
        return Path(started.value.path()).read_bytes()

    def check(self) -> None:
        """Nothing went wrong, and nothing but the file itself was loaded."""
        file = self.address.split("#")[0]
        others = [
            url
            for url in self.requests
            if url.split("#")[0] != file and not url.startswith(("blob:", "data:", "about:"))
        ]
        assert (self.errors, others) == ([], [])

    def close(self) -> None:
        self.context.close()
