"""Diversity, sizes, distances, spread and exclusivity of topics."""

import numpy as np
import pytest

from topicloom.errors import InputError
from topicloom.evaluation import effective_words, exclusivity, topic_distances, topic_diversity, topic_sizes
from topicloom.evaluation.topics import Metric, check_alpha, check_topics, top_words

METRICS: tuple[Metric, ...] = ("jensen_shannon", "hellinger", "cosine")


def random_topics(n_topics: int, n_words: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n_words, 0.3), n_topics)


def test_top_words_are_ordered_and_ties_go_to_the_lower_number() -> None:
    scores = np.array([[0.1, 0.4, 0.1, 0.4, 0.0], [0.2, 0.2, 0.2, 0.2, 0.2]])
    np.testing.assert_array_equal(top_words(scores, 3), [[1, 3, 0], [0, 1, 2]])
    topics = random_topics(20, 50)
    np.testing.assert_array_equal(top_words(topics, 7), np.argsort(-topics, axis=1, kind="stable")[:, :7])
    np.testing.assert_array_equal(top_words(np.array([[3, 9, 200]], np.uint8), 3), [[2, 1, 0]])


def test_diversity_is_the_share_of_different_words() -> None:
    lists = [["a", "b", "c"], ["a", "b", "d"], ["e", "f", "a"]]
    assert topic_diversity(lists, n_words=3) == pytest.approx(6 / 9)
    assert topic_diversity(lists, n_words=1) == pytest.approx(2 / 3)
    assert topic_diversity(lists) == pytest.approx(6 / 9)  # no more words than there are
    assert topic_diversity(np.eye(4), n_words=1) == 1.0
    assert topic_diversity(np.tile(np.arange(5.0), (4, 1)), n_words=2) == pytest.approx(2 / 8)


def test_sizes_weigh_documents_by_length() -> None:
    theta = np.array([[0.5, 0.5], [0.0, 1.0], [0.25, 0.75]])
    np.testing.assert_allclose(topic_sizes(theta, np.array([10, 30, 0])), [5 / 40, 35 / 40])


def slow_distance(p: np.ndarray, q: np.ndarray, metric: str) -> float:
    if metric == "jensen_shannon":
        total = 0.0
        for x, y in zip(p, q, strict=True):
            for value in (x, y):
                if value > 0:
                    total += value / 2 * np.log2(2 * value / (x + y))
        return float(np.sqrt(total))
    if metric == "hellinger":
        return float(np.sqrt(1 - np.sum(np.sqrt(p * q))))
    return float(1 - p @ q / np.sqrt((p @ p) * (q @ q)))


@pytest.mark.parametrize("metric", METRICS)
def test_distances_equal_their_definitions(metric: Metric) -> None:
    topics = random_topics(6, 30)
    topics[0, :10] = 0
    topics[0] /= topics[0].sum()
    want = [
        [0.0 if i == j else slow_distance(p, q, metric) for j, q in enumerate(topics)] for i, p in enumerate(topics)
    ]
    np.testing.assert_allclose(topic_distances(topics, metric), want, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_distances_run_from_zero_to_one(metric: Metric) -> None:
    twin = random_topics(1, 9)[0]
    apart = np.zeros(9)
    apart[:4] = 0.25
    other = np.zeros(9)
    other[4:] = 0.2
    distances = topic_distances(np.array([twin, twin, apart, other]), metric)
    np.testing.assert_array_equal(np.diagonal(distances), 0.0)
    np.testing.assert_array_equal(distances, distances.T)
    assert distances[0, 1] == pytest.approx(0.0, abs=1e-15)
    assert distances[2, 3] == pytest.approx(1.0, rel=1e-15)
    assert topic_distances(twin[None, :], metric).shape == (1, 1)


def test_effective_words_counts_equally_likely_words() -> None:
    topics = np.array([[0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(effective_words(topics), [4, 2, 1], rtol=1e-14)


def test_exclusivity() -> None:
    topics = np.array([[0.8, 0.2, 0.0], [0.2, 0.2, 0.6]])
    np.testing.assert_allclose(exclusivity(topics, n_words=1), [0.8, 1.0])
    np.testing.assert_allclose(exclusivity(topics, n_words=2), [(0.8 + 0.5) / 2, (1.0 + 0.2) / 2])
    assert np.all(exclusivity(np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]), n_words=3) == pytest.approx(1 / 3))


def test_float32_topics_pass() -> None:
    topics = random_topics(3, 5_000).astype(np.float32)
    assert check_topics(topics).dtype == np.float64


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        (np.ones((2, 3)), "topics: topic 0 sums to 3; it must sum to 1"),
        (np.array([[0.5, 0.5], [0.5, 0.4]]), "topics: topic 1 sums to 0.9"),
        (np.array([[0.5, 0.5], [1.5, -0.5]]), "topic 1 has -0.5 in column 1"),
        (np.array([[0.5, np.nan]]), "topic 0 has nan in column 1"),
        (np.array([[0.5, np.inf]]), "topic 0 has inf in column 1"),
        (np.array([0.5, 0.5]), r"shape \(2,\)"),
        (np.empty((0, 4)), r"shape \(0, 4\)"),
        (np.array([["a", "b"]]), "array of probabilities"),
    ],
)
def test_bad_topics_are_named(topics: np.ndarray, message: str) -> None:
    for function in (topic_distances, effective_words, exclusivity):
        with pytest.raises(InputError, match=message):
            function(topics)


def test_other_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="metric='euclid' is not known; choose one of 'jensen_shannon'"):
        topic_distances(np.eye(2), "euclid")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="It looks transposed: topics are rows"):
        check_topics(np.full((4, 2), 0.5), n_words=4)
    with pytest.raises(InputError, match=r"alpha has shape \(2,\) but there are 3 topics"):
        check_alpha(np.ones(2), 3)
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match=r"alpha\[1\] is"):
            check_alpha(np.array([1.0, bad]), 2)
    with pytest.raises(InputError, match=r"lengths has shape \(3,\) but theta has 2 documents"):
        topic_sizes(np.eye(2), np.ones(3))
    with pytest.raises(InputError, match="lengths must be finite and 0 or more"):
        topic_sizes(np.eye(2), np.array([1.0, -1.0]))
    with pytest.raises(InputError, match="every document is empty"):
        topic_sizes(np.eye(2), np.zeros(2))
    with pytest.raises(InputError, match="theta: document 1 sums to 2"):
        topic_sizes(np.array([[1.0, 0.0], [1.0, 1.0]]), np.ones(2))
    with pytest.raises(InputError, match="n_words=25 but there are only 4 words"):
        topic_diversity(np.eye(4))
    with pytest.raises(InputError, match="n_words=0 must be a whole number of at least 1"):
        topic_diversity([["a"]], n_words=0)
