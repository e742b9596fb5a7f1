"""Left-to-right with its error: coverage against exact probabilities; MALLET's own values; hostile input."""

import json
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from tests.diagnostics.tiny_documents import Tiny, tiny_documents
from tests.helpers.mallet_state import FIXTURES, mallet_state
from topicloom.corpus import Corpus
from topicloom.diagnostics.annealed import annealed
from topicloom.diagnostics.marginal import from_runs, repeated_left_to_right, run_seed
from topicloom.errors import InputError
from topicloom.evaluation import left_to_right

FALSE_ALARM = 1e-7  # of each test


@pytest.fixture(scope="module")
def tiny() -> Tiny:
    return tiny_documents()


# -- errors ------------------------------------------------------------------------------------------------------

ESTIMATES = {
    "left to right": partial(repeated_left_to_right, n_particles=4),
    "left to right, not resampled": partial(repeated_left_to_right, n_particles=8, resample=False),
    "annealed": partial(annealed, temperatures=10, n_particles=100),
}


@pytest.mark.parametrize("name", ESTIMATES)
def test_intervals_hold_the_exact_value_as_often_as_they_promise(name: str, tiny: Tiny) -> None:
    """±2 errors around the sum over documents, in 300 repetitions: 95.4% of them, within binomial limits."""
    n, hits, scores = 300, 0, []
    for seed in range(n):
        found = ESTIMATES[name](tiny.topics, tiny.alpha, tiny.corpus, seed=seed)
        z = (found.log_p.sum() - tiny.log_p.sum()) / np.sqrt((found.error**2).sum())
        scores.append(z)
        hits += abs(z) < 2
    promised = norm.cdf(2) - norm.cdf(-2)
    assert binom.cdf(hits, n, promised) > FALSE_ALARM / 4
    assert binom.sf(hits - 1, n, promised) > FALSE_ALARM / 4
    # Neither is the bias left in, nor is the error of the wrong size.
    assert abs(np.mean(scores)) < norm.isf(FALSE_ALARM / 8) / np.sqrt(n)
    assert chi2.isf(1 - FALSE_ALARM / 8, n) < np.sum(np.square(scores)) < chi2.isf(FALSE_ALARM / 8, n)


def test_without_its_correction_the_logarithm_is_low(tiny: Tiny) -> None:
    """The test above has the power to see a bias: it rejects ``log_mean``."""
    scores = []
    for seed in range(300):
        found = repeated_left_to_right(tiny.topics, tiny.alpha, tiny.corpus, n_runs=4, n_particles=4, seed=seed)
        scores.append((found.log_mean.sum() - tiny.log_p.sum()) / np.sqrt((found.error**2).sum()))
    assert np.mean(scores) < -norm.isf(FALSE_ALARM / 8) / np.sqrt(300)


def test_jackknife_is_that_of_plain_loops() -> None:
    logs = np.random.default_rng(0).normal(-500, 2, (4, 5))
    found = from_runs(logs)
    for d, row in enumerate(logs):
        p = np.exp(row + 500)
        others = np.array([np.log(np.delete(p, r).mean()) for r in range(5)])
        assert found.log_mean[d] == pytest.approx(np.log(p.mean()) - 500, abs=1e-10)
        assert found.log_p[d] == pytest.approx(5 * np.log(p.mean()) - 4 * others.mean() - 500, abs=1e-10)
        assert found.error[d] == pytest.approx(np.sqrt(4 / 5 * ((others - others.mean()) ** 2).sum()), abs=1e-10)
        assert found.ess[d] == pytest.approx(p.sum() ** 2 / (p**2).sum())


def test_runs_that_are_nothing() -> None:
    found = from_runs([[-np.inf, -np.inf], [0.0, 0.0], [-np.inf, 0.0]])
    np.testing.assert_array_equal(found.log_mean, [-np.inf, 0.0, np.log(0.5)])
    np.testing.assert_array_equal(found.ess, [0.0, 2.0, 1.0])
    assert np.all(np.isfinite(found.error))
    assert found.error[2] > 100  # nothing is known of it


def test_the_first_run_is_left_to_right_and_runs_differ(tiny: Tiny) -> None:
    assert len({run_seed(seed, run) for seed in range(20) for run in range(20)}) == 20 * 20
    assert run_seed(7, 0) == 7
    runs = [left_to_right(tiny.topics, tiny.alpha, tiny.corpus, seed=run_seed(7, run)) for run in range(2)]
    found = repeated_left_to_right(tiny.topics, tiny.alpha, tiny.corpus, n_runs=2, seed=7, n_jobs=2)
    np.testing.assert_array_equal(found.log_mean, from_runs(np.transpose(runs)).log_mean)


