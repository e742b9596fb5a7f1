"""The page in a real browser: every view, slider, names, search, downloads, keys; no request, no error."""

import copy
import csv
import io
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.explore.browser import Visit, running_browser
from tests.explore.page_data import Data, make, with_family
from topicloom.explore.page import write_page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_browser() as found:
        yield found


@pytest.fixture(scope="module")
def data() -> Data:
    return with_family(make())


def write(folder: Path, data: Data) -> Path:
    blocks = {"data-core": data.core, "data-docs": data.docs}
    blocks |= {f"data-texts-{i}": block for i, block in enumerate(data.texts)}
    file = folder / "topics.html"
    write_page(file, data.core["title"], blocks)
    return file


@pytest.fixture(scope="module")
def file(browser: Any, data: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("page"), data)


@pytest.fixture
def visit(browser: Any, file: Path) -> Iterator[Visit]:
    visit = Visit(browser, file)
    yield visit
    visit.check()
    visit.close()


# -- views -----------------------------------------------------------------------------------------------------------

VIEWS = {
    "": "Twelve topics",
    "topic/3": "match",
    "word/star": "star",
    "document/7": "",
    "documents": "Documents",
    "documents?topic=2": "Documents",
    "search?q=star": "Search",
    "about": "About",
}


def test_every_view_opens_and_fits_into_a_narrow_window(visit: Visit) -> None:
    page = visit.open()
    for route, heading in VIEWS.items():
        visit.go(f"{route}{'&' if '?' in route else '?'}again=1")
        assert heading in page.locator("h1").inner_text()
        assert page.locator("h1").inner_text() != "Not found"
        assert page.evaluate("document.activeElement.tagName") == "H1"
    for i in range(page.locator("#nav a").count()):
        entry = page.locator("#nav a").nth(i)
        name = entry.inner_text()
        entry.click()
        visit.until("name => document.querySelector('#nav [aria-current=page]')?.innerText === name", name)
        assert page.locator("h1").inner_text() != "Not found"
    page.set_viewport_size({"width": 400, "height": 800})
    for route in VIEWS:
        visit.go(f"{route}{'&' if '?' in route else '?'}again=2")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, route


def test_overview_has_every_topic_by_the_models_own_number(visit: Visit, data: Data) -> None:
    page = visit.open()
    shares = {k: topic["share"] for k, topic in enumerate(data.core["topics"])}
    rows = page.locator("table[data-table=topics] tbody tr")
    order = [int(k) for k in rows.evaluate_all("rows => rows.map(row => row.dataset.topic)")]
    assert order == sorted(shares, key=lambda k: -shares[k])
    assert f"{100 * shares[order[0]]:.1f}%" in rows.first.inner_text()
    circles = page.locator(".map-topic").evaluate_all(
        "all => all.map(a => [a.dataset.topic, a.querySelector('circle').r.baseVal.value])"
    )
    assert {int(k) for k, _ in circles} == set(shares)
    for k, radius in circles:  # areas are shares
        if radius > 4:
            assert radius**2 / circles[0][1] ** 2 == pytest.approx(
                shares[int(k)] / shares[int(circles[0][0])], rel=1e-3
            )
    assert len(visit.texts(".leaf")) == len(shares)
    page.get_by_role("button", name="Topic", exact=True).click()
    order = rows.evaluate_all("rows => rows.map(row => Number(row.dataset.topic))")
    assert order == sorted(shares)
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("Topic")


def relevant(data: Data, k: int, weight: float) -> list[tuple[str, float]]:
    """The 30 most relevant words of a topic by the arrays, not by the page."""
    value = weight * np.log(data.phi[k]) + (1 - weight) * np.log(data.phi[k] / data.word_share)
    return [(data.vocabulary[w], float(value[w])) for w in np.argsort(-value)[:30]]


def shown_words(page: Any) -> list[tuple[str, float]]:
    page.wait_for_selector(".words-card .bar-row")
    return [
        (word, float(value))
        for word, value in page.locator(".words-card .bar-row").evaluate_all(
            "rows => rows.map(row => [row.dataset.word, row.dataset.relevance])"
        )
    ]


