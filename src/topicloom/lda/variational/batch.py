"""Variational inference on a whole corpus: VB, CVB0, CVB (Gaussian) and CVB exact.

A state holds, for the collapsed modes, one distribution γ over topics for each distinct (document, word) pair, and for
all modes the expected counts with their priors: α + E[n_dk] and β + E[n_vk], which for VB are the parameters of its
Dirichlets. Every count belongs to one thread at a time and its sums have one order, so that results are the same, bit
for bit, for any number of threads.
"""

from typing import Literal, NamedTuple, TypeAlias, cast

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.engine.threads import add_moves, cut, private, run_parallel, run_rounds
from topicloom.errors import InputError
from topicloom.lda.variational import bayes as vb
from topicloom.lda.variational import collapsed, exact
from topicloom.numerics.jit import as_input
from topicloom.numerics.rng import Purpose, path_key
from topicloom.numerics.rng import stream as random_stream

Mode: TypeAlias = Literal["vb", "cvb0", "cvb", "cvb_exact"]
MODES: tuple[Mode, ...] = ("cvb0", "cvb", "cvb_exact", "vb")
_PARTS = 64  # more than any reasonable number of threads, so that they finish together
_RARE = 1e-12  # a chance below which a count is taken to be 0
_NONE = np.zeros((0, 0))


class PairIndex(NamedTuple):
    """The corpus as distinct (document, word) pairs, in document order and in word order."""

    ptr: Int64Array  # [D + 1]
    word: Int32Array  # [M]
    count: FloatArray  # type: ignore[assignment]  # [M], tokens or weight; hides tuple.count
    doc: Int32Array  # [M]
    word_ptr: Int64Array  # [V + 1]
    by_word: Int64Array  # [M] pair numbers, by word and then by document

    @property
    def doc_weight(self) -> FloatArray:
        """Tokens, or their weight, of each document."""
        return sum_by(self.doc, self.count, len(self.ptr) - 1)


def sum_by(group: AnyArray, values: FloatArray, n_groups: int) -> FloatArray:
    """Sums of ``values`` by group, each in the order given."""
    return np.bincount(group, values, minlength=n_groups).astype(np.float64, copy=False)


def pair_index(corpus: Corpus) -> PairIndex:
    pairs = corpus.pairs
    doc = np.repeat(np.arange(corpus.n_docs, dtype=np.int32), np.diff(pairs.ptr))
    word_ptr = np.zeros(corpus.n_words + 1, np.int64)
    np.cumsum(np.bincount(pairs.word, minlength=corpus.n_words), out=word_ptr[1:])
    by_word = np.argsort(pairs.word, kind="stable")
    arrays = (pairs.ptr, pairs.word, pairs.count, doc, word_ptr, by_word)
    return PairIndex(*(as_input(cast(AnyArray, array)) for array in arrays))


class VariationalState(NamedTuple):
    """What is known so far; arrays that a mode does not need have no rows."""

    gamma: AnyArray  # [M, K] float32 (float64 for cvb_exact); none for vb, where it follows from doc and word
    doc: FloatArray  # [D, K] α + E[n_dk]
    word: FloatArray  # [V, K] β + E[n_vk]
    topic: FloatArray  # [K] Σ_v β + E[n_k]
    doc_var: FloatArray  # [D, K] Var[n_dk], for cvb
    word_var: FloatArray  # [V, K]
    topic_var: FloatArray  # [K]
    tau: FloatArray = _NONE  # [J, K] parameters of collections' mixtures, where there are any
    hyper: FloatArray = _NONE  # [1, 1 + K] their γ and α


class Work(NamedTuple):
    """How an iteration is done. All but the number of threads is part of the model."""

    doc_tol: float = 1e-3
    doc_rounds: int = 10
    n_shards: int = 1
    n_jobs: int = 1
    fresh: bool = False  # documents of VB start from equal topics


def word_prior(prior: Prior) -> FloatArray:
    """β_vk [V, K], seed words included."""
    beta = np.repeat(prior.beta[:, None], prior.n_topics, axis=1)
    seeded = np.flatnonzero(prior.boost_row >= 0)
    beta[seeded] += prior.boost[prior.boost_row[seeded]]
    return beta


