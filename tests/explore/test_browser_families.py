"""What kinds of models add to the page, and several models, in a real browser."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.explore.browser import Visit, running_browser
from tests.explore.page_data import Data, make, with_family
from topicloom.explore.page import write_page

HOSTILE = '<img src=x onerror="alert(1)"></script>'
VIEWS = (
    "labels", "labels/1", "classes", "classes/2", "collections", "collections?from=2&to=0&topic=5", "collections/1",
    "states", "models", "models?topic=1.3",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_browser() as found:
        yield found


def changed(data: Data) -> Data:
    """The made-up families, with text of users that looks like code, and pairs of which one has no interval."""
    family = data.core["family"]
    family["labels"]["names"][1] = family["classes"]["names"][1] = family["collections"]["names"][1] = HOSTILE
    family["states"]["sequences"][0]["id"] = HOSTILE
    data.core["models"]["names"][1] = HOSTILE
    return data


@pytest.fixture(scope="module")
def data() -> Data:
    return changed(with_family(make()))


def write(folder: Path, data: Data) -> Path:
    blocks = {"data-core": data.core, "data-docs": data.docs}
    blocks |= {f"data-texts-{i}": block for i, block in enumerate(data.texts)}
    write_page(folder / "page.html", data.core["title"], blocks)
    return folder / "page.html"


@pytest.fixture(scope="module")
def file(browser: Any, data: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("families"), data)


@pytest.fixture
def visit(browser: Any, file: Path) -> Iterator[Visit]:
    visit = Visit(browser, file)
    yield visit
    visit.check()
    visit.close()


def rows_of(visit: Visit, selector: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(visit.saved(f"{selector} [data-save=csv]").decode())))


def numbers(rows: list[list[str]], columns: slice) -> list[list[float]]:
    return [[float(value) for value in row[columns]] for row in rows[1:]]


def test_every_view_is_named_fits_and_shows_text_as_text(visit: Visit) -> None:
    page = visit.open()
    assert {"Labels", "Classes", "Collections", "States", "Models"} <= set(visit.texts("#nav a"))
    unnamed = """[...document.querySelectorAll('a, button, input, select, summary')]
        .filter(e => !e.ariaLabel && !e.textContent && !e.labels?.length).length"""
    drawn = "[...document.querySelectorAll('svg.drawing')].every(s => !s.clientWidth || s.hasAttribute('height'))"
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 800})
        for route in VIEWS:
            visit.go(f"{route}{'&' if '?' in route else '?'}width={width}")
            page.wait_for_function(drawn)
            assert page.locator("h1").inner_text() != "Not found", route
            assert page.evaluate(unnamed) == 0, route
            assert page.evaluate("document.documentElement.scrollWidth") <= width, route
            assert page.locator("main img").count() == 0, route
            wild = page.locator("main [d*=NaN], main [x*=NaN], main [y*=NaN], main [width*=NaN], main [transform*=NaN]")
            assert wild.count() == 0, route
    visit.go("labels/1")
    assert page.locator("h1").inner_text() == HOSTILE
    for route in ("labels/9", "collections/x"):
        visit.go(route)
        assert page.locator("h1").inner_text() == "Not found"


def test_labels_lead_to_words_partners_and_topics(visit: Visit, data: Data) -> None:
    labels = data.core["family"]["labels"]
    page = visit.open("labels")
    rows = rows_of(visit, ".table:has([data-table=labels])")
    assert {row[0]: int(row[1]) for row in rows[1:]} == dict(zip(labels["names"], labels["docs"], strict=True))
    page.locator("[data-table=labels] [data-label='2'] .topic-link").click()
    page.wait_for_function("location.hash === '#/labels/2'")
    assert page.locator("h1").inner_text() == "speeches"
    links = page.locator(".label-topics a").evaluate_all("all => all.map(a => a.hash)")
    assert links == ["#/topic/3", "#/topic/4"]
    assert numbers(rows_of(visit, "[data-figure=label-2-related]"), slice(1, 2)) == [[2.0]]


def test_names_of_the_user_are_shown_in_all_of_them(visit: Visit) -> None:
    page = visit.open("topic/2")
    page.locator("#rename").click()
    page.locator("#new-name").fill("mine")
    page.keyboard.press("Enter")
    # Label 1 is topic 2 alone, so the name is the label's, too.
    for route in ("labels", "classes", "collections", "states", "models"):
        visit.go(route)
        page.wait_for_function("document.querySelector('main').textContent.includes('mine')")
    visit.go("topic/3")
    page.locator("#hide").click()
    visit.go("classes")
    page.wait_for_selector("[data-figure=class-weights] .cell")
    links = page.locator("[data-figure=class-weights] a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert "#/topic/3" not in links
    assert "#/topic/2" in links


def test_predictions_of_held_out_documents(visit: Visit) -> None:
    page = visit.open("classes")
    cells = page.locator("#report tbody tr").evaluate_all("all => all.map(row => [...row.cells].map(c => c.innerText))")
    assert [row[0] for row in cells] == ["press", "letters", "speeches", "<b>never seen"]
    assert cells[0][1:] == ["20", "18", "94%", "85%", "89%", "19.5 (15–24)"]
    assert cells[2][6] == "30 (25–35) !"  # 20 documents are fewer than the probabilities allow for
    assert "micro F1 75.0%" in page.locator("#report").inner_text()
    assert page.locator("#report a").count() >= 3


def test_words_of_a_document_speak_for_a_class(visit: Visit, data: Data) -> None:
    weights = np.array(data.core["family"]["classes"]["weights"])
    page = visit.open("document/3")
    shades = """([c]) => [...document.querySelectorAll('#text .token')].map(mark =>
        [Number(mark.dataset.topic), mark.style.getPropertyValue('--topic'), mark.style.getPropertyValue('--shade')])"""
    page.wait_for_selector("#text .token")
    before = page.evaluate(shades, [0])
    page.select_option("#speaking", "1")
    against = weights[1] - weights.mean(axis=0)
    for topic, colour, shade in page.evaluate(shades, [1]):
        assert colour == ("var(--below)" if against[topic] < 0 else "var(--above)")
        assert abs(int(shade.rstrip("%")) - 60 * abs(against[topic]) / np.abs(against).max()) <= 0.51
    assert "blue ones against it" in page.locator("#speaking-note").inner_text()
    page.select_option("#speaking", "")
    assert page.evaluate(shades, [0]) == before


def test_classes_show_weights_and_what_pushes(visit: Visit, data: Data) -> None:
    classes = data.core["family"]["classes"]
    weights = np.array(classes["weights"])
    page = visit.open("classes")
    rows = rows_of(visit, "[data-figure=class-weights]")
    assert rows[0][2:] == classes["names"]
    for row in rows[1:]:
        assert [float(value) for value in row[2:]] == weights[:, int(row[0])].tolist()
    cells = page.locator("[data-figure=class-weights] .cell[data-row]")
    assert cells.count() == weights.size
    against = weights - weights.mean(axis=0)
    first = int(rows[1][0])
    kinds = cells.evaluate_all("all => all.slice(0, 3).map(cell => cell.classList.contains('above'))")
    assert kinds == (against[:, first] >= 0).tolist()
    page.get_by_role("radio", name="Weights η").check()
    kinds = cells.evaluate_all("all => all.slice(0, 3).map(cell => cell.classList.contains('above'))")
    assert kinds == (weights[:, first] >= 0).tolist()
    cells.first.hover()
    assert f"η = {weights[0, first]:+.3f}".replace("-", "−") in page.locator("#tip").inner_text()
    page.locator("#class").select_option("2")
    assert page.url.endswith("#/classes/2")
    rows = rows_of(visit, "[data-figure=class-2-topics]")
    order = np.argsort(-against[2], kind="stable")
    assert [int(row[0]) for row in rows[1:]] == order.tolist()
    np.testing.assert_allclose(np.array(numbers(rows, slice(2, 4))), np.c_[weights[2], against[2]][order], atol=1e-12)
    rows = rows_of(visit, "[data-figure=class-2-words]")
    values = {data.vocabulary[word]: value for word, value in classes["words"][2]}
    assert {row[0]: float(row[1]) for row in rows[1:]} == values
    rows = rows_of(visit, "[data-figure=confusion]")
    assert numbers(rows, slice(1, None)) == classes["confusion"]
    assert "86.7% are right" in page.locator("[data-figure=confusion]").inner_text()


def test_numbers_have_one_direction_and_other_chains_words_alone(browser: Any, data: Data, tmp_path: Path) -> None:
    core = data.core | {"family": {"classes": data.core["family"]["classes"] | {
        "names": ["low", "high"], "n": [None, None], "numbers": True, "confusion": None,
    }}}  # fmt: skip
    classes = core["family"]["classes"]
    classes["weights"], classes["words"] = classes["weights"][:2], classes["words"][:2]
    visit = Visit(browser, write(tmp_path, data._replace(core=core)))
    page = visit.open("classes")
    assert page.locator("h1").inner_text() == "Response"
    assert page.locator("#class").count() == 0
    rows = rows_of(visit, "[data-figure=response-topics]")
    assert [float(row[2]) for row in rows[1:]] == sorted(classes["weights"][1], reverse=True)
    visit.check()
    visit.close()
    classes |= {"numbers": False, "names": ["a", "b"], "weights": [classes["weights"][0], None]}
    visit = Visit(browser, write(tmp_path, data._replace(core=core)))
    page = visit.open("classes/1")
    assert "another chain" in page.locator("#one-class").inner_text()
    assert page.locator("[data-figure=class-1-words] .bar-row").count() == len(classes["words"][1])
    visit.check()
    visit.close()


def test_collections_have_the_intervals_of_the_data(visit: Visit, data: Data) -> None:
    given = data.core["family"]["collections"]
    page = visit.open("collections?topic=5")
    rows = rows_of(visit, "[data-figure=collections]")
    assert numbers(rows, slice(4, 7)) == [point for row in given["pi"] for point in row]
    rows = rows_of(visit, "[data-figure=collections-topic]")
    assert numbers(rows, slice(4, 7)) == [row[5] for row in given["pi"]]
    page.locator("#collection-topic").select_option("7")
    rows = rows_of(visit, "[data-figure=collections-topic]")
    assert numbers(rows, slice(4, 7)) == [row[7] for row in given["pi"]]
    assert "topic=7" in page.url
    rows = rows_of(visit, "[data-figure=collections-trends]")
    assert {int(row[0]): [float(value) for value in row[2:]] for row in rows[1:]} == dict(enumerate(given["trends"]))
    page.locator("[data-table=collections] [data-collection='2'] a").first.click()
    page.wait_for_function("location.hash === '#/collections/2'")
    rows = rows_of(visit, "[data-figure=collection-2]")
    assert {int(row[0]): [float(value) for value in row[2:]] for row in rows[1:]} == dict(enumerate(given["pi"][2]))


def test_differences_go_from_one_collection_to_the_other(visit: Visit, data: Data) -> None:
    given = data.core["family"]["collections"]
    (known,) = given["differences"]  # first less second
    page = visit.open(f"collections?from={known['second']}&to={known['first']}")
    rows = rows_of(visit, "[data-figure=collections-difference]")
    assert {int(row[0]): [float(v) for v in row[4:]] for row in rows[1:]} == dict(enumerate(known["topics"]))
    page.locator("#from").select_option(str(known["first"]))
    assert page.locator("#difference").get_by_text("two different").is_visible()
    page.locator("#to").select_option(str(known["second"]))
    rows = rows_of(visit, "[data-figure=collections-difference]")
    for row in rows[1:]:
        mean, low, high, probability = known["topics"][int(row[0])]
        assert [float(v) for v in row[4:]] == pytest.approx([-mean, -high, -low, 1 - probability])
    other = ({0, 1, 2} - {known["first"], known["second"]}).pop()
    page.locator("#to").select_option(str(other))
    rows = rows_of(visit, "[data-figure=collections-difference]")
    for row in rows[1:]:
        k = int(row[0])
        assert float(row[4]) == pytest.approx(given["pi"][other][k][0] - given["pi"][known["first"]][k][0])
        assert row[5:] == ["", "", ""]
    assert "means alone" in page.locator("#difference").inner_text()
    assert f"from={known['first']}&to={other}" in page.url


def test_states_have_a_graph_emissions_and_coloured_sequences(visit: Visit, data: Data) -> None:
    given = data.core["family"]["states"]
    page = visit.open("states")
    page.wait_for_selector(".graph-node")
    transitions = np.array(given["transitions"])
    for least in (0.05, 0.3):
        page.locator("#least").select_option(str(least))
        edges = page.locator(".edge").evaluate_all(
            "all => all.map(e => [Number(e.dataset.from), Number(e.dataset.to)])"
        )
        assert sorted(map(tuple, edges)) == [tuple(map(int, pair)) for pair in np.argwhere(transitions >= least)]
    assert page.locator(".graph-node").count() == 4
    rows = rows_of(visit, "[data-figure=transitions]")
    assert [float(row[4]) for row in rows[1:]] == transitions.ravel().tolist()
    page.locator(".graph-node[data-state='1']").focus()
    assert page.locator(".edge.lit").count() == int((transitions[1] >= 0.3).sum())
    page.get_by_role("radio", name="Matrix").check()
    page.wait_for_selector("[data-figure=transition-matrix] .cell[data-row]")  # drawn once its width is known
    assert page.locator("[data-figure=transition-matrix] .cell[data-row]").count() == 16
    assert not page.locator(".graph-node").first.is_visible()
    first = page.locator(".sequence").first
    marks = first.locator(".token").evaluate_all("all => all.map(s => [s.textContent, Number(s.dataset.topic)])")
    own = given["sequences"][0]
    names = [data.vocabulary[s] if isinstance(s, int) else s for s in own["symbols"]]
    assert marks == [list(pair) for pair in zip(names, own["states"], strict=True)]
    shades = first.locator(".token").evaluate_all(
        "all => all.map(s => parseFloat(s.style.getPropertyValue('--shade')))"
    )
    assert shades == [int(12 + 46 * p + 0.5) for p in own["probability"]]
    painted = "s => getComputedStyle(s).backgroundColor !== 'rgba(0, 0, 0, 0)'"
    assert all(first.locator(".token").evaluate_all(f"all => all.map({painted})"))
    page.locator(".state-key[data-state='2']").click()
    assert first.locator(".token").evaluate_all(f"all => all.map({painted})") == [s == 2 for s in own["states"]]
    rows = rows_of(visit, ".sequence-card")
    assert len(rows) == 1 + sum(len(sequence["symbols"]) for sequence in given["sequences"])


def test_flows_join_models_and_topics_of_the_first_open(visit: Visit, data: Data) -> None:
    models = data.core["models"]
    page = visit.open("models")
    rows = rows_of(visit, "[data-figure=flows]")
    assert [[int(row[1]), int(row[4]), float(row[6])] for row in rows[1:]] == models["flows"][0]
    assert page.locator(".flow-node").count() == 20
    assert page.locator(".ribbon").count() == len(models["flows"][0])
    page.locator(".flow-node[data-model='0'][data-topic='1']").focus()
    assert page.locator(".ribbon.lit").evaluate_all("all => all.map(r => r.dataset.from)") == ["1"]
    page.locator(".flow-node[data-model='1'][data-topic='3']").focus()
    page.keyboard.press("Enter")
    assert "topic=1.3" in page.url
    assert models["topics"][1][3]["label"] in page.locator("#flow-topic").inner_text()
    rows = rows_of(visit, ".table:has([data-table=matches-0])")
    assert len(rows) == 13
    assert [bool(row[3]) for row in rows[1:]] == [to >= 0 for to in models["matches"][0]]
    first, second = ([topic["share"] for topic in own] for own in models["topics"])
    for row, (k, to) in zip(rows[1:], enumerate(models["matches"][0]), strict=True):
        parts = [b for a, b, w in models["flows"][0] if a == k and w >= 0.1 * first[a] and w >= 0.5 * second[b]]
        merged = [a for a, b, w in models["flows"][0] if b == to and w >= 0.5 * first[a] and w >= 0.1 * second[b]]
        assert ("splits" in row[-1]) == (len(parts) > 1)
        assert (f"merged from {', '.join(map(str, merged))}" in row[-1]) == (len(merged) > 1)
    assert "merged from 1, 9" in rows[2][-1]
    drawing = ElementTree.fromstring(visit.saved("[data-figure=flows] [data-save=svg]"))
    texts = {"".join(text.itertext()) for text in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert "K = 12" in texts
    page.locator(".flow-node[data-model='0'][data-topic='1']").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash === '#/topic/1'")