@pytest.mark.parametrize("k", [3, 10])
def test_slider_shows_the_most_relevant_words(visit: Visit, data: Data, k: int) -> None:
    page = visit.open(f"topic/{k}")
    for weight in (0.6, 0.0, 0.33, 1.0):
        page.locator("#lambda").fill(str(weight))
        found, expected = shown_words(page), relevant(data, k, weight)
        assert [word for word, _ in found] == [word for word, _ in expected]
        np.testing.assert_allclose([v for _, v in found], [v for _, v in expected], atol=1e-5)
        assert page.locator(".lambda-value").inner_text() == f"{weight:.2f}"
        assert page.url.endswith(f"#/topic/{k}?lambda={weight:g}")
    for order in ("frex", "lift"):
        page.get_by_role("radio", name=order).check()
        assert [word for word, _ in shown_words(page)] == [data.vocabulary[w] for w in data.core["topics"][k][order]]


def test_topic_shows_prevalence_documents_and_measures(visit: Visit, data: Data) -> None:
    page = visit.open("topic/3")
    topic = data.core["topics"][3]
    assert (
        f"{100 * topic['interval'][0]:.1f}% to {100 * topic['interval'][1]:.1f}%"
        in page.locator(".topic-head").inner_text()
    )
    rows = list(csv.reader(io.StringIO(visit.saved("[data-figure=topic-3-year] [data-save=csv]").decode())))
    assert rows[0] == ["year", "mean", "low", "high", "documents"]
    times = data.core["times"]
    assert [[float(v) for v in row[1:]] for row in rows[1:]] == [
        [*point, n] for point, n in zip(times["topics"][3], times["docs"], strict=True)
    ]
    assert page.locator("[data-figure=topic-3-source] .bar-row").count() == 3
    page.wait_for_selector(".passage-card:nth-child(5) .token")
    shares = visit.texts(".passage-share")
    assert shares == [f"{100 * theta:.1f}%" for _, theta in topic["top_docs"][:5]]
    assert page.locator(".passage .token.own[data-topic='3']").count() > 5
    assert "found in 3 of 4 chains" in page.locator(".facts").first.inner_text()
    assert "0.160" in page.locator(".measures").inner_text()


def test_document_has_its_text_in_colours_and_its_neighbours(visit: Visit, data: Data) -> None:
    page = visit.open("document/7")
    entry = data.texts[0]["docs"][7]
    assert page.locator("#text").text_content() == entry["text"]
    marks = page.locator("#text .token").evaluate_all("all => all.map(s => [s.textContent, Number(s.dataset.topic)])")
    at, expected = 0, []
    for start, length, topic, _ in entry["tokens"]:
        at += start + length
        expected.append([entry["text"][at - length : at], topic])
    assert marks == expected
    painted = "getComputedStyle(document.querySelector('#text .token')).backgroundColor"
    assert page.evaluate(painted) != "rgba(0, 0, 0, 0)"
    page.locator("#colours").uncheck()
    assert page.evaluate(painted) == "rgba(0, 0, 0, 0)"
    theta = np.zeros((len(data.docs["row"]), 12))
    for d, topics in enumerate(data.docs["topics"]):
        for k, share in topics:
            theta[d, k] = share
    nearest = np.sqrt(theta) @ np.sqrt(theta[7])
    nearest[7] = -1
    links = page.locator("[data-table=document-7-neighbours] .doc-link").evaluate_all("all => all.map(a => a.hash)")
    assert links == [f"#/document/{d}" for d in np.argsort(-nearest, kind="stable")[:10]]


def test_word_has_its_topics_and_documents(visit: Visit, data: Data) -> None:
    visit.open("word/star")
    w = data.vocabulary.index("star")
    rows = list(csv.reader(io.StringIO(visit.saved("figure [data-save=csv]").decode())))
    assert [[int(row[0]), float(row[2])] for row in rows[1:]] == data.core["words"]["topics"][w]
    found = {}
    for d, words in enumerate(data.docs["words"]):
        numbers = np.cumsum([step for step, _ in words])
        if w in numbers:
            found[d] = words[int(np.flatnonzero(numbers == w)[0])][1]
    rows = list(
        csv.reader(io.StringIO(visit.saved("table[data-table] ~ * [data-save=csv], .table [data-save=csv]").decode()))
    )
    assert {row[0]: int(row[1]) for row in rows[1:]} == {data.docs["id"][d]: n for d, n in found.items()}


# -- search ----------------------------------------------------------------------------------------------------------


