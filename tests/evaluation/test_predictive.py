"""Completion perplexity, the plug-in likelihood and left-to-right against slow computations, limits and invariances."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicloom.corpus import Corpus, hold_out_tokens, split_halves
from topicloom.engine.fold_in import fold_in_corpus
from topicloom.errors import InputError
from topicloom.evaluation import (
    completion_perplexities,
    completion_perplexity,
    completion_scores,
    left_to_right,
    log_likelihood,
)
from topicloom.evaluation.predictive import Estimator

N_WORDS = 12
ALPHA = np.array([0.1, 0.5, 1.2])


def make_corpus(lengths: list[int], seed: int = 0, ordered: bool = True) -> Corpus:
    words = np.random.default_rng(seed).integers(0, N_WORDS, sum(lengths)).astype(np.int32)
    vocabulary = tuple(f"w{v}" for v in range(N_WORDS))
    return Corpus(words=words, doc_ptr=np.cumsum([0, *lengths]), vocabulary=vocabulary, ordered=ordered)


def make_topics(n_topics: int = 3, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(N_WORDS, 0.4), n_topics)


def slow_log_likelihood(topics: np.ndarray, theta: np.ndarray, corpus: Corpus) -> float:
    total = 0.0
    for d in range(corpus.n_docs):
        for i in range(corpus.doc_ptr[d], corpus.doc_ptr[d + 1]):
            p = sum(topics[k, corpus.words[i]] * theta[d, k] for k in range(len(topics)))
            total += (1.0 if corpus.weights is None else corpus.weights[i]) * np.log(p)
    return total


CORPUS = make_corpus([9, 0, 1, 14, 2, 30])
TOPICS = make_topics()


# -- log_likelihood --------------------------------------------------------------------------------------------


def test_log_likelihood_equals_the_slow_sum() -> None:
    theta = np.random.default_rng(3).dirichlet(ALPHA, CORPUS.n_docs)
    want = slow_log_likelihood(TOPICS, theta, CORPUS)
    assert log_likelihood(TOPICS, theta, CORPUS) == pytest.approx(want, rel=1e-13)


def test_log_likelihood_weighs_its_terms() -> None:
    theta = np.random.default_rng(3).dirichlet(ALPHA, CORPUS.n_docs)
    weights = np.random.default_rng(4).gamma(1.0, size=CORPUS.n_tokens)
    weighted = Corpus(words=CORPUS.words, doc_ptr=CORPUS.doc_ptr, vocabulary=CORPUS.vocabulary, weights=weights)
    want = slow_log_likelihood(TOPICS, theta, weighted)
    assert log_likelihood(TOPICS, theta, weighted) == pytest.approx(want, rel=1e-13)


def test_a_word_without_probability_gives_minus_infinity() -> None:
    topics = TOPICS.copy()
    topics[:, CORPUS.words[0]] = 0
    topics /= topics.sum(axis=1, keepdims=True)
    theta = np.tile(ALPHA / ALPHA.sum(), (CORPUS.n_docs, 1))
    assert log_likelihood(topics, theta, CORPUS) == -np.inf
    # Weight 0 is no token: 0 · log 0 is 0.
    absent = Corpus(
        words=CORPUS.words,
        doc_ptr=CORPUS.doc_ptr,
        vocabulary=CORPUS.vocabulary,
        weights=(CORPUS.words != CORPUS.words[0]).astype(float),
    )
    assert np.isfinite(log_likelihood(topics, theta, absent))


# -- completion ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["standard", "cgs_p"])
@pytest.mark.parametrize("ordered", [True, False])
def test_completion_equals_the_slow_computation(estimator: Estimator, ordered: bool) -> None:
    corpus = make_corpus([9, 0, 1, 14, 2, 30], ordered=ordered)
    options: dict[str, Any] = {"burn_in": 7, "thin": 2, "n_samples": 3, "n_chains": 2, "seed": 11}
    observed, held_out = split_halves(corpus)
    folded = fold_in_corpus(observed, np.ascontiguousarray(TOPICS.T), ALPHA, **options)
    counts = folded.hard if estimator == "standard" else folded.soft
    assert counts is not None
    theta = (counts + ALPHA) / (observed.doc_lengths[:, None] + ALPHA.sum())
    want = np.exp(-slow_log_likelihood(TOPICS, theta, held_out) / held_out.n_tokens)
    got = completion_perplexity(TOPICS, ALPHA, corpus, estimator=estimator, **options)
    assert got == pytest.approx(want, rel=1e-13)
    assert held_out.n_tokens == 4 + 0 + 0 + 7 + 1 + 15  # the odd token is observed


def test_completion_with_one_topic_needs_no_sampling() -> None:
    topics = make_topics(1)
    _, held_out = split_halves(CORPUS)
    want = np.exp(-np.log(topics[0, held_out.words]).mean())
    for estimator in ("standard", "cgs_p"):
        got = completion_perplexity(topics, np.array([0.7]), CORPUS, estimator=estimator)
        assert got == pytest.approx(want, rel=1e-13)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=5).filter(lambda lengths: max(lengths) > 1),
    st.lists(st.floats(0.01, 5.0), min_size=1, max_size=4),
    st.sampled_from(["standard", "cgs_p"]),
)
def test_uniform_topics_have_the_vocabulary_as_perplexity(
    lengths: list[int], alpha: list[float], estimator: Estimator
) -> None:
    topics = np.full((len(alpha), N_WORDS), 1 / N_WORDS)
    got = completion_perplexity(topics, np.array(alpha), make_corpus(lengths), estimator=estimator, burn_in=2)
    assert got == pytest.approx(N_WORDS, rel=1e-13)


def test_completion_table_equals_its_entries() -> None:
    other = make_topics(seed=2)
    options: dict[str, Any] = {"burn_in": 6, "n_samples": 2, "seed": 5}
    table = completion_perplexities(TOPICS, other, ALPHA, CORPUS, **options)
    want = {
        (phi, theta): completion_perplexity(topics, ALPHA, CORPUS, estimator=theta, **options)
        for phi, topics in (("standard", TOPICS), ("cgs_p", other))
        for theta in ("standard", "cgs_p")
    }
    assert table == want
    assert len(set(table.values())) == 4


def test_completion_does_not_depend_on_threads_and_does_on_the_seed() -> None:
    corpus = make_corpus(list(range(40)), seed=9)
    alone = completion_perplexity(TOPICS, ALPHA, corpus, n_jobs=1)
    assert completion_perplexity(TOPICS, ALPHA, corpus, n_jobs=2) == alone
    assert completion_perplexity(TOPICS, ALPHA, corpus, n_jobs=-1) == alone
    assert completion_perplexity(TOPICS, ALPHA, corpus, seed=1) != alone


def test_completion_takes_other_splits() -> None:
    corpus = make_corpus([20, 30, 10])
    pair = hold_out_tokens(corpus, share=0.3, seed=4)
    by_pair = completion_perplexity(TOPICS, ALPHA, corpus, split=pair)
    by_function = completion_perplexity(TOPICS, ALPHA, corpus, split=partial(hold_out_tokens, share=0.3, seed=4))
    assert by_pair == by_function
    assert by_pair != completion_perplexity(TOPICS, ALPHA, corpus)


def test_nothing_observed_leaves_the_prior_mean() -> None:
    corpus = make_corpus([5, 8])
    nothing = corpus.keep_tokens(np.zeros(corpus.n_tokens, bool))
    got = completion_perplexity(TOPICS, ALPHA, corpus, split=(nothing, corpus))
    want = np.exp(-np.log(ALPHA / ALPHA.sum() @ TOPICS[:, corpus.words]).mean())
    assert got == pytest.approx(want, rel=1e-13)


def test_good_topics_predict_better_than_shuffled_ones() -> None:
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(ALPHA, 50)
    words = np.array([rng.choice(N_WORDS, p=row @ TOPICS) for row in theta for _ in range(40)])
    corpus = Corpus(words=words, doc_ptr=np.arange(0, 2001, 40), vocabulary=CORPUS.vocabulary, ordered=True)
    shuffled = rng.permuted(TOPICS, axis=1)
    for score in (
        lambda topics: completion_perplexity(topics, ALPHA, corpus),
        lambda topics: -left_to_right(topics, ALPHA, corpus, n_particles=5).sum(),
    ):
        assert score(TOPICS) < score(shuffled)


# -- left to right (its mean is tested against enumeration elsewhere) ------------------------------------------


def test_one_topic_is_exact() -> None:
    topics = make_topics(1)
    got = left_to_right(topics, np.array([0.3]), CORPUS, n_particles=3)
    bounds = zip(CORPUS.doc_ptr[:-1], CORPUS.doc_ptr[1:], strict=True)
    want = [np.log(topics[0, CORPUS.words[a:b]]).sum() for a, b in bounds]
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert got[1] == 0.0  # an empty document is certain


@pytest.mark.parametrize("resample", [True, False])
def test_a_value_depends_on_the_document_alone(resample: bool) -> None:
    run = partial(left_to_right, TOPICS, ALPHA, n_particles=4, resample=resample)
    values = run(CORPUS)
    assert np.all(np.isfinite(values))
    np.testing.assert_array_equal(run(CORPUS.select([5, 3, 3, 0])), values[[5, 3, 3, 0]])
    np.testing.assert_array_equal(run(CORPUS, n_jobs=2), values)
    np.testing.assert_array_equal(run(CORPUS, n_jobs=-1), values)
    rng = np.random.default_rng(0)
    bounds = zip(CORPUS.doc_ptr[:-1], CORPUS.doc_ptr[1:], strict=True)
    mixed = np.concatenate([rng.permutation(CORPUS.words[a:b].copy()) for a, b in bounds])
    shuffled = Corpus(words=mixed, doc_ptr=CORPUS.doc_ptr, vocabulary=CORPUS.vocabulary)
    np.testing.assert_array_equal(run(shuffled), values)
    other = run(CORPUS, seed=1)
    assert np.all(other[[0, 3, 5]] != values[[0, 3, 5]])


def test_different_documents_have_different_streams() -> None:
    # The same words but for one of no consequence: with a shared stream the estimates would agree.
    topics = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1]])
    corpus = Corpus(words=[0, 0, 1, 1, 2, 0, 0, 1, 1, 3], doc_ptr=[0, 5, 10], vocabulary=tuple("abcd"))
    first, second = left_to_right(topics, np.array([0.2, 0.3]), corpus, n_particles=2)
    assert first != second


def test_a_word_that_no_topic_has() -> None:
    topics = np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.0]])
    corpus = Corpus(words=[0, 1, 0, 2, 1], doc_ptr=[0, 2, 5], vocabulary=("a", "b", "c"))
    values = left_to_right(topics, np.array([1.0, 2.0]), corpus)
    assert np.isfinite(values[0])
    assert values[1] == -np.inf


# -- bad input -------------------------------------------------------------------------------------------------

BAD_TOPICS = [
    (np.ones((3, N_WORDS)), "topic 0 sums to 12"),
    (np.full((3, N_WORDS), np.nan), "topic 0 has nan in column 0"),
    (np.eye(3, N_WORDS) * 2 - np.eye(3, N_WORDS, 1), "topic 0 has -1.0 in column 1"),
    (np.eye(3), "topics has 3 columns but the corpus has a vocabulary of 12 words"),
]


@pytest.mark.parametrize(("topics", "message"), BAD_TOPICS)
def test_bad_topics_are_named(topics: np.ndarray, message: str) -> None:
    for function in (completion_perplexity, left_to_right):
        with pytest.raises(InputError, match=message):
            function(topics, ALPHA, CORPUS)
    with pytest.raises(InputError, match=message):
        log_likelihood(topics, np.eye(CORPUS.n_docs, 3), CORPUS)
    with pytest.raises(InputError, match=message.replace("topics has", "phi_p has")):
        completion_perplexities(TOPICS, topics, ALPHA, CORPUS)


def test_other_bad_input_is_named() -> None:
    for function in (completion_perplexity, left_to_right):
        with pytest.raises(InputError, match=r"alpha has shape \(2,\) but there are 3 topics"):
            function(TOPICS, ALPHA[:2], CORPUS)
        with pytest.raises(InputError, match=r"alpha\[2\] is 0.0"):
            function(TOPICS, ALPHA * [1, 1, 0], CORPUS)
        with pytest.raises(InputError, match="n_jobs=0"):
            function(TOPICS, ALPHA, CORPUS, n_jobs=0)
    with pytest.raises(InputError, match="n_particles=0 must be a whole number of at least 1"):
        left_to_right(TOPICS, ALPHA, CORPUS, n_particles=0)
    with pytest.raises(InputError, match="estimator='mean' is not known; choose one of 'standard', 'cgs_p'"):
        completion_perplexity(TOPICS, ALPHA, CORPUS, estimator="mean")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="there is nothing to score"):
        completion_perplexity(TOPICS, ALPHA, make_corpus([1, 0, 1]))
    with pytest.raises(InputError, match="the observed part has 2 documents and 12 words, the corpus 6 and 12"):
        completion_perplexity(TOPICS, ALPHA, CORPUS, split=(CORPUS.select([0, 3]), CORPUS))
    with pytest.raises(InputError, match=r"theta has shape \(3, 3\); 6 documents and 3 topics need \(6, 3\)"):
        log_likelihood(TOPICS, np.eye(3), CORPUS)
    with pytest.raises(InputError, match="theta: document 2 sums to 0"):
        log_likelihood(TOPICS, np.eye(6, 3) + np.eye(6, 3, -3) - np.eye(6, 3) * [0, 0, 1], CORPUS)


def test_weighted_corpora_are_refused_where_topics_are_sampled() -> None:
    weighted = Corpus(words=[0, 1, 2], doc_ptr=[0, 3], vocabulary=CORPUS.vocabulary, weights=[0.5, 1.0, 1.5])
    with pytest.raises(InputError, match="no whole tokens"):
        left_to_right(TOPICS, ALPHA, weighted)
    for split in (split_halves, (weighted, weighted)):
        with pytest.raises(InputError, match="no whole tokens"):
            completion_perplexity(TOPICS, ALPHA, weighted, split=split)


# -- by document ---------------------------------------------------------------------------------------------------


def test_completion_by_document_adds_up_to_perplexity() -> None:
    for estimator in ("cgs_p", "standard"):
        options = {"burn_in": 3, "n_samples": 2, "n_chains": 2, "seed": 7, "estimator": estimator}
        logs, tokens = completion_scores(TOPICS, ALPHA, CORPUS, **options)
        assert logs.shape == tokens.shape == (CORPUS.n_docs,)
        expected = completion_perplexity(TOPICS, ALPHA, CORPUS, **options)
        assert np.exp(-logs.sum() / tokens.sum()) == pytest.approx(expected, rel=1e-14)
        some, _ = completion_scores(TOPICS, ALPHA, CORPUS.select([1, 0]), **options)
        if CORPUS.ordered:
            np.testing.assert_array_equal(some, logs[[1, 0]])
    with pytest.raises(InputError):
        completion_scores(TOPICS, ALPHA, CORPUS, estimator="none")
