"""``convert`` writes what a model publishes, whatever its kind, and refuses what a file cannot hold."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import topicloom
from topicloom import (
    LDA,
    CompoundLDA,
    DependencyLDA,
    LabeledLDA,
    MedLDAClassifier,
    MedLDARegressor,
    PriorLDA,
    VariationalLDA,
    mallet,
)
from topicloom.cli import app
from topicloom.corpus.corpus import Corpus
from topicloom.diagnostics import publish
from topicloom.errors import InputError
from topicloom.models import HMM


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    return result.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    made = topicloom.datasets.synthetic_labeled(30, 12, 3, doc_length=15, seed=1).corpus
    numbers = [float(n % 5) for n in range(30)]
    return made.with_metadata(groups=[1, 2, 10] * 10, responses=numbers)


QUICK: dict[str, Any] = {"max_iter": 12, "random_state": 0}
AVERAGED: dict[str, Any] = {**QUICK, "burn_in": 4, "thin": 2, "n_chains": 2}
LABELS: dict[str, Any] = {**AVERAGED, "predict_options": {"burn_in": 1, "n_samples": 1}}
KINDS: dict[str, Callable[[], Any]] = {
    "lda": lambda: LDA(3, **QUICK),
    "lda averaged": lambda: LDA(3, **AVERAGED, estimator="standard"),
    "lda paths": lambda: LDA(3, **QUICK, n_paths=2),
    "lda merged": lambda: Merged(LDA(3, **AVERAGED)),
    **{mode: lambda mode=mode: VariationalLDA(3, **QUICK, method=mode, tol=0) for mode in ("cvb0", "vb", "scvb0")},
    "compound": lambda: CompoundLDA(3, **AVERAGED),
    "compound vem": lambda: CompoundLDA(3, **QUICK, method="vem", method_options={"tol": 0}),
    "labeled": lambda: LabeledLDA(**LABELS),
    "labeled cvb0": lambda: LabeledLDA(**{**LABELS, "burn_in": None}, method="cvb0"),
    "prior": lambda: PriorLDA(**LABELS),
    "dependency": lambda: DependencyLDA(**LABELS, n_label_topics=1),
    "classes": lambda: MedLDAClassifier(3, **LABELS),
    "numbers": lambda: MedLDARegressor(3, **LABELS),
}  # fmt: skip


class Merged:
    """A model that publishes its chains merged, with a name for one topic."""

    def __init__(self, model: LDA) -> None:
        self._model = model

    def fit(self, corpus: Corpus) -> LDA:
        merged: LDA = publish(self._model.fit(corpus), "merged")
        return merged.set_topic_names({1: "both, chains"})


LABELED = ("labeled", "labeled cvb0", "prior", "dependency")
DRAWN_NONE = ("cvb0", "vb", "scvb0", "compound vem", "labeled cvb0")


@pytest.fixture(scope="module")
def saved(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("models")

    def directory(kind: str) -> Path:
        path = folder / kind.replace(" ", "-")
        if not path.exists():
            KINDS[kind]().fit(corpus).save(path)
        return path

    return directory


def table(path: Path) -> Any:
    """What follows the names of words, or ids and numbers of tokens."""
    header, *rows = csv.reader(path.read_text().splitlines())
    first = 1 if header[0] == "word" else 3
    return np.array([[float(value) for value in row[first:]] for row in rows])


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_those_of_the_fitted_model(saved: Callable[[str], Path], kind: str, tmp_path: Path) -> None:
    model = topicloom.load(saved(kind))
    own = (f"topic_{k}" if name is None else name for k, name in enumerate(model.topic_names_))
    topics = list(map(str, model.classes_)) if kind in LABELED else list(own)
    words = (["word"], model.topic_word_.T, 0, list(model.vocabulary_))
    ids = list(map(str, model.corpus_.ids or range(model.corpus_.n_docs)))
    tables = {"doc-topics": (["id", "tokens", "unknown"], model.doc_topic_, 1, ids), "topic-words": words}
    for to, (first, expected, axis, names) in tables.items():
        done = run("convert", saved(kind), tmp_path / "a.csv", "--to", to)
        assert done.exit_code == 0, done.output
        found, (header, *rows) = table(tmp_path / "a.csv"), csv.reader((tmp_path / "a.csv").read_text().splitlines())
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(found.sum(axis=axis), 1, rtol=0, atol=1e-9)
        assert header == [*first, *topics]
        assert [row[0] for row in rows] == names


@pytest.mark.parametrize("kind", KINDS)
def test_another_estimator_is_used_and_said_or_refused(saved: Callable[[str], Path], kind: str, tmp_path: Path) -> None:
    model = topicloom.load(saved(kind))
    own = getattr(model, "estimator", None)  # what never draws topics has none
    other = "standard" if own == "cgs_p" else "cgs_p"
    asked = ["convert", saved(kind), tmp_path / "a.csv", "--to", "doc-topics", "--estimator"]
    if kind in DRAWN_NONE:
        assert "--estimator is for models that draw topics" in refused(*asked, other)
        assert not (tmp_path / "a.csv").exists()
    else:
        done = run(*asked, other)
        said = f"--estimator {other} is used, as asked, on the last sample; the fit had {own}."
        assert said in done.stderr
        np.testing.assert_array_equal(table(tmp_path / "a.csv"), model.estimate(other)[0])
        run("convert", saved(kind), tmp_path / "a.csv", "--to", "topic-words", "--estimator", other)
        np.testing.assert_array_equal(table(tmp_path / "a.csv"), model.estimate(other)[1].T)
    assert run(*asked[:-1], *(["--estimator", own] if own else [])).exit_code == 0
    np.testing.assert_array_equal(table(tmp_path / "a.csv"), model.doc_topic_)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mallet_state_is_written_of_what_it_can_hold(saved: Callable[[str], Path], kind: str, tmp_path: Path) -> None:
    asked = ["convert", saved(kind), tmp_path / "state.gz", "--to", "mallet-state"]
    if kind in DRAWN_NONE:
        assert "draws no topics of tokens" in refused(*asked)
    elif kind in LABELED:
        assert "a state file cannot say which labels a document has" in refused(*asked)
        assert "--to doc-topics" in refused(*asked)
    elif kind == "compound":
        assert "a state file has one α for all documents" in refused(*asked)
    else:
        done = run(*asked)
        assert done.exit_code == 0, done.output
        model = topicloom.load(saved(kind))
        z = model.chains_[model.best_chain_].state.z[: model.corpus_.n_tokens]
        np.testing.assert_array_equal(mallet.read_state(tmp_path / "state.gz").state.z, z)
        return
    assert not (tmp_path / "state.gz").exists()


def test_the_library_refuses_states_of_labels_too(saved: Callable[[str], Path], tmp_path: Path) -> None:
    model = topicloom.load(saved("labeled"))
    chain = model.chains_[0]
    with pytest.raises(InputError, match="cannot say which labels a document has"):
        mallet.write_state(tmp_path / "state.gz", model.corpus_, chain.state, chain.prior)


def test_a_model_without_topics_is_told(tmp_path: Path) -> None:
    HMM(2, max_iter=3, random_state=0).fit([[0, 1, 0, 1], [1, 1, 0]]).save(tmp_path / "hmm")
    for to in ("doc-topics", "topic-words", "mallet-state"):
        assert "of the kind HMM, which has no topics" in refused(
            "convert", tmp_path / "hmm", tmp_path / "a.csv", "--to", to
        )
    new = tmp_path / "new.txt"
    new.write_text("0 1\n")
    for command in (["topics"], ["transform"], ["evaluate"], ["prevalence"], ["predict", new]):
        assert "of the kind HMM, which has no topics" in refused(command[0], tmp_path / "hmm", *command[1:])
    assert "HMM" in run("info", tmp_path / "hmm").stdout
    assert list(tmp_path.glob("a.csv")) == []
