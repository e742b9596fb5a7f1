"""The hierarchical Dirichlet process against all partitions of a tiny corpus, and against itself (Geweke)."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma as gamma_distribution
from scipy.stats import ks_2samp, kstest

from tests.oracles import hdp
from tests.oracles import lda as oracle
from topicloom.datasets import bars
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.hdp import split_merge, topics, weights
from topicloom.hdp.sampler import process_sampler
from topicloom.hdp.state import REST, HDPState, counted
from topicloom.hdp.weights import GammaPrior
from topicloom.numerics.rng import stream

GIVEN = GammaPrior(0.0, 0.0)
exact = cache(hdp.exact)


def mover(sweep_topics: Any, draw_weights: Any, most: int = 99, n_sweeps: int = 1, seed: int = 5) -> hdp.Move:
    """Sweeps over topics, and then a draw of the weights; either can be left out."""
    corpus = exact(most).corpus
    prior = make_prior(np.ones(1), hdp.BETA, corpus.n_docs)

    def move(z: np.ndarray, shares: np.ndarray, replicate: int) -> tuple[np.ndarray, float]:
        alpha = hdp.DOC * shares
        state = counted(corpus, z, alpha[:-1].copy(), np.array([alpha[-1], hdp.DOC, hdp.TOPIC]))
        rng = stream(seed, replicate)
        for _ in range(n_sweeps if sweep_topics else 0):
            state, _ = sweep_topics(corpus, state, prior, most, rng)
        if draw_weights:
            state = draw_weights(corpus, state, prior, (GIVEN, GIVEN), rng)
        return state.z, float(state.level[REST] / hdp.DOC)

    return move


def proposer(move: Any) -> Any:
    """Splits and merges, in the form of a sweep."""

    def propose(corpus: Any, state: Any, prior: Any, most: int, rng: np.ndarray) -> tuple[Any, None]:
        for number in range(3):
            pair = split_merge.pick(corpus, number, rng)
            if pair is not None:
                state, _ = move(corpus, state, prior, most, pair, rng)
        return state, None

    return propose


@pytest.mark.parametrize(
    ("sweep_topics", "draw_weights", "most", "n_sweeps"),
    [
        (topics.sweep_topics, None, 99, 2),
        (topics.sweep_topics, None, 2, 2),
        (proposer(split_merge.move), None, 99, 1),
        (proposer(split_merge.move), None, 2, 1),
        (None, weights.draw_weights, 99, 1),
        (topics.sweep_topics, weights.draw_weights, 3, 1),
    ],
    ids=["topics", "topics, at most two", "splits", "splits, at most two", "weights", "both, at most three"],
)
def test_posterior_of_topics_and_weights_is_invariant(
    sweep_topics: Callable[..., Any], draw_weights: Callable[..., Any], most: int, n_sweeps: int
) -> None:
    p = hdp.invariance(exact(most), mover(sweep_topics, draw_weights, most, n_sweeps), 4000, seed=6)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


def test_conditionals_are_ratios_of_joints() -> None:
    """With weights given, the joint of one token's topics is that of LDA with a topic more for all that are unseen."""
    corpus, shares = exact().corpus, np.array([0.3, 0.25, 0.2, 0.25])
    prior = make_prior(hdp.DOC * shares, hdp.BETA, corpus.n_docs)
    z = np.array([0, 1, 0, 2, 1])
    state = counted(corpus, z, hdp.DOC * shares[:-1], np.array([hdp.DOC * shares[-1], hdp.DOC, hdp.TOPIC]))
    for token in range(corpus.n_tokens):
        found = topics.conditional(corpus, state, prior, token)
        np.testing.assert_allclose(found / found.sum(), oracle.conditional(corpus, z, prior, token), rtol=1e-12)
    sampler = process_sampler((hdp.DOC, hdp.TOPIC), (GIVEN, GIVEN))
    assert sampler.log_joint(corpus, state, prior) == pytest.approx(oracle.log_joint(corpus, z, prior), rel=1e-12)


def in_use(state: HDPState) -> None:
    """Counts are those of the topics, each of which has tokens and a weight."""
    assert np.all(state.topic > 0)
    assert np.all(state.alpha > 0)
    np.testing.assert_array_equal(np.bincount(state.z, minlength=len(state.topic)), state.topic)
    np.testing.assert_array_equal(state.word_topic.sum(axis=0), state.topic)
    assert state.word_topic.flags.c_contiguous
    assert state.alpha.sum() + state.level[REST] == pytest.approx(state.level[1])


def test_room_for_new_topics_changes_nothing() -> None:
    """A sweep that stops for more columns, again and again, is the same as one that has them from the beginning."""
    corpus = bars(n_docs=20).corpus
    prior = make_prior(np.full(15, 50.0 / 16), np.full(corpus.n_words, 0.01), corpus.n_docs)
    sampler = process_sampler((50.0, 400.0), (GIVEN, GIVEN))
    states = []
    for free in (0, 3000):
        state = sampler.init(corpus, prior, Key(1, 0, 0))
        for sweep in range(2):
            state, _ = topics.sweep_topics(corpus, state, prior, 3000, stream(1, sweep), free)
            in_use(state)
        states.append(state)
    assert len(states[0].topic) > 64  # so that columns were added at least twice
    for one, other in zip(*states, strict=True):
        np.testing.assert_array_equal(one, other)


