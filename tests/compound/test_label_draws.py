"""Shares of topics by any labels of documents: draws, what they are of, that they repeat, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import topicloom
from topicloom import CompoundLDA
from topicloom.compound.label_draws import mean_shares
from topicloom.datasets import synthetic_compound
from topicloom.errors import InputError, StorageError
from topicloom.numerics.rng import Purpose, stream

LABELS = ["few"] * 2 + ["some"] * 18 + ["many"] * 60


@pytest.fixture(scope="module")
def corpus() -> topicloom.Corpus:
    return synthetic_compound(2, 40, 40, 3, doc_length=30, alpha=1.0, gamma=3.0, eta=0.1, seed=4).corpus


@pytest.fixture(scope="module")
def model(corpus: topicloom.Corpus) -> CompoundLDA:
    return CompoundLDA(3, max_iter=100, random_state=0).fit(corpus)


def _width(model: CompoundLDA, **given) -> dict[str, float]:
    table = model.prevalence(LABELS, frame="pandas", **given)
    return {label: float((own["upper"] - own["lower"]).mean()) for label, own in table.groupby("label")}


def test_a_population_is_known_less_well_than_documents_and_few_less_well_than_many(model: CompoundLDA) -> None:
    documents, population = _width(model, of="documents"), _width(model, of="population")
    assert population == _width(model)
    for width in (documents, population):
        assert width["few"] > width["some"] > width["many"]
    assert all(population[label] > documents[label] for label in population)


def test_shares_sum_to_one_and_lie_between_their_limits(model: CompoundLDA) -> None:
    for of in ("population", "documents"):
        table = model.prevalence(LABELS, of=of, frame="pandas")
        assert list(table.columns) == ["label", "topic", "mean", "lower", "upper"]
        np.testing.assert_allclose(table.groupby("label")["mean"].sum(), 1.0)
        assert np.all((table["lower"] >= 0) & (table["lower"] < table["mean"]) & (table["mean"] < table["upper"]))
        assert np.all(table["upper"] <= 1)


def test_documents_of_collections_and_of_merged_ones(model: CompoundLDA, corpus: topicloom.Corpus) -> None:
    own = model.prevalence(of="documents", frame="pandas")
    given = model.prevalence(corpus.groups, of="documents", frame="pandas")
    assert own.columns[0] == "collection"
    for name in ("mean", "lower", "upper"):
        np.testing.assert_array_equal(own[name], given[name])
    merged = model.prevalence(lambda label: "both", of="documents", frame="pandas")
    assert merged["collection"].tolist() == ["both"] * 3
    np.testing.assert_allclose(merged["mean"], model.doc_topic_.mean(axis=0), atol=0.05)


def test_same_bits_on_any_threads_and_from_files(corpus: topicloom.Corpus, tmp_path: Path) -> None:
    for given in (
        {},
        {"n_shards": 2},
        {"n_paths": 2, "sampler": "sparse"},
        {"method": "vem", "method_options": {"tol": 0.05}, "max_iter": 21},
    ):
        one, two = (
            CompoundLDA(3, **{"max_iter": 20, "random_state": 1, "n_jobs": n, **given}).fit(corpus) for n in (1, 2)
        )
        before = one.fingerprint_, one.chains_[0].sweep, one.chains_[0].state.__class__, one.trace_
        table = one.prevalence(LABELS, n_draws=5, frame="pandas")
        assert table.equals(one.prevalence(LABELS, n_draws=5, frame="pandas"))  # the model was left as it is
        assert before == (one.fingerprint_, one.chains_[0].sweep, one.chains_[0].state.__class__, one.trace_)
        assert table.equals(two.prevalence(LABELS, n_draws=5, frame="pandas"))
        folder = tmp_path / str(len(given)) / str(given.get("method"))
        one.save(folder)
        assert topicloom.load(folder).prevalence(LABELS, n_draws=5, frame="pandas").equals(table)
        loaded = topicloom.load(folder)
        loaded.n_jobs = 2
        assert loaded.prevalence(LABELS, n_draws=5, frame="pandas").equals(table)


def test_asking_does_not_change_how_a_run_goes_on(corpus: topicloom.Corpus, tmp_path: Path) -> None:
    plain, asked = (CompoundLDA(3, max_iter=10, random_state=2).fit(corpus) for _ in range(2))
    asked.prevalence(LABELS, n_draws=2)
    plain.save(tmp_path / "plain")
    asked.save(tmp_path / "asked")
    ends = [topicloom.resume(tmp_path / name, max_iter=15) for name in ("plain", "asked")]
    assert ends[0].fingerprint_ == ends[1].fingerprint_


def test_without_its_corpus_a_model_cannot_say(model: CompoundLDA, tmp_path: Path) -> None:
    model.save(tmp_path / "model", corpus=False)
    with pytest.raises(StorageError, match="without its corpus"):
        topicloom.load(tmp_path / "model").prevalence(LABELS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"of": "docs"}, "of='docs' is not known"),
        ({"of": ["documents"]}, "of=.* is not known"),
        ({"n_draws": 0}, "n_draws=0 must be a whole number"),
        ({"n_draws": 2.5}, "n_draws=2.5 must be a whole number"),
        ({"level": 1.0}, "level=1.0 must lie between"),
        ({"level": "high"}, "level="),
        ({"by": ["a"] * 79}, "79 labels but there are 80"),
        ({"by": ["a"] * 79 + [None]}, "document 79 has no collection"),
        ({"by": "abc"}, "give one label per document"),
        ({"by": 7}, "give one label per document"),
        ({"by": [[1]] * 80}, "is no label"),
    ],
)
def test_what_is_refused(model: CompoundLDA, given: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.prevalence(**{"by": LABELS, **given})


def _draws(of, n: int = 2500) -> np.ndarray:
    """Draws of the means of two labels, of one document and of three."""
    parameter = np.array([[1.0, 2.0, 3.0], [4.0, 1.0, 1.0], [0.5, 0.5, 0.5], [2.0, 2.0, 2.0]])
    label, base = np.array([0, 1, 1, 1], np.int32), np.array([0.3, 0.6, 0.1])
    rng = stream(5, Purpose.MIXTURE_DRAWS)
    parts = [(slice(0, 2), parameter[:2]), (slice(2, 4), parameter[2:])]
    return np.concatenate([mean_shares(rng, parts, label, 2, base, of) for _ in range(n)])


def test_documents_have_the_mean_of_their_dirichlet_draws() -> None:
    draws = _draws("documents")
    assert stats.kstest(draws[:, 0, 0], stats.beta(1, 5).cdf).pvalue > 1e-7
    parameters = [(4.0, 6.0), (0.5, 1.5), (2.0, 6.0)]
    expected = np.mean([a / s for a, s in parameters])
    variance = sum(a * (s - a) / (s * s * (s + 1)) for a, s in parameters) / 9
    assert abs(draws[:, 1, 0].mean() - expected) < 5.5 * np.sqrt(variance / len(draws))
    assert abs(draws[:, 1, 0].var() / variance - 1) < 0.15


def test_a_population_has_bootstrap_weights_and_one_document_of_the_prior() -> None:
    draws = _draws("population")
    # Weights of n + 1 documents are a flat Dirichlet: means are those of all documents with the prior's.
    first = np.mean([1 / 6, 0.3])
    second = np.mean([2 / 3, 1 / 3, 1 / 3, 0.3])
    assert abs(draws[:, 0, 0].mean() - first) < 5.5 * draws[:, 0, 0].std() / 100
    assert abs(draws[:, 1, 0].mean() - second) < 5.5 * draws[:, 1, 0].std() / 100
    moments = [(4.0, 6.0), (0.5, 1.5), (2.0, 6.0), (0.3, 1.0)]
    squares = [a / s * (a + 1) / (s + 1) for a, s in moments]
    products = np.outer([a / s for a, s in moments], [a / s for a, s in moments])
    np.fill_diagonal(products, 0)
    second_moment = (2 * sum(squares) + products.sum()) / 20  # E w_i² = 2/20, E w_i w_j = 1/20 of four
    assert abs((draws[:, 1, 0] ** 2).mean() - second_moment) < 5.5 * (draws[:, 1, 0] ** 2).std() / 100
