"""Measures of the topics themselves, and the checks that every measure makes of the arrays it is given."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus._checks import as_array, as_numbers, check_choice, check_whole, shown
from topicloom.errors import InputError
from topicloom.numerics.product import product

Topics: TypeAlias = Sequence[Sequence[str]] | AnyArray
Metric: TypeAlias = Literal["jensen_shannon", "hellinger", "cosine"]

_EXPECTED = (
    "give each topic as a list of words, as in [['river', 'bank']], or all of them as a topics × words array of numbers"
)
_ROW_SUM_TOLERANCE = 1e-6  # ten times what rounding to float32 can do to a sum of one


class _Distance(NamedTuple):
    prepare: Callable[[FloatArray], FloatArray]
    metric: Literal["jensenshannon", "euclidean", "cosine"]
    scale: float


# Each is 0 for equal topics and 1 for topics that share no word.
_DISTANCES = {
    "jensen_shannon": _Distance(np.asarray, "jensenshannon", np.log(2.0) ** -0.5),  # root of the divergence in bits
    "hellinger": _Distance(np.sqrt, "euclidean", 0.5**0.5),
    "cosine": _Distance(np.asarray, "cosine", 1.0),
}


def topic_diversity(topics: Topics, n_words: int = 25) -> float:
    """Share of different words among the best words of all topics: 1 if no two topics share one.

    Parameters
    ----------
    topics : array of shape (n_topics, n_words), or sequence of lists of str
        Word probabilities, such as ``model.topic_word_``, or each topic's words, best first.
    n_words : int, default=25
        Words per topic.

    Returns
    -------
    float
        From 1 / n_topics, if all topics have the same best words, to 1.

    Examples
    --------
    >>> topic_diversity([["river", "bank"], ["loan", "bank"]], n_words=2)
    0.75
    """
    check_n_words(n_words)
    best: list[Any]
    if is_matrix(topics):
        best = top_words(as_array("topics", topics), n_words).ravel().tolist()
    else:
        best = [word for words in check_word_lists(topics) for word in words[:n_words]]
    return len(set(best)) / len(best)


def topic_sizes(theta: AnyArray, lengths: AnyArray) -> FloatArray:
    """Share of the tokens that each topic accounts for: Σ_d N_d θ_dk / Σ_d N_d.

    Parameters
    ----------
    theta : array of shape (n_docs, n_topics)
        Topic shares of the documents, such as ``model.doc_topic_``.
    lengths : array of shape (n_docs,)
        Tokens of each document, such as ``corpus.doc_lengths``, so that long documents count for more.

    Returns
    -------
    array of shape (n_topics,)
        Shares, which sum to 1.

    Examples
    --------
    >>> topic_sizes([[1.0, 0.0], [0.5, 0.5]], [10, 30])
    array([0.625, 0.375])
    """
    shares = check_distributions("theta", theta, "document")
    weight = as_numbers("lengths", lengths)
    if weight.shape != (len(shares),):
        raise InputError(f"lengths has shape {weight.shape} but theta has {len(shares)} documents; give one for each.")
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise InputError("lengths must be finite and 0 or more.")
    total = weight.sum()
    if total == 0:
        raise InputError("every document is empty, so topics have no sizes; give at least one document with tokens.")
    return np.asarray(product(weight[None], shares)[0] / total)


def topic_distances(topics: AnyArray, metric: Metric = "jensen_shannon") -> FloatArray:
    """Distance of every topic to every other, from 0 (equal) to 1 (no word shared).

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
        Word probabilities, such as ``model.topic_word_``.
    metric : {"jensen_shannon", "hellinger", "cosine"}, default="jensen_shannon"
        The square root of the Jensen-Shannon divergence in bits; √(1 − Σ_v √(φ_kv φ_lv)); or one minus the cosine. The
        first two obey the triangle inequality.

    Returns
    -------
    array of shape (n_topics, n_topics)

    Examples
    --------
    >>> topic_distances([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 1., 0.]])
    """
    check_choice("metric", metric, list(_DISTANCES))
    phi = check_topics(topics)
    how = _DISTANCES[metric]
    between = how.scale * scipy.spatial.distance.pdist(how.prepare(phi), how.metric)
    return np.asarray(scipy.spatial.distance.squareform(np.clip(between, 0.0, 1.0)))


def topic_discrepancy(topics: AnyArray, truth: AnyArray) -> float:
    """How far found topics are from true ones: the mean over true topics of the L1 distance to the nearest found one.

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
        Found topics. There may be more or fewer than true ones, and one may be the nearest of several.
    truth : array of shape (n_true, n_words)
        True topics over the same vocabulary.

    Returns
    -------
    float
        0 if every true topic was found, up to 2. The multipath paper calls it disc (section 4.2.1).

    Examples
    --------
    >>> topic_discrepancy([[0.5, 0.5, 0.0]], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    1.0
    """
    true = check_topics(truth, name="truth")
    phi = check_topics(topics)
    if phi.shape[1] != true.shape[1]:
        raise InputError(f"topics has {phi.shape[1]} words and truth {true.shape[1]}; give both over one vocabulary.")
    return float(scipy.spatial.distance.cdist(true, phi, "cityblock").min(axis=1).mean())


def effective_words(topics: AnyArray) -> FloatArray:
    """Number of words that each topic is spread over: the exponential of its entropy.

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
        Word probabilities, such as ``model.topic_word_``.

    Returns
    -------
    array of shape (n_topics,)
        From 1, for a topic with one word, to n_words.

    Examples
    --------
    >>> effective_words([[1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]).round(6)
    array([1., 4.])
    """
    phi = check_topics(topics)
    logs = np.log(phi, out=np.zeros_like(phi), where=phi > 0)
    return np.asarray(np.exp(-np.einsum("kv,kv->k", phi, logs)))


def exclusivity(topics: AnyArray, n_words: int = 10) -> FloatArray:
    """How far a topic's best words are its own: the mean of φ_kv / Σ_l φ_lv over them.

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
        Word probabilities, such as ``model.topic_word_``.
    n_words : int, default=10
        Best words per topic.

    Returns
    -------
    array of shape (n_topics,)
        Up to 1, if no other topic has these words.

    Examples
    --------
    >>> exclusivity([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], n_words=2)
    array([0.75, 0.75])
    """
    phi = check_topics(topics)
    best = top_words(phi, n_words)
    own, everyone = np.take_along_axis(phi, best, axis=1), phi.sum(axis=0)[best]
    return np.asarray(np.divide(own, everyone, out=np.zeros_like(own), where=everyone > 0).mean(axis=1))


# -- the words of a topic ------------------------------------------------------------------------------------


def top_words(topics: AnyArray, n_words: int) -> Int64Array:
    """Numbers of the ``n_words`` best words of each topic, best first; of equals, the lower number first."""
    scores = as_array("topics", topics)
    check_n_words(n_words)
    if scores.ndim != 2 or scores.dtype.kind not in "buif":
        raise InputError(
            f"topics must be a topics × words array of numbers, not one of shape {scores.shape} "
            f"and type {scores.dtype}."
        )
    if n_words > scores.shape[1]:
        raise InputError(f"n_words={n_words} but there are only {scores.shape[1]} words; ask for fewer.")
    check_finite("topics", scores, "topic")
    best = np.empty((len(scores), n_words), np.int64)
    for k, row in enumerate(scores):
        # A partition finds the last value that gets in; sorting whole rows would cost more for nothing.
        last = np.partition(row, len(row) - n_words)[len(row) - n_words]
        above = np.flatnonzero(row > last)
        chosen = np.concatenate((above, np.flatnonzero(row == last)[: n_words - len(above)]))
        best[k] = chosen[np.lexsort((chosen, -row[chosen].astype(np.float64)))]
    return best


def is_matrix(topics: Topics) -> bool:
    """Whether topics were given as numbers rather than as lists of words."""
    return isinstance(topics, np.ndarray) and topics.dtype.kind in "buif"


def check_word_lists(topics: Topics) -> list[list[str]]:
    """The words of each topic, as lists of distinct strings."""
    lists: list[list[str]] = []
    if isinstance(topics, str | Mapping) or not isinstance(topics, Iterable):
        raise InputError(f"topics is {shown(topics)}; {_EXPECTED}.")
    for k, words in enumerate(topics):
        listed = isinstance(words, Sequence | np.ndarray) and not isinstance(words, str)
        if not listed or not all(isinstance(word, str) for word in words):
            raise InputError(f"topic {k} is {shown(words)}; {_EXPECTED}.")
        if len(words) == 0:
            raise InputError(f"topic {k} has no words.")
        if len(set(words)) != len(words):
            twice = next(word for i, word in enumerate(words) if word in words[:i])
            raise InputError(f"topic {k} has the word {twice!r} twice; its words must be distinct.")
        lists.append([str(word) for word in words])
    if not lists:
        raise InputError("there are no topics; give at least one.")
    return lists


# -- checks of arrays ----------------------------------------------------------------------------------------


def check_topics(topics: AnyArray, n_words: int | None = None, name: str = "topics") -> FloatArray:
    """φ as float64 [K, V] whose rows are distributions over a vocabulary of ``n_words``."""
    phi = check_distributions(name, topics, "topic")
    if n_words is not None and phi.shape[1] != n_words:
        turned = " It looks transposed: topics are rows." if phi.shape[0] == n_words else ""
        raise InputError(
            f"{name} has {phi.shape[1]} columns but the corpus has a vocabulary of {n_words} words.{turned}"
        )
    return phi


def check_alpha(alpha: AnyArray, n_topics: int) -> FloatArray:
    """The prior of the topic shares, one positive number for each topic."""
    prior = as_numbers("alpha", alpha)
    if prior.shape != (n_topics,):
        raise InputError(
            f"alpha has shape {prior.shape} but there are {n_topics} topics; give one value for each "
            "(numpy.full(n_topics, value) for a symmetric prior)."
        )
    if not np.all(np.isfinite(prior)) or np.any(prior <= 0):
        k = int(np.argmin(np.isfinite(prior) & (prior > 0)))
        raise InputError(f"alpha[{k}] is {prior[k]}; every value must be positive and finite.")
    return prior


def check_distributions(name: str, rows: AnyArray, row_is: str) -> FloatArray:
    """A two-dimensional float64 array whose rows are probabilities that sum to one."""
    given = as_array(name, rows)
    if given.ndim != 2 or given.size == 0 or given.dtype.kind not in "buif":
        raise InputError(
            f"{name} must be a two-dimensional array of probabilities, one row for each {row_is}, "
            f"not one of shape {given.shape} and type {given.dtype}."
        )
    check_finite(name, given, row_is)
    array = np.asarray(given, dtype=np.float64)
    if np.any(array < 0):
        r, c = np.argwhere(array < 0)[0]
        raise InputError(f"{name}: {row_is} {r} has {array[r, c]} in column {c}; probabilities are 0 or more.")
    sums = array.sum(axis=1)
    if np.any(np.abs(sums - 1.0) > _ROW_SUM_TOLERANCE):
        r = int(np.argmax(np.abs(sums - 1.0)))
        raise InputError(f"{name}: {row_is} {r} sums to {sums[r]:.6g}; it must sum to 1. Divide each row by its sum.")
    return array


def check_finite(name: str, array: AnyArray, row_is: str) -> None:
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        r, c = np.argwhere(~np.isfinite(array))[0]
        raise InputError(f"{name}: {row_is} {r} has {array[r, c]} in column {c}; every value must be finite.")


def check_n_words(n_words: int) -> None:
    check_whole("n_words", n_words, 1)
