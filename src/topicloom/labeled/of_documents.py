"""What the labeled sampler does with some documents by themselves: ``lda.gibbs.of_documents``, with their labels."""

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Block, Range, tokens_of
from topicloom.engine.estimator.label_sets import LabelSets
from topicloom.engine.prior import Prior
from topicloom.engine.state import State
from topicloom.labeled import gibbs
from topicloom.labeled.gibbs import LabeledState
from topicloom.lda.gibbs.of_documents import OfDocuments
from topicloom.numerics.jit import as_input


def _cut(sets: LabelSets, docs: Range) -> LabelSets:
    ptr = sets.ptr[docs[0] : docs[1] + 1]
    return LabelSets(as_input(ptr - ptr[0]), as_input(sets.label[ptr[0] : ptr[-1]]), sets.n_labels)


def _n_draws(corpus: Corpus, sets: LabelSets) -> Int64Array:
    """None of a document with one label, whose tokens have no choice."""
    return np.where(sets.sizes == 1, 0, corpus.doc_lengths)


def _draw_first(corpus: Corpus, sets: LabelSets, prior: Prior, rng: AnyArray, z: AnyArray) -> None:
    gibbs.draw_from_prior(
        corpus.doc_ptr, as_input(sets.ptr), as_input(sets.label), prior.alpha, prior.alpha_row, rng, z
    )


def _state(state: State, sets: LabelSets) -> LabeledState:
    return LabeledState(state.z, state.word_topic, state.topic, as_input(sets.ptr), as_input(sets.label))


def _ranges(corpus: Corpus) -> list[Range]:
    return [(0, corpus.n_docs)]


def _log_joint(corpus: Corpus, sets: LabelSets, z: AnyArray, prior: Prior, docs: Range, total: float) -> float:
    return gibbs.log_joint_documents(
        docs[0], docs[1], corpus.doc_ptr, z, as_input(sets.ptr), as_input(sets.label), prior, total
    )


def _counts(corpus: Corpus, sets: LabelSets, z: AnyArray, n_topics: int) -> FloatArray:
    out = np.zeros(len(sets.label))
    gibbs.document_counts(corpus.doc_ptr, z, as_input(sets.ptr), as_input(sets.label), n_topics, out)
    return out


def _no_counts(corpus: Corpus, sets: LabelSets, n_topics: int) -> FloatArray:
    return np.zeros(len(sets.label))


def _add_soft(
    block: Block, corpus: Corpus, sets: LabelSets, state: State, prior: Prior, doc: FloatArray, word: FloatArray
) -> None:
    out = doc if doc.ndim == 1 else np.zeros(0)
    gibbs.add_soft_counts(block, tokens_of(corpus), _state(state, sets), prior, out, word)


LABELED = OfDocuments(_cut, _n_draws, _draw_first, _state, _ranges, _log_joint, _counts, _no_counts, _add_soft)