def bytes_needed(mode: Mode, corpus: Corpus, n_topics: int) -> int:
    """Memory of a state: 4 bytes a pair and topic, and 8 a document or word and topic."""
    tables = 8 * n_topics * (corpus.n_docs + corpus.n_words)
    if mode == "vb":
        return 2 * tables
    pairs = len(corpus.pairs.word)
    if mode == "cvb_exact":
        return n_topics * 8 * (pairs + 3 * int(corpus.pairs.count.sum())) + tables
    return 4 * pairs * n_topics + (2 * tables if mode == "cvb" else tables)


def start(index: PairIndex, mode: Mode, prior: Prior, seed: int, chain: int) -> VariationalState:
    """Random topics: random γ for the collapsed modes, random Dirichlet parameters for VB."""
    n_docs, n_topics = len(index.ptr) - 1, prior.n_topics
    if mode == "vb":
        none = np.zeros((0, n_topics))
        doc = prior.alpha[prior.alpha_row] + index.doc_weight[:, None] / n_topics
        word = word_prior(prior)
        word += first_words(word.shape, seed, chain)
        return VariationalState(none, doc, word, word.sum(axis=0), none, none, np.zeros(n_topics))
    gamma = np.empty((len(index.word), n_topics), np.float64 if mode == "cvb_exact" else np.float32)
    collapsed.start(0, n_docs, index.ptr, path_key(seed, Purpose.VARIATIONAL_START, chain), gamma)
    return from_gamma(index, gamma, mode, prior)


def from_gamma(index: PairIndex, gamma: AnyArray, mode: Mode, prior: Prior) -> VariationalState:
    """A collapsed state whose counts are the sums of γ."""
    doc, word, topic = np.repeat(prior.alpha[:1], len(index.ptr) - 1, axis=0), word_prior(prior), prior.beta_sum.copy()
    collapsed.add_counts(index.ptr, index.word, index.count, gamma, doc, word, topic, False)
    none = np.zeros((0, prior.n_topics))
    state = VariationalState(gamma, doc, word, topic, none, none, np.zeros(prior.n_topics))
    return _with_variances(index, state) if mode == "cvb" else state


def first_words(shape: tuple[int, ...], seed: int, chain: int) -> FloatArray:
    """Pseudo-counts around 1: far enough from each other to tell topics apart, near enough to favour none."""
    rng = np.random.Generator(np.random.Philox(key=random_stream(seed, Purpose.VARIATIONAL_START, chain)[:2]))
    return rng.uniform(0.8, 1.2, shape)


def _with_variances(index: PairIndex, state: VariationalState) -> VariationalState:
    doc, word, topic = np.zeros_like(state.doc), np.zeros_like(state.word), np.zeros_like(state.topic)
    collapsed.add_counts(index.ptr, index.word, index.count, state.gamma, doc, word, topic, True)
    return state._replace(doc_var=doc, word_var=word, topic_var=topic)


# -- one iteration -------------------------------------------------------------------------------------------------


def iterate(
    index: PairIndex, state: VariationalState, mode: Mode, prior: Prior, work: Work
) -> tuple[VariationalState, float]:
    """Update everything once; consumes the state and returns the next one and the share of all tokens that moved.

    A token has moved by half the sum of the differences of its topics' probabilities.
    """
    if mode == "vb":
        state, moved = _iterate_vb(index, state, prior, work)
    elif mode == "cvb_exact":
        state, moved = _iterate_exact(index, state, prior)
    else:
        moved = _iterate_collapsed(index, state, work)
    return state, moved / max(2.0 * float(index.count.sum()), 1e-300)


def exp_topics(word: FloatArray, n_jobs: int) -> FloatArray:
    """exp E[log φ] by word [V, K]."""
    base = digamma(word.sum(axis=0))
    out = np.empty_like(word)
    parts = cut(np.ones(len(word), np.int64), _PARTS)
    run_parallel(lambda part: vb.exp_mean_log_topics(*part, word, base, out), parts, n_jobs)
    return out


def _iterate_vb(index: PairIndex, state: VariationalState, prior: Prior, work: Work) -> tuple[VariationalState, float]:
    """Documents until they stay (eqs. 4, 6), then the topics (eq. 5)."""
    topics = exp_topics(state.word, work.n_jobs)
    doc = state.doc
    fitted = fit_documents(index, topics, prior.alpha, False, work, doc, prior.alpha_row)
    add_up_words(index, topics, fitted, state.word, work.n_jobs)
    add_word_prior(state.word, prior)
    return state._replace(topic=state.word.sum(axis=0)), float(fitted.moved.sum())


