"""Samplers whose tokens may only have a label of their document: Gibbs, and CVB0 in the same form.

Such a sampler belongs to one training set, since it needs the documents' labels, so it is made for one and not
registered by name. It serves the one loop of chains as any other does. CVB0 draws nothing; its latent part is γ, from
which all counts are made anew after each sweep, so that a run goes on from γ alone, bit for bit.
"""

from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import check_choice
from topicloom.corpus.corpus import Corpus
from topicloom.engine import draws
from topicloom.engine.blocks import tokens_of, whole
from topicloom.engine.checks import ROUNDING, check_kept, check_prior, check_tokens
from topicloom.engine.estimates import ESTIMATORS, Counts, Estimator, phi, with_prior
from topicloom.engine.estimator.label_sets import LabelSets
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Sampler, Schedule
from topicloom.engine.state import AnyState, new_assignments, rebuild_counts
from topicloom.files.checks import Contents, Expected
from topicloom.labeled import cvb0 as collapsed
from topicloom.labeled import gibbs as labeled
from topicloom.labeled.cvb0 import LabeledPairs, SoftLabeledState
from topicloom.labeled.gibbs import LabeledState
from topicloom.labeled.of_documents import LABELED
from topicloom.lda.gibbs.in_blocks import sampler_in_blocks
from topicloom.lda.gibbs.joint import log_joint_words
from topicloom.numerics.jit import as_input
from topicloom.numerics.rng import Purpose, path_key, stream

_CHUNK = 1 << 20  # tokens looked at together


def gibbs(sets: LabelSets) -> Sampler:
    """The collapsed Gibbs sampler of CGS_p eq. 5: exact for LDA whose θ_d is a Dirichlet over the document's labels."""
    ptr, label = as_input(sets.ptr), as_input(sets.label)

    def init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
        _check(prior)
        z = new_assignments(corpus, prior.n_topics)
        rng = stream(key.seed, Purpose.START, key.chain)
        labeled.draw_from_prior(corpus.doc_ptr, ptr, label, prior.alpha, prior.alpha_row, rng, z)
        return restore(corpus, z, prior.n_topics)

    def restore(corpus: Corpus, z: AnyArray, n_topics: int) -> AnyState:
        counts = rebuild_counts(corpus, z, n_topics)
        return LabeledState(counts.z, counts.word_topic, counts.topic, ptr, label)

    def conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
        out = np.empty(prior.n_topics)
        own = cast(LabeledState, state)
        labeled.conditional(token, int(corpus.token_docs[token]), tokens_of(corpus), own, prior, out)
        return out

    def check(file: Contents, corpus: Corpus, index: int) -> None:
        check_prior(file)
        check_tokens(file)
        check_kept(file, corpus, (len(label),))
        _check_labels_of_tokens(file, corpus, sets)

    sampler = sampler_in_blocks(
        "labeled", init, restore, conditional, {"labeled": labeled.LABELED}, of_documents=LABELED, beside=sets
    )  # fmt: skip
    return replace(sampler, log_joint=log_joint, topic_counts=topic_counts, check=check, draw=partial(_draw, sets))


def _draw(sets: LabelSets, corpus: Corpus, counts: Counts, prior: Prior, n_paths: int) -> draws.Drawn:
    """θ [D, K] of documents over their own labels, which without labels is the same for each, and φ [K, V]."""
    assert counts.doc is not None
    assert counts.word is not None
    rows = np.repeat(np.arange(sets.n_docs), sets.sizes)
    theta = np.tile(prior.alpha[0], (sets.n_docs, 1))
    theta[sets.sizes > 0] = 0.0
    theta[rows, sets.label] = counts.doc / counts.n_samples + prior.alpha[0, sets.label]
    theta = with_prior(theta, np.zeros(sets.n_labels))
    found = {"theta": theta, "phi": phi(counts.word, counts.n_samples, prior).T}
    return draws.Drawn(found, draws.topic_context(corpus, prior))


def log_joint(corpus: Corpus, state: AnyState, prior: Prior, n_jobs: int = 1) -> float:
    """log p(w, z | α, β, labels), parameters integrated out."""
    own = cast(LabeledState, state)
    documents = labeled.log_joint_documents(
        0, corpus.n_docs, corpus.doc_ptr, own.z, own.label_ptr, own.labels, prior, 0.0
    )  # fmt: skip
    return documents + log_joint_words(corpus, own.as_dense(), prior, n_jobs)


