"""A notebook, run by a kernel of its own: what cells show, and the bars below them, with and without widgets."""

import asyncio
import warnings
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="the extra notebook is not installed")
nbclient = pytest.importorskip("nbclient", reason="the extra notebook is not installed")
pytest.importorskip("ipykernel", reason="the extra notebook is not installed")

from tests.helpers.markup import seen  # noqa: E402

CELLS = {
    "corpus": """
        import sys
        import topicloom
        corpus = topicloom.from_texts(["goal team <coach> goal", "vote law party", "law vote goal"] * 5)
        corpus
    """,
    "without widgets": """
        sys.modules["ipywidgets"] = None  # importing it fails
        model = topicloom.LDA(2, n_chains=2, max_iter=30, trace_every=2, random_state=0, verbose=1, n_jobs=2)
        model.fit(corpus);
    """,
    "with widgets": """
        del sys.modules["ipywidgets"]
        again = topicloom.LDA(2, max_iter=30, random_state=0, verbose=1).fit(corpus)
    """,
    "model": "model",
    "not fitted": "topicloom.LDA(2)",
    "diagnosis": """
        from topicloom.diagnostics import bootstrap_stability, diagnose
        diagnose(model)
    """,
    "stability": "bootstrap_stability(model, n_samples=2)",
    "no text": "print(model.transform(corpus).shape)",
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, list[Any]]:
    """What each cell put out."""
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("\n".join(map(str.strip, code.splitlines()))) for code in CELLS.values()]
    )
    client = nbclient.NotebookClient(book, timeout=300, kernel_name="python3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the client and its event loop, not of ours
        asyncio.run(client.async_execute())
    return {name: cell.outputs for name, cell in zip(CELLS, book.cells, strict=True)}


def html_of(outputs: list[Any]) -> list[str]:
    return [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]


@pytest.mark.parametrize(
    ("cell", "start"),
    [("corpus", "Corpus 15 documents"), ("model", "LDA 2 topics"), ("diagnosis", "Convergence 2 chains"),
     ("stability", "Stability 2 bootstrap samples of documents")],
)  # fmt: skip
def test_cells_show_html(outputs: dict[str, list[Any]], cell: str, start: str) -> None:
    (shown,) = html_of(outputs[cell])
    assert seen(shown).startswith(start)


def test_a_model_that_is_not_fitted_has_the_box_of_scikit_learn(outputs: dict[str, list[Any]]) -> None:
    (shown,) = html_of(outputs["not fitted"])
    assert "sk-estimator" in shown


@pytest.mark.parametrize("cell", ["without widgets", "with widgets"])
def test_bars_stay_as_they_were_last(outputs: dict[str, list[Any]], cell: str) -> None:
    """The memory that is needed, one bar, which was replaced in place, and the verdict."""
    needs, last, *verdict = html_of(outputs[cell])
    assert seen(needs).startswith("memory: about")
    assert len(verdict) <= 1
    assert all(seen(line) for line in verdict)
    text = seen(last)
    assert "30 of 30 sweeps" in text
    assert "log joint/token -" in text
    assert last.count("<progress") == (2 if cell == "without widgets" else 1)
    assert "starting" not in str(outputs[cell])
    assert not any("widget-view" in kind for output in outputs[cell] for kind in output.get("data", {}))


def test_no_cell_complains(outputs: dict[str, list[Any]]) -> None:
    streams = [output for cell in outputs.values() for output in cell if output.output_type == "stream"]
    assert [(stream.name, stream.text) for stream in streams] == [("stdout", "(15, 2)\n")]
    assert not any(output.output_type == "error" for cell in outputs.values() for output in cell)
