"""Variational inference on a whole corpus: VB, CVB0, CVB (Gaussian) and CVB exact.

A state holds, for the collapsed modes, one distribution γ over topics for each distinct (document, word) pair, and for
all modes the expected counts with their priors: α + E[n_dk] and β + E[n_vk], which for VB are the parameters of its
Dirichlets. Every count belongs to one thread at a time and its sums have one order, so that results are the same, bit
for bit, for any number of threads.
"""

from typing import Literal, TypeAlias

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus._executors import current_executor
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Block
from topicloom.engine.document_tasks import over_documents
from topicloom.engine.expected_counts import Ending, distinct_words, expect_all, expect_words
from topicloom.engine.prior import Prior, document_prior
from topicloom.engine.threads import add_moves, cut, private, run_parallel, run_rounds
from topicloom.errors import InputError
from topicloom.lda.variational import bayes as vb
from topicloom.lda.variational import collapsed, exact
from topicloom.lda.variational.bayes import Fitted
from topicloom.lda.variational.exact import Distributions
from topicloom.lda.variational.state import PairIndex, VariationalState, Work, word_prior
from topicloom.lda.variational.tasks import fit_in_tasks, parts_for
from topicloom.numerics.jit import as_input
from topicloom.numerics.rng import Purpose, path_key
from topicloom.numerics.rng import stream as random_stream

Mode: TypeAlias = Literal["vb", "cvb0", "cvb", "cvb_exact"]
MODES: tuple[Mode, ...] = ("cvb0", "cvb", "cvb_exact", "vb")
DOCUMENTS_ALONE = ("vb", "svb", "scvb0")  # whose documents are fitted one by one while topics stay as they are
_PARTS = 64  # more than any reasonable number of threads, so that they finish together
_LEAST = 1 << 16  # pairs × topics of a part: enough for a call of compiled code to cost nothing beside them
_PER_THREAD = 4  # parts that threads are given nevertheless, so that they finish together
_RARE = 1e-12  # a chance below which a count is taken to be 0


def bytes_needed(mode: Mode, corpus: Corpus, n_topics: int) -> int:
    """Memory of a state: 4 bytes per pair and topic, and 8 per document or word and topic."""
    tables = 8 * n_topics * (corpus.n_docs + corpus.n_words)
    if mode == "vb":
        return 2 * tables
    n_pairs = len(corpus.pairs.word)
    if mode == "cvb_exact":
        return n_topics * 8 * (n_pairs + 3 * int(corpus.pairs.count.sum())) + tables
    return 4 * n_pairs * n_topics + (2 * tables if mode == "cvb" else tables)


def start(pairs: PairIndex, mode: Mode, prior: Prior, seed: int, chain: int) -> VariationalState:
    """Random topics: random γ for the collapsed modes, random Dirichlet parameters for VB."""
    n_docs, n_topics = len(pairs.ptr) - 1, prior.n_topics
    if mode == "vb":
        none = np.zeros((0, n_topics))
        doc = prior.alpha[prior.alpha_row] + pairs.doc_weight[:, None] / n_topics
        word = word_prior(prior)
        word += first_words(word.shape, seed, chain)
        return VariationalState(none, doc, word, word.sum(axis=0), none, none, np.zeros(n_topics))
    gamma = np.empty((len(pairs.word), n_topics), np.float64 if mode == "cvb_exact" else np.float32)
    collapsed.start(0, n_docs, pairs.ptr, path_key(seed, Purpose.VARIATIONAL_START, chain), gamma)
    return from_gamma(pairs, gamma, mode, prior)


def from_gamma(pairs: PairIndex, gamma: AnyArray, mode: Mode, prior: Prior) -> VariationalState:
    """A collapsed state whose counts are the sums of γ."""
    doc, word, topic = np.repeat(prior.alpha[:1], len(pairs.ptr) - 1, axis=0), word_prior(prior), prior.beta_sum.copy()
    collapsed.add_counts(pairs, gamma, doc, word, topic, False)
    none = np.zeros((0, prior.n_topics))
    state = VariationalState(gamma, doc, word, topic, none, none, np.zeros(prior.n_topics))
    return _with_variances(pairs, state) if mode == "cvb" else state


def first_words(shape: tuple[int, ...], seed: int, chain: int) -> FloatArray:
    """Pseudo-counts around 1: far enough from each other to tell topics apart, near enough to favour none."""
    rng = np.random.Generator(np.random.Philox(key=random_stream(seed, Purpose.VARIATIONAL_START, chain)[:2]))
    return rng.uniform(0.8, 1.2, shape)