def test_search_finds_words_and_documents(visit: Visit, data: Data) -> None:
    page = visit.open()
    texts = [entry["text"].replace(".", "").split() for block in data.texts for entry in block["docs"]]
    page.keyboard.press("/")
    queries = {"star": "star", "שמש": "שמש", "قمر": "قمر", "人口": "人口", "STÁR": "star", "gala": "galaxy"}
    for query, word in queries.items():
        page.locator("#query").press("ControlOrMeta+a")
        page.keyboard.insert_text(query)
        page.wait_for_selector(f"#results[data-query='{query}']")
        assert page.evaluate("document.activeElement.id") == "query"  # one may go on typing
        assert word in visit.texts(".word-hits .word-link")
        assert float(page.get_attribute("#results", "data-ms")) < 100
        with_it = {d for d, text in enumerate(texts) if any(part.startswith(word) for part in text)}
        rows = list(csv.reader(io.StringIO(visit.saved(".table [data-save=csv]").decode())))
        assert {int(row[0]) for row in rows[1:]} == with_it


def test_permalinks_open_the_same_view(visit: Visit, data: Data) -> None:
    page = visit.open("topic/5?lambda=0.25")
    assert page.locator("#lambda").input_value() == "0.25"
    assert [word for word, _ in shown_words(page)] == [word for word, _ in relevant(data, 5, 0.25)]
    page.get_by_role("radio", name="Lift").check()
    kept = page.url
    other = visit.new_page()
    other.goto(kept)
    assert [word for word, _ in shown_words(other)] == [data.vocabulary[w] for w in data.core["topics"][5]["lift"]]
    for route, part in (
        ("search?q=%D7%A9%D7%9E%D7%A9", "שמש"),
        ("word/%E4%BA%BA%E5%8F%A3", "人口"),
        ("topic/99", "no topic 99"),
        ("nowhere", "no view"),
    ):
        visit.open(route, other)
        assert part in other.locator("main").inner_text()
    other.go_back()


# -- names -----------------------------------------------------------------------------------------------------------


def test_names_are_kept_exported_and_imported(visit: Visit, tmp_path: Path) -> None:
    page = visit.open("topic/3")
    page.locator("#rename").click()
    page.locator("#new-name").fill("  football </script> ")
    page.keyboard.press("Enter")
    assert page.locator("h1").inner_text() == "football </script>"
    page.locator("#annotate").click()
    page.locator("#new-note").fill("Mind “coach”.")
    page.get_by_role("button", name="Save").click()
    visit.go("topic/7")
    page.locator("#hide").click()
    visit.go("topic/1")
    page.locator("#merge").click()
    page.locator("#merge-with").select_option("4")
    page.get_by_role("button", name="Merge", exact=True).click()
    assert page.locator(".kicker").inner_text() == "Topic 1 + 4"
    page.reload()
    page.wait_for_selector("html[data-docs]")
    visit.go("")
    rows = page.locator("table[data-table=topics] tbody tr")
    assert "football" in "".join(rows.all_inner_texts())
    shown = set(rows.evaluate_all("rows => rows.map(row => Number(row.dataset.topic))"))
    assert shown == set(range(12)) - {7, 4}
    page.locator("#edits").click()
    given = json.loads(visit.saved(".dialog button:has-text('Export')"))
    expected = {
        "topicloom": "topic names", "version": 1, "fingerprint": "0123456789abcdef",
        "names": {"3": "football </script>"}, "notes": {"3": "Mind “coach”."}, "hidden": [7], "merged": [[1, 4]],
    }  # fmt: skip
    assert given == expected
    page.get_by_role("button", name="Clear all").click()
    assert "Nothing is renamed" in page.locator(".edits").inner_text()
    assert rows.count() == 12
    for wrong, reason in (
        (b"{}", "not a file of topic names"),
        (b"[", "Not read"),
        (json.dumps(expected | {"hidden": [12]}).encode(), "must list topics"),
    ):
        page.locator("#names-file").set_input_files(
            {"name": "names.json", "mimeType": "application/json", "buffer": wrong}
        )
        visit.until("part => document.querySelector('.problem').innerText.includes(part)", reason)
    page.locator("#names-file").set_input_files(
        {"name": "names.json", "mimeType": "application/json", "buffer": json.dumps(given).encode()}
    )
    visit.until("document.querySelectorAll('.edits li').length === 4")
    assert rows.count() == 10


# -- theme, downloads, keys ------------------------------------------------------------------------------------------


