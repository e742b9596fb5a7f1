"""Topics as points in the plane: classical scaling of their distances."""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import check_whole
from topicloom.evaluation.topics import Metric, check_topics, topic_distances
from topicloom.numerics.blas import one_blas_thread

_WORK = 5e7  # words × pairs of topics whose distances are computed one by one
_LEAST_WORDS = 1000
_NOTHING = 1e-12  # eigenvalues of distances from 0 to 1 that are rounding alone


class TopicMap(NamedTuple):
    """Places of topics in the plane, and how much of their distances the two axes show.

    Attributes
    ----------
    places : array of shape (n_topics, 2)
        Where each topic is.
    explained : array of shape (2,)
        The share of the squared distances that each axis shows, of the positive eigenvalues.
    distances : array of shape (n_topics, n_topics)
        Distances between the topics.
    n_words : int
        Words that distances go by. All others count as one.
    """

    places: FloatArray  # [K, 2]
    explained: FloatArray  # [2] shares of the sum of positive eigenvalues
    distances: FloatArray  # [K, K]
    n_words: int  # that distances go by; all others count as one


def topic_map(topics: AnyArray, metric: Metric = "jensen_shannon", *, n_words: int | None = None) -> TopicMap:
    """Topics in two dimensions, by classical multidimensional scaling (Torgerson 1952).

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
        A model's ``topic_word_``.
    metric : {"jensen_shannon", "hellinger", "cosine"}, default="jensen_shannon"
        As of :func:`topic_distances`.
    n_words : int, optional
        Distances go by that many words, those with the highest probability in any topic, and all others together count
        as one more word. Default: so many that it takes about a second; all words of most corpora with 50 topics.

    Returns
    -------
    TopicMap

    Notes
    -----
    Squared distances are centred and the resulting symmetric matrix is decomposed (``numpy.linalg.eigh``), so that
    there are no complex numbers. Distances that no plane can hold give negative eigenvalues, which count as 0. The sign
    of an axis is arbitrary: the topic furthest out lies on its positive side. The same topics give the same places.

    Examples
    --------
    >>> found = topic_map([[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.0, 0.0, 1.0]])
    >>> bool(abs(found.places[0, 0] - found.places[1, 0]) < abs(found.places[0, 0] - found.places[2, 0]))
    True
    """
    phi = check_topics(topics)
    if n_words is not None:
        check_whole("n_words", n_words, 1)
    most = max(_LEAST_WORDS, int(_WORK / max(len(phi) ** 2 / 2, 1))) if n_words is None else int(n_words)
    phi = _fewer_words(phi, most)
    if len(phi) < 2:
        return TopicMap(np.zeros((1, 2)), np.zeros(2), np.zeros((1, 1)), phi.shape[1])
    distances = topic_distances(phi, metric)
    return TopicMap(*classical_scaling(distances), distances, phi.shape[1])


def classical_scaling(distances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places [K, 2] whose distances are near the given ones, and the share of each axis."""
    squared = distances**2
    rows = squared.mean(axis=0)
    inner = -0.5 * (squared - rows[None] - rows[:, None] + rows.mean())
    with one_blas_thread():
        values, vectors = np.linalg.eigh((inner + inner.T) / 2.0)
    values = np.where(values > _NOTHING * max(1.0, float(values[-1])), values, 0.0)[::-1]
    total = float(values.sum())
    places = np.zeros((len(distances), 2))
    for axis in range(min(2, len(values))):
        column = vectors[:, -1 - axis]
        furthest = column[int(np.argmax(np.abs(column).round(9)))]
        places[:, axis] = (column if furthest >= 0 else -column) * np.sqrt(values[axis])
    explained = np.zeros(2)
    explained[: len(values[:2])] = values[:2] / total if total > 0 else 0.0
    return places, explained


def _fewer_words(phi: FloatArray, most: int) -> FloatArray:
    if phi.shape[1] <= most:
        return phi
    best = np.sort(np.argsort(-phi.max(axis=0), kind="stable")[:most])
    kept = phi[:, best]
    return np.concatenate((kept, np.maximum(1.0 - kept.sum(axis=1, keepdims=True), 0.0)), axis=1)