def _with_variances(pairs: PairIndex, state: VariationalState) -> VariationalState:
    doc, word, topic = np.zeros_like(state.doc), np.zeros_like(state.word), np.zeros_like(state.topic)
    collapsed.add_counts(pairs, state.gamma, doc, word, topic, True)
    return state._replace(doc_var=doc, word_var=word, topic_var=topic)


def _parts(ptr: Int64Array, n_topics: int, n_jobs: int) -> list[tuple[int, int]]:
    """Documents or words, whose pairs ``ptr`` counts, in parts of about equal size. How many changes no result."""
    least = 1 if n_jobs == 1 else min(_PER_THREAD * n_jobs, _PARTS)
    return cut(np.diff(ptr), int(np.clip(ptr[-1] * n_topics // _LEAST, least, _PARTS)))


# -- one iteration -------------------------------------------------------------------------------------------------


def iterate(
    pairs: PairIndex, state: VariationalState, mode: Mode, prior: Prior, work: Work
) -> tuple[VariationalState, float]:
    """Update everything once; consumes the state and returns the next one and the share of all tokens that moved.

    A token has moved by half the sum of the differences of its topics' probabilities.
    """
    if mode == "vb":
        state, moved = _iterate_vb(pairs, state, prior, work)
    elif mode == "cvb_exact":
        state, moved = _iterate_exact(pairs, state, prior)
    else:
        moved = _iterate_collapsed(pairs, state, work)
    return state, moved / max(2.0 * float(pairs.count.sum()), 1e-300)


def exp_topics(word: FloatArray, n_jobs: int) -> FloatArray:
    """exp E[log φ] by word [V, K]."""
    base = digamma(word.sum(axis=0))
    out = np.empty_like(word)

    def run(word_range: tuple[int, int]) -> None:
        vb.exp_mean_log_topics(*word_range, word, base, out)

    run_parallel(run, cut(np.ones(len(word), np.int64), _PARTS), n_jobs)
    return out


def _iterate_vb(pairs: PairIndex, state: VariationalState, prior: Prior, work: Work) -> tuple[VariationalState, float]:
    """Documents until they stay (eqs. 4, 6), then the topics (eq. 5)."""
    topics = exp_topics(state.word, work.n_jobs)
    doc = state.doc
    fitted = fit_documents(pairs, topics, prior.alpha, False, work, doc, prior.alpha_row)
    add_up_words(pairs, topics, fitted, state.word, work.n_jobs)
    add_word_prior(state.word, prior)
    return state._replace(topic=state.word.sum(axis=0)), float(fitted.moved.sum())


def add_up_words(pairs: PairIndex, topics: FloatArray, fitted: Fitted, out: FloatArray, n_jobs: int) -> None:
    """Expected counts of words [V, K] to ``out``, without the prior."""

    def count(word_range: tuple[int, int]) -> None:
        vb.expected_word_counts(*word_range, pairs, topics, fitted, out)

    run_parallel(count, _parts(pairs.word_ptr, topics.shape[1], n_jobs), n_jobs)


def add_word_prior(word: FloatArray, prior: Prior) -> None:
    word += prior.beta[:, None]
    seeded = np.flatnonzero(prior.boost_row >= 0)
    word[seeded] += prior.boost[prior.boost_row[seeded]]


def fit_documents(
    pairs: PairIndex, topics: FloatArray, alpha: FloatArray, plain: bool, work: Work, doc: FloatArray,
    alpha_row: Int32Array | None = None,
) -> Fitted:  # fmt: skip
    """Bring ``doc`` to where it stays, the topics held fixed; α may have rows, of which one is each document's.

    Where an executor is in use, documents are fitted in its tasks.
    """
    n_docs = len(doc)
    prior = document_prior(alpha, n_docs, alpha_row)
    out = Fitted(np.empty_like(doc), np.empty(len(pairs.word)), np.empty(n_docs), np.empty(n_docs))
    executor = current_executor()
    if executor is not None and len(parts := parts_for(executor, pairs.ptr, topics.shape[1])) > 1:
        fit_in_tasks(executor, parts, pairs, topics, prior, plain, work, doc, out)
        return out

    def run(doc_range: tuple[int, int]) -> None:
        sums, before = private(doc[0]), private(doc[0])
        vb.fit_documents(*doc_range, pairs, topics, prior, plain, work, doc, out, sums, before)

    run_parallel(run, _parts(pairs.ptr, topics.shape[1], work.n_jobs), work.n_jobs)
    return out


def _iterate_collapsed(pairs: PairIndex, state: VariationalState, work: Work) -> float:
    """One pass over the pairs, as n rounds of n blocks that touch disjoint documents and disjoint words.

    Only the topic totals are shared: each block moves its own copy, and the copies are added up after the round. With
    one shard this is the plain sequential algorithm.
    """
    doc_ranges = cut(np.diff(pairs.ptr), work.n_shards)
    every_word = (0, len(pairs.word_ptr) - 1)
    word_ranges = cut(np.diff(pairs.word_ptr), work.n_shards) if work.n_shards > 1 else [every_word]
    n = max(len(doc_ranges), len(word_ranges))
    copies = [state._replace(topic=private(state.topic), topic_var=private(state.topic_var)) for _ in word_ranges]
    moved = np.zeros((n, len(word_ranges)))

    def run(w: int, r: int) -> None:
        if (s := (w - r) % n) < len(doc_ranges):
            own, block = copies[w], Block(*doc_ranges[s], *word_ranges[w])
            moved[r, w] = collapsed.sweep_block(block, pairs, own, private(own.topic), private(own.topic))

    def add_up() -> None:
        add_moves(state.topic, [own.topic for own in copies])
        add_moves(state.topic_var, [own.topic_var for own in copies])

    run_rounds(run, len(word_ranges), n, work.n_jobs, add_up)  # a thread keeps its words
    return float(sum(sum(of_round) for of_round in moved.tolist()))


def _iterate_exact(pairs: PairIndex, state: VariationalState, prior: Prior) -> tuple[VariationalState, float]:
    """Distributions of all counts from γ, then one pass over the pairs."""
    every = np.arange(len(pairs.word))
    by_word_count = np.bincount(pairs.word, pairs.count, minlength=len(prior.beta)).astype(np.int64)
    of_docs = _distributions(pairs.ptr, every, pairs.doc_weight.astype(np.int64), pairs, state.gamma)
    of_words = _distributions(pairs.word_ptr, pairs.by_word, by_word_count, pairs, state.gamma)
    total = int(pairs.count.sum())
    ends = np.array([0, len(every)])
    of_topics = _distributions(ends, every, np.array([total]), pairs, state.gamma)
    moved = exact.sweep(
        pairs, every, state.gamma, prior.alpha[0], word_prior(prior), prior.beta_sum, of_docs, of_words,
        of_topics.pmf.reshape(prior.n_topics, -1), np.empty(total + 2),
    )  # fmt: skip
    return from_gamma(pairs, state.gamma, "cvb_exact", prior), moved


def _distributions(
    ptr: AnyArray, order: AnyArray, sizes: Int64Array, pairs: PairIndex, gamma: AnyArray
) -> Distributions:
    """Of the counts of groups of pairs, which ``order`` lists; ``sizes`` are the largest counts that they can have."""
    at = np.concatenate(([0], np.cumsum(sizes + 1)))
    out = Distributions(at, np.zeros(int(at[-1]) * gamma.shape[1]))
    exact.build(ptr, order, pairs.count, gamma, out)
    return out


# -- bounds --------------------------------------------------------------------------------------------------------


def bound(pairs: PairIndex, state: VariationalState, mode: Mode, prior: Prior, n_jobs: int = 1) -> float:
    """A lower bound of log p(words): eq. 2 for VB, eq. 12 for the others.

    Eq. 12 needs E[log Γ(prior + n)]: exact for cvb_exact; for cvb and cvb0 the case n = 0 is taken exactly and the rest
    expanded to the second order, so that there it is an approximation of a bound.
    """
    if mode == "vb":
        return _bound_vb(pairs, state, prior, n_jobs)
    if mode == "cvb_exact":
        return bound_exact(pairs, state.gamma, prior)
    return _bound_with_zero(pairs, state, prior)


def _bound_vb(pairs: PairIndex, state: VariationalState, prior: Prior, n_jobs: int) -> float:
    topics = exp_topics(state.word, n_jobs)
    fit = np.empty(len(state.doc))

    def run(doc_range: tuple[int, int]) -> None:
        vb.log_norms(*doc_range, pairs, topics, state.doc, fit)

    run_parallel(run, _parts(pairs.ptr, topics.shape[1], n_jobs), n_jobs)
    used = np.diff(pairs.ptr) > 0
    docs = -dirichlet_divergence(state.doc[used], prior.alpha[prior.alpha_row[used]])
    return float(fit.sum() + docs - dirichlet_divergence(state.word.T, word_prior(prior).T))


def dirichlet_divergence(q: FloatArray, p: FloatArray) -> float:
    """Σ over rows of KL(Dirichlet(q) ‖ Dirichlet(p))."""
    p = np.broadcast_to(p, q.shape)
    total = q.sum(axis=1)
    mean_log = digamma(q) - digamma(total)[:, None]
    rows = gammaln(total) - gammaln(p.sum(axis=1)) + np.sum(gammaln(p) - gammaln(q) + (q - p) * mean_log, axis=1)
    return float(rows.sum())


def bound_second_order(pairs: PairIndex, state: VariationalState, prior: Prior) -> float:
    """Eq. 12 with E[log Γ(a + n)] ≈ log Γ(a + E n) + ½ Ψ′(a + E n) Var n, as it stands.

    Where a count is most likely 0 and its prior is small, Ψ′ is huge and this is far too high: see ``bound``.
    """
    full = state if len(state.doc_var) else _with_variances(pairs, state)
    base = np.repeat(prior.alpha[:1], len(full.doc), axis=0)

    def rise(mean: FloatArray, var: FloatArray, base: FloatArray) -> float:
        return float(np.sum(gammaln(mean) - gammaln(base) + 0.5 * polygamma(1, mean) * var))

    total = rise(full.doc, full.doc_var, base) + rise(full.word, full.word_var, word_prior(prior))
    return total - rise(full.topic, full.topic_var, prior.beta_sum) + _bound_rest(pairs, full.gamma, prior)


def _bound_with_zero(pairs: PairIndex, state: VariationalState, prior: Prior) -> float:
    """Eq. 12 with the case n = 0 taken exactly, and the expansion for n given that it is at least 1."""
    full = state if len(state.doc_var) else _with_variances(pairs, state)
    doc, word, topic = np.zeros_like(full.doc), np.zeros_like(full.word), np.zeros_like(full.topic)
    collapsed.add_log_empty(pairs, full.gamma, doc, word, topic)
    base = np.repeat(prior.alpha[:1], len(full.doc), axis=0)
    total = rise_with_zero(full.doc, full.doc_var, doc, base)
    total += rise_with_zero(full.word, full.word_var, word, word_prior(prior))
    total -= rise_with_zero(full.topic, full.topic_var, topic, prior.beta_sum)
    return total + _bound_rest(pairs, full.gamma, prior)


def rise_with_zero(mean: FloatArray, var: FloatArray, log_empty: FloatArray, base: FloatArray) -> float:
    """Σ E[log Γ(base + n) − log Γ(base)]; ``mean`` holds base + E n."""
    some = np.maximum(-np.expm1(log_empty), _RARE)  # P(n ≥ 1)
    n = np.where(some > _RARE, mean - base, 0.0)  # of a count that is as good as never above 0 only rounding is left
    known = np.maximum(n / some, 1.0)  # E[n | n ≥ 1]
    spread = np.maximum((var + n * n) / some - known * known, 0.0)
    rise = gammaln(base + known) - gammaln(base) + 0.5 * polygamma(1, base + known) * spread
    return float(np.sum(some * rise))


def bound_exact(pairs: PairIndex, gamma: AnyArray, prior: Prior) -> float:
    """Eq. 12 with the Poisson-binomial distribution of every count: for small corpora."""
    every = np.arange(len(pairs.word))
    total = int(pairs.count.sum())
    work = np.empty(total + 2)
    gamma = gamma.astype(np.float64)
    n_docs = len(pairs.ptr) - 1
    alpha = np.repeat(prior.alpha[:1], n_docs, axis=0)
    value = exact.mean_log_gamma(pairs.ptr, every, pairs.count, gamma, alpha, work)
    value += exact.mean_log_gamma(pairs.word_ptr, pairs.by_word, pairs.count, gamma, word_prior(prior), work)
    ends = np.array([0, len(every)])
    value -= exact.mean_log_gamma(ends, every, pairs.count, gamma, prior.beta_sum[None, :], work)
    return value + _bound_rest(pairs, gamma, prior)


def _bound_rest(pairs: PairIndex, gamma: AnyArray, prior: Prior) -> float:
    """What eq. 12 has beside expectations over counts: documents' lengths, which are known, and the entropy."""
    total = prior.alpha[0].sum()
    lengths = float(np.sum(gammaln(total) - gammaln(total + pairs.doc_weight)))
    return lengths + collapsed.entropy(pairs.count, gamma)


# -- unseen documents ----------------------------------------------------------------------------------------------


@over_documents
def fold_in(
    corpus: Corpus,
    mode: str,
    word: FloatArray,
    alpha: FloatArray,
    *,
    tol: float,
    max_rounds: int,
    n_jobs: int = 1,
    alpha_row: Int32Array | None = None,
) -> FloatArray:
    """E[n_dk] of each document with the topics fixed; ``word`` is β + E[n_vk] by word [V, K].

    The mode's own update, to convergence. A document's result follows from its words alone. Except for cvb_exact, α
    may have rows, of which ``alpha_row`` names each document's.
    """
    pairs, n_topics = _pairs_of_documents(corpus), alpha.shape[-1]
    if mode in DOCUMENTS_ALONE:
        topics, own = _fixed_topics(mode, word, n_jobs), alpha if alpha_row is None else alpha[alpha_row]
        doc = _first_documents(pairs, own)
        fit_documents(pairs, topics, alpha, mode == "scvb0", Work(tol, max_rounds, 1, n_jobs), doc, alpha_row)
        return np.subtract(doc, own, out=doc)
    phi = as_input(word / word.sum(axis=0))
    if mode == "cvb_exact":
        out = np.zeros((corpus.n_docs, n_topics))
        _fold_exact(corpus, pairs, phi, alpha, tol, max_rounds, out)
        return out
    prior = document_prior(alpha, corpus.n_docs, alpha_row)
    return expect_all(distinct_words(corpus), phi, prior, mode == "cvb", Ending(tol, 0.0, max_rounds), n_jobs)


@over_documents
def word_topics(
    corpus: Corpus,
    mode: str,
    word: FloatArray,
    alpha: FloatArray,
    *,
    tol: float,
    max_rounds: int,
    n_jobs: int = 1,
    alpha_row: Int32Array | None = None,
) -> FloatArray:
    """n γ [M, K] of the distinct words of each document, where ``fold_in`` ends: they add up to its counts."""
    pairs, n_topics = _pairs_of_documents(corpus), alpha.shape[-1]
    prior = document_prior(alpha, corpus.n_docs, alpha_row)
    if mode in DOCUMENTS_ALONE:
        topics, own = _fixed_topics(mode, word, n_jobs), alpha if alpha_row is None else alpha[alpha_row]
        doc, work = _first_documents(pairs, own), Work(tol, max_rounds, 1, n_jobs)
        gamma = np.empty((len(pairs.word), n_topics))

        def run(doc_range: tuple[int, int]) -> None:
            scratch = np.empty((4, n_topics))
            vb.word_topics(*doc_range, pairs, topics, prior, mode == "scvb0", work, doc, scratch, gamma)

        run_parallel(run, _parts(pairs.ptr, n_topics, n_jobs), n_jobs)
        return gamma
    phi = as_input(word / word.sum(axis=0))
    if mode == "cvb_exact":
        out = np.zeros((corpus.n_docs, n_topics))
        return _fold_exact(corpus, pairs, phi, alpha, tol, max_rounds, out) * pairs.count[:, None]
    return expect_words(distinct_words(corpus), phi, prior, mode == "cvb", Ending(tol, 0.0, max_rounds), n_jobs)


def _pairs_of_documents(corpus: Corpus) -> PairIndex:
    """Pairs of new documents, for which the order by word is not needed."""
    given = corpus.pairs
    ptr = as_input(given.ptr)
    docs = np.repeat(np.arange(corpus.n_docs, dtype=np.int32), np.diff(ptr))
    return PairIndex(ptr, as_input(given.word), as_input(given.count), as_input(docs), ptr, ptr)


def _fixed_topics(mode: str, word: FloatArray, n_jobs: int) -> FloatArray:
    return word / word.sum(axis=0) if mode == "scvb0" else exp_topics(np.ascontiguousarray(word), n_jobs)


def _first_documents(pairs: PairIndex, own: FloatArray) -> FloatArray:
    """Parameters of documents before their first round."""
    return np.asarray(own + pairs.doc_weight[:, None] * (own / own.sum(axis=-1, keepdims=True)))


def _fold_exact(
    corpus: Corpus, pairs: PairIndex, phi: FloatArray, alpha: FloatArray, tol: float, max_rounds: int, out: FloatArray
) -> FloatArray:
    """γ [M, K] of cvb_exact; ``out`` gets the documents' counts."""
    check_whole(corpus)
    longest = int(corpus.doc_lengths.max(initial=0))
    gamma = np.empty((len(pairs.word), alpha.shape[-1]))
    exact.fold_in(pairs, phi, as_input(alpha), tol, max_rounds, gamma, np.empty(longest + 2), out)
    return gamma


def check_whole(corpus: Corpus) -> None:
    """The exact form counts tokens, which must be whole."""
    if corpus.weights is not None:
        raise InputError(
            'method="cvb_exact" sums over whole counts, and this corpus has fractional weights; use '
            'method="cvb", which takes them.'
        )
