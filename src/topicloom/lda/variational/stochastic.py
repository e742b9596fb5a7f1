"""Variational inference on minibatches that come one after the other: stochastic VB and SCVB0.

Memory is needed for topics × words alone.

After each batch the expected word counts go a step ρ_t = (offset + t)^(−decay) toward those of the batch, scaled to
the size of the whole corpus (Hoffman, Blei and Bach 2010; Foulds et al. 2013). The step shrinks all counts by 1 − ρ and
adds to the words of the batch; the shrinking is kept as one number for all, so that a batch costs what its own words
cost.

A document of the batch is fitted until it stays: for ``svb`` by eqs. 4 and 6 of CVB's paper; for ``scvb0`` it goes
to the fixed point of n_k = Σ_i γ_ik, γ_ik ∝ φ_kw (n_k + α_k), where SCVB0's running average of single tokens tends to.
"""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import digamma

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.corpus._alone import documents_alone
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import is_mapped
from topicloom.engine.prior import Prior
from topicloom.lda.variational import bayes as vb
from topicloom.lda.variational.batch import add_up_words, dirichlet_divergence, first_words, fit_documents
from topicloom.lda.variational.priors import fit_word_dirichlet, fit_word_polya, learned_alpha, with_beta
from topicloom.lda.variational.state import PairIndex, Work, word_prior
from topicloom.numerics.jit import as_input

StochasticMode: TypeAlias = Literal["scvb0", "svb"]
STOCHASTIC_MODES: tuple[StochasticMode, ...] = ("scvb0", "svb")
_LOST = 1e-300  # a probability that cannot be divided by
_FOLD = 1e-6  # counts are scaled in place when the common factor has become this small


class StochasticState(NamedTuple):
    """E[n_vk] is ``scale · counts``. Priors are not in it, so that they can be learned from batch to batch."""

    counts: FloatArray  # [V, K]
    scale: FloatArray  # [1]
    topic: FloatArray  # [K] Σ_v E[n_vk]
    batches: Int64Array  # [1] batches so far


class Steps(NamedTuple):
    """Sizes of batches and of the steps toward them, and what is learned on the way."""

    batch_size: int = 128
    offset: float = 10.0
    decay: float = 0.7
    total_docs: float = 1e6
    learn_alpha: bool = False
    learn_beta: bool = False
    symmetric_alpha: bool = False

    def step(self, batch: int) -> float:
        return float(min((self.offset + batch) ** -self.decay, 1.0))


def start(prior: Prior, seed: int, chain: int) -> StochasticState:
    counts = first_words((len(prior.beta), prior.n_topics), seed, chain)
    return StochasticState(counts, np.ones(1), counts.sum(axis=0), np.zeros(1, np.int64))


def pseudo_counts(state: StochasticState, prior: Prior) -> FloatArray:
    """β + E[n_vk] [V, K]."""
    out: FloatArray = state.counts * state.scale[0]
    out += word_prior(prior)
    return out


def batches(n_docs: int, size: int, key: UInt64Array | None = None) -> list[Int64Array]:
    """Numbers of the documents of each batch; with a ``key`` in random order, so that a sorted corpus does no harm."""
    order = np.arange(n_docs)
    if key is not None:
        order = np.random.Generator(np.random.Philox(key=key[:2])).permutation(n_docs)
    return [np.sort(order[first : first + size]) for first in range(0, n_docs, size)]


class Batch(NamedTuple):
    """Documents in the words that they have: word j of the pairs is word ``words[j]`` of the vocabulary."""

    pairs: PairIndex
    words: AnyArray


def take_batch(corpus: Corpus, docs: Int64Array) -> Batch:
    if is_mapped(corpus) and corpus.weights is None:  # the pairs of all documents may not fit into memory
        corpus, docs = _alone(corpus, docs), np.arange(len(docs))
    given = corpus.pairs
    sizes = given.ptr[docs + 1] - given.ptr[docs]
    ptr = np.concatenate(([0], np.cumsum(sizes)))
    take = np.repeat(given.ptr[docs] - ptr[:-1], sizes) + np.arange(ptr[-1])
    words, numbers = np.unique(given.word[take], return_inverse=True)
    local: Int32Array = numbers.astype(np.int32)
    doc = np.repeat(np.arange(len(docs), dtype=np.int32), sizes)
    word_ptr = np.concatenate(([0], np.cumsum(np.bincount(local, minlength=len(words)))))
    by_word = np.argsort(local, kind="stable")
    pairs = PairIndex(
        as_input(ptr), as_input(local), as_input(given.count[take]), as_input(doc), as_input(word_ptr),
        as_input(by_word),
    )  # fmt: skip
    return Batch(pairs, words)


