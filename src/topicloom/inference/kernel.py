"""What a sampler is: a way to start, a sweep, its joint probability, and whether it is exact.

Four kinds of data are kept apart. The *Corpus* never changes. The *Prior* is chosen or learned. The *State* is latent
and is what a checkpoint saves; its counts always equal what ``rebuild_counts`` makes of z. *Scratch* lives inside a
sweep and is never saved.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.errors import InputError
from topicloom.kernels import counts, gibbs_dense
from topicloom.kernels.rng import stream


class Prior(NamedTuple):
    """Dirichlet parameters, in the one form that every kernel takes.

    Document d has α = ``alpha[alpha_row[d]]``: one row for LDA, one a collection for models with groups. Word v has
    β = ``beta[v]`` in every topic, plus ``boost[boost_row[v]]`` by topic if it is a seed word (row −1: it is not).
    """

    alpha: FloatArray  # [rows, K]
    alpha_row: Int32Array  # [D]
    beta: FloatArray  # [V]
    beta_sum: FloatArray  # [K], over words, boosts included
    boost_row: Int32Array  # [V]
    boost: FloatArray  # [seeded words, K]

    @property
    def n_topics(self) -> int:
        return int(self.alpha.shape[1])


class State(NamedTuple):
    """Topic of each token, and the counts that follow from it. 2 bytes a token and 4 a word-topic cell."""

    z: AnyArray  # [N] uint16, or int32 beyond 65,536 topics
    word_topic: Int32Array  # [V, K]
    topic: Int64Array  # [K]


class Key(NamedTuple):
    """Where in a run a sweep stands: with the seed, all its random numbers follow from this."""

    seed: int
    chain: int
    sweep: int


class Info(NamedTuple):
    """What a sweep reports."""

    changed: int  # tokens whose topic changed


# What a stream is for; part of its path, so that no two uses share one.
INIT, SWEEP = 1, 2


@dataclass(frozen=True)
class Kernel:
    """A sampler. ``sweep`` consumes the state it is given (its arrays are reused) and returns the next one.

    ``exact`` says whether the posterior is invariant under ``sweep``; the tests that apply follow from it.
    ``conditional`` gives one token's weights as ``sweep`` would use them, for those tests.
    """

    name: str
    init: Callable[[Corpus, Prior, Key], State]
    sweep: Callable[[Corpus, State, Prior, Key], tuple[State, Info]]
    log_joint: Callable[[Corpus, State, Prior], float]
    conditional: Callable[[Corpus, State, Prior, int], FloatArray]
    exact: bool


_KERNELS: dict[str, Kernel] = {}


def register(kernel: Kernel) -> Kernel:
    """Make a kernel available by name; every contract test then runs on it."""
    _KERNELS[kernel.name] = kernel
    return kernel


def get_kernel(name: str) -> Kernel:
    if name not in _KERNELS:
        raise InputError(f"sampler={name!r} is not known; choose one of {', '.join(map(repr, kernel_names()))}.")
    return _KERNELS[name]


def kernel_names() -> list[str]:
    return sorted(_KERNELS)


def make_prior(
    alpha: FloatArray,
    beta: FloatArray,
    n_docs: int,
    boosts: dict[int, FloatArray] | None = None,
    alpha_row: Int32Array | None = None,
) -> Prior:
    """Prior from α (K or rows × K), β (V) and, for seed words, what is added to β by topic."""
    alpha = np.ascontiguousarray(np.atleast_2d(alpha), np.float64)
    beta = np.ascontiguousarray(beta, np.float64)
    n_topics = alpha.shape[1]
    boost_row = np.full(len(beta), -1, np.int32)
    boost = np.zeros((len(boosts or {}), n_topics))
    for row, (word, by_topic) in enumerate((boosts or {}).items()):
        boost_row[word] = row
        boost[row] = by_topic
    return Prior(
        alpha=alpha,
        alpha_row=np.zeros(n_docs, np.int32) if alpha_row is None else np.ascontiguousarray(alpha_row, np.int32),
        beta=beta,
        beta_sum=beta.sum() + boost.sum(axis=0),
        boost_row=boost_row,
        boost=boost,
    )


def topic_dtype(n_topics: int) -> type[np.uint16] | type[np.int32]:
    """Smallest type of z in use for this many topics."""
    return np.uint16 if n_topics <= 1 << 16 else np.int32


def rebuild_counts(corpus: Corpus, z: AnyArray, n_topics: int) -> State:
    """The state that assignments imply."""
    z = np.ascontiguousarray(z, topic_dtype(n_topics))
    word_topic = np.empty((corpus.n_words, n_topics), np.int32)
    topic = np.empty(n_topics, np.int64)
    counts.rebuild(corpus.words, z, word_topic, topic)
    return State(z, word_topic, topic)


def init_from_prior(corpus: Corpus, prior: Prior, key: Key) -> State:
    """Topics drawn from the prior, seed words toward their topics."""
    z = np.empty(corpus.n_tokens, topic_dtype(prior.n_topics))
    counts.draw_from_prior(
        corpus.words, corpus.doc_ptr, np.cumsum(prior.alpha, axis=1), prior.alpha_row, prior.beta, prior.beta_sum,
        prior.boost_row, prior.boost, stream(key.seed, INIT, key.chain), z,
    )  # fmt: skip
    return rebuild_counts(corpus, z, prior.n_topics)


def log_joint(corpus: Corpus, state: State, prior: Prior) -> float:
    """log p(w, z | α, β), parameters integrated out."""
    return counts.log_joint(corpus.words, corpus.doc_ptr, *state, *prior)


def _dense_sweep(corpus: Corpus, state: State, prior: Prior, key: Key) -> tuple[State, Info]:
    changed = gibbs_dense.sweep(
        corpus.words, corpus.doc_ptr, *state, *prior, stream(key.seed, SWEEP, key.chain, key.sweep, 0)
    )
    return state, Info(int(changed))


def _dense_conditional(corpus: Corpus, state: State, prior: Prior, token: int) -> FloatArray:
    weight = np.empty(prior.n_topics)
    doc = int(corpus.token_docs[token])
    gibbs_dense.conditional(token, doc, corpus.words, corpus.doc_ptr, *state, *prior, weight)
    return weight


register(Kernel("dense", init_from_prior, _dense_sweep, log_joint, _dense_conditional, exact=True))
