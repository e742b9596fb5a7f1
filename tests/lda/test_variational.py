"""Every variational update and bound against definitions, and against the listed posterior."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special as scipy_special

from tests.oracles import lda as oracle
from tests.oracles import variational as slow
from topicloom.corpus import from_matrix
from topicloom.lda.variational import batch as v
from topicloom.lda.variational import exact
from topicloom.lda.variational.state import pair_index
from topicloom.numerics import special
from topicloom.numerics.jit import kernel

FLOAT32 = 3e-7  # γ is stored in 24 bits


@kernel
def _apply(which: int, x: np.ndarray, out: np.ndarray) -> None:
    for i in range(x.shape[0]):
        if which == 0:
            out[i] = special.exp(x[i])
        elif which == 1:
            out[i] = special.log(x[i])
        elif which == 2:
            out[i] = special.digamma(x[i])
        else:
            out[i] = special.trigamma(x[i])


@pytest.mark.parametrize(
    ("which", "x", "expected"),
    [
        (0, np.linspace(-700, 700, 5001), np.exp),
        (1, np.exp(np.linspace(-600, 600, 5001)), np.log),
        (2, np.exp(np.linspace(-14, 16, 5001)), scipy_special.digamma),
        (3, np.exp(np.linspace(-14, 16, 5001)), lambda x: scipy_special.polygamma(1, x)),
    ],
    ids=["exp", "log", "digamma", "trigamma"],
)
def test_special_functions(which: int, x: np.ndarray, expected) -> None:
    out = np.empty_like(x)
    _apply(which, x, out)
    # digamma and log cross zero: there the absolute error counts.
    np.testing.assert_allclose(out, expected(x), rtol=2e-14, atol=0 if which in (0, 3) else 1e-14)


# -- collapsed updates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["cvb0", "cvb", "cvb_exact"])
@pytest.mark.parametrize("n_topics", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_sweep_is_the_definition_of_each_update(mode: v.Mode, n_topics: int, seed: int) -> None:
    case = slow.small_case(seed, n_topics)
    index = pair_index(case.corpus)
    assert index.count.max() > 1 or seed  # a repeated word in a document: one token is left out, not all
    state = v.start(index, mode, case.prior, seed, 0)
    expected = slow.collapsed_sweep(case.corpus, state.gamma, case.prior, mode)
    before = state.gamma.astype(float)
    state, moved = v.iterate(index, state, mode, case.prior, v.Work())
    np.testing.assert_allclose(state.gamma, expected, rtol=0, atol=1e-12 if mode == "cvb_exact" else FLOAT32)
    share = (index.count[:, None] * np.abs(expected - before)).sum() / (2 * case.corpus.n_tokens)
    assert moved == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize("mode", ["cvb0", "cvb", "cvb_exact"])
@pytest.mark.parametrize("shards", [1, 3])
def test_counts_stay_the_sums_of_gamma(mode: v.Mode, shards: int) -> None:
    case, _ = oracle.random_case(5, 12, 9, 4)
    case = oracle.Case(case.corpus, case.prior._replace(alpha=case.prior.alpha[:1]))
    index = pair_index(case.corpus)
    state = v.start(index, mode, case.prior, 1, 0)
    for _ in range(30):
        state, _ = v.iterate(index, state, mode, case.prior, v.Work(n_shards=shards))
    gamma = state.gamma.astype(float)
    doc = np.array([case.prior.alpha[0] + (index.count[index.doc == d, None] * gamma[index.doc == d]).sum(axis=0)
                    for d in range(case.corpus.n_docs)])  # fmt: skip
    np.testing.assert_allclose(state.doc, doc, rtol=1e-10)
    beta = oracle.beta_matrix(case.prior)
    word = np.array([beta[w] + (index.count[index.word == w, None] * gamma[index.word == w]).sum(axis=0)
                     for w in range(case.corpus.n_words)])  # fmt: skip
    np.testing.assert_allclose(state.word, word, rtol=1e-10)
    np.testing.assert_allclose(state.topic, word.sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(gamma.sum(axis=1), 1, atol=1e-5)
    if mode == "cvb":
        var = (index.count[:, None] * gamma * (1 - gamma)).sum(axis=0)
        np.testing.assert_allclose(state.topic_var, var, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(state.doc_var.sum(axis=0), var, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(state.word_var.sum(axis=0), var, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "probabilities", [[0.5] * 12, [0.0, 1.0, 0.3, 1.0, 0.0], [0.4999, 0.5001, 0.9, 0.02, 0.5], [1.0]]
)
def test_deconvolution_undoes_convolution(probabilities: list[float]) -> None:
    n = len(probabilities)
    whole = np.zeros(n + 1)
    whole[0] = 1
    for size, p in enumerate(probabilities):
        exact.convolve(whole, size, p)
    np.testing.assert_allclose(whole, slow.poisson_binomial(np.array(probabilities)), atol=1e-15)
    for i, p in enumerate(probabilities):
        out = np.empty(n)
        assert exact.deconvolve(whole, n, p, out) < 1e-12
        rest = slow.poisson_binomial(np.delete(np.array(probabilities), i))
        np.testing.assert_allclose(out, rest, atol=1e-13)


def test_a_deconvolution_that_lost_its_digits_is_seen() -> None:
    """A thousand tokens at ½: the sum gives the loss away, and the sweep convolves afresh."""
    rng = np.random.default_rng(0)
    p = np.concatenate((rng.uniform(0, 1e-3, 1500), [0.5 + 1e-9]))
    whole = np.zeros(len(p) + 1)
    whole[0] = 1
    for size, gamma in enumerate(p):
        exact.convolve(whole, size, gamma)
    whole[3] += 1e-6  # an error as rounding would leave it, only larger
    out = np.empty(len(p))
    assert exact.deconvolve(whole, len(p), p[-1], out) > 1e-10


# -- bounds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_their_definitions(seed: int) -> None:
    case = slow.small_case(seed)
    corpus, prior = case.corpus, case.prior
    index = pair_index(corpus)
    state = v.start(index, "cvb_exact", prior, seed, 0)
    state, _ = v.iterate(index, state, "cvb_exact", prior, v.Work())
    tokens = state.gamma[slow.token_pairs(corpus)]
    assert v.bound(index, state, "cvb_exact", prior) == pytest.approx(
        slow.collapsed_bound(corpus, tokens, prior), abs=1e-9
    )
    state = v.start(index, "vb", prior, seed, 0)
    state, _ = v.iterate(index, state, "vb", prior, v.Work())
    gamma = slow.vb_gamma(corpus, state.doc, state.word)
    expected = slow.vb_bound(corpus, gamma, state.doc, state.word, prior)
    assert v.bound(index, state, "vb", prior) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_second_order_bound_is_near_the_exact_one(seed: int) -> None:
    """Their difference, per token, on corpora of about 60 tokens; it is reported in docs/guide/variational.md."""
    rng = np.random.default_rng(seed)
    corpus = oracle.tiny_corpus([rng.integers(0, 6, 15).tolist() for _ in range(4)], 6)
    prior = oracle.make_prior(np.full(3, 0.5), np.full(6, 0.5), 4)
    index = pair_index(corpus)
    state = v.start(index, "cvb", prior, seed, 0)
    for _ in range(50):
        state, _ = v.iterate(index, state, "cvb", prior, v.Work())
    exactly = v.bound_exact(index, state.gamma, prior) / corpus.n_tokens
    second = v.bound_second_order(index, state, prior) / corpus.n_tokens
    with_zero = v.bound(index, state, "cvb", prior) / corpus.n_tokens
    assert abs(second - exactly) < 0.02
    assert abs(with_zero - exactly) < 2e-3


@pytest.mark.parametrize("mode", ["cvb", "cvb0"])
def test_the_case_of_no_token_is_taken_exactly(mode: v.Mode) -> None:
    """With small priors the plain expansion is far off where counts are most likely 0; the bound in use is not."""
    rng = np.random.default_rng(3)
    corpus = oracle.tiny_corpus([rng.integers(0, 30, 10).tolist() for _ in range(6)], 30)
    prior = oracle.make_prior(np.full(4, 0.05), np.full(30, 0.05), 6)
    index = pair_index(corpus)
    state = v.start(index, mode, prior, 0, 0)
    for _ in range(3):
        exactly = v.bound_exact(index, state.gamma, prior) / corpus.n_tokens
        plain = abs(v.bound_second_order(index, state, prior) / corpus.n_tokens - exactly)
        with_zero = abs(v.bound(index, state, mode, prior) / corpus.n_tokens - exactly)
        assert plain > 0.05
        assert with_zero < plain / 10
        state, _ = v.iterate(index, state, mode, prior, v.Work())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    counts=st.lists(st.tuples(*[st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.35, 7.5])] * 4), min_size=1, max_size=5),
    n_topics=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    alpha=st.floats(0.01, 3),
    beta=st.floats(0.01, 3),
    learn=st.booleans(),
)
def test_vb_bound_never_falls(counts, n_topics: int, seed: int, alpha: float, beta: float, learn: bool) -> None:
    """After every update: a single round of the documents, the topics, and the priors where they are learned."""
    from topicloom.lda.variational.priors import learn_priors

    matrix = np.array(counts)
    matrix[0, 0] += 1.0
    corpus = from_matrix(matrix)
    prior = oracle.make_prior(np.full(n_topics, alpha), np.full(4, beta), corpus.n_docs)
    index = pair_index(corpus)
    state = v.start(index, "vb", prior, seed, 0)
    last = -np.inf
    for _ in range(15):
        topics = v.exp_topics(state.word, 1)
        for _ in range(3):
            v.fit_documents(index, topics, prior.alpha[0], False, v.Work(doc_rounds=1), state.doc)
            last = _risen(v.bound(index, state, "vb", prior), last)
        for fresh in (True, False):
            state, _ = v.iterate(index, state, "vb", prior, v.Work(doc_rounds=3, fresh=fresh))
            last = _risen(v.bound(index, state, "vb", prior), last)
        if learn:
            state, prior, _ = learn_priors(index, state, "vb", prior, alpha=True, beta=True)
            last = _risen(v.bound(index, state, "vb", prior), last)


def _risen(now: float, last: float) -> float:
    assert now >= last - 1e-10 * max(1.0, abs(now))
    return now


# -- against the posterior -----------------------------------------------------------------------------------------


def converged(case: oracle.Case, mode: v.Mode, seed: int, iterations: int = 300) -> v.VariationalState:
    index = pair_index(case.corpus)
    state = v.start(index, mode, case.prior, seed, 0)
    for _ in range(iterations):
        state, moved = v.iterate(index, state, mode, case.prior, v.Work(doc_tol=1e-9, doc_rounds=1000))
        if moved < 1e-10:
            break
    return state


@pytest.mark.parametrize("seed", range(8))
def test_collapsed_is_closer_to_the_posterior_than_vb(seed: int) -> None:
    """Eq. 13: bound(VB) ≤ bound(CVB) ≤ log p(x), from the same q(z) and each at its own best."""
    case = slow.small_case(seed)
    corpus, prior = case.corpus, case.prior
    index = pair_index(corpus)
    evidence = slow.log_evidence(case)
    pair = slow.token_pairs(corpus)
    best = {}
    for mode in ("vb", "cvb", "cvb_exact"):
        states = [converged(case, mode, chain) for chain in range(4)]
        if mode == "vb":
            values = []
            for state in states:
                value = v.bound(index, state, "vb", prior)
                gamma = slow.vb_gamma(corpus, state.doc, state.word)
                first = [int(np.flatnonzero(pair == i)[0]) for i in range(len(index.word))]
                assert v.bound_exact(index, gamma[first], prior) > value  # the same q(z), the parameters exact
                values.append(value)
        else:
            values = [v.bound_exact(index, state.gamma, prior) for state in states]
        best[mode] = max(values)
        assert best[mode] <= evidence + 1e-9
    assert best["vb"] < best["cvb"]
    assert best["vb"] < best["cvb_exact"]
    assert best["cvb"] <= best["cvb_exact"] + 1e-6  # the exact update climbs the exact bound


@pytest.mark.parametrize("seed", range(3))
def test_exact_updates_never_lower_the_exact_bound_of_single_words(seed: int) -> None:
    """With every word once in a document a pair is a token, and eq. 15 is coordinate ascent on eq. 12."""
    rng = np.random.default_rng(seed)
    corpus = oracle.tiny_corpus([rng.permutation(5)[:4].tolist() for _ in range(4)], 5)
    prior = oracle.make_prior(rng.uniform(0.1, 1, 3), rng.uniform(0.1, 1, 5), 4)
    index = pair_index(corpus)
    state = v.start(index, "cvb_exact", prior, seed, 0)
    last = -np.inf
    for _ in range(20):
        state, _ = v.iterate(index, state, "cvb_exact", prior, v.Work())
        last = _risen(v.bound(index, state, "cvb_exact", prior), last)


def two_topic_case(seed: int, prior: float) -> oracle.Case:
    """300 tokens of two topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(12, 0.15), 2)
    docs = [rng.choice(12, 25, p=rng.dirichlet(np.full(2, 0.5)) @ topics).tolist() for _ in range(12)]
    return oracle.Case(oracle.tiny_corpus(docs, 12), oracle.make_prior(np.full(2, prior), np.full(12, prior), 12))


