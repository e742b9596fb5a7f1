"""A corpus as distinct (document, word) pairs, and what variational inference knows about it so far."""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.numerics.jit import as_input

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
    return PairIndex(
        as_input(pairs.ptr), as_input(pairs.word), as_input(pairs.count), as_input(doc), as_input(word_ptr),
        as_input(by_word),
    )  # fmt: skip


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
