"""Which words go together by a model's topics (CGS_p section 5.4, eq. 57)."""

from typing import Any

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus._checks import as_array, as_numbers
from topicloom.errors import InputError
from topicloom.evaluation.topics import check_topics
from topicloom.numerics.product import product


def word_association(topics: AnyArray, cues: Any, alpha: AnyArray | None = None) -> FloatArray:
    """Probability of each word, given that another word, the cue, comes from the same topic.

    p(w | cue) = Σ_k φ_kw p(k | cue), with p(k | cue) ∝ φ_k,cue p(k).

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
        φ. Rows sum to 1.
    cues : sequence of int
        Numbers of the cues in the vocabulary.
    alpha : array of shape (n_topics,), optional
        p(k) is proportional to this, as it is for the first word of a document with prior α. None takes all topics as
        equally likely.

    Returns
    -------
    ndarray of shape (n_cues, n_words)
        Rows sum to 1. The cue itself is one of the words.

    Raises
    ------
    InputError
        If a cue is not a column of ``topics``, or no topic with a positive ``alpha`` has it.

    Examples
    --------
    >>> topics = [[0.5, 0.5, 0.0, 0.0], [0.0, 0.25, 0.5, 0.25]]
    >>> from topicloom.evaluation import word_association
    >>> word_association(topics, [0, 1]).round(3).tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.333, 0.417, 0.167, 0.083]]
    """
    phi = check_topics(topics)
    numbers = _check_cues(cues, phi.shape[1])
    weight = np.ones(len(phi)) if alpha is None else _check_weights(alpha, len(phi))
    given = phi.T[numbers] * weight
    total = given.sum(axis=1, keepdims=True)
    if np.any(total <= 0):
        raise InputError(f"word {numbers[int(np.argmin(total))]}, a cue, has probability 0 in all topics.")
    return product(given / total, phi)


def _check_cues(cues: Any, n_words: int) -> Int64Array:
    numbers = as_array("cues", cues)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise InputError("cues must be a list of word numbers, as in [3, 17].")
    wrong = numbers[(numbers < 0) | (numbers >= n_words)]
    if len(wrong):
        raise InputError(f"cues holds {wrong[0]}; words have the numbers 0 to {n_words - 1}.")
    return np.asarray(numbers, np.int64)


def _check_weights(alpha: AnyArray, n_topics: int) -> FloatArray:
    """A label without documents has 0."""
    weight = as_numbers("alpha", alpha)
    if weight.shape != (n_topics,):
        raise InputError(f"alpha has shape {weight.shape} but there are {n_topics} topics; give one value for each.")
    if not np.all(np.isfinite(weight) & (weight >= 0)) or not weight.any():
        raise InputError("alpha must be finite, 0 or more for each topic, and more than 0 for one of them.")
    return weight
