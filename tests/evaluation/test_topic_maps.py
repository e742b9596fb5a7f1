"""The topic map: distances in the plane, shares explained, signs."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from topicloom.errors import InputError
from topicloom.evaluation import topic_distances, topic_map


def test_distances_are_kept_where_two_dimensions_suffice() -> None:
    # Three topics always span a plane, so every distance is exact.
    topics = np.random.default_rng(0).dirichlet(np.full(20, 0.2), 3)
    positions, explained, distances, n_words = topic_map(topics)
    np.testing.assert_allclose(squareform(pdist(positions)), topic_distances(topics), atol=1e-12)
    np.testing.assert_array_equal(distances, topic_distances(topics))
    assert n_words == 20
    assert explained.sum() == pytest.approx(1.0, abs=1e-12)
    assert explained[0] > explained[1] > 0


def test_shares_and_axes_equal_principal_components_of_a_full_embedding() -> None:
    topics = np.random.default_rng(1).dirichlet(np.full(40, 0.1), 9)
    squared = topic_distances(topics) ** 2
    # An embedding made point by point (Cholesky, with the first topic at the origin), then its principal components.
    gram = (squared[0, 1:, None] + squared[0, 1:] - squared[1:, 1:]) / 2
    points = np.vstack([np.zeros(8), np.linalg.cholesky(gram)])
    points -= points.mean(axis=0)
    left, singular, _ = np.linalg.svd(points)
    found = topic_map(topics)
    np.testing.assert_allclose(found.explained, singular[:2] ** 2 / np.sum(singular**2), rtol=1e-10)
    for dimension in (0, 1):
        axis = left[:, dimension] * singular[dimension]
        axis *= np.sign(axis[np.argmax(np.abs(axis))])
        np.testing.assert_allclose(found.places[:, dimension], axis, atol=1e-10)


def test_positions_follow_the_topics_when_they_are_reordered() -> None:
    topics = np.random.default_rng(2).dirichlet(np.full(30, 0.1), 7)
    order = np.array([3, 0, 6, 1, 5, 2, 4])
    np.testing.assert_allclose(topic_map(topics[order]).places, topic_map(topics).places[order])


def test_few_and_equal_topics() -> None:
    one = topic_map([[0.5, 0.5]])
    assert one.places.tolist() == [[0.0, 0.0]]
    assert one.explained.tolist() == [0.0, 0.0]
    two = topic_map(np.eye(2))
    np.testing.assert_allclose(two.places, [[0.5, 0.0], [-0.5, 0.0]])  # of two equally far out, the first is right
    assert two.explained.tolist() == [1.0, 0.0]
    same = topic_map(np.full((4, 5), 0.2))
    assert not same.places.any()
    assert not same.explained.any()
    with pytest.raises(InputError, match="topics: topic 0 sums to 3"):
        topic_map(np.ones((2, 3)))