def test_an_empty_document_is_certain() -> None:
    corpus = Corpus([0, 1], [0, 0, 2], ("a", "b"))
    found = repeated_left_to_right([[0.5, 0.5]], [1.0], corpus)
    assert found.log_p[0] == found.error[0] == 0
    assert found.log_p[1] == pytest.approx(2 * np.log(0.5))


def test_one_run_has_no_error(tiny: Tiny) -> None:
    with pytest.raises(InputError, match="n_runs=1 must be a whole number of at least 2"):
        repeated_left_to_right(tiny.topics, tiny.alpha, tiny.corpus, n_runs=1)


# -- MALLET ------------------------------------------------------------------------------------------------------


def mallets_estimates(words: np.ndarray, phi: np.ndarray, alpha: np.ndarray, n_particles: int, n: int) -> np.ndarray:
    """MALLET's left-to-right without resampling, n times: the product of mean predictions, in the order of the text.

    A particle's past is never weighed by what it predicted, so the product is biased, however many particles there
    are (docs/guide/comparing-models.md).
    """
    rng, every = np.random.default_rng(0), np.arange(n * n_particles)
    count, log_p = np.zeros((n * n_particles, len(alpha))), np.zeros(n)
    for i, word in enumerate(words):
        sums = (phi[:, word] * (count + alpha)).cumsum(axis=1)
        log_p += np.log(sums[:, -1].reshape(n, n_particles).mean(axis=1) / (i + alpha.sum()))
        count[every, (sums < rng.random(len(every))[:, None] * sums[:, -1:]).sum(axis=1)] += 1
    return log_p


class Mallets:
    """The documents that MALLET evaluated, its topics and its values."""

    def __init__(self) -> None:
        corpus, state, prior = mallet_state()
        given = json.loads((FIXTURES / "left_to_right.json").read_text())
        self.documents = corpus.select(given["documents"])
        self.values = np.array(given["log_probabilities"])
        self.n_particles = given["particles"]
        self.alpha = prior.alpha[0]
        counts = np.zeros((10, corpus.n_words))
        np.add.at(counts, (state.z, corpus.words), 1)
        self.topics = (counts + prior.beta) / (counts + prior.beta).sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def mallets() -> Mallets:
    return Mallets()


def squares(values: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> float:
    return float((((values - mean) / deviation) ** 2).sum())


def test_mallets_values_are_those_of_its_algorithm_with_our_topics_and_words(mallets: Mallets) -> None:
    """20 documents, each value within its Monte Carlo error; the sum of squares has a false-alarm rate of 1e-7.

    The mean and deviation of each are from 100 repetitions, so that the squares are of t rather than normal variates,
    which costs the limit 3 of its 73.
    """
    ptr = mallets.documents.doc_ptr
    repeated = np.array(
        [
            mallets_estimates(
                mallets.documents.words[ptr[d] : ptr[d + 1]], mallets.topics, mallets.alpha, mallets.n_particles, 100
            )
            for d in range(20)
        ]
    )
    mean, deviation = repeated.mean(axis=1), repeated.std(axis=1, ddof=1) * np.sqrt(1.01)
    assert squares(mallets.values, mean, deviation) < chi2.isf(FALSE_ALARM, 20)
    assert mallets.values.sum() == pytest.approx(-7967.915360951643)


def test_left_to_right_and_annealing_agree_on_mallets_documents_and_mallet_differs(mallets: Mallets) -> None:
    """Two unbiased estimates of different make are the same; MALLET's product of means is not."""
    short = mallets.documents.doc_lengths < 45
    documents = mallets.documents.select(short)
    ours = repeated_left_to_right(mallets.topics, mallets.alpha, documents, n_particles=100, n_jobs=2)
    other = annealed(mallets.topics, mallets.alpha, documents, n_particles=60, n_jobs=2)
    error = np.sqrt(ours.error**2 + other.error**2)
    assert other.ess.min() > 2
    assert squares(ours.log_p, other.log_p, error) < chi2.isf(FALSE_ALARM, short.sum())
    assert abs((ours.log_p - other.log_p).sum()) < norm.isf(FALSE_ALARM / 2) * np.sqrt((error**2).sum())
    # With 200 particles MALLET's values vary by 0.3 at most.
    assert squares(mallets.values[short], ours.log_p, np.hypot(ours.error, 0.3)) > chi2.isf(FALSE_ALARM, short.sum())
