"""The built site works without network: pages, pictures, formulas and the search."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.explore.browser import running_browser

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
REQUIRED = "TOPICLOOM_NEED_SITE"
PAGES = ("index", "get-started/five-minutes", "tutorials/articles", "guide/lda", "api/generated/topicloom.LDA")


@pytest.fixture(scope="module")
def site() -> Path:
    if not (SITE / "index.html").exists():
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(f"{SITE} is missing, and {REQUIRED}=1 asks for it")
        pytest.skip("the site is not built (make docs)")
    return SITE


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_browser() as found:
        yield found


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    elsewhere = r"\"((?:https?:)?//[^\"]+)"
    loaded = rf"<(?:script|img|iframe|source)\b[^>]*\bsrc={elsewhere}|<link\b[^>]*\bhref={elsewhere}"
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        found = re.findall(loaded, page.read_text(encoding="utf-8"))
        assert not found, f"{page.relative_to(site)} loads {found[0]}"
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(@import\s+|url\(\s*)[\"']?(https?:)?//", text), (
            f"{sheet.relative_to(site)} loads a file"
        )


def test_pages_open_and_the_search_finds_without_network(site: Path, browser: Any) -> None:
    context = browser.new_context(offline=True)
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        assert page.locator("h1").first.inner_text().strip()
        broken = "() => [...document.images].filter(i => i.complete && i.naturalWidth === 0).map(i => i.src)"
        assert page.evaluate(broken) == [], name
    page.goto((site / "search.html").as_uri() + "?q=perplexity")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    assert page.locator("#search-results li a").count() > 3
    assert said == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
    context.close()
