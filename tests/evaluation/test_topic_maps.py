"""Maps of topics: classical scaling against distances that a plane holds, and by many words."""

import numpy as np
import pytest

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
