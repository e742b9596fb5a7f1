"""Maps of topics: classical scaling against distances that a plane holds, and by many words."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from topicloom.errors import InputError
from topicloom.evaluation import topic_distances, topic_map
from topicloom.evaluation.topic_maps import classical_scaling


def test_points_of_a_plane_are_found_again() -> None:
    points = np.random.default_rng(0).normal(size=(8, 2))
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    places, explained = classical_scaling(distance)
    assert np.linalg.norm(places[:, None] - places[None], axis=2) == pytest.approx(distance)
    assert explained.sum() == pytest.approx(1.0)
    assert explained[0] >= explained[1]


def test_distances_that_no_plane_holds_give_real_places() -> None:
    """Not even a metric: there are negative eigenvalues, which count as 0."""
    distance = np.array([[0.0, 1, 1, 9], [1, 0, 1, 1], [1, 1, 0, 1], [9, 1, 1, 0]])
    places, explained = classical_scaling(distance)
    assert places.dtype == np.float64
    assert np.all(np.isfinite(places))
    assert np.all((explained >= 0) & (explained <= 1))


def test_the_order_of_topics_changes_no_distance_and_signs_are_fixed() -> None:
    phi = np.random.default_rng(1).dirichlet(np.full(50, 0.2), 6)
    found, turned = topic_map(phi), topic_map(phi[::-1])
    assert found.places == pytest.approx(turned.places[::-1], abs=1e-9)
    assert np.array_equal(found.places, topic_map(phi).places)
    assert found.distances == pytest.approx(topic_distances(phi))
    assert found.n_words == 50


def test_few_words_stand_for_all() -> None:
    phi = np.random.default_rng(2).dirichlet(np.full(3000, 0.01), 5)
    short = topic_map(phi, n_words=1000)
    assert short.n_words == 1001
    assert np.all(short.distances <= topic_distances(phi) + 1e-12)  # words put together tell less
    assert short.distances == pytest.approx(topic_distances(phi), abs=0.05)


def test_one_and_two_topics() -> None:
    assert topic_map([[0.5, 0.5]]).places.tolist() == [[0.0, 0.0]]
    two = topic_map([[1.0, 0.0], [0.0, 1.0]])
    assert abs(two.places[0, 0] - two.places[1, 0]) == pytest.approx(1.0)
    assert two.places[:, 1] == pytest.approx([0.0, 0.0], abs=1e-7)
    same = topic_map([[0.5, 0.5], [0.5, 0.5]])
    assert same.places == pytest.approx(np.zeros((2, 2)))
    with pytest.raises(InputError, match="n_words=0"):
        topic_map([[0.5, 0.5]], n_words=0)


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
