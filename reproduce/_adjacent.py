"""CGS_p appendix C: what it costs to treat the denominator of φ as constant over adjacent Gibbs states (eqs. 47, 63).

A state is adjacent to z if one token j has been drawn again from its full conditional T_j. Write n for the counts of z,
B = Σβ, and, with a weight u_j for each token,

    leave_kv = Σ_{j: w_j = v, z_j = k} u_j (1 − T_j(k)),    join_kv = Σ_{j: w_j = v, z_j ≠ k} u_j T_j(k).

Then every expectation over adjacent states is a sum of three terms: token j leaves k (denominator n_k − 1 + B), joins k
(n_k + 1 + B), or does neither (n_k + B). What the expectation is depends on how likely each j is, which the paper
leaves open. Three readings:

``estimator``   what eq. 49 adds up: the numerator's term of token j is taken in the states in which j was drawn again.
                Here a_kv = Σ_{j: w_j = v} T_j(k) / (n_k without j, + 1 + B) + β E[1 / (n_k + B)], and b_kv is the soft
                count plus β over n_k + B: φᵖ before it is normalised. For β the token is drawn uniformly.
``random scan`` one token, drawn uniformly, is drawn again: u_j = 1, and each state has probability T_j(·)/N.
``posterior``   p(z | w) restricted to the adjacent states, as eq. 45 is printed: against z itself a state has weight
                T_j(l) / T_j(z_j), so u_j = 1 / T_j(z_j) and the weights add up to 1 + Σ leave.

Only under the first is b the estimator. Under one distribution over adjacent states a token is rarely the one that was
drawn again, so E[z_jk] is near its hard value, and eq. 52 does not follow from eq. 51.
"""

from collections.abc import Sequence

import numpy as np

from reproduce._common import table
from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.engine.state import State, rebuild_counts
from topicloom.numerics.jit import kernel

MEASURES = ("estimator", "random scan", "posterior")


@kernel
def add_moves(
    words: Int32Array, doc_ptr: Int64Array, z: AnyArray, word_topic: Int32Array, topic: Int64Array,
    alpha: FloatArray, beta: FloatArray, beta_sum: FloatArray, restricted: bool, leave: FloatArray, join: FloatArray,
) -> None:  # fmt: skip
    """Add every token's moves to ``leave`` and ``join`` [V, K], with u_j = 1, or 1 / T_j(z_j) if ``restricted``."""
    n_topics = topic.shape[0]
    weight = np.empty(n_topics, np.float64)
    doc = np.empty(n_topics, np.int64)
    for d in range(doc_ptr.shape[0] - 1):
        doc[:] = 0
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            doc[z[i]] += 1
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            v, own = words[i], z[i]
            total = 0.0
            for k in range(n_topics):
                out = 1 if k == own else 0
                w = (word_topic[v, k] - out + beta[v]) * (doc[k] - out + alpha[k]) / (topic[k] - out + beta_sum[k])
                weight[k] = w
                total += w
            scale = 1.0 / (weight[own] if restricted else total)
            leave[v, own] += (total - weight[own]) * scale
            weight[own] = 0.0
            for k in range(n_topics):
                join[v, k] += weight[k] * scale


def moves(corpus: Corpus, state: State, prior: Prior, restricted: bool) -> tuple[FloatArray, FloatArray]:
    """(leave, join), each [V, K]."""
    leave, join = np.zeros((2, corpus.n_words, prior.n_topics))
    add_moves(corpus.words, corpus.doc_ptr, *state, prior.alpha[0], prior.beta, prior.beta_sum, restricted, leave, join)
    return leave, join


def denominator_terms(corpus: Corpus, state: State, prior: Prior, measure: str) -> tuple[FloatArray, FloatArray]:
    """a and b of eq. 63, each [V, K]: the expectation with the denominator of each state, and with that of z."""
    leave, join = moves(corpus, state, prior, measure == "posterior")
    total = 1.0 + leave.sum() if measure == "posterior" else float(corpus.n_tokens)
    leave_all, join_all = leave.sum(axis=0), join.sum(axis=0)
    here = state.topic + prior.beta_sum
    hard = state.word_topic + prior.beta[:, None]
    less, more = 1 / (here - 1) - 1 / here, 1 / here - 1 / (here + 1)
    if measure == "estimator":
        b = (hard - leave + join) / here
        return b - join * more + prior.beta[:, None] * (leave_all * less - join_all * more) / total, b
    b = (hard + (join - leave) / total) / here
    gain = (leave_all * hard - leave) * less - (join_all * hard + join) * more
    return b + gain / total, b


def denominator_error(corpus: Corpus, state: State, prior: Prior, measure: str) -> FloatArray:
    """Σ_v |a − b| of each topic. Σ_v b is about 1, so this is also a relative error."""
    a, b = denominator_terms(corpus, state, prior, measure)
    error: FloatArray = np.abs(a - b).sum(axis=0)
    return error


def report(corpus: Corpus, z: AnyArray, prior: Prior, sizes: Sequence[int], order_seed: int = 0) -> str:
    """|a − b| a topic (the sum over words and topics, divided by K) for growing numbers of documents.

    As in the paper one chain is run on all documents; the counts of a subset are those of its own assignments. Subsets
    are nested and taken in a random order, because documents may be sorted.
    """
    order = np.random.default_rng(order_seed).permutation(corpus.n_docs)
    tokens = np.split(np.asarray(z), corpus.doc_ptr[1:-1])
    rows = []
    for size in sizes:
        part = corpus.select(order[:size])
        state = rebuild_counts(part, np.concatenate([tokens[d] for d in order[:size]]), prior.n_topics)
        sub = prior._replace(alpha_row=prior.alpha_row[order[:size]])
        errors = [denominator_error(part, state, sub, measure).mean() for measure in MEASURES]
        bound = float(np.mean(1 / (state.topic + prior.beta_sum - 1)))
        rows.append([f"{size:,}", f"{state.topic.mean():,.0f}", *(f"{e:.2e}" for e in errors), f"{bound:.2e}"])
    head = ["documents", "mean n_k", *(f"error, {measure}" for measure in MEASURES), "bound of eq. 48"]
    return table(head, rows)
