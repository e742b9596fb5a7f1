"""What a page is made of: topics, documents' shares and the state they come from, of a model or of a state alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import shown
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimates import phi, theta, topic_counts
from topicloom.engine.prior import Prior
from topicloom.errors import InputError, StorageError
from topicloom.evaluation.topics import topic_sizes

_MOST_DRAWS = 50
_EXPECTED = "give a fitted model of topicloom; for a state of MALLET use explore_state"


@dataclass(frozen=True, eq=False)
class Source:
    """A model as the page shows it. Of a hidden Markov model, states stand where topics do."""

    kind: str
    model: Any  # None of a state
    vocabulary: tuple[str, ...]
    phi: FloatArray  # [K, V]
    theta: FloatArray | None  # [D, K]; None without a corpus
    corpus: Corpus | None
    state: Any  # of the published chain; None if it has none
    prior: Any
    share: FloatArray  # [K] of the tokens
    word_share: FloatArray  # [V] p(w)
    concentration: FloatArray | None = None  # [D] tokens plus Σα: how well a document's shares are known
    posterior: Callable[[int], FloatArray] | None = None  # p(topic | document's tokens) [n, K], where a model has it
    names: tuple[str | None, ...] = ()
    draws: AnyArray | None = None  # [S, D, K] of θ along the published chain, where they were kept

    @property
    def n_topics(self) -> int:
        return len(self.phi)

    @property
    def word_counts(self) -> FloatArray | None:
        """How often each word occurs, or its weight."""
        return None if self.corpus is None else weights_of_words(self.corpus)


def read_model(model: Any) -> Source:
    """A fitted model; without its corpus a page has no documents."""
    if not hasattr(type(model), "chains_") or not hasattr(model, "seed_"):
        what = "is not fitted" if hasattr(type(model), "chains_") else f"is {shown(model)}"
        raise InputError(f"the model {what}; {_EXPECTED}.")
    if not hasattr(type(model), "topic_word_"):
        return _read_sequences(model)
    vocabulary, names = tuple(model.vocabulary_), _names(model)
    topics = np.ascontiguousarray(model.topic_word_)
    try:
        corpus, chain = model.corpus_, model.chains_[model.best_chain_]
    except StorageError:  # it was saved without its corpus, or fed by partial_fit
        mass = np.maximum(np.asarray(model.components_).sum(axis=1) - float(np.sum(model.beta_)), 0.0)
        share = mass / mass.sum() if mass.sum() > 0 else np.full(len(topics), 1.0 / len(topics))
        words = np.einsum("k,kv->v", share, topics)
        return Source(
            type(model).__name__, model, vocabulary, topics, None, None, None, None, share, words, names=names
        )
    shares = np.asarray(model.doc_topic_)
    return Source(
        type(model).__name__, model, vocabulary, topics, shares, corpus, chain.state, chain.prior,
        topic_sizes(shares, lengths(corpus)), word_shares(corpus), _concentration(corpus, chain.state, chain.prior),
        names=names, draws=_draws(model),
    )  # fmt: skip


def _draws(model: Any) -> AnyArray | None:
    """θ at the kept sweeps of the published chain (``keep_draws="theta"``), some of them if they are many."""
    kept = (getattr(model, "draws_", None) or {}).get("theta")
    if kept is None or np.ndim(kept) != 4 or np.shape(kept)[1] < 2:
        return None
    own = np.asarray(kept)[model.best_chain_]
    some: AnyArray = own[np.unique(np.linspace(0, len(own) - 1, _MOST_DRAWS).astype(int))]
    return some


def read_assignments(corpus: Corpus, state: Any, prior: Prior) -> Source:
    """Corpus, assignments and priors of another program, with the dense estimates of that one sample."""
    counts = topic_counts(corpus, state, prior, "cgs_p")
    assert counts.doc is not None
    assert counts.word is not None
    shares = theta(counts.doc, 1, corpus, prior)
    topics = np.ascontiguousarray(phi(counts.word, 1, prior).T)
    return Source(
        "MALLET state", None, corpus.vocabulary, topics, shares, corpus, state, prior,
        topic_sizes(shares, lengths(corpus)), word_shares(corpus), _concentration(corpus, state, prior),
    )  # fmt: skip


def _read_sequences(model: Any) -> Source:
    """States of a hidden Markov model in the place of topics, with their posterior shares of each sequence."""
    if model.emission != "categorical":
        raise InputError(f'emission="{model.emission}" has no symbols to show; only "categorical" has.')
    corpus, emission, names = model.corpus_, np.asarray(model.emission_), list(map(str, model.alphabet_))
    found = model._posteriors(model._training_data().seen)[1]
    if corpus.n_words > len(names):  # the last word stands for missing ones, which no state tells of
        emission = np.hstack((emission, np.full((len(emission), 1), 1e-12)))
        names.append(corpus.vocabulary[-1])
    n_states = len(model.initial_)
    sums = np.array([own.sum(axis=0) for own in found]).reshape(-1, n_states)
    # A sequence without symbols has the probabilities of a first state.
    filled = corpus.doc_lengths > 0
    shares = np.tile(np.asarray(model.initial_, float), (corpus.n_docs, 1))
    shares[filled] = sums[filled] / sums[filled].sum(axis=1, keepdims=True)
    return Source(
        type(model).__name__, model, tuple(names), np.ascontiguousarray(emission), shares,
        corpus, None, None, topic_sizes(shares, lengths(corpus)), word_shares(corpus),
        corpus.doc_lengths + 1.0, lambda d: found[d], _names(model),
    )  # fmt: skip


def _names(model: Any) -> tuple[str | None, ...]:
    return tuple(getattr(model, "topic_names_", None) or ())


# -- sizes ---------------------------------------------------------------------------------------------------------


def lengths(corpus: Corpus) -> FloatArray:
    """Tokens of each document, or their weights."""
    if corpus.weights is None:
        return corpus.doc_lengths.astype(np.float64)
    sums = np.bincount(corpus.token_docs, corpus.weights, minlength=corpus.n_docs)
    return sums.astype(np.float64, copy=False)


def weights_of_words(corpus: Corpus) -> FloatArray:
    if corpus.weights is None:
        return corpus.word_counts.astype(np.float64)
    sums = np.bincount(corpus.words, corpus.weights, minlength=corpus.n_words)
    return sums.astype(np.float64, copy=False)


def word_shares(corpus: Corpus) -> FloatArray:
    counts = weights_of_words(corpus)
    return np.asarray(counts / max(float(counts.sum()), 1e-300))


def _concentration(corpus: Corpus, state: Any, prior: Any) -> FloatArray:
    """Sum of the Dirichlet parameters of each document's shares: its tokens plus Σα, over its labels if it has some."""
    own = lengths(corpus)
    alpha, rows = getattr(prior, "alpha", None), getattr(prior, "alpha_row", None)
    if alpha is None or rows is None or len(rows) < corpus.n_docs:
        return own + 1.0
    rows = np.asarray(rows)[: corpus.n_docs]
    if hasattr(state, "label_ptr") and len(state.label_ptr) == corpus.n_docs + 1:
        owner = np.repeat(np.arange(corpus.n_docs), np.diff(state.label_ptr))
        sums: AnyArray = np.bincount(owner, alpha[rows[owner], state.labels], minlength=corpus.n_docs)
        return np.asarray(own + sums)
    return np.asarray(own + alpha.sum(axis=1)[rows])
