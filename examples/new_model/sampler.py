"""Collapsed Gibbs sampling for clusters of documents.

    π ~ Dirichlet(α), φ_k ~ Dirichlet(β), z_d ~ π for each document, and all its words from φ of its cluster z_d.

With π and φ integrated out, document d is in cluster k given all others with probability proportional to

    (m_k + α_k) Π_v [Γ(n_kv + n_dv + β_v) / Γ(n_kv + β_v)] Γ(n_k + Σβ) / Γ(n_k + n_d + Σβ),

m_k documents and n_kv tokens being in the cluster without document d.
"""

from math import exp, lgamma, log
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.checks import Recorded, check_prior
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Restored, Sampler, Schedule
from topicloom.files.checks import Contents, Expected
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import Purpose, stream, uniform

# -- what is latent --------------------------------------------------------------------------------------------------


class ClusterState(NamedTuple):
    """Only z is saved; the rest follows from it."""

    z: Int32Array  # [D] the cluster of each document
    docs: Int64Array  # [K] documents in each cluster
    words: Int64Array  # [V, K] tokens of each word in each cluster
    topic: Int64Array  # [K] tokens


def restore(corpus: Corpus, z: AnyArray, n_clusters: int) -> ClusterState:
    z = np.ascontiguousarray(z, np.int32)
    words = np.zeros((corpus.n_words, n_clusters), np.int64)
    np.add.at(words, (corpus.words, z[corpus.token_docs]), 1)
    return ClusterState(z, np.bincount(z, minlength=n_clusters), words, words.sum(axis=0))


def init(corpus: Corpus, prior: Prior, key: Key) -> ClusterState:
    rng = stream(key.seed, Purpose.START, key.chain)
    shares = np.cumsum(prior.alpha[0] / prior.alpha[0].sum())
    z = [int(np.searchsorted(shares, uniform(rng), side="right")) for _ in range(corpus.n_docs)]
    return restore(corpus, np.minimum(z, prior.n_topics - 1), prior.n_topics)


# -- the compiled sweep ----------------------------------------------------------------------------------------------


@kernel
def _weigh(
    d: int, words: Int32Array, doc_ptr: Int64Array, docs: Int64Array, counts: Int64Array, topic: Int64Array,
    alpha: FloatArray, beta: FloatArray, out: FloatArray,
) -> None:  # fmt: skip
    """Logarithms of the weights of document d, which is in none of the counts."""
    total = beta.sum()
    for k in range(len(topic)):
        out[k] = log(docs[k] + alpha[k])
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            seen = 0
            for j in range(doc_ptr[d], i):
                seen += words[j] == words[i]
            out[k] += log(counts[words[i], k] + seen + beta[words[i]])
        n = doc_ptr[d + 1] - doc_ptr[d]
        out[k] += lgamma(topic[k] + total) - lgamma(topic[k] + n + total)


@kernel
def _move(
    d: int, k: int, sign: int, words: Int32Array, doc_ptr: Int64Array, docs: Int64Array, counts: Int64Array,
    topic: Int64Array,
) -> None:  # fmt: skip
    docs[k] += sign
    for i in range(doc_ptr[d], doc_ptr[d + 1]):
        counts[words[i], k] += sign
        topic[k] += sign


@kernel
def _sweep(
    words: Int32Array, doc_ptr: Int64Array, z: Int32Array, docs: Int64Array, counts: Int64Array, topic: Int64Array,
    alpha: FloatArray, beta: FloatArray, rng: UInt64Array, weight: FloatArray,
) -> int:  # fmt: skip
    changed = 0
    for d in range(len(z)):
        old = z[d]
        _move(d, old, -1, words, doc_ptr, docs, counts, topic)
        _weigh(d, words, doc_ptr, docs, counts, topic, alpha, beta, weight)
        largest, total = weight.max(), 0.0
        for k in range(len(weight)):
            weight[k] = exp(weight[k] - largest)
            total += weight[k]
        u, new = uniform(rng) * total, 0
        while new < len(weight) - 1 and u >= weight[new]:
            u -= weight[new]
            new += 1
        z[d] = new
        changed += new != old
        _move(d, new, 1, words, doc_ptr, docs, counts, topic)
    return changed


# -- the sampler -----------------------------------------------------------------------------------------------------


def sweep(corpus: Corpus, state: ClusterState, prior: Prior, key: Key, schedule: Schedule) -> tuple[ClusterState, Info]:
    rng = stream(key.seed, Purpose.SWEEP, key.chain, key.sweep)
    weight = np.empty(prior.n_topics)
    changed = _sweep(corpus.words, corpus.doc_ptr, *state, prior.alpha[0], prior.beta, rng, weight)
    return state, Info(int(changed), corpus.n_docs * prior.n_topics)


def conditional(corpus: Corpus, state: ClusterState, prior: Prior, doc: int) -> FloatArray:
    """Weights of all clusters for a document, as ``sweep`` uses them."""
    without = restore(corpus, state.z, prior.n_topics)
    out, place = np.empty(prior.n_topics), (corpus.words, corpus.doc_ptr)
    _move(doc, int(state.z[doc]), -1, *place, *without[1:])
    _weigh(doc, *place, *without[1:], prior.alpha[0], prior.beta, out)
    return np.exp(out - out.max())


def log_joint(corpus: Corpus, state: ClusterState, prior: Prior, n_jobs: int = 1) -> float:
    """log p(w, z | α, β), π and φ integrated out."""
    from scipy.special import gammaln

    alpha, beta = prior.alpha[0], prior.beta
    value = gammaln(alpha.sum()) - gammaln(alpha.sum() + corpus.n_docs)
    value += np.sum(gammaln(state.docs + alpha) - gammaln(alpha))
    value += np.sum(gammaln(state.words + beta[:, None]) - gammaln(beta)[:, None])
    return float(value + np.sum(gammaln(beta.sum()) - gammaln(state.topic + beta.sum())))


def final_value(sampler: Sampler, corpus: Corpus, chain: Any, plan: Any) -> float:
    return log_joint(corpus, chain.state, chain.prior)


def record(sampler: Sampler, corpus: Corpus, chain: Any, info: Info, plan: Any) -> dict[str, float]:
    return {"log_joint": final_value(sampler, corpus, chain, plan), "changed": info.changed}


def nothing(corpus: Corpus, chain: Any, info: Info, plan: Any) -> None:
    """Priors are given, not learned."""


def from_arrays(sampler: Sampler, corpus: Corpus, arrays: dict[str, AnyArray]) -> Restored:
    prior = Prior(**{name: arrays[name] for name in Prior._fields})
    return Restored(restore(corpus, arrays["z"], prior.n_topics), prior)


def check(file: Contents, corpus: Corpus, index: int) -> None:
    """Everything that compiled code indexes with is checked when it is read."""
    check_prior(file)
    file.expect({"z": Expected("i4", ("D",), low=0, high=file.sizes["K"] - 1)})
    file.whole("kept", high=0)


RECORDED = Recorded(())  # what a trace has beside sweeps, joints and changes: nothing
SAMPLER = Sampler(
    "clusters", init, restore, sweep, log_joint, conditional, exact=True, after_sweep=nothing, record=record,
    recorded=RECORDED, final_value=final_value, from_arrays=from_arrays, check=check, by_token=False,
)  # fmt: skip