def _alone(corpus: Corpus, docs: Int64Array) -> Corpus:
    lengths = corpus.doc_lengths[docs]
    ptr = np.concatenate(([0], np.cumsum(lengths)))
    take = np.repeat(corpus.doc_ptr[docs] - ptr[:-1], lengths) + np.arange(ptr[-1])
    return documents_alone(corpus.words[take], ptr, corpus.word_counts)


def learn_batch(
    batch: Batch, state: StochasticState, mode: StochasticMode, prior: Prior, steps: Steps, work: Work
) -> tuple[Prior, float]:
    """One step; changes the state and returns the prior and the batch's part of the bound.

    For ``scvb0`` that part is the log likelihood of the batch's words given its documents' topics.
    """
    pairs, words = batch.pairs, batch.words
    n_docs = len(pairs.ptr) - 1
    rho = steps.step(int(state.batches[0]))
    state.batches[0] += 1
    rows = word_rows(words, state, prior)
    topics, shift = expected_topics(rows, state, mode, prior)
    alpha = prior.alpha[0].copy()
    doc = alpha + pairs.doc_weight[:, None] * (alpha / alpha.sum())
    fitted = fit_documents(pairs, topics, alpha, mode == "scvb0", work, doc)
    counts = np.empty_like(rows)
    add_up_words(pairs, topics, fitted, counts, work.n_jobs)
    _step(state, words, counts, rho, rho * steps.total_docs / n_docs)
    used = np.diff(pairs.ptr) > 0
    if mode == "svb":
        value = float(fitted.fit.sum()) - dirichlet_divergence(doc[used], alpha)
        if shift is not None:
            value += float(np.sum(shift * np.bincount(pairs.word, pairs.count, len(words))))
    else:
        value = float(fitted.fit.sum() - np.sum(pairs.doc_weight * np.log(doc.sum(axis=1))))
    if steps.learn_alpha and used.any():
        goal = learned_alpha(doc, alpha, used, bayes=mode == "svb", symmetric=steps.symmetric_alpha)
        prior = prior._replace(alpha=(alpha * (goal / alpha) ** rho)[None, :])
    return prior, value


def word_rows(words: AnyArray, state: StochasticState, prior: Prior) -> FloatArray:
    """β + E[n_vk] of some words."""
    rows: FloatArray = state.counts[words] * state.scale[0] + prior.beta[words][:, None]
    seeded = np.flatnonzero(prior.boost_row[words] >= 0)
    rows[seeded] += prior.boost[prior.boost_row[words[seeded]]]
    return rows


def expected_topics(
    rows: FloatArray, state: StochasticState, mode: StochasticMode, prior: Prior
) -> tuple[FloatArray, FloatArray | None]:
    """exp E[log φ] of ``svb``, E[φ] of ``scvb0``, by word.

    Of a word with no counts and a small β the former is less than any number. Its row is then multiplied by
    exp(−shift), which changes no topic's share; the shifts come with the rows if there are any.
    """
    totals = state.topic + prior.beta_sum
    if mode == "scvb0":
        return rows / totals, None
    topics = np.empty_like(rows)
    vb.exp_mean_log_topics(0, len(rows), rows, digamma(totals), topics)
    lost = np.flatnonzero(topics.max(axis=1) < _LOST) if len(rows) else np.zeros(0, np.int64)
    if not len(lost):
        return topics, None
    logs, shift = digamma(rows[lost]) - digamma(totals), np.zeros(len(rows))
    shift[lost] = logs.max(axis=1)
    topics[lost] = np.exp(logs - shift[lost][:, None])
    return topics, shift


def _step(state: StochasticState, words: AnyArray, counts: FloatArray, rho: float, weight: float) -> None:
    """E[n] ← (1 − ρ) E[n] + weight · counts."""
    if rho >= 1.0:
        state.counts[:] = 0.0
        state.scale[0] = 1.0
    else:
        state.scale[0] *= 1.0 - rho
    if state.scale[0] < _FOLD:
        state.counts[:] *= state.scale[0]
        state.scale[0] = 1.0
    state.counts[words] += counts * (weight / state.scale[0])
    state.topic[:] = (1.0 - rho) * state.topic + weight * counts.sum(axis=0)


def learn_beta(state: StochasticState, mode: StochasticMode, prior: Prior) -> Prior:
    """One β for all words, from the counts as they stand."""
    word, beta = pseudo_counts(state, prior), float(prior.beta[0])
    return with_beta(prior, fit_word_dirichlet(word, beta) if mode == "svb" else fit_word_polya(word, beta))


def topics_part(state: StochasticState, mode: StochasticMode, prior: Prior) -> float:
    """The topics' part of VB's bound."""
    if mode == "scvb0":
        return 0.0
    return -dirichlet_divergence(pseudo_counts(state, prior).T, word_prior(prior).T)