class Fitted(NamedTuple):
    """What the documents leave when their parameters stay where they are."""

    mix: FloatArray  # [D, K] t
    scale: FloatArray  # [M] n/norm of each pair
    moved: FloatArray  # [D] how far each document went
    fit: FloatArray  # [D] Σ n log norm


def add_up_words(index: PairIndex, topics: FloatArray, fitted: Fitted, out: FloatArray, n_jobs: int) -> None:
    """Expected counts of words [V, K] to ``out``, without the prior."""

    def count(part: tuple[int, int]) -> None:
        vb.expected_word_counts(
            *part, index.word_ptr, index.by_word, index.doc, topics, fitted.mix, fitted.scale, out
        )  # fmt: skip

    run_parallel(count, cut(np.diff(index.word_ptr), _PARTS), n_jobs)


def add_word_prior(word: FloatArray, prior: Prior) -> None:
    word += prior.beta[:, None]
    seeded = np.flatnonzero(prior.boost_row >= 0)
    word[seeded] += prior.boost[prior.boost_row[seeded]]


def fit_documents(
    index: PairIndex, topics: FloatArray, alpha: FloatArray, plain: bool, work: Work, doc: FloatArray,
    alpha_row: Int32Array | None = None,
) -> Fitted:  # fmt: skip
    """Bring ``doc`` to where it stays, the topics held fixed; α may have rows, of which one is each document's."""
    n_docs = len(doc)
    alphas = as_input(np.atleast_2d(alpha))
    rows = as_input(np.zeros(n_docs, np.int32) if alpha_row is None else alpha_row)
    mix, scale = np.empty_like(doc), np.empty(len(index.word))
    moved, fit = np.empty(n_docs), np.empty(n_docs)

    def run(part: tuple[int, int]) -> None:
        vb.fit_documents(
            *part, index.ptr, index.word, index.count, topics, alphas, rows, plain, work.fresh, work.doc_tol,
            work.doc_rounds, doc, mix, scale, moved, fit, private(doc[0]), private(doc[0]),
        )  # fmt: skip

    run_parallel(run, cut(np.diff(index.ptr), _PARTS), work.n_jobs)
    return Fitted(mix, scale, moved, fit)


def _iterate_collapsed(index: PairIndex, state: VariationalState, work: Work) -> float:
    """One pass over the pairs, as n rounds of n blocks that touch disjoint documents and disjoint words.

    Only the topic totals are shared: each block moves its own copy, and the copies are added up after the round. With
    one shard this is the plain sequential algorithm.
    """
    docs = cut(np.diff(index.ptr), work.n_shards)
    words = cut(np.diff(index.word_ptr), work.n_shards) if work.n_shards > 1 else [(0, len(index.word_ptr) - 1)]
    n = max(len(docs), len(words))
    totals = [(private(state.topic), private(state.topic_var)) for _ in words]
    moved = np.zeros((n, len(words)))

    def run(w: int, r: int) -> None:
        if (s := (w - r) % n) < len(docs):
            topic, topic_var = totals[w]
            moved[r, w] = collapsed.sweep_block(
                *docs[s], *words[w], index.ptr, index.word, index.count, state.gamma, state.doc, state.word, topic,
                state.doc_var, state.word_var, topic_var, private(topic), private(topic),
            )  # fmt: skip

    def add_up() -> None:
        add_moves(state.topic, [topic for topic, _ in totals])
        add_moves(state.topic_var, [topic_var for _, topic_var in totals])

    run_rounds(run, len(words), n, work.n_jobs, add_up)  # a thread keeps its words
    return float(sum(sum(of_round) for of_round in moved.tolist()))


def _iterate_exact(index: PairIndex, state: VariationalState, prior: Prior) -> tuple[VariationalState, float]:
    """Distributions of all counts from γ, then one pass over the pairs."""
    n_topics = prior.n_topics
    every = np.arange(len(index.word))
    by_word_count = np.bincount(index.word, index.count, minlength=len(prior.beta)).astype(np.int64)
    doc_at, doc_pmf = _distributions(index.ptr, every, index.doc_weight.astype(np.int64), index, state.gamma)
    word_at, word_pmf = _distributions(index.word_ptr, index.by_word, by_word_count, index, state.gamma)
    total = int(index.count.sum())
    ends = np.array([0, len(every)])
    _, topic_pmf = _distributions(ends, every, np.array([total]), index, state.gamma)
    work = np.empty(total + 2)
    moved = exact.sweep(
        index.ptr, index.word, index.count, index.word_ptr, index.by_word, every, state.gamma, prior.alpha[0],
        word_prior(prior), prior.beta_sum, doc_at, doc_pmf, word_at, word_pmf, topic_pmf.reshape(n_topics, -1), work,
    )  # fmt: skip
    return from_gamma(index, state.gamma, "cvb_exact", prior), moved


