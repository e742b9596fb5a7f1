"""Synthetic corpora follow the truth they return."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, lognorm

from topicloom import datasets
from topicloom.errors import InputError

GENERATORS: dict[str, Callable[[int], Any]] = {
    "lda": lambda seed: datasets.synthetic_lda(300, 60, 5, doc_length=80.0, seed=seed),
    "compound": lambda seed: datasets.synthetic_compound(3, 100, seed=seed),
    "labeled": lambda seed: datasets.synthetic_labeled(300, 60, 6, seed=seed),
    "bars": lambda seed: datasets.bars(4, 300, seed=seed),
    "bands": lambda seed: datasets.bands(2000, seed=seed),
}


def fit_p_value(counts: np.ndarray, expected: np.ndarray) -> float:
    """χ² test of a vector of counts; cells with fewer than 5 expected are put together."""
    small = expected < 5
    counts = np.append(counts[~small], counts[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    kept = expected > 0
    assert not np.any(counts[~kept]), "a count where the truth says zero"
    statistic = np.sum((counts[kept] - expected[kept]) ** 2 / expected[kept])
    return float(chi2.sf(statistic, max(1, kept.sum() - 1)))


def word_topic_counts(drawn: Any) -> np.ndarray:
    counts = np.zeros(drawn.phi.shape, np.int64)
    np.add.at(counts, (drawn.z, drawn.corpus.words), 1)
    return counts


@pytest.mark.parametrize("name", GENERATORS)
def test_shapes_and_probabilities(name: str) -> None:
    drawn = GENERATORS[name](1)
    corpus = drawn.corpus
    n_topics = len(drawn.phi)
    assert drawn.phi.shape == (n_topics, corpus.n_words)
    assert drawn.theta.shape == (corpus.n_docs, n_topics)
    assert drawn.z.shape == corpus.words.shape
    assert drawn.z.dtype == np.int32
    assert np.all(drawn.phi >= 0)
    assert np.all(drawn.theta >= 0)
    np.testing.assert_allclose(drawn.phi.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(drawn.theta.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("name", GENERATORS)
def test_one_seed_one_corpus(name: str) -> None:
    first, again, other = GENERATORS[name](3), GENERATORS[name](3), GENERATORS[name](4)
    assert first.corpus.fingerprint == again.corpus.fingerprint
    np.testing.assert_array_equal(first.z, again.z)
    np.testing.assert_array_equal(first.theta, again.theta)
    assert first.corpus.fingerprint != other.corpus.fingerprint


@pytest.mark.parametrize("name", GENERATORS)
def test_words_follow_phi(name: str) -> None:
    drawn = GENERATORS[name](5)
    for k, counts in enumerate(word_topic_counts(drawn)):
        if counts.sum():
            assert fit_p_value(counts, drawn.phi[k] * counts.sum()) > 1e-6, k


@pytest.mark.parametrize("name", GENERATORS)
def test_topics_follow_theta(name: str) -> None:
    drawn = GENERATORS[name](6)
    lengths = drawn.corpus.doc_lengths
    used = np.zeros(drawn.theta.shape, np.int64)
    np.add.at(used, (drawn.corpus.token_docs, drawn.z), 1)
    # Over all documents, each with its own θ, the standardised squares add up to about their number.
    variance = lengths[:, None] * drawn.theta * (1 - drawn.theta)
    usable = variance > 1
    squares = (used - lengths[:, None] * drawn.theta)[usable] ** 2 / variance[usable]
    assert usable.sum() > 100
    assert abs(squares.mean() - 1) < 6 * np.sqrt(2 / usable.sum())
    assert not np.any(used[drawn.theta == 0])


def test_topics_are_not_in_order_of_position() -> None:
    drawn = datasets.synthetic_lda(200, 20, 2, doc_length=50, alpha=5.0, seed=0)
    position = np.tile(np.arange(50), 200)
    first, second = drawn.z[position < 25].mean(), drawn.z[position >= 25].mean()
    assert abs(first - second) < 6 * np.sqrt(2 * 0.25 / 5000)


def test_the_chi_square_check_rejects_wrong_topics() -> None:
    drawn = GENERATORS["lda"](5)
    counts = word_topic_counts(drawn)[0]
    assert fit_p_value(counts, np.full(60, 1 / 60) * counts.sum()) < 1e-6


def test_document_lengths() -> None:
    assert set(datasets.synthetic_lda(50, 10, 2, doc_length=7).corpus.doc_lengths) == {7}
    short = datasets.synthetic_lda(400, 10, 2, doc_length=1.0).corpus
    assert short.n_docs == 400
    assert short.empty_docs.any()
    assert abs(short.doc_lengths.mean() - 1) < 6 / np.sqrt(400)


def test_priors_may_be_vectors_and_tiny() -> None:
    drawn = datasets.synthetic_lda(2000, 30, 3, doc_length=1, alpha=[6.0, 3.0, 1.0], beta=np.full(30, 0.5))
    np.testing.assert_allclose(drawn.theta.mean(axis=0), [0.6, 0.3, 0.1], atol=0.02)
    sparse = datasets.synthetic_lda(200, 30, 4, alpha=1e-6, beta=1e-6)
    assert np.all(sparse.theta.max(axis=1) > 0.999)
    assert len(set(sparse.z.tolist())) == 4


def test_dirichlet_moments() -> None:
    drawn = datasets.synthetic_lda(20000, 5, 4, doc_length=1, alpha=0.5)
    # Dirichlet(½, ½, ½, ½): mean ¼ and variance m (1 − m) / (Σα + 1) = 1/16.
    np.testing.assert_allclose(drawn.theta.mean(axis=0), 0.25, atol=0.01)
    np.testing.assert_allclose(drawn.theta.var(axis=0), 1 / 16, rtol=0.04)


def test_compound_collections() -> None:
    drawn = datasets.synthetic_compound(2, [3000, 1000], n_topics=3, doc_length=2, alpha=1.0, gamma=4.0, seed=2)
    assert drawn.pi.shape == (2, 3)
    assert drawn.corpus.groups == ("collection0",) * 3000 + ("collection1",) * 1000
    for j, rows in enumerate((slice(0, 3000), slice(3000, 4000))):
        theta = drawn.theta[rows]
        # θ | π ~ Dirichlet(γπ): mean π and variance π (1 − π) / (γ + 1).
        np.testing.assert_allclose(theta.mean(axis=0), drawn.pi[j], atol=0.05)
        np.testing.assert_allclose(theta.var(axis=0), drawn.pi[j] * (1 - drawn.pi[j]) / 5, atol=0.01)


def test_labels_name_the_topics() -> None:
    drawn = datasets.synthetic_labeled(800, 50, 12, labels_per_doc=3.0, seed=1)
    names = sorted({label for labels in drawn.corpus.labels for label in labels})
    assert names[2] == "label02"
    for d, labels in enumerate(drawn.corpus.labels):
        assert [names[k] for k in np.flatnonzero(drawn.theta[d])] == list(labels)
    sizes = np.array([len(labels) for labels in drawn.corpus.labels])
    assert sizes.min() == 1
    assert abs(sizes.mean() - 3) < 0.3


def test_bars_are_rows_and_columns() -> None:
    drawn = datasets.bars(3, 10)
    assert drawn.phi.shape == (6, 9)
    assert drawn.corpus.vocabulary[5] == "row1col2"
    picture = drawn.phi.reshape(6, 3, 3) * 3
    np.testing.assert_allclose(picture[1], [[0, 0, 0], [1, 1, 1], [0, 0, 0]])
    np.testing.assert_allclose(picture[5], [[0, 0, 1]] * 3)


def test_bands_overlap_by_twos() -> None:
    phi = datasets.bands(10).phi
    inside = phi > 0.001
    assert phi.shape == (10, 100)
    assert inside.sum(axis=1).tolist() == [11, *[21] * 8, 11]
    assert np.bincount(inside.sum(axis=0)).tolist() == [0, 10, 90]
    np.testing.assert_allclose(phi[~inside], 0.05 / 100)
    np.testing.assert_allclose(phi[3].max(), 0.95 / 21 + 0.05 / 100)
    assert np.all(datasets.bands(10, n_topics=1).phi == 1 / 100)


def test_zipf_words_and_topics() -> None:
    drawn = datasets.zipf(300_000, 500, 10, topics_per_doc=3, background=0.1, seed=2)
    corpus, phi, theta = drawn.corpus, drawn.phi(), drawn.theta()
    assert corpus.n_tokens == 300_000
    assert corpus.n_docs == 1500
    assert corpus.words.dtype == np.int32
    np.testing.assert_allclose(drawn.word_share[:3] / drawn.word_share[0], [1, 1 / 2, 1 / 3])
    np.testing.assert_allclose(phi.sum(axis=1), 1)
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    # Given θ, a document's words are a mixture of the topics: pool documents by their main topic.
    main = theta.argmax(axis=1)
    counts = corpus.to_matrix().toarray()
    for k in range(10):
        rows = main == k
        assert rows.any()
        expected = (corpus.doc_lengths[rows, None] * theta[rows]).sum(axis=0) @ phi
        assert fit_p_value(counts[rows].sum(axis=0), expected) > 1e-6
    # Over many documents the words follow Zipf's law; documents vary by their topics.
    frequent = np.bincount(corpus.words, minlength=500)[:20] / 300_000
    np.testing.assert_allclose(frequent, drawn.word_share[:20], rtol=0.2)


def test_zipf_documents_have_few_topics() -> None:
    drawn = datasets.zipf(20_000, 300, 50, topics_per_doc=2, background=0.0, seed=5)
    topics = drawn.word_topic[drawn.corpus.words]
    for d in range(drawn.corpus.n_docs):
        part = topics[drawn.corpus.doc_ptr[d] : drawn.corpus.doc_ptr[d + 1]]
        assert set(part.tolist()) <= set(drawn.doc_topics[d].tolist())
    assert sorted(set(drawn.word_topic.tolist())) == list(range(50))


def test_zipf_repeats_and_keeps_sizes() -> None:
    first, again = (datasets.zipf(12_345, 100, 7, seed=9).corpus for _ in range(2))
    assert first.fingerprint == again.fingerprint
    assert datasets.zipf(3, 10, 2).corpus.n_tokens == 3
    flat = datasets.zipf(1000, 10, 2, exponent=0.0)
    np.testing.assert_allclose(flat.word_share, 0.1)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: datasets.synthetic_lda(0), "n_docs=0"),
        (lambda: datasets.synthetic_lda(2.5), "n_docs=2.5"),
        (lambda: datasets.synthetic_lda(n_topics=-1), "n_topics=-1"),
        (lambda: datasets.synthetic_lda(alpha=0.0), "alpha=0.0"),
        (lambda: datasets.synthetic_lda(alpha=[1.0, 2.0]), "alpha has shape"),
        (lambda: datasets.synthetic_lda(beta=float("nan")), "beta=nan"),
        (lambda: datasets.synthetic_lda(doc_length=0), "doc_length=0"),
        (lambda: datasets.synthetic_lda(doc_length=float("inf")), "doc_length=inf"),
        (lambda: datasets.synthetic_lda(seed=-1), "seed=-1"),
        (lambda: datasets.synthetic_compound(2, [10, 20, 30]), "docs_per_collection"),
        (lambda: datasets.synthetic_compound(2, 0), "docs_per_collection"),
        (lambda: datasets.synthetic_compound(gamma=-1.0), "gamma=-1.0"),
        (lambda: datasets.synthetic_labeled(n_labels=3, labels_per_doc=4), "labels_per_doc=4"),
        (lambda: datasets.bars(0), "side=0"),
        (lambda: datasets.bands(band_share=1.5), "band_share=1.5"),
        (lambda: datasets.bands(n_words=5, n_topics=10), "bands do not fit"),
        (lambda: datasets.zipf(0), "n_tokens=0"),
        (lambda: datasets.zipf(100, 5, 10), "n_topics=10"),
        (lambda: datasets.zipf(100, 50, 10, background=2.0), "background=2.0"),
        (lambda: datasets.zipf(100, 50, 10, exponent=-1.0), "exponent=-1.0"),
        (lambda: datasets.zipf(100, 50, 10, doc_length=0), "doc_length=0"),
    ],
)
def test_bad_parameters_are_named(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(InputError, match=says.replace(".", r"\.")):
        call()


def test_cells_follow_their_topics() -> None:
    data = datasets.synthetic_cells(3000, 40, 3, fragments_per_cell=4.0, alpha=0.5, open_share=0.2, seed=5)
    corpus = data.corpus
    assert np.allclose(data.phi.sum(axis=1), 1)
    assert np.allclose(data.theta.sum(axis=1), 1)
    assert corpus.to_matrix().data.max() == 1  # a region counts once
    assert corpus.groups == tuple(f"type{k}" for k in data.theta.argmax(axis=1))
    same = datasets.synthetic_cells(3000, 40, 3, fragments_per_cell=4.0, alpha=0.5, open_share=0.2, seed=5).corpus
    assert same.fingerprint == corpus.fingerprint
    # Of n fragments none falls into a region with probability (1 - p) ** n, and n is Poisson: exp(-depth p), where the
    # depth is log-normal (here 100 quantiles of it). z is the deviation of the number of cells that have a region.
    depth = lognorm(0.7, scale=4.0 * np.exp(-0.5 * 0.7**2)).ppf((np.arange(100) + 0.5) / 100)
    p = data.theta @ data.phi
    closed = np.stack([np.exp(-depth[:, None] * row).mean(axis=0) for row in p])
    having = np.bincount(corpus.words, minlength=40)
    z = (having - (1 - closed).sum(axis=0)) / np.sqrt((closed * (1 - closed)).sum(axis=0))
    assert np.abs(z).max() < 6
    for wrong in ({"background": 2.0}, {"open_share": -1}, {"alpha": 0}, {"fragments_per_cell": 0}, {"n_topics": 0}):
        with pytest.raises(InputError):
            datasets.synthetic_cells(**{"n_cells": 5, "n_regions": 5, **wrong})
