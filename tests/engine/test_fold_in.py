"""Topics of a document with φ fixed, against the exact posterior."""

import itertools

import numpy as np
import pytest

from tests.oracles import lda as oracle
from topicloom.corpus import Corpus
from topicloom.engine.fold_in import fold_in_corpus
from topicloom.errors import InputError

ALPHA = np.array([0.3, 0.8, 0.5])
PHI = np.array([[0.5, 0.1, 0.2], [0.2, 0.7, 0.3], [0.3, 0.2, 0.5]])  # by word: [V, K], columns sum to one
DOC = [0, 0, 2, 1]


def exact_posterior(doc: list[int], phi: np.ndarray = PHI, alpha: np.ndarray = ALPHA) -> dict[tuple[int, ...], float]:
    """p(z | w, φ, α) ∝ ∏ φ(w_i, z_i) · p(z | α), listed."""
    weight = {}
    for z in itertools.product(range(len(alpha)), repeat=len(doc)):
        n = np.bincount(z, minlength=len(alpha))
        weight[z] = np.prod(phi[doc, z]) * np.exp(oracle._dirichlet_multinomial(n, alpha))
    total = sum(weight.values())
    return {z: w / total for z, w in weight.items()}


def mean_and_variance(posterior: dict[tuple[int, ...], float], n_topics: int) -> tuple[np.ndarray, np.ndarray]:
    counts = np.array([np.bincount(z, minlength=n_topics) for z in posterior])
    p = np.array(list(posterior.values()))
    mean = p @ counts
    return mean, p @ (counts - mean) ** 2


def z_scores(counts: np.ndarray, n: int, doc: list[int], variance_share: float = 1.0) -> np.ndarray:
    mean, variance = mean_and_variance(exact_posterior(doc), len(ALPHA))
    return (counts - mean) / np.sqrt(variance * variance_share / n)


@pytest.mark.parametrize("doc", [DOC, [1], [2, 2, 2, 0, 0]])
def test_mean_counts_are_the_posterior_mean(doc: list[int]) -> None:
    """Hard and soft counts estimate the same thing, E[n_dk]; soft ones with no more variance (Rao-Blackwell)."""
    chains = 40_000
    out = fold_in_corpus(oracle.tiny_corpus([doc], 3), PHI, ALPHA, burn_in=30, n_chains=chains, seed=3)
    assert np.all(np.abs(z_scores(out.hard[0], chains, doc)) < 5.5)
    assert np.all(np.abs(z_scores(out.soft[0], chains, doc)) < 5.5)


def test_distribution_of_counts_is_the_posterior() -> None:
    posterior = exact_posterior(DOC)
    cells: dict[tuple[int, ...], float] = {}
    for z, p in posterior.items():
        key = tuple(np.bincount(z, minlength=3))
        cells[key] = cells.get(key, 0) + p
    index = {key: i for i, key in enumerate(cells)}
    observed = np.zeros(len(cells))
    corpus = oracle.tiny_corpus([DOC], 3)
    for seed in range(4000):
        counts = fold_in_corpus(corpus, PHI, ALPHA, burn_in=20, seed=seed, soft=False).hard[0]
        observed[index[tuple(counts.astype(int))]] += 1
    assert oracle.chi_square(observed, np.array(list(cells.values()))) > oracle.FALSE_ALARM


def test_later_samples_and_their_lag() -> None:
    """Averages over samples of one chain estimate the same mean; the prefix of a longer run is the shorter run."""
    corpus = oracle.tiny_corpus([DOC], 3)
    out = fold_in_corpus(corpus, PHI, ALPHA, burn_in=5, thin=3, n_samples=20_000, seed=4)
    mean, variance = mean_and_variance(exact_posterior(DOC), 3)
    # Samples three sweeps apart are nearly independent; a factor of 2 on the variance is generous and still sharp.
    assert np.all(np.abs(out.hard[0] - mean) < 5.5 * np.sqrt(2 * variance / 20_000))
    one = fold_in_corpus(corpus, PHI, ALPHA, burn_in=5, thin=3, n_samples=1, seed=4).hard
    late = fold_in_corpus(corpus, PHI, ALPHA, burn_in=8, thin=3, n_samples=1, seed=4).hard
    both = fold_in_corpus(corpus, PHI, ALPHA, burn_in=5, thin=3, n_samples=2, seed=4).hard
    np.testing.assert_array_equal(both * 2, one + late)


def test_each_document_can_have_its_own_alpha() -> None:
    rows = np.array([[0.3, 0.8, 0.5], [5.0, 0.1, 0.1]])
    corpus = oracle.tiny_corpus([DOC, DOC], 3)
    out = fold_in_corpus(corpus, PHI, rows, alpha_row=np.array([0, 1]), burn_in=30, n_chains=20_000).soft
    for d in range(2):
        mean, variance = mean_and_variance(exact_posterior(DOC, alpha=rows[d]), 3)
        assert np.all(np.abs(out[d] - mean) < 5.5 * np.sqrt(variance / 20_000))