def cvb0(sets: LabelSets, corpus: Corpus, prior: Prior) -> Sampler:
    """CVB0 over the documents' labels, with this prior; ``log_joint`` is the log-likelihood of the training words."""
    _check(prior)
    given = corpus.pairs
    gamma_ptr = np.concatenate(([0], np.cumsum(np.diff(given.ptr) * sets.sizes)))
    pairs = LabeledPairs(as_input(given.ptr), as_input(given.word), as_input(given.count), as_input(gamma_ptr))
    label_ptr, label = as_input(sets.ptr), as_input(sets.label)
    of_label = np.repeat(np.arange(sets.n_docs), sets.sizes)
    alpha = prior.alpha[prior.alpha_row[of_label], sets.label]

    def init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
        gamma = np.empty(int(gamma_ptr[-1]), np.float32)
        collapsed.start(pairs, label_ptr, path_key(key.seed, Purpose.VARIATIONAL_START, key.chain), gamma)
        return restore(corpus, gamma, prior.n_topics)

    def restore(corpus: Corpus, gamma: AnyArray, n_topics: int) -> AnyState:
        doc, word, topic = alpha.copy(), np.repeat(prior.beta[:, None], n_topics, axis=1), prior.beta_sum.copy()
        state = SoftLabeledState(gamma, doc, word, topic, label_ptr, label)
        collapsed.add_counts(pairs, state)
        return state

    def sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
        moved = collapsed.sweep(pairs, cast(SoftLabeledState, state))
        return restore(corpus, state.z, prior.n_topics), Info(round(moved / 2), len(state.z))

    def likelihood(corpus: Corpus, state: AnyState, prior: Prior, n_jobs: int = 1) -> float:
        return collapsed.log_likelihood(pairs, cast(SoftLabeledState, state))

    def conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
        raise NotImplementedError("CVB0 draws nothing")

    def check(file: Contents, corpus: Corpus, index: int) -> None:
        check_prior(file)
        file.expect({"z": Expected("f4", (int(gamma_ptr[-1]),), low=0, high=1 + 1e-6)})
        check_kept(file, corpus, (len(label),))
        _check_shares_of_labels(file, corpus, sets)

    return Sampler(
        "labeled_cvb0", init, restore, sweep, likelihood, conditional, exact=False,
        topic_counts=expected_topic_counts, check=check, by_token=False,
    )  # fmt: skip


def _check_labels_of_tokens(file: Contents, corpus: Corpus, sets: LabelSets) -> None:
    """Whether each token has a label of its own document."""
    z, size = file.arrays["z"], sets.n_labels
    known = np.repeat(np.arange(sets.n_docs), sets.sizes) * size + sets.label
    for start in range(0, len(z), _CHUNK):
        stop = min(start + _CHUNK, len(z))
        docs = np.searchsorted(corpus.doc_ptr, np.arange(start, stop), side="right") - 1
        wanted = docs * size + z[start:stop]
        found = np.searchsorted(known, wanted)
        if np.any(found == len(known)) or np.any(known[found] != wanted):
            file.fail("a token has a label that is not one of its document")


def _check_shares_of_labels(file: Contents, corpus: Corpus, sets: LabelSets) -> None:
    """Whether each pair's distribution over its document's labels sums to 1."""
    sizes = np.repeat(sets.sizes, np.diff(corpus.pairs.ptr))
    starts = np.cumsum(sizes) - sizes
    file.sums_to("z", np.add.reduceat(file.arrays["z"], starts, dtype=np.float64), 1.0, ROUNDING)


def topic_counts(
    corpus: Corpus,
    state: LabeledState,
    prior: Prior,
    estimator: Estimator = "cgs_p",
    *,
    docs: bool = True,
    words: bool = True,
    n_jobs: int = 1,
) -> Counts:
    """As ``estimates.topic_counts`` where tokens have labels of their documents alone.

    Documents' counts are aligned with ``labels``.
    """
    check_choice("estimator", estimator, ESTIMATORS)
    doc = np.zeros(len(state.labels)) if docs else None
    if estimator == "standard":
        if doc is not None:
            labeled.document_counts(corpus.doc_ptr, state.z, state.label_ptr, state.labels, prior.n_topics, doc)
        return Counts(doc, state.word_topic.astype(np.float64) if words else None)
    word = np.zeros((corpus.n_words, prior.n_topics)) if words else None
    out_doc, out_word = np.zeros(0) if doc is None else doc, np.zeros((0, 0)) if word is None else word
    labeled.add_soft_counts(whole(corpus), tokens_of(corpus), state, prior, out_doc, out_word)
    return Counts(doc, word)


def expected_topic_counts(
    corpus: Corpus,
    state: SoftLabeledState,
    prior: Prior,
    estimator: Estimator = "cgs_p",
    *,
    docs: bool = True,
    words: bool = True,
    n_jobs: int = 1,
) -> Counts:
    """The same of CVB0, whose counts are expected ones, whatever the estimator."""
    check_choice("estimator", estimator, ESTIMATORS)
    of_label = np.repeat(np.arange(corpus.n_docs), np.diff(state.label_ptr))
    doc = state.doc - prior.alpha[prior.alpha_row[of_label], state.labels] if docs else None
    return Counts(doc, state.word - prior.beta[:, None] if words else None)


def _check(prior: Prior) -> None:
    assert len(prior.boost) == 0, "labels stand for their words already; seed words are not for them"