def token_difference(index: v.PairIndex, one: np.ndarray, other: np.ndarray) -> float:
    """How far a token's two distributions are apart, on average over tokens."""
    return float(index.count @ np.abs(one - other).sum(axis=1) / (2 * index.count.sum()))


@pytest.mark.parametrize("prior", [0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_gaussian_ends_near_the_exact_form(seed: int, prior: float) -> None:
    """Both forms from the same start to where they stay: within 1e-2 a token (the worst token may be further off)."""
    case = two_topic_case(seed, prior)
    gaussian, exactly = (converged(case, mode, 1, 150).gamma for mode in ("cvb", "cvb_exact"))
    assert token_difference(pair_index(case.corpus), gaussian, exactly) < 1e-2
    assert np.abs(gaussian - exactly).max() < (0.1 if prior < 1 else 0.02)


@pytest.mark.parametrize("prior", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_gaussian_step_is_near_the_exact_one(seed: int, prior: float) -> None:
    """One iteration of each from the exact form's end, where small priors would otherwise choose other optima."""
    case = two_topic_case(seed, prior)
    index = pair_index(case.corpus)
    exactly = converged(case, "cvb_exact", 1, 150).gamma
    state = v.from_gamma(index, exactly.astype(np.float32), "cvb", case.prior)
    state, _ = v.iterate(index, state, "cvb", case.prior, v.Work())
    assert token_difference(index, state.gamma, exactly) < 5e-3
