"""Each kernel's weights against ratios of an independently written joint, for every token."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import lda as oracle
from topicloom.engine.sampler import Key
from topicloom.engine.state import rebuild_counts
from topicloom.lda.gibbs import get_sampler, joint, sampler_names

EXACT = [name for name in sampler_names() if get_sampler(name).exact]


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_docs=st.integers(1, 5),
    n_words=st.integers(1, 6),
    n_topics=st.sampled_from([1, 2, 5, 40]),
)
def test_weights_are_ratios_of_the_joint(name: str, seed: int, n_docs: int, n_words: int, n_topics: int) -> None:
    case, z = oracle.random_case(seed, n_docs, n_words, n_topics)
    kernel = get_sampler(name)
    state = kernel.restore(case.corpus, z, n_topics)
    for token in range(case.corpus.n_tokens):
        weight = kernel.conditional(case.corpus, state, case.prior, token)
        expected = oracle.conditional(case.corpus, z, case.prior, token)
        np.testing.assert_allclose(weight / weight.sum(), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(state.z, z)
    np.testing.assert_array_equal(state.as_dense().word_topic, rebuild_counts(case.corpus, z, n_topics).word_topic)


@pytest.mark.parametrize("name", sampler_names())
@settings(max_examples=50, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n_topics=st.integers(1, 7))
def test_log_joint_equals_the_definition(name: str, seed: int, n_topics: int) -> None:
    case, z = oracle.random_case(seed, 4, 5, n_topics)
    kernel = get_sampler(name)
    ours = kernel.log_joint(case.corpus, kernel.restore(case.corpus, z, n_topics), case.prior)
    assert ours == pytest.approx(oracle.log_joint(case.corpus, z, case.prior), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", sampler_names())
def test_log_joint_in_parts_is_the_same_on_all_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a large corpus, whose documents and words are added up in parts."""
    monkeypatch.setattr("topicloom.lda.gibbs.joint._AT_ONCE", 7)
    case, z = oracle.random_case(3, 30, 12, 4)
    assert min(map(len, joint.parts_of_sums(case.corpus))) > 3
    kernel = get_sampler(name)
    state = kernel.restore(case.corpus, z, 4)
    found = [kernel.log_joint(case.corpus, state, case.prior, n_jobs) for n_jobs in (1, 2, 3, 8)]
    assert len(set(found)) == 1
    assert found[0] == pytest.approx(oracle.log_joint(case.corpus, z, case.prior), rel=1e-12)


@pytest.mark.parametrize("name", sampler_names())
def test_first_assignments_follow_the_prior(name: str) -> None:
    """z_i = k with probability ∝ α_k, times E[φ_kv] for a seed word: the prior alone decides where a chain starts."""
    case = oracle.cases()["seed word"]
    beta = oracle.beta_matrix(case.prior)
    hits = np.zeros((case.corpus.n_tokens, 2))
    for chain in range(4000):
        z = get_sampler(name).init(case.corpus, case.prior, Key(7, chain, 0)).z
        hits[np.arange(len(z)), z] += 1
    for token, v in enumerate(case.corpus.words):
        mean = case.prior.alpha[0].copy()
        if case.prior.boost_row[v] >= 0:
            mean *= beta[v] / beta.sum(axis=0)
        assert oracle.chi_square(hits[token], mean / mean.sum()) > oracle.FALSE_ALARM