def _distributions(
    ptr: AnyArray, pairs: AnyArray, sizes: Int64Array, index: PairIndex, gamma: AnyArray
) -> tuple[Int64Array, FloatArray]:
    at = np.concatenate(([0], np.cumsum(sizes + 1)))
    out = np.zeros(int(at[-1]) * gamma.shape[1])
    exact.build(ptr, pairs, index.count, gamma, at, out)
    return at, out


# -- bounds --------------------------------------------------------------------------------------------------------


def bound(index: PairIndex, state: VariationalState, mode: Mode, prior: Prior, n_jobs: int = 1) -> float:
    """A lower bound of log p(words): eq. 2 for VB, eq. 12 for the others.

    Eq. 12 needs E[log Γ(prior + n)]: exact for cvb_exact; for cvb and cvb0 the case n = 0 is taken exactly and the rest
    expanded to the second order, so that there it is an approximation of a bound.
    """
    if mode == "vb":
        return _bound_vb(index, state, prior, n_jobs)
    if mode == "cvb_exact":
        return bound_exact(index, state.gamma, prior)
    return _bound_with_zero(index, state, prior)


def _bound_vb(index: PairIndex, state: VariationalState, prior: Prior, n_jobs: int) -> float:
    topics = exp_topics(state.word, n_jobs)
    fit = np.empty(len(state.doc))

    def run(part: tuple[int, int]) -> None:
        vb.log_norms(*part, index.ptr, index.word, index.count, topics, state.doc, fit)

    run_parallel(run, cut(np.diff(index.ptr), _PARTS), n_jobs)
    used = np.diff(index.ptr) > 0
    docs = -dirichlet_divergence(state.doc[used], prior.alpha[prior.alpha_row[used]])
    return float(fit.sum() + docs - dirichlet_divergence(state.word.T, word_prior(prior).T))


def dirichlet_divergence(q: FloatArray, p: FloatArray) -> float:
    """Σ over rows of KL(Dirichlet(q) ‖ Dirichlet(p))."""
    p = np.broadcast_to(p, q.shape)
    total = q.sum(axis=1)
    mean_log = digamma(q) - digamma(total)[:, None]
    rows = gammaln(total) - gammaln(p.sum(axis=1)) + np.sum(gammaln(p) - gammaln(q) + (q - p) * mean_log, axis=1)
    return float(rows.sum())


def bound_second_order(index: PairIndex, state: VariationalState, prior: Prior) -> float:
    """Eq. 12 with E[log Γ(a + n)] ≈ log Γ(a + E n) + ½ Ψ′(a + E n) Var n, as it stands.

    Where a count is most likely 0 and its prior is small, Ψ′ is huge and this is far too high: see ``bound``.
    """
    full = state if len(state.doc_var) else _with_variances(index, state)
    base = np.repeat(prior.alpha[:1], len(full.doc), axis=0)

    def rise(mean: FloatArray, var: FloatArray, base: FloatArray) -> float:
        return float(np.sum(gammaln(mean) - gammaln(base) + 0.5 * polygamma(1, mean) * var))

    total = rise(full.doc, full.doc_var, base) + rise(full.word, full.word_var, word_prior(prior))
    return total - rise(full.topic, full.topic_var, prior.beta_sum) + _bound_rest(index, full.gamma, prior)


def _bound_with_zero(index: PairIndex, state: VariationalState, prior: Prior) -> float:
    """Eq. 12 with the case n = 0 taken exactly, and the expansion for n given that it is at least 1."""
    full = state if len(state.doc_var) else _with_variances(index, state)
    empty = [np.zeros_like(full.doc), np.zeros_like(full.word), np.zeros_like(full.topic)]
    collapsed.add_log_empty(index.ptr, index.word, index.count, full.gamma, *empty)
    base = np.repeat(prior.alpha[:1], len(full.doc), axis=0)
    total = _rise_with_zero(full.doc, full.doc_var, empty[0], base)
    total += _rise_with_zero(full.word, full.word_var, empty[1], word_prior(prior))
    total -= _rise_with_zero(full.topic, full.topic_var, empty[2], prior.beta_sum)
    return total + _bound_rest(index, full.gamma, prior)


