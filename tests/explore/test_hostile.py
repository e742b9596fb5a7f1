"""Documents, words, ids, titles and names that contain markup, scripts and worse are shown as text and run nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.explore.browser import Visit, running_browser
from topicloom import LDA, from_matrix
from topicloom.explore import explore

HOSTILE = (
    '<img src=x onerror="window.hit=1">',
    "</script><script>window.hit=1</script>",
    "<svg/onload=window.hit=1>",
    "\"'><b onmouseover='window.hit=1'>",
    "javascript:window.hit=1",
    "${window.hit=1}{{window.hit=1}}`",
    "<style>body{display:none}</style>",
    "<!--", "]]>", "&lt;b&gt;&amp;",
    "a\x00b", "\ud800lone", "tail\udfff", "\x07\x1b[31m", "\u2028\u2029\ufeff",
    "\u202eright to left", "שלום <i>עולם</i>", "مرحبا",
    "__proto__", "constructor", "toString", "NaN", "null", "",
    "%00%ff%zz#/?&=+", "@script@@data@@policy@", "../../etc/passwd", "https://example.com/x.png", "=1+1",
    "W" * 20_000,
)  # fmt: skip
LONG = "<b>x</b> \U0001f600 " * 90_000  # more than a million UTF-16 units
WORDS = [word for word in HOSTILE if word and "lone" not in word and "tail" not in word]  # a corpus refuses the others


def shown(text: str) -> str:
    """As the page shows it: characters that no screen shows are U+FFFD."""
    controls = {*range(9), 11, 12, *range(14, 32), 127, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)}
    return "".join("\ufffd" if ord(c) in controls else c for c in text)


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    counts = np.random.default_rng(0).poisson(0.7, (len(HOSTILE) + 1, len(WORDS)))
    counts[:, 0] += 1
    ids = [f"{d}{shown(text)[:200]}" for d, text in enumerate((*HOSTILE, "long"))]
    groups = [HOSTILE[d % 4] for d in range(len(ids))]
    model = LDA(3, max_iter=20, random_state=0).fit(from_matrix(counts, WORDS, ids=ids, groups=groups))
    file = tmp_path_factory.mktemp("hostile") / "topics.html"
    with running_browser() as browser:
        explore(model, file, texts=[*HOSTILE, LONG], text_length=2_000_000, title=HOSTILE[1])
        visit = Visit(browser, file)
        visit.open()
        visit.page.evaluate("window.hit = 0")
        yield visit
        visit.close()


@pytest.fixture(autouse=True)
def _nothing_ran(visit: Visit) -> Iterator[None]:
    yield
    assert visit.page.evaluate("window.hit") == 0
    assert visit.page.locator("main img, main script, main b, main i, main style, header b").count() == 0
    visit.check()


def text(visit: Visit) -> str:
    return str(visit.page.locator("main").text_content())


def test_topics_and_title(visit: Visit) -> None:
    assert visit.page.title() == HOSTILE[1]
    assert visit.page.locator("h1").text_content() == HOSTILE[1]
    assert visit.page.locator("#brand").text_content() == HOSTILE[1]
    for k in range(3):
        visit.go(f"topic/{k}")
        visit.page.wait_for_selector(".words-card .bar-row")
        assert visit.page.locator(".words-card .bar-row").count() == len(WORDS)
        visit.page.wait_for_selector(".passage-card:nth-child(5)")
    assert "<svg/onload=window.hit=1>" in visit.page.locator(".words-card").inner_html().replace("&lt;", "<").replace(
        "&gt;", ">"
    )


def test_documents(visit: Visit) -> None:
    for d, given in enumerate(HOSTILE):
        visit.go(f"document/{d}")
        found = str(visit.page.locator("#text").text_content())
        assert found == (shown(given) or "(empty)"), given[:40]
    visit.go("documents")
    assert all(shown(given)[:40].strip() in text(visit) for given in HOSTILE if not given.isspace())


def test_a_megabyte_of_text_is_shown_in_parts(visit: Visit) -> None:
    visit.go(f"document/{len(HOSTILE)}")
    found = str(visit.page.locator("#text").text_content())
    assert LONG.startswith(found)
    assert 10_000 < len(found.encode("utf-16-le")) / 2 < 40_000
    visit.page.locator(".text-card .more").click()
    assert LONG.startswith(more := str(visit.page.locator("#text").text_content()))
    assert len(more) > 1.8 * len(found)


def test_words(visit: Visit) -> None:
    for word in WORDS[:-1]:
        visit.go("about")
        visit.go(f"word/{quote(shown(word), safe='')}")
        heading = str(visit.page.locator("h1").text_content())
        if "\x07" in word:  # the control characters of the data, which an address may have
            continue
        assert heading in (shown(word), "Not found" if "\x00" in word else ""), word
    visit.go(f"search?q={quote(HOSTILE[0])}")
    assert HOSTILE[0] in text(visit)
    for broken in (
        "%ff",
        "word/%E0%A4%A",
        "topic/__proto__",
        "topic/1?by=constructor&lambda=NaN",
        "__proto__",
        "search?q=%00",
    ):
        visit.go(broken)
        assert visit.page.locator("h1").count() == 1


def test_names(visit: Visit) -> None:
    visit.go("topic/1")
    for given in (HOSTILE[0], HOSTILE[1], HOSTILE[6], "a" * 199):
        visit.page.locator("#rename").click()
        visit.page.locator("#new-name").fill(given)
        visit.page.keyboard.press("Enter")
        assert visit.page.locator("h1").text_content() == given
    file = {"topicloom": "topic names", "version": 1, "names": {str(k): HOSTILE[k + 10] for k in range(3)}}
    file |= {"notes": {"0": LONG[:9000]}, "hidden": [2], "merged": [[0, 1]]}
    visit.page.locator("#edits").click()
    upload: dict[str, Any] = {"name": "x.json", "mimeType": "text/plain", "buffer": json.dumps(file).encode()}
    visit.page.locator("#names-file").set_input_files(upload)
    visit.until("document.querySelectorAll('.edits li').length === 6")
    visit.page.get_by_role("button", name="Close").click()
    visit.go("topic/0")
    assert shown(HOSTILE[10]) == visit.page.locator("h1").text_content()
    long = json.dumps(file | {"notes": {"0": LONG}})
    for wrong in (
        long,
        '{"__proto__": {"topicloom": "topic names"}}',
        '{"topicloom":"topic names","version":1,"names":{"__proto__":"x"}}',
    ):
        visit.page.locator("#edits").click()
        visit.page.locator("#names-file").set_input_files(upload | {"buffer": wrong.encode()})
        visit.until("document.querySelector('.problem').innerText.startsWith('Not read')")
        visit.page.get_by_role("button", name="Close").click()


def test_files_of_figures_hold_text_alone(visit: Visit) -> None:
    visit.go("topic/2")
    drawing = ElementTree.fromstring(visit.saved(".words-card [data-save=svg]"))
    assert not list(drawing.iter("{http://www.w3.org/2000/svg}script"))
    assert visit.saved(".words-card [data-save=png]")[:4] == b"\x89PNG"


def test_the_policy_stops_what_would_get_through(visit: Visit) -> None:
    """Even if text became markup, it would neither run nor load anything."""
    other = Visit(visit.context.browser, Path(visit.page.url.split("#")[0].removeprefix("file://")))
    other.open()
    failures = set()
    other.page.on("requestfailed", lambda request: failures.add(request.failure))
    other.page.evaluate(
        """() => {
          window.hit = 0;
          document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.hit=1'><img src='https://example.com/x.png'><style>body{opacity:0}</style>");
          document.body.append(Object.assign(document.createElement("script"), { textContent: "window.hit = 1" }));
          return fetch("https://example.com/").catch(() => null);
        }"""
    )
    assert other.page.evaluate("[window.hit, getComputedStyle(document.body).opacity]") == [0, "1"]
    assert failures == {"csp"}  # both images and the request were refused by the policy
    assert (
        len(other.errors) >= 4
    )  # the browser says what it refused, and what was asked for: these tests would hear of it
    assert len(other.requests) > 2
    other.close()
