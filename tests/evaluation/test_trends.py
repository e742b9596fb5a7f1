"""Topics over time, and their distance to the truth."""

from typing import Any

import numpy as np
import pytest

from topicloom.errors import InputError
from topicloom.evaluation import (
    bucket_histogram,
    bucket_lengths,
    time_entropy,
    topic_discrepancy,
    topic_weights,
)


def test_discrepancy_is_the_mean_distance_to_the_nearest() -> None:
    truth = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    assert topic_discrepancy(truth[::-1], truth) == 0
    assert topic_discrepancy(np.array([[0.0, 0.0, 1.0]]), truth) == pytest.approx((2 + 1) / 2)
    assert topic_discrepancy(np.array([[0.9, 0.1, 0.0], [0.0, 0.5, 0.5]]), truth) == pytest.approx(0.1)
    with pytest.raises(InputError, match="topics has 2 words and truth 3"):
        topic_discrepancy(np.array([[0.5, 0.5]]), truth)
    with pytest.raises(InputError, match="truth: topic 0 sums to 3"):
        topic_discrepancy(truth, np.ones((1, 3)))


THETA = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.2, 0.8]])


def test_weights_are_means_over_the_documents_of_a_year() -> None:
    found = topic_weights(THETA, np.array([1991, 1990, 1990, 1995]))
    np.testing.assert_array_equal(found.times, [1990, 1991, 1995])
    np.testing.assert_allclose(found.weights, [[0.25, 0.75], [1, 0], [0.2, 0.8]])
    masked = topic_weights(THETA, [1991, 1990, 1990, 1995], documents=np.array([True, True, False, True]))
    np.testing.assert_allclose(masked.weights[0], [0.5, 0.5])
    by_float = topic_weights(THETA, np.array([1991.0, 1990, 1990, 1995]))
    np.testing.assert_array_equal(by_float.times, found.times)


@pytest.mark.parametrize(
    "times",
    [
        np.array(["1991-03-01", "1990-01-02", "1990-12-31", "1995-05-05"], "datetime64[D]"),
        ["1991-03-01", "1990-01-02", "1990-12-31", "1995-05-05"],
    ],
)
def test_dates_are_put_together(times: Any) -> None:
    found = topic_weights(THETA, times, unit="Y")
    np.testing.assert_array_equal(found.times.astype(int) + 1970, [1990, 1991, 1995])
    assert len(topic_weights(THETA, times).times) == 4
    np.testing.assert_allclose(bucket_lengths(*found, 0.5).sum(axis=1), 6)


def test_entropy_is_in_nats() -> None:
    np.testing.assert_allclose(time_entropy(np.array([[0.5, 0.5], [1.0, 0.0]])), [np.log(2), 0])


def test_buckets_hold_equal_shares_of_a_topics_weight() -> None:
    weights = np.array([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    lengths = bucket_lengths(np.arange(2000, 2004), weights, 0.5)
    np.testing.assert_allclose(lengths, [[1.5, 2.5], [3, 1]])
    np.testing.assert_allclose(bucket_lengths([3], [[1.0]], 0.25), np.full((1, 4), 0.25))
    # A year without documents is time, but has no weight.
    np.testing.assert_allclose(bucket_lengths([2000, 2005], [[1.0], [1.0]], 0.2), [[0.4, 0.4, 4.4, 0.4, 0.4]])


def test_even_topics_have_even_buckets_and_lengths_fill_the_time() -> None:
    even = bucket_lengths(np.arange(224), np.full((224, 3), 1 / 3))
    np.testing.assert_allclose(even, 11.2)
    uneven = np.random.default_rng(0).dirichlet(np.full(5, 0.1), 224)
    lengths = bucket_lengths(np.arange(224), uneven)
    np.testing.assert_allclose(lengths.sum(axis=1), 224)
    assert lengths.min() > 0


def test_a_topic_without_weight_counts_for_nothing() -> None:
    lengths = bucket_lengths([1, 2], [[1.0, 0.0], [1.0, 0.0]], 0.5)
    assert np.isnan(lengths[1]).all()
    shares, edges = bucket_histogram(lengths, [0, 0.5, 1.5, 4])
    np.testing.assert_allclose(shares, [0, 1, 0])
    np.testing.assert_array_equal(edges, [0, 0.5, 1.5, 4])


def test_buckets_can_be_weighted_by_topics() -> None:
    lengths = np.array([[1.0, 3.0], [2.0, 2.0]])
    np.testing.assert_allclose(bucket_histogram(lengths, [0, 1.5, 2.5, 3.5])[0], [0.25, 0.5, 0.25])
    shares, _ = bucket_histogram(lengths, [0, 1.5, 2.5, 3.5], np.array([3.0, 1.0]))
    np.testing.assert_allclose(shares, [3 / 8, 2 / 8, 3 / 8])


def test_wrong_input_is_refused() -> None:
    years = np.array([1, 2, 3, 4])
    for message, call in {
        "times has shape .3,. but theta has 4 documents": lambda: topic_weights(THETA, years[:3]),
        "times of type float64 cannot be used": lambda: topic_weights(THETA, years + 0.5),
        "times must be whole numbers, such as years, or dates": lambda: topic_weights(THETA, ["a", "b", "c", "d"]),
        "unit='Y' puts dates together, but times are whole numbers": lambda: topic_weights(THETA, years, unit="Y"),
        "unit='century' is not known": lambda: topic_weights(
            THETA, np.array(["1990-01-01"] * 4, "datetime64[D]"), unit="century"
        ),
        "documents must be a mask of 4 values": lambda: topic_weights(THETA, years, documents=years),
        "documents leaves none to count": lambda: topic_weights(THETA, years, documents=years < 0),
        "theta: document 0 sums to 2": lambda: topic_weights(2 * THETA, years),
        "times must have one rising entry for each of 4 periods": lambda: bucket_lengths(years[::-1], THETA),
        "share=0.3 must be one over a whole number": lambda: bucket_lengths(years, THETA, 0.3),
        "share=0 must be one over a whole number": lambda: bucket_lengths(years, THETA, 0),
        "lengths must be topics × buckets": lambda: bucket_histogram(years),
        "topic_weight must have one number of 0 or more for each of 4 topics": lambda: bucket_histogram(
            THETA, 3, -years
        ),
        "no topic has weight": lambda: bucket_histogram(THETA, 3, 0 * years),
    }.items():
        with pytest.raises(InputError, match=message):
            call()