def test_dark_mode_is_the_systems_until_one_is_chosen(browser: Any, file: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    visit = Visit(browser, file, color_scheme="dark")
    page = visit.open()
    dark = page.evaluate(ground)
    page.locator("#theme").click()
    light = page.evaluate(ground)
    assert page.get_attribute("#theme", "aria-pressed") == "false"
    assert sum(map(int, dark[4:-1].split(","))) < 200 < 600 < sum(map(int, light[4:-1].split(",")))
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate(ground) == light
    visit.check()
    visit.close()


def test_figures_are_saved_as_svg_and_png(visit: Visit, data: Data) -> None:
    visit.open("topic/10")
    drawing = ElementTree.fromstring(visit.saved("[data-figure=topic-10-words] [data-save=svg]"))
    texts = ["".join(text.itertext()) for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert {word for word, _ in relevant(data, 10, 0.6)} <= set(texts)
    fills = {element.get("fill") for element in drawing.iter("{http://www.w3.org/2000/svg}rect")}
    assert "rgb(75, 139, 111)" in fills
    assert not [name for element in drawing.iter() for name in element.attrib if name in ("class", "style")]
    picture = visit.saved("[data-figure=topic-10-words] [data-save=png]")
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", picture[16:24])
    assert (width, height) == (2 * float(drawing.get("width")), 2 * float(drawing.get("height")))
    assert len(picture) > 10_000  # an empty one of this size has some 5,000
    visit.go("")
    for name in ("map", "tree"):
        assert ElementTree.fromstring(visit.saved(f"[data-figure={name}] [data-save=svg]")).get("width")


def test_keys_reach_everything(visit: Visit) -> None:
    page = visit.open()
    focused = "document.activeElement.closest('[data-topic]')?.dataset.topic"
    page.keyboard.press("?")
    assert "Keys" in page.locator("dialog").inner_text()
    page.keyboard.press("Escape")
    visit.until("document.querySelector('dialog') === null")
    page.locator("table[data-table=topics] tbody tr:first-child .topic-link").focus()
    first = page.evaluate(focused)
    page.keyboard.press("ArrowDown")
    second = page.evaluate(focused)
    assert second != first
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused) == first
    page.locator(".map-topic[tabindex='0']").focus()
    reached = set()
    for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown") * 3:
        page.keyboard.press(key)
        reached.add(page.evaluate(focused))
    assert len(reached) >= 4
    assert page.locator(".map-topic[tabindex='0']").count() == 1
    last = page.evaluate(focused)
    page.keyboard.press("Enter")
    page.wait_for_selector("#view[data-route=topic]")
    assert page.url.endswith(f"#/topic/{last}")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    page.keyboard.press("]")
    visit.until(f"location.hash === '#/topic/{(int(last) + 1) % 12}'")
    page.keyboard.press("/")
    page.keyboard.type("star]?")  # these are text now
    page.wait_for_selector("#results[data-query='star]?']")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") != "query"
    unnamed = """[...document.querySelectorAll('a, button, input, select')]
        .filter(e => !e.ariaLabel && !e.textContent && !e.labels?.length).length"""
    for route in VIEWS:
        visit.go(f"{route}{'&' if '?' in route else '?'}again=1")
        assert page.evaluate(unnamed) == 0, route


# -- pages with less -------------------------------------------------------------------------------------------------


def test_page_says_what_it_lacks(browser: Any, data: Data, tmp_path: Path) -> None:
    core, docs = copy.deepcopy(data.core), copy.deepcopy(data.docs)
    core |= {
        "times": None,
        "groups": None,
        "family": None,
        "models": None,
        "verdict": None,
        "command": None,
        "topic_name": "state",
        "word_name": "symbol",
        "doc_name": "sequence",
    }
    core["documents"] |= {"of": 5000, "sampled": True, "texts": "none"}
    for topic in core["topics"]:
        topic |= {"interval": None, "chains": None}
    docs["words"] = None
    texts = copy.deepcopy(data.texts)
    for block in texts:
        for entry in block["docs"]:
            entry |= {"text": None, "tokens": [["sun<b>", 3, 9], ["moon", 0, 2]]}
    visit = Visit(browser, write(tmp_path, Data(core, docs, texts, data.phi, data.word_share, data.vocabulary)))
    page = visit.open("document/3")
    assert page.locator("#text").text_content() == "sun<b> moon "
    assert "has no texts" in page.locator(".text-card").inner_text()
    expected = {
        "documents": "60 of 5,000",
        "search?q=star": "60 of 5,000",
        "word/star": "has no index",
        "": "States",
        "topic/2": "State 2",
        "about": "A sample: 60 of 5,000",
    }
    for route, part in expected.items():
        visit.go(route)
        assert part in page.locator("main").inner_text(), route
    visit.check()
    visit.close()
