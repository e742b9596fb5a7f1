"""Topics as points in a plane: classical scaling of their distances, which is a symmetric eigenproblem."""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.evaluation.topics import topic_distances
from topicloom.numerics.blas import one_blas_thread

_SAME_LENGTH = 1e-9  # coordinates that differ by less than this share of the largest count as equally far out
_NOTHING = 1e-12  # a share of the largest eigenvalue (or a squared distance) that is rounding alone


class TopicPositions(NamedTuple):
    """Places of topics in two dimensions."""

    positions: FloatArray  # [K, 2]
    explained: FloatArray  # [2], share of the squared distances that each dimension shows


def topic_positions(topics: AnyArray) -> TopicPositions:
    """Two-dimensional places of topics whose distances are close to the topics' Jensen-Shannon distances.

    Classical scaling: the double-centred squared distances are decomposed by a symmetric eigenproblem, so that all
    numbers are real. The root of the Jensen-Shannon divergence is a Euclidean distance, so no eigenvalue is negative
    except by rounding. The sign of a dimension is chosen so that the topic farthest from its centre is on the
    positive side; of topics equally far out, the first.

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
        Distributions over words, such as a model's ``topic_word_``.

    Returns
    -------
    TopicPositions
        ``positions`` of shape (n_topics, 2), and the share ``explained`` of shape (2,). A single topic is at the
        origin, two topics are on the first axis.

    Examples
    --------
    >>> found = topic_positions([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    >>> found.positions.round(3).tolist()
    [[-0.333, 0.0], [-0.333, 0.0], [0.667, 0.0]]
    >>> found.explained.round(3).tolist()
    [1.0, 0.0]
    """
    squared = topic_distances(topics) ** 2
    mean = squared.mean(axis=0)
    gram = -0.5 * (squared - mean - mean[:, None] + mean.mean())
    with one_blas_thread():
        values, vectors = np.linalg.eigh(gram)
    real = np.where(values > _NOTHING * max(1.0, float(values[-1])), values, 0.0)[::-1]
    positions = np.zeros((len(gram), 2))
    explained = np.zeros(2)
    for dimension, value in enumerate(real[:2]):
        positions[:, dimension] = _with_sign(vectors[:, -1 - dimension]) * np.sqrt(value)
        explained[dimension] = value / real.sum() if value > 0 else 0.0
    return TopicPositions(positions + 0.0, explained)  # + 0.0: no -0.0


def _with_sign(vector: FloatArray) -> FloatArray:
    size = np.abs(vector)
    first = int(np.argmax(size >= size.max() * (1 - _SAME_LENGTH)))
    return vector if vector[first] >= 0 else -vector