@pytest.fixture(scope="module")
def batch() -> tuple[Corpus, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    docs = [rng.integers(0, 50, rng.integers(0, 60)).tolist() for _ in range(150)]
    docs[3], docs[70] = [], docs[5]
    return oracle.tiny_corpus(docs, 50), rng.dirichlet(np.full(50, 0.1), 7).T, rng.uniform(0.1, 1, 7)


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_threads_change_nothing(batch: tuple[Corpus, np.ndarray, np.ndarray], n_jobs: int) -> None:
    one, many = (fold_in_corpus(*batch, burn_in=5, n_samples=2, n_chains=2, n_jobs=j) for j in (1, n_jobs))
    np.testing.assert_array_equal(one.hard, many.hard)
    np.testing.assert_array_equal(one.soft, many.soft)


def test_batch_row_and_word_order_change_nothing(batch: tuple[Corpus, np.ndarray, np.ndarray]) -> None:
    corpus, phi, alpha = batch
    whole = fold_in_corpus(corpus, phi, alpha, burn_in=5).soft
    some = np.array([70, 3, 12, 140])
    np.testing.assert_array_equal(fold_in_corpus(corpus.select(some), phi, alpha, burn_in=5).soft, whole[some])
    np.testing.assert_array_equal(whole[70], whole[5])  # the same content
    shuffled = [corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]][::-1].tolist() for d in range(150)]
    np.testing.assert_array_equal(fold_in_corpus(oracle.tiny_corpus(shuffled, 50), phi, alpha, burn_in=5).soft, whole)
    np.testing.assert_array_equal(whole[3], np.zeros(7))  # an empty document has no counts


def test_bad_input_is_named() -> None:
    corpus = oracle.tiny_corpus([DOC], 3)
    with pytest.raises(InputError, match=r"one row for each of 3 words"):
        fold_in_corpus(corpus, PHI[:2], ALPHA)
    with pytest.raises(InputError, match=r"alpha has 2 topics, the word distributions have 3"):
        fold_in_corpus(corpus, PHI, ALPHA[:2])
    with pytest.raises(InputError, match=r"'w2' has probability 0 in every topic"):
        fold_in_corpus(corpus, PHI * np.array([[1], [1], [0]]), ALPHA)
    with pytest.raises(InputError, match=r"thin=0 must be a whole number of at least 1"):
        fold_in_corpus(corpus, PHI, ALPHA, thin=0)


# -- documents that are short beside the number of topics ---------------------------------------------------------

MANY = 8
WIDE_ALPHA = np.array([0.3, 0.8, 0.5, 0.1, 0.6, 0.2, 0.9, 0.0])  # the last is never drawn
WIDE_PHI = np.random.default_rng(5).dirichlet([0.6] * 3, MANY).T.copy()


def wide_posterior(doc: list[int]) -> dict[tuple[int, ...], float]:
    """As ``exact_posterior``, over the topics that can be drawn."""
    return exact_posterior(doc, WIDE_PHI[:, :-1], WIDE_ALPHA[:-1])


@pytest.mark.parametrize("doc", [[0, 0, 2], [1], [2, 2, 2, 0]])
def test_short_documents_have_the_posterior_mean(doc: list[int]) -> None:
    chains = 40_000
    out = fold_in_corpus(oracle.tiny_corpus([doc], 3), WIDE_PHI, WIDE_ALPHA, burn_in=30, n_chains=chains, seed=3)
    mean, variance = mean_and_variance(wide_posterior(doc), MANY - 1)
    for counts in (out.hard[0], out.soft[0]):
        assert counts[-1] == 0
        assert np.all(np.abs(counts[:-1] - mean) < 5.5 * np.sqrt(variance / chains))
        assert counts.sum() == pytest.approx(len(doc))


def test_distribution_of_a_short_document_s_counts_is_the_posterior() -> None:
    doc = [0, 2, 0]
    cells: dict[tuple[int, ...], float] = {}
    for z, p in wide_posterior(doc).items():
        key = tuple(np.bincount(z, minlength=MANY))
        cells[key] = cells.get(key, 0) + p
    index = {key: i for i, key in enumerate(cells)}
    observed = np.zeros(len(cells))
    corpus = oracle.tiny_corpus([doc], 3)
    for seed in range(6000):
        counts = fold_in_corpus(corpus, WIDE_PHI, WIDE_ALPHA, burn_in=20, seed=seed, soft=False).hard[0]
        observed[index[tuple(counts.astype(int))]] += 1
    assert oracle.chi_square(observed, np.array(list(cells.values()))) > oracle.FALSE_ALARM


def test_a_short_document_s_answer_follows_from_its_words_and_its_own_prior() -> None:
    rng = np.random.default_rng(2)
    docs = [rng.integers(0, 30, n).tolist() for n in (3, 0, 12, 40, 7, 12)]
    corpus = oracle.tiny_corpus(docs, 30)
    phi = rng.dirichlet([0.3] * 30, 40).T
    alpha = rng.uniform(0.1, 1, (6, 40))
    rows = np.arange(6, dtype=np.int32)
    whole = fold_in_corpus(corpus, phi, alpha, alpha_row=rows, burn_in=5, n_samples=3)
    for n_jobs in (2, 3):
        again = fold_in_corpus(corpus, phi, alpha, alpha_row=rows, burn_in=5, n_samples=3, n_jobs=n_jobs)
        np.testing.assert_array_equal(again.soft, whole.soft)
    some = np.array([4, 2, 3])
    part = fold_in_corpus(corpus.select(some), phi, alpha[some], alpha_row=rows[:3], burn_in=5, n_samples=3)
    np.testing.assert_array_equal(part.soft, whole.soft[some])
    np.testing.assert_array_equal(part.hard, whole.hard[some])
    np.testing.assert_allclose(whole.soft.sum(axis=1), corpus.doc_lengths)
