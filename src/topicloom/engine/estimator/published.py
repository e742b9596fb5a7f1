"""What every model goes through before it is seen: numbers are finite, and topics that tell nothing are reported."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.learn_priors import MOST
from topicloom.engine.prior import Prior
from topicloom.errors import AlikeTopicsWarning, InputError, PriorsWarning, warn

_ALIKE = 0.03  # mean distance of topics from their mean below which they are as good as one
_NEARLY_ALL = 0.99  # share of the counts in one topic that leaves nothing for the others
_AT_ONCE = 1 << 18  # probabilities


@contextmanager
def publishing(model: Any) -> Iterator[None]:
    """Estimates are set within; if that fails, or if one is not finite, the model is what it was before."""
    before = dict(vars(model))
    try:
        yield
        _check_finite(model)
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


def _check_finite(model: Any) -> None:
    numbers = [np.asarray(own, np.float64) for own in model._fitted_numbers() if own is not model.log_joint_]
    numbers += [model.log_joint_[model.best_chain_]] if model.n_iter_ > 0 else []  # there is none before the first step
    if not all(np.isfinite(array.sum()) for array in numbers):
        raise InputError(
            f"the fit of {type(model).__name__} ended in numbers that are not finite, so nothing is published: priors, "
            "weights and counts are too large or too small for each other. Bring priors and weights nearer to 1, or "
            "scale the counts."
        )


def merged(arrays: Sequence[FloatArray], matches: Int64Array) -> FloatArray:
    """Means [..., K] over the chains that have a topic, of arrays whose last axis is that of the chain's topics."""
    total = np.zeros((*arrays[0].shape[:-1], matches.shape[1]))
    for array, own in zip(arrays, matches, strict=True):
        has = np.flatnonzero(own >= 0)
        total[..., has] += array[..., own[has]]
    return np.asarray(total / np.count_nonzero(matches >= 0, axis=0))


# -- topics that tell nothing, priors that outweigh the data -----------------------------------------------------------


def report_topics(
    model: Any, corpus: Corpus, prior: Prior, learned: Sequence[str] = (), *, labels: bool = False, what: str = "topics"
) -> bool:
    """Warn if topics coincide, or if a learned prior outweighs what it was learned from.

    ``learned`` has the parameters' names of those that were; "topic_word_prior" is that of words, others are of
    documents. ``labels`` says that topics are labels, each of which counts the same, however few documents have it.
    Returns whether there was something to warn of.
    """
    n_topics = prior.n_topics
    if model._quiet or n_topics < 2 or corpus.n_words < 2:
        return False
    mass = np.maximum(model._by_word.sum(axis=0) - prior.beta_sum, 0.0)
    share = (mass > 0).astype(np.float64) if labels else mass
    share = share / max(float(share.sum()), 1e-300)
    used = int(np.count_nonzero(corpus.doc_lengths))
    total = float(corpus.n_tokens if corpus.weights is None else corpus.weights.sum())
    weigh = _Weights(
        float(prior.alpha.sum(axis=1).mean()), total / max(used, 1), float(prior.beta.sum()), float(mass.mean())
    )
    distance = mean_distance(model._phi_by_word, share)
    if distance < _ALIKE:
        warn(
            f"the {n_topics} {what} are as good as one: on average their words' probabilities differ by {distance:.2%} "
            f"from the mean. {_cause(weigh, share, labels, getattr(model, 'method', ''))}",
            AlikeTopicsWarning,
        )
        return True
    message = _outweighed(weigh, learned)
    if message is not None:
        warn(message, PriorsWarning)
    return message is not None


def mean_distance(phi: FloatArray, share: FloatArray) -> float:
    """Mean over topics, by their shares, of ½ Σ_v |φ_kv − mean_v|; ``phi`` is [V, K]."""
    total = 0.0
    size = max(_AT_ONCE // len(share), 1)
    for first in range(0, len(phi), size):
        rows = phi[first : first + size]
        mean = (rows * share).sum(axis=1, keepdims=True)
        total += float((np.abs(rows - mean) * share).sum())
    return 0.5 * total


class _Weights(NamedTuple):
    alpha: float  # Σα of a document, the mean
    doc: float  # counts of a document
    beta: float  # Σβ
    topic: float  # counts of a topic


def _cause(weigh: _Weights, share: FloatArray, labels: bool, method: str) -> str:
    if weigh.beta > weigh.topic:
        return (
            f"The prior of a topic's words sums to {weigh.beta:.3g}, its counts to {weigh.topic:.3g}: give a smaller "
            "topic_word_prior, or counts that are not scaled down."
        )
    if weigh.alpha > weigh.doc:
        return (
            f"The prior of a document's topics sums to {weigh.alpha:.3g}, its counts to {weigh.doc:.3g}: give a "
            "smaller one, or counts that are not scaled down."
        )
    top = int(np.argmax(share))
    if not labels and share[top] > _NEARLY_ALL:
        return (
            f"Topic {top} has {share[top]:.1%} of all counts: the data may hold too little for the others. Use fewer "
            + (
                'topics, or LDA, or VariationalLDA with method="cvb0".'
                if method in ("vb", "svb", "vem")
                else "topics, or give priors."
            )
        )
    return "The data may hold too little to tell them apart: use fewer, or give priors instead of learning them."


def _outweighed(weigh: _Weights, learned: Sequence[str]) -> str | None:
    for name in learned:
        of_words = name == "topic_word_prior"
        prior, data = (weigh.beta, weigh.topic) if of_words else (weigh.alpha, weigh.doc)
        if prior > MOST * data:
            return (
                f"{name} was to be learned, but there is too little to learn it from: it sums to {prior:.3g}, "
                f"{'a topic' if of_words else 'a document'}'s counts to {data:.3g}. Give {name}, or counts that are "
                "not scaled down."
            )
    return None
