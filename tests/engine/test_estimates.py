"""Dense estimates against their definition, and the theorem behind them on enumerated corpora."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import lda as oracle
from topicloom.engine.estimates import phi, theta, topic_counts
from topicloom.engine.state import rebuild_counts


def soft_by_definition(case: oracle.Case, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ_j T(z_j = k) by document and by word, each T from ratios of the joint."""
    corpus = case.corpus
    doc = np.zeros((corpus.n_docs, case.n_topics))
    word = np.zeros((corpus.n_words, case.n_topics))
    for token in range(corpus.n_tokens):
        p = oracle.conditional(corpus, z, case.prior, token)
        doc[corpus.token_docs[token]] += p
        word[corpus.words[token]] += p
    return doc, word


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_docs=st.integers(1, 5),
    n_words=st.integers(1, 6),
    n_topics=st.sampled_from([1, 2, 5, 40]),
)
def test_soft_counts_are_sums_of_conditionals(seed: int, n_docs: int, n_words: int, n_topics: int) -> None:
    case, z = oracle.random_case(seed, n_docs, n_words, n_topics)
    counts = topic_counts(case.corpus, rebuild_counts(case.corpus, z, n_topics), case.prior, "cgs_p")
    doc, word = soft_by_definition(case, z)
    np.testing.assert_allclose(counts.doc, doc, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(counts.word, word, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("which", oracle.cases())
def test_soft_and_hard_counts_have_the_same_posterior_mean(which: str) -> None:
    """By stationarity E[Σ T] = E[n] under the posterior (CGS_p eqs. 36 to 38): exact, so to rounding."""
    case = oracle.cases()[which]
    states, p = oracle.posterior(case)
    mean = {"cgs_p": 0.0, "standard": 0.0}
    for z, weight in zip(states, p, strict=True):
        state = rebuild_counts(case.corpus, z, case.n_topics)
        for estimator in mean:
            counts = topic_counts(case.corpus, state, case.prior, estimator)
            mean[estimator] = mean[estimator] + weight * np.concatenate((counts.doc, counts.word))
    np.testing.assert_allclose(mean["cgs_p"], mean["standard"], rtol=1e-10)


def test_standard_estimates_are_the_printed_formulas() -> None:
    """CGS_p eqs. 2 and 3."""
    case, z = oracle.random_case(5, 4, 5, 3)
    corpus, prior = case
    counts = topic_counts(corpus, rebuild_counts(corpus, z, 3), prior, "standard")
    beta = oracle.beta_matrix(prior)
    for d in range(corpus.n_docs):
        own = z[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]
        a = prior.alpha[prior.alpha_row[d]]
        for k in range(3):
            expected = (np.sum(own == k) + a[k]) / (len(own) + a.sum())
            assert theta(counts.doc, 1, corpus, prior)[d, k] == pytest.approx(expected, rel=1e-13)
    for k in range(3):
        n = np.array([np.sum((corpus.words == v) & (z == k)) for v in range(corpus.n_words)])
        expected = (n + beta[:, k]) / (n.sum() + beta[:, k].sum())
        np.testing.assert_allclose(phi(counts.word, 1, prior)[:, k], expected, rtol=1e-13)


@pytest.mark.parametrize("n_jobs", [2, 3, 8])
def test_threads_change_nothing(n_jobs: int) -> None:
    case, z = oracle.random_case(8, 5, 6, 5)
    state = rebuild_counts(case.corpus, z, 5)
    one = topic_counts(case.corpus, state, case.prior, "cgs_p")
    many = topic_counts(case.corpus, state, case.prior, "cgs_p", n_jobs=n_jobs)
    np.testing.assert_array_equal(one.doc, many.doc)
    np.testing.assert_array_equal(one.word, many.word)
    np.testing.assert_array_equal(
        one.word, topic_counts(case.corpus, state, case.prior, "cgs_p", docs=False, n_jobs=n_jobs).word
    )


def test_sums_over_samples_are_averages() -> None:
    case, z = oracle.random_case(9, 4, 5, 3)
    states = [rebuild_counts(case.corpus, (z + shift) % 3, 3) for shift in range(3)]
    parts = [topic_counts(case.corpus, state, case.prior, "standard") for state in states]
    total = parts[0] + parts[1] + parts[2]
    expected = np.mean([part.doc for part in parts], axis=0)
    np.testing.assert_allclose(total.doc / total.n_samples, expected, rtol=1e-13)
    assert total.n_samples == 3
