"""A start from more topics than are wanted, the most similar of which are merged.

A chain that starts at random often gets stuck where two topics have become one and another has a topic twice: single
tokens cannot move it from there. With half as many topics again it hardly ever lacks one, but has some of them twice.
So the start makes its first sweeps with 3/2 K topics, merges pairs of topics in a few steps with some sweeps between
them, and leaves K. Each step takes the pairs whose merging raises log p(w, z) most, or lowers it least:

    Σ_v [f(n_av + n_bv, β) − f(n_av, β) − f(n_bv, β)] + Σ_d [f(n_da + n_db, α) − f(n_da, α) − f(n_db, α)]
        − [f(n_a + n_b, Vβ) − f(n_a, Vβ) − f(n_b, Vβ)],        f(n, x) = log Γ(n + x) − log Γ(x).

Words and documents without both topics add nothing. All this is over before the first sweep of the chain, whose
sampler is as exact as ever. Priors are not learned meanwhile: Σα and β are those that the chain starts with.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import gammaln

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.count_lists import SHIFT, TOPIC
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key, Sampler, Schedule
from topicloom.engine.shards import shards_for
from topicloom.engine.state import AnyState, SparseState
from topicloom.numerics.jit import bare_kernel
from topicloom.numerics.rng import Purpose, path_key

MOST_TOPICS = 4000  # that can be asked for: gains of all pairs take 8 · (3/2 K)² bytes
_STEPS = 5
_AT_ONCE = 20  # of so many topics one is merged before gains are computed again
_BETWEEN = 10  # a step is followed by this part of the first sweeps


def with_merged_start(sampler: Sampler, n_sweeps: int, schedule: Schedule) -> Sampler:
    """The same sampler, started with so many sweeps of more topics; 0 is the sampler itself."""
    if n_sweeps == 0:
        return sampler
    blocks = sampler.blocks and sampler.blocks._replace(from_prior=_never)
    return replace(sampler, init=partial(_start, sampler, n_sweeps, schedule), blocks=blocks)


def _start(sampler: Sampler, n_sweeps: int, schedule: Schedule, corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    return start_with_more(sampler, n_sweeps, corpus, prior, key, schedule)


def _never(corpus: Corpus, prior: Prior) -> bool:
    return False


def topics_of_start(n_topics: int) -> int:
    """How many topics the start begins with."""
    return (3 * n_topics + 1) // 2 if n_topics > 1 else 1


def sweeps_of_start(n_sweeps: int) -> int:
    """How many sweeps the start makes, of ``n_sweeps`` before the first step."""
    return n_sweeps + (_STEPS - 1) * (n_sweeps // _BETWEEN)


def start_with_more(
    sampler: Sampler, n_sweeps: int, corpus: Corpus, prior: Prior, key: Key, schedule: Schedule
) -> AnyState:
    """The first state of a chain: by (seed, chain), whatever the number of threads.

    ``schedule`` is that of the chain; with no number of shards, the corpus says how many there are.
    """
    k, schedule = prior.n_topics, schedule._replace(n_shards=shards_for(schedule.n_shards, corpus.n_tokens))
    if k == 1:
        return sampler.init(corpus, prior, key)
    own = Key(int(path_key(key.seed, Purpose.MERGED_START)) >> 1, key.chain, 1)
    most = topics_of_start(k)
    state = sampler.init(corpus, _spread(prior, most), own._replace(sweep=0))
    sweeps = n_sweeps
    for step in range(1, _STEPS + 1):
        now, until = len(state.topic), most - (most - k) * step // _STEPS
        if sweeps > 0:
            state = sampler.run(corpus, state, _spread(prior, now), own, schedule, sweeps)[0]
        own, sweeps = own._replace(sweep=own.sweep + sweeps), n_sweeps // _BETWEEN
        while len(state.topic) > until:
            state = _merged(sampler, corpus, state, prior, until)
    return state


def _spread(prior: Prior, n_topics: int) -> Prior:
    """The prior of another number of topics: the same Σα, shared equally, and the same β."""
    alpha = prior.alpha.sum(axis=1, keepdims=True) / n_topics
    return prior._replace(
        alpha=np.ascontiguousarray(np.repeat(alpha, n_topics, axis=1)),
        beta_sum=np.full(n_topics, prior.beta.sum()),
        boost=np.zeros((0, n_topics)),
    )


# -- merging -----------------------------------------------------------------------------------------------------


def _merged(sampler: Sampler, corpus: Corpus, state: AnyState, prior: Prior, until: int) -> AnyState:
    """The state after some pairs of topics are merged: few, as gains change with every merge."""
    n = len(state.topic)
    alpha, beta = float(prior.alpha.sum(axis=1).mean()) / n, float(prior.beta.mean())
    new = merge_pairs(merge_gains(corpus, state, alpha, beta), min(n - until, max(n // _AT_ONCE, 1)))
    return sampler.restore(corpus, new[state.z], int(new.max()) + 1)


def merge_pairs(gains: FloatArray, n_pairs: int) -> Int64Array:
    """The new number of each topic after merging disjoint pairs, the greatest gain first."""
    gains, n = gains.copy(), len(gains)
    into, best = np.arange(n), np.argmax(gains, axis=1)
    most = gains[np.arange(n), best]
    for _ in range(min(n_pairs, n // 2)):
        high = int(np.argmax(most))
        low = int(best[high])
        into[high] = low
        gains[[high, low], :] = gains[:, [high, low]] = -np.inf
        stale = np.flatnonzero((best == high) | (best == low) | (np.arange(n) == high) | (np.arange(n) == low))
        best[stale] = np.argmax(gains[stale], axis=1)
        most[stale] = gains[stale, best[stale]]
    kept = np.unique(into)
    return np.searchsorted(kept, into)


def merge_gains(corpus: Corpus, state: AnyState, alpha: float, beta: float) -> FloatArray:
    """By how much log p(w, z) rises if topics a > b become one [a, b]; −∞ elsewhere.

    α and β are one number each, and α is that of the merged topic, too: what is the same for all pairs is left out.
    """
    n, totals = len(state.topic), np.asarray(state.topic, np.float64)
    gains = np.zeros((n, n))
    longest = int(corpus.doc_lengths.max(initial=0))
    add_word_pairs(state.as_lists(corpus), _rises(int(corpus.word_counts.max(initial=0)), beta), gains)
    counts, met = np.zeros(n, np.int64), np.empty(n, np.int64)
    add_document_pairs(corpus.doc_ptr, state.z, _rises(longest, alpha), counts, met, gains)
    rise = _rise(beta * corpus.n_words)
    gains -= rise(totals[:, None] + totals) - rise(totals)[:, None] - rise(totals)
    gains[np.triu_indices(n)] = -np.inf
    return gains


def _rise(x: float) -> Callable[[FloatArray], FloatArray]:
    return lambda n: np.asarray(gammaln(n + x) - gammaln(x))


def _rises(most: int, x: float) -> FloatArray:
    return _rise(x)(np.arange(most + 1.0))


@bare_kernel
def add_word_pairs(state: SparseState, rises: FloatArray, gains: FloatArray) -> None:
    """Add the words' part of the gains: pairs of topics in a word's list, the one with the greater number first."""
    entries = state.entries
    for v in range(state.list_size.shape[0]):
        start = state.list_ptr[v]
        for i in range(start, start + state.list_size[v]):
            a, n_a = entries[i] & TOPIC, entries[i] >> SHIFT
            for j in range(start, i):
                b, n_b = entries[j] & TOPIC, entries[j] >> SHIFT
                gains[max(a, b), min(a, b)] += rises[n_a + n_b] - rises[n_a] - rises[n_b]


@bare_kernel
def add_document_pairs(
    doc_ptr: Int64Array, z: AnyArray, rises: FloatArray, counts: Int64Array, met: Int64Array, gains: FloatArray
) -> None:
    """Add the documents' part. ``counts`` (zeros) and ``met`` are scratch, one number per topic."""
    for d in range(doc_ptr.shape[0] - 1):
        n_met = 0
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            k = z[i]
            if counts[k] == 0:
                met[n_met] = k
                n_met += 1
            counts[k] += 1
        for i in range(n_met):
            a = met[i]
            for j in range(i):
                b = met[j]
                gains[max(a, b), min(a, b)] += rises[counts[a] + counts[b]] - rises[counts[a]] - rises[counts[b]]
        for i in range(n_met):
            counts[met[i]] = 0
