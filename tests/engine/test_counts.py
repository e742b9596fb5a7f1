"""First topics and their counts, and the sums of logarithms that the joint probability is made of."""

import numba
import numpy as np
import pytest
from scipy.special import gammaln

from tests.oracles import lda as oracle
from topicloom.datasets import bars
from topicloom.engine import counts
from topicloom.engine.blocks import tokens_of
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key
from topicloom.engine.state import SparseState, State
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.gibbs.first_topics import draw_from_prior, first_topics
from topicloom.numerics.rng import stream, uniform


@numba.njit
def log_rise(n: int, a: float) -> float:
    return counts.log_rise(n, a)


@pytest.mark.parametrize("a", [1e-300, 1e-9, 0.01, 0.5, 1.0, 17.3, 1e6])
def test_rising_factorials(a: float) -> None:
    for n in (1, 2, 3, 7, 8, 9, 10, 100):
        expected, rounding = float(np.sum(np.log(a + np.arange(n)))), 1e-15 * (1 + abs(gammaln(n + a)))
        assert log_rise(n, a) == pytest.approx(expected, rel=1e-12, abs=rounding)


@pytest.mark.parametrize("a", [9e29, 2e30, 1e200])
def test_products_of_large_numbers_do_not_overflow(a: float) -> None:
    for n in (1, 2, 8):
        assert np.isfinite(log_rise(n, a))
        assert a > 1e30 or log_rise(n, a) == pytest.approx(n * np.log(a), rel=1e-12)


@pytest.mark.parametrize("alpha", [np.full(7, 0.1), np.full(1, 2.0), np.array([0.01, 5.0, 0.3, 0.3, 2.0])])
def test_first_topics_are_where_the_draw_falls(alpha: np.ndarray) -> None:
    corpus = bars(n_docs=40).corpus
    prior = make_prior(alpha, np.full(corpus.n_words, 0.1), corpus.n_docs)
    rng, sums = stream(3, 4), np.cumsum(alpha)
    draws = np.array([uniform(rng) for _ in range(corpus.n_tokens)])
    z = np.empty(corpus.n_tokens, np.uint16)
    draw_from_prior(tokens_of(corpus), prior, sums[None], np.empty(len(alpha)), stream(3, 4), z)
    np.testing.assert_array_equal(z, np.minimum(np.searchsorted(sums, draws * sums[-1], "right"), len(alpha) - 1))
    assert len(set(z.tolist())) == len(alpha)


@pytest.mark.parametrize(
    ("corpus", "form"),
    [(bars(n_docs=80).corpus, State), (oracle.tiny_corpus([[*range(90)], [*range(90, 150)]], 150), SparseState)],
)
def test_auto_starts_in_the_form_that_its_first_sweep_likes(corpus, form: type) -> None:
    """Words that occur once have short lists whatever their topics; those that occur often are in most of them."""
    prior, kernel = make_prior(np.full(200, 0.1), np.full(corpus.n_words, 0.1), corpus.n_docs), get_sampler("auto")
    state = kernel.init(corpus, prior, Key(1, 0, 0))
    assert isinstance(state, form)
    np.testing.assert_array_equal(state.z, first_topics(corpus, prior, Key(1, 0, 0)))
    restored = kernel.restore(corpus, state.z.copy(), 200)
    np.testing.assert_array_equal(state.as_dense().word_topic, restored.as_dense().word_topic)