def _rise_with_zero(mean: FloatArray, var: FloatArray, log_empty: FloatArray, base: FloatArray) -> float:
    """Σ E[log Γ(base + n) − log Γ(base)]; ``mean`` holds base + E n."""
    some = np.maximum(-np.expm1(log_empty), _RARE)  # P(n ≥ 1)
    n = np.where(some > _RARE, mean - base, 0.0)  # of a count that is as good as never above 0 only rounding is left
    known = np.maximum(n / some, 1.0)  # E[n | n ≥ 1]
    spread = np.maximum((var + n * n) / some - known * known, 0.0)
    rise = gammaln(base + known) - gammaln(base) + 0.5 * polygamma(1, base + known) * spread
    return float(np.sum(some * rise))


def bound_exact(index: PairIndex, gamma: AnyArray, prior: Prior) -> float:
    """Eq. 12 with the Poisson-binomial distribution of every count: for small corpora."""
    every = np.arange(len(index.word))
    total = int(index.count.sum())
    work = np.empty(total + 2)
    gamma = gamma.astype(np.float64)
    n_docs = len(index.ptr) - 1
    alpha = np.repeat(prior.alpha[:1], n_docs, axis=0)
    value = exact.mean_log_gamma(index.ptr, every, index.count, gamma, alpha, work)
    value += exact.mean_log_gamma(index.word_ptr, index.by_word, index.count, gamma, word_prior(prior), work)
    ends = np.array([0, len(every)])
    value -= exact.mean_log_gamma(ends, every, index.count, gamma, prior.beta_sum[None, :], work)
    return value + _bound_rest(index, gamma, prior)


def _bound_rest(index: PairIndex, gamma: AnyArray, prior: Prior) -> float:
    """What eq. 12 has beside expectations over counts: documents' lengths, which are known, and the entropy."""
    total = prior.alpha[0].sum()
    lengths = float(np.sum(gammaln(total) - gammaln(total + index.doc_weight)))
    return lengths + collapsed.entropy(index.count, gamma)


# -- unseen documents ----------------------------------------------------------------------------------------------


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

    The mode's own update, to convergence. A document's result follows from its words alone. But for cvb_exact α may
    have rows, of which ``alpha_row`` names each document's.
    """
    pairs = corpus.pairs
    ptr, words, count = as_input(pairs.ptr), as_input(pairs.word), as_input(pairs.count)
    n_topics = alpha.shape[-1]
    out = np.zeros((corpus.n_docs, n_topics))
    parts = cut(np.diff(ptr), _PARTS)
    if mode in ("vb", "svb", "scvb0"):
        topics = word / word.sum(axis=0) if mode == "scvb0" else exp_topics(np.ascontiguousarray(word), n_jobs)
        docs = np.repeat(np.arange(corpus.n_docs, dtype=np.int32), np.diff(ptr))
        index = PairIndex(ptr, words, count, docs, ptr, ptr)  # the order by word is not needed
        own = alpha if alpha_row is None else alpha[alpha_row]
        doc: FloatArray = own + index.doc_weight[:, None] * (own / own.sum(axis=-1, keepdims=True))
        fit_documents(index, topics, alpha, mode == "scvb0", Work(tol, max_rounds, 1, n_jobs), doc, alpha_row)
        return np.subtract(doc, own, out=doc)
    phi = as_input(word / word.sum(axis=0))
    alpha = as_input(alpha)
    if mode == "cvb_exact":
        check_whole(corpus)
        longest = int(corpus.doc_lengths.max(initial=0))
        gamma = np.empty((len(words), n_topics))
        exact.fold_in(ptr, words, count, phi, alpha, tol, max_rounds, gamma, np.empty(longest + 2), out)
        return out

    alphas = as_input(np.atleast_2d(alpha))
    rows = as_input(np.zeros(corpus.n_docs, np.int32) if alpha_row is None else alpha_row)

    def run(part: tuple[int, int]) -> None:
        collapsed.fold_in(*part, ptr, words, count, phi, alphas, rows, mode == "cvb", tol, max_rounds, out)

    run_parallel(run, parts, n_jobs)
    return out


def check_whole(corpus: Corpus) -> None:
    """The exact form counts tokens, which must be whole."""
    if corpus.weights is not None:
        raise InputError(
            'method="cvb_exact" sums over whole counts, and this corpus has fractional weights; use '
            'method="cvb", which takes them.'
        )
