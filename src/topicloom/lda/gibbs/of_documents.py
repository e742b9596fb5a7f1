"""What a sampler does with some documents by themselves, given the counts of some words.

A shard's documents may lie in a process of their own, which has no others. All functions can be imported there by name.
What documents have *beside* their tokens, as labels, is cut with them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine import counts
from topicloom.engine.blocks import Block, Range, tokens_of
from topicloom.engine.prior import Prior
from topicloom.engine.soft_counts import add_soft_counts, dense_scratch
from topicloom.engine.state import AnyState
from topicloom.lda.gibbs.first_topics import draw_from_prior
from topicloom.lda.gibbs.joint import parts_of_sums


class OfDocuments(NamedTuple):
    """Functions of a shard: its corpus, and ``beside`` cut for it. Documents are numbered as in the shard."""

    cut: Callable[[Any, Range], Any]  # (beside, documents)
    n_draws: Callable[[Corpus, Any], Int64Array]  # of first topics, by document
    draw_first: Callable[[Corpus, Any, Prior, AnyArray, AnyArray], None]  # (corpus, beside, prior, stream, z)
    state: Callable[[AnyState, Any], AnyState]  # plain counts and topics as the sampler takes them
    ranges: Callable[[Corpus], list[Range]]  # documents whose log p(z | α) is added up one after the other
    log_joint: Callable[..., float]  # (corpus, beside, z, prior, documents, total)
    counts: Callable[..., FloatArray]  # (corpus, beside, z, n_topics) -> topic counts of the documents
    no_counts: Callable[..., FloatArray]  # (corpus, beside, n_topics) -> zeros of that shape
    add_soft: Callable[..., None]  # (block, corpus, beside, state, prior, doc, word) (CGS_p)


def _nothing(beside: Any, docs: Range) -> None:
    return None


def _one_per_token(corpus: Corpus, beside: Any) -> Int64Array:
    return corpus.doc_lengths


def _draw_first(corpus: Corpus, beside: Any, prior: Prior, rng: AnyArray, z: AnyArray) -> None:
    draw_from_prior(tokens_of(corpus), prior, np.cumsum(prior.alpha, axis=1), np.empty(prior.n_topics), rng, z)


def _as_it_is(state: AnyState, beside: Any) -> AnyState:
    return state


def _ranges(corpus: Corpus) -> list[Range]:
    return parts_of_sums(corpus)[0]


def _log_joint(corpus: Corpus, beside: Any, z: AnyArray, prior: Prior, docs: Range, total: float) -> float:
    doc, alpha_sum = np.zeros(prior.n_topics, np.int64), prior.alpha.sum(axis=1)
    return counts.log_joint_documents(docs[0], docs[1], corpus.doc_ptr, z, prior, alpha_sum, doc, total)


def _counts(corpus: Corpus, beside: Any, z: AnyArray, n_topics: int) -> FloatArray:
    out = np.empty((corpus.n_docs, n_topics))
    counts.document_counts(corpus.doc_ptr, z, out)
    return out


def _no_counts(corpus: Corpus, beside: Any, n_topics: int) -> FloatArray:
    return np.zeros((corpus.n_docs, n_topics))


def _add_soft(
    block: Block, corpus: Corpus, beside: Any, state: AnyState, prior: Prior, doc: FloatArray, word: FloatArray
) -> None:
    keys = np.empty(int(corpus.doc_lengths.max(initial=0)), np.int64)
    add_soft_counts(block, tokens_of(corpus), state, prior, doc, word, dense_scratch(prior), keys)


PLAIN = OfDocuments(
    _nothing, _one_per_token, _draw_first, _as_it_is, _ranges, _log_joint, _counts, _no_counts, _add_soft
)  # fmt: skip
