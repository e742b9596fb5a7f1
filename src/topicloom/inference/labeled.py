"""Samplers whose tokens may only have a label of their document: Gibbs, and CVB0 in the same form.

Such a sampler belongs to one training set, since it needs the documents' labels, so it is made for one and not
registered by name. It serves the one loop of chains as any other does. CVB0 draws nothing; its latent part is γ, from
which all counts are made anew after each sweep, so that a run goes on from γ alone, bit for bit.
"""

from typing import NamedTuple, cast

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.inference.kernel import INIT, SWEEP, Info, Kernel, Key, Prior, Schedule
from topicloom.inference.samplers import log_joint_words
from topicloom.inference.state import (
    AnyState,
    LabeledState,
    SoftLabeledState,
    as_dense,
    new_assignments,
    rebuild_counts,
)
from topicloom.kernels import labeled, labeled_collapsed
from topicloom.kernels._jit import as_input
from topicloom.kernels.rng import path_key, stream

_START = 4  # what the streams are for, as in ``variational``


class LabelSets(NamedTuple):
    """Each document's labels, as numbers, ascending: those of document d are ``label[ptr[d]:ptr[d + 1]]``."""

    ptr: Int64Array
    label: Int32Array
    n_labels: int

    @property
    def n_docs(self) -> int:
        return len(self.ptr) - 1

    @property
    def sizes(self) -> Int64Array:
        return np.diff(self.ptr)

    @property
    def frequencies(self) -> Int64Array:
        """Number of documents with each label."""
        return np.bincount(self.label, minlength=self.n_labels)


def gibbs(sets: LabelSets) -> Kernel:
    """The collapsed Gibbs sampler of CGS_p eq. 5: exact for LDA whose θ_d is a Dirichlet over the document's labels."""
    ptr, label = as_input(sets.ptr), as_input(sets.label)

    def init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
        _check(prior)
        z = new_assignments(corpus, prior.n_topics)
        rng = stream(key.seed, INIT, key.chain)
        labeled.draw_from_prior(corpus.doc_ptr, ptr, label, prior.alpha, prior.alpha_row, rng, z)
        return restore(corpus, z, prior.n_topics)

    def restore(corpus: Corpus, z: AnyArray, n_topics: int) -> AnyState:
        return LabeledState(*rebuild_counts(corpus, z, n_topics), ptr, label)

    def sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
        work = np.zeros(2, np.int64)
        rng = stream(key.seed, SWEEP, key.chain, key.sweep, 0, 0)  # as of a sampler of all topics with one shard
        labeled.sweep(
            corpus.words, corpus.doc_ptr, *cast(LabeledState, state), prior.alpha, prior.alpha_row, prior.beta,
            prior.beta_sum, rng, work,
        )  # fmt: skip
        return state, Info(int(work[0]), int(work[1]))

    def conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
        out = np.empty(prior.n_topics)
        labeled.conditional(
            token, int(corpus.token_docs[token]), corpus.words, corpus.doc_ptr, *cast(LabeledState, state),
            prior.alpha, prior.alpha_row, prior.beta, prior.beta_sum, out,
        )  # fmt: skip
        return out

    return Kernel("labeled", init, restore, sweep, log_joint, conditional, exact=True)


def log_joint(corpus: Corpus, state: AnyState, prior: Prior, n_jobs: int = 1) -> float:
    """log p(w, z | α, β, labels), parameters integrated out."""
    own = cast(LabeledState, state)
    documents = labeled.log_joint_documents(
        corpus.doc_ptr, own.z, own.label_ptr, own.labels, prior.alpha, prior.alpha_row
    )
    return documents + log_joint_words(corpus, as_dense(own), prior, n_jobs)


def cvb0(sets: LabelSets, corpus: Corpus, prior: Prior) -> Kernel:
    """CVB0 over the documents' labels, with this prior; ``log_joint`` is the log-likelihood of the training words."""
    _check(prior)
    pairs = corpus.pairs
    ptr, words, count = as_input(pairs.ptr), as_input(pairs.word), as_input(pairs.count)
    label_ptr, label = as_input(sets.ptr), as_input(sets.label)
    gamma_ptr = as_input(np.concatenate(([0], np.cumsum(np.diff(pairs.ptr) * sets.sizes))))
    of_label = np.repeat(np.arange(sets.n_docs), sets.sizes)
    alpha = prior.alpha[prior.alpha_row[of_label], sets.label]

    def init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
        gamma = np.empty(int(gamma_ptr[-1]), np.float32)
        labeled_collapsed.start(ptr, gamma_ptr, label_ptr, path_key(key.seed, _START, key.chain), gamma)
        return restore(corpus, gamma, prior.n_topics)

    def restore(corpus: Corpus, gamma: AnyArray, n_topics: int) -> AnyState:
        doc, word, topic = alpha.copy(), np.repeat(prior.beta[:, None], n_topics, axis=1), prior.beta_sum.copy()
        labeled_collapsed.add_counts(ptr, words, count, gamma_ptr, label_ptr, label, gamma, doc, word, topic)
        return SoftLabeledState(gamma, doc, word, topic, label_ptr, label)

    def sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
        z, doc, word, topic, *_ = cast(SoftLabeledState, state)
        moved = labeled_collapsed.sweep(ptr, words, count, gamma_ptr, label_ptr, label, z, doc, word, topic)
        return restore(corpus, z, prior.n_topics), Info(round(moved / 2), len(z))

    def likelihood(corpus: Corpus, state: AnyState, prior: Prior, n_jobs: int = 1) -> float:
        _, doc, word, topic, *_ = cast(SoftLabeledState, state)
        return labeled_collapsed.log_likelihood(ptr, words, count, label_ptr, label, doc, word, topic)

    def conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
        raise NotImplementedError("CVB0 draws nothing")

    size = int(gamma_ptr[-1])
    return Kernel("labeled_cvb0", init, restore, sweep, likelihood, conditional, exact=False, n_latent=size)


def _check(prior: Prior) -> None:
    assert len(prior.boost) == 0, "labels stand for their words already; seed words are not for them"
