"""What a report says of a model beside the explorer: how it was made, convergence, the command."""

import shlex
from pathlib import Path
from typing import Any

import pytest

import topicloom
from topicloom import LDA, from_texts
from topicloom.explore.report import command_of, diagnosis_rows, how_it_was_made, write_report

TEXTS = ["river bank water", "loan bank money", "money loan rate", "water fish river"] * 5


@pytest.fixture(scope="module")
def model() -> Any:
    corpus = from_texts(TEXTS, stop_words=["rate"])
    return LDA(2, max_iter=60, n_chains=2, trace_every=1, random_state=4, thin=3).fit(corpus)


def test_how_a_model_was_made(model: Any) -> None:
    rows = dict(how_it_was_made(model))
    assert rows["model"] == "LDA"
    assert rows["topicloom"] == topicloom.__version__
    assert (rows["documents"], rows["words"]) == ("20", "6")
    assert (rows["seed"], rows["fingerprint"]) == ("4", model.fingerprint_)
    assert (rows["n_components"], rows["thin"]) == ("2", "3")
    assert (rows["stop words"], rows["lower case"], rows["texts"]) == ("1", "yes", "kept with the model")


def test_convergence_as_rows(model: Any) -> None:
    rows = dict(diagnosis_rows(model))
    found = topicloom.diagnostics.diagnose(model)
    assert rows["chains compared"] == "2 of 60 sweeps, the first 30 of each left out"
    for row in found.rows():
        assert f"R-hat {row.rhat:.3f}" in rows[f"convergence of {row.name}"]
    assert rows["verdict"] == found.verdict.text
    assert rows["topics that all chains have"].endswith(" of 2")


def test_a_model_of_python_has_no_command(model: Any) -> None:
    assert command_of(model) is None


def test_a_command_is_quoted_and_says_nothing_that_it_does_not_know(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "x; rm -rf $HOME '`"
    options = {
        "text_column": hostile,
        "min_df": "5",
        "keep_case": True,
        "evil": "--out /",
        "max_words": [1],
        "vocab": True,
    }
    monkeypatch.setattr(model, "_reading", {"command": {"input": hostile, "options": options}})
    monkeypatch.setattr(model, "trace_every", 10)
    command = command_of(model)
    assert command is not None
    words = shlex.split(command)
    assert words[:5] == ["topicloom", "fit", hostile, "--out", "model"]
    assert words[words.index("--text-column") + 1] == hostile
    assert "--keep-case" in words
    assert not {"--evil", "--out /", "--max-words", "--vocab"} & set(words)
    monkeypatch.setattr(model, "trace_every", 1)  # which no option sets
    assert command_of(model) is None
    for wrong in ({"command": 3}, {"command": {"input": 3}}, {"command": {"input": "a", "options": [1]}}, {}):
        monkeypatch.setattr(model, "_reading", wrong)
        assert command_of(model) is None


def test_a_report_is_one_page_and_replaces_the_old_one(model: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    assert write_report(model, path, title="<b>") == path
    page = path.read_text(encoding="utf-8")
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    with pytest.raises(topicloom.errors.InputError, match="is a folder"):
        write_report(model, tmp_path)