def test_splits_and_merges_leave_counts_that_fit_the_topics() -> None:
    corpus = bars(n_docs=60).corpus
    prior = make_prior(np.full(6, 1.0 / 7), np.full(corpus.n_words, 0.1), corpus.n_docs)
    state = process_sampler((1.0, 1.0), (GIVEN, GIVEN)).init(corpus, prior, Key(1, 0, 0))
    rng, moves = stream(4), set()
    for number in range(150):
        if number % 10 == 0:
            state, _ = topics.sweep_topics(corpus, state, prior, 99, rng)
        before = len(state.topic)
        pair = split_merge.pick(corpus, number, rng)
        if pair is not None:
            state, _ = split_merge.move(corpus, state, prior, 99, pair, rng)
        in_use(state)
        again = counted(corpus, state.z, state.alpha, state.level)
        np.testing.assert_array_equal(state.word_topic, again.word_topic)
        np.testing.assert_array_equal(state.topic, again.topic)
        moves.add(len(state.topic) - before)
    assert moves == {-1, 0, 1}


def test_no_more_topics_than_allowed() -> None:
    corpus = bars(n_docs=20).corpus
    prior = make_prior(np.full(3, 5.0 / 4), np.full(corpus.n_words, 0.01), corpus.n_docs)
    sampler = process_sampler((5.0, 50.0), (GIVEN, GIVEN), 16)
    state = sampler.init(corpus, prior, Key(1, 0, 0))
    for sweep in range(5):
        state, _ = sampler.sweep(corpus, state, prior, Key(1, 0, sweep), Schedule())
        in_use(state)
    assert len(state.topic) == 16


def redrawer(draw_concentration: Any, sizes: list[int], tables: int) -> Callable[[float, int], float]:
    """Draws of a concentration of which so many customers opened so many tables."""

    def draw(now: float, replicate: int) -> float:
        return draw_concentration(stream(2, replicate), np.array(sizes), float(tables), now, GammaPrior(2.0, 1.5))

    return draw


@pytest.mark.parametrize(("sizes", "tables"), [([5, 0, 1, 9, 3], 7), ([12], 3)])
def test_posterior_of_a_concentration_is_invariant(sizes: list[int], tables: int) -> None:
    draw = redrawer(weights.draw_concentration, sizes, tables)
    assert hdp.concentration_p_value(draw, sizes, tables, 20_000) > oracle.FALSE_ALARM


DOC_PRIOR, TOPIC_PRIOR = GammaPrior(4.0, 3.0), GammaPrior(3.0, 2.0)


def geweke(draw_weights: Any, n: int, seed: int) -> float:
    """Draw all from the model and move: concentrations and weights must be distributed as before. The least p-value."""
    rng = np.random.default_rng(seed)
    lengths, beta = [5, 4, 1, 3], np.full(3, 0.4)
    prior = make_prior(np.ones(1), beta, len(lengths))
    before, after = np.empty((2, n, 4))
    for replicate in range(n):
        doc, topic = rng.gamma(DOC_PRIOR.shape) / DOC_PRIOR.rate, rng.gamma(TOPIC_PRIOR.shape) / TOPIC_PRIOR.rate
        z, words, tables = hdp.generate(rng, lengths, doc, topic, beta)
        ends = np.concatenate(([0], np.cumsum(lengths)))
        corpus = oracle.tiny_corpus([words[a:b].tolist() for a, b in pairwise(ends)], len(beta))
        shares = rng.dirichlet(np.append(tables, topic))
        state = counted(corpus, z, doc * shares[:-1], np.array([doc * shares[-1], doc, topic]))
        before[replicate] = doc, topic, shares[-1], len(tables)
        rng_of_chain = stream(seed, replicate)
        for _ in range(2):
            state, _ = topics.sweep_topics(corpus, state, prior, 99, rng_of_chain)
            state = split_merge.split_and_merge(corpus, state, prior, 99, 2, rng_of_chain)
            state = draw_weights(corpus, state, prior, (DOC_PRIOR, TOPIC_PRIOR), rng_of_chain)
        rest, doc, topic = state.level
        after[replicate] = doc, topic, rest / doc, len(state.topic)
    found = [
        kstest(after[:, i], gamma_distribution(own.shape, scale=1 / own.rate).cdf).pvalue
        for i, own in enumerate((DOC_PRIOR, TOPIC_PRIOR))
    ]
    found += [ks_2samp(before[: n // 2, i], after[n // 2 :, i]).pvalue for i in (2, 3)]
    return min(found)


def test_joint_with_learned_concentrations_is_invariant() -> None:
    p = geweke(weights.draw_weights, 2000, seed=7)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"
