"""The sampler restricted to documents' labels: against the joint, by enumeration, and LDA where all are allowed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import lda as oracle
from topicloom.engine.estimator.label_sets import LabelSets
from topicloom.engine.prior import make_prior
from topicloom.engine.run import Plan, run_chains, start_chain
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.state import rebuild_counts
from topicloom.labeled import sampler as labeled
from topicloom.labeled.cvb0 import SoftLabeledState
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.variational import batch as variational
from topicloom.lda.variational.state import pair_index


def label_sets(sets: list[list[int]], n_labels: int) -> LabelSets:
    ptr = np.concatenate(([0], np.cumsum([len(s) for s in sets])))
    return LabelSets(ptr, np.array([k for s in sets for k in s], np.int32), n_labels)


def all_labels(n_docs: int, n_labels: int) -> LabelSets:
    return label_sets([list(range(n_labels))] * n_docs, n_labels)


def random_case(seed: int) -> tuple[oracle.Case, LabelSets, np.ndarray]:
    rng = np.random.default_rng(seed)
    n_docs, n_labels, n_words = int(rng.integers(1, 5)), int(rng.integers(1, 7)), 4
    docs = [rng.integers(0, n_words, rng.integers(0, 7)).tolist() for _ in range(n_docs)]
    docs[0] = docs[0] or [0, 1]
    sets = [sorted(rng.choice(n_labels, rng.integers(1, n_labels + 1), replace=False).tolist()) for _ in docs]
    prior = make_prior(
        rng.uniform(0.05, 2, (2, n_labels)), rng.uniform(0.05, 1, n_words), n_docs, alpha_row=rng.integers(0, 2, n_docs)
    )
    z = np.array([rng.choice(sets[d]) for d, doc in enumerate(docs) for _ in doc])
    return oracle.Case(oracle.tiny_corpus(docs, n_words), prior), label_sets(sets, n_labels), z


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_weights_and_joint_are_those_of_the_model(seed: int) -> None:
    case, sets, z = random_case(seed)
    kernel = labeled.gibbs(sets)
    state = kernel.restore(case.corpus, z, case.n_topics)
    for token in range(case.corpus.n_tokens):
        weight = kernel.conditional(case.corpus, state, case.prior, token)
        expected = oracle.labeled_conditional(case.corpus, z, case.prior, oracle.label_lists(sets), token)
        np.testing.assert_allclose(weight / weight.sum(), expected, rtol=1e-12, atol=1e-15)
    ours = kernel.log_joint(case.corpus, state, case.prior)
    assert ours == pytest.approx(
        oracle.labeled_log_joint(case.corpus, z, case.prior, oracle.label_lists(sets)), rel=1e-12, abs=1e-12
    )


@pytest.mark.parametrize("which", oracle.labeled_cases())
def test_posterior_is_invariant(which: str) -> None:
    case, sets = oracle.labeled_cases()[which]
    kernel = labeled.gibbs(label_sets(sets, case.n_topics))

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state = kernel.restore(case.corpus, z, case.n_topics)
        for t in range(2):
            state, _ = kernel.sweep(case.corpus, state, case.prior, Key(41, replicate, t), Schedule())
        return state.z

    p = oracle.labeled_invariance(case, sets, sweep, 12_000, seed=42)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


def test_first_labels_follow_the_prior() -> None:
    case, sets = oracle.labeled_cases()["three labels"]
    kernel = labeled.gibbs(label_sets(sets, case.n_topics))
    hits = np.zeros((case.corpus.n_tokens, case.n_topics))
    for chain in range(4000):
        z = kernel.init(case.corpus, case.prior, Key(7, chain, 0)).z
        hits[np.arange(len(z)), z] += 1
    for token, d in enumerate(case.corpus.token_docs):
        a = case.prior.alpha[case.prior.alpha_row[d]]
        own = sets[d]
        assert hits[token, own].sum() == 4000
        if len(own) > 1:
            assert oracle.chi_square(hits[token, own], a[own] / a[own].sum()) > oracle.FALSE_ALARM


def larger(n_labels: int, seed: int = 3):
    rng = np.random.default_rng(seed)
    docs = [rng.integers(0, 30, rng.integers(0, 25)).tolist() for _ in range(40)]
    corpus = oracle.tiny_corpus(docs, 30)
    return corpus, make_prior(rng.uniform(0.1, 1, n_labels), rng.uniform(0.05, 0.5, 30), 40)


@pytest.mark.parametrize("n_labels", [2, 7, 40, 300])
def test_all_labels_allowed_is_lda_bit_for_bit(n_labels: int) -> None:
    corpus, prior = larger(n_labels)
    restricted, full = labeled.gibbs(all_labels(40, n_labels)), get_sampler("dense")
    for estimator in ("standard", "cgs_p"):
        plan = Plan(seed=5, max_iter=12, burn_in=4, thin=2, estimator=estimator, trace_every=3)
        one, two = (start_chain(kernel, corpus, prior, 5, 1) for kernel in (restricted, full))
        run_chains(restricted, corpus, [one], plan)
        run_chains(full, corpus, [two], plan)
        np.testing.assert_array_equal(one.state.z, two.state.z)
        np.testing.assert_array_equal(one.kept.word, two.kept.word)
        np.testing.assert_array_equal(one.kept.doc.reshape(40, n_labels), two.kept.doc)
        assert one.trace.changed == two.trace.changed
        np.testing.assert_allclose(one.trace.log_joint, two.trace.log_joint, rtol=1e-14)


@pytest.mark.parametrize("n_labels", [2, 7, 40])
def test_cvb0_with_all_labels_is_that_of_lda(n_labels: int) -> None:
    corpus, prior = larger(n_labels)
    kernel = labeled.cvb0(all_labels(40, n_labels), corpus, prior)
    index = pair_index(corpus)
    soft = kernel.init(corpus, prior, Key(5, 1, 0))
    full = variational.start(index, "cvb0", prior, 5, 1)
    np.testing.assert_array_equal(soft.z.reshape(-1, n_labels), full.gamma)
    soft, _ = kernel.sweep(corpus, soft, prior, Key(5, 1, 1), Schedule())
    full, _ = variational.iterate(index, full, "cvb0", prior, variational.Work())
    np.testing.assert_array_equal(soft.z.reshape(-1, n_labels), full.gamma)  # one pass: the same bits
    for _ in range(10):
        soft, _ = kernel.sweep(corpus, soft, prior, Key(5, 1, 1), Schedule())
        full, _ = variational.iterate(index, full, "cvb0", prior, variational.Work())
    # Ours makes its counts anew from γ after each pass, LDA's go on from the last one: rounding of γ's 24 bits.
    np.testing.assert_allclose(soft.z.reshape(-1, n_labels), full.gamma, atol=1e-5)


def test_cvb0_is_at_the_fixed_point_of_its_equation() -> None:
    """γ ∝ (n_dk + α)(n_kv + β)/(n_k + Σβ) without one token of the pair, over the document's labels (CGS_p eq. 6)."""
    case, sets, _ = random_case(17)
    corpus, prior = case.corpus, case.prior
    kernel = labeled.cvb0(sets, corpus, prior)
    state = kernel.init(corpus, prior, Key(1, 0, 0))
    for t in range(400):
        state, _ = kernel.sweep(corpus, state, prior, Key(1, 0, t), Schedule())
    assert isinstance(state, SoftLabeledState)
    at = 0
    pairs, lists = corpus.pairs, oracle.label_lists(sets)
    docs = np.repeat(np.arange(corpus.n_docs), np.diff(pairs.ptr))
    gammas = []
    for d in docs:
        gammas.append(dict(zip(lists[d], state.z[at : at + len(lists[d])].astype(float), strict=True)))
        at += len(lists[d])
    assert at == len(state.z)
    for i, d in enumerate(docs):
        weight = {}
        for k in lists[d]:
            doc = word = topic = -gammas[i][k]
            for other, e in enumerate(docs):
                g = gammas[other].get(k, 0.0) * pairs.count[other]
                topic += g
                doc += g * (e == d)
                word += g * (pairs.word[other] == pairs.word[i])
            v = pairs.word[i]
            weight[k] = (doc + prior.alpha[prior.alpha_row[d], k]) * (word + prior.beta[v]) / (topic + prior.beta.sum())
        total = sum(weight.values())
        for k in lists[d]:
            assert gammas[i][k] == pytest.approx(weight[k] / total, abs=2e-6)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_soft_counts_are_sums_of_conditionals(seed: int) -> None:
    case, sets, z = random_case(seed)
    kernel = labeled.gibbs(sets)
    counts = kernel.topic_counts(case.corpus, kernel.restore(case.corpus, z, case.n_topics), case.prior, "cgs_p")
    doc, word = np.zeros((case.corpus.n_docs, case.n_topics)), np.zeros((case.corpus.n_words, case.n_topics))
    for token in range(case.corpus.n_tokens):
        p = oracle.labeled_conditional(case.corpus, z, case.prior, oracle.label_lists(sets), token)
        doc[case.corpus.token_docs[token]] += p
        word[case.corpus.words[token]] += p
    docs = np.repeat(np.arange(sets.n_docs), sets.sizes)
    np.testing.assert_allclose(counts.doc, doc[docs, sets.label], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(counts.word, word, rtol=1e-11, atol=1e-13)


def test_counts_are_those_of_the_assignments_and_stay_within_the_labels() -> None:
    case, sets, z = random_case(23)
    kernel = labeled.gibbs(sets)
    state = kernel.restore(case.corpus, z, case.n_topics)
    lists = oracle.label_lists(sets)
    for t in range(5):
        state, _ = kernel.sweep(case.corpus, state, case.prior, Key(2, 0, t), Schedule())
        expected = rebuild_counts(case.corpus, state.z, case.n_topics)
        np.testing.assert_array_equal(state.word_topic, expected.word_topic)
        np.testing.assert_array_equal(state.topic, expected.topic)
        assert all(k in lists[d] for k, d in zip(state.z, case.corpus.token_docs, strict=True))
