"""Measures and pictures of collections over plain arrays."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet
from scipy.spatial.distance import pdist, squareform

from topicloom.datasets import synthetic_lda
from topicloom.errors import InputError
from topicloom.evaluation import (
    completion_perplexity,
    draw_interval,
    merged_draws,
    mixture_difference,
    mixture_trend,
    silhouette_widths,
    topic_clusters,
    topic_linkage,
)


@pytest.fixture(scope="module")
def draws() -> np.ndarray:
    return np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], (50, 4))


def test_intervals_are_quantiles(draws: np.ndarray) -> None:
    found = draw_interval(draws, 0.8)
    np.testing.assert_allclose(found.mean, draws.mean(axis=0))
    ordered = np.sort(draws, axis=0)  # 51 · 0.1 = 5.1: the fifth of 50 draws, and a tenth of the way to the sixth
    np.testing.assert_allclose(found.lower, 0.9 * ordered[4] + 0.1 * ordered[5])
    np.testing.assert_allclose(found.upper, 0.9 * ordered[45] + 0.1 * ordered[44])


@pytest.mark.parametrize("n_draws", [19, 20, 31, 50])
def test_one_more_draw_lies_in_an_interval_with_its_probability(n_draws: int) -> None:
    draws = np.random.default_rng(1).random((n_draws + 1, 4000))
    found = draw_interval(draws[:-1], 0.9)
    inside = (found.lower <= draws[-1]) & (draws[-1] <= found.upper)
    assert abs(inside.mean() - 0.9) < 5.5 * np.sqrt(0.09 / 4000)  # once in 26 million
    few = draw_interval(draws[:5], 0.9)
    np.testing.assert_array_equal([few.lower, few.upper], [draws[:5].min(axis=0), draws[:5].max(axis=0)])


def test_differences_and_trends(draws: np.ndarray) -> None:
    found = mixture_difference(draws, 2, 0)
    np.testing.assert_allclose(found.probability, (draws[:, 2] > draws[:, 0]).mean(axis=0))
    trend = mixture_trend(draws, [0, 1, 2, 5])
    slopes = np.array([np.polyfit([0, 1, 2, 5], draw, 1)[0] for draw in draws])
    np.testing.assert_allclose(trend.mean, slopes.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(trend.probability, (slopes > 0).mean(axis=0))
    np.testing.assert_allclose(mixture_trend(draws[:, :2]).mean, (draws[:, 1] - draws[:, 0]).mean(axis=0))


def test_a_trend_counts_collections_by_their_weight(draws: np.ndarray) -> None:
    times, weights = [0, 1, 2, 5], [1409, 30, 200, 1]
    found = mixture_trend(draws, times, weights=weights)
    slopes = np.array([np.polyfit(times, draw, 1, w=np.sqrt(weights))[0] for draw in draws])
    np.testing.assert_allclose(found.mean, slopes.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.probability, (slopes > 0).mean(axis=0))
    even = mixture_trend(draws, times, weights=[3, 3, 3, 3])
    np.testing.assert_allclose(even.mean, mixture_trend(draws, times).mean, atol=1e-15)
    alone = mixture_trend(draws, times, weights=[1, 0, 0, 1])
    np.testing.assert_allclose(alone.mean, mixture_trend(draws[:, [0, 3]], [0, 5]).mean, atol=1e-15)


def test_merged_collections_are_weighted(draws: np.ndarray) -> None:
    found = merged_draws(draws, np.array([0, 1, 0, 1]), np.array([1, 1, 3, 0]))
    np.testing.assert_allclose(found[:, 0], (draws[:, 0] + 3 * draws[:, 2]) / 4)
    np.testing.assert_allclose(found[:, 1], draws[:, 1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: draw_interval(d, 0.0), "level=0.0 must lie between"),
        (lambda d: draw_interval(d[0, 0]), "at least one draw"),
        (lambda d: mixture_difference(d, 0, 4), "collection 4 does not exist"),
        (lambda d: mixture_difference(d[0], 0, 1), "expected samples × collections × topics"),
        (lambda d: mixture_trend(d, [1, 2]), "one number for each of 4 collections"),
        (lambda d: mixture_trend(d, [1, 1, 1, 1]), "two times or more"),
        (lambda d: mixture_trend(d, [1, 2, 3, 4], weights=[0, 0, 9, 0]), "two times or more"),
        (lambda d: mixture_trend(d, [1, 2, 3, 4], weights=[1, 2]), "weights must have one number"),
        (lambda d: mixture_trend(d, [1, 2, 3, 4], weights=[1, 2, -1, 1]), "weights must have one number"),
        (lambda d: merged_draws(d, [0, 1], [1, 1]), "one entry for each of 4"),
        (lambda d: merged_draws(d, [0, 0, 0, 1], [1, 1, 1, 0]), "needs some weight"),
        (lambda d: topic_clusters(d[0], 5), "n_clusters=5 must be from 1 to 4"),
        (lambda d: topic_linkage(d[0], metric="cosine"), "metric='cosine' is not known"),
        (lambda d: topic_linkage(d[0], method="ward"), "method='ward' is not known"),
        (lambda d: topic_linkage(d[0][:1]), "at least two rows"),
        (lambda d: silhouette_widths(d[0], [0, 1]), "one cluster for each of 4"),
        (lambda d: silhouette_widths(d[0], [0, 0, 0, 0]), "need from 2 to 3 clusters"),
    ],
)
def test_bad_arrays(draws: np.ndarray, call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(draws)


def test_the_tree_of_topics() -> None:
    rng = np.random.default_rng(1)
    near = np.repeat(rng.dirichlet(np.full(20, 0.2), 3), 4, axis=0) + rng.uniform(0, 0.002, (12, 20))
    rows = near / near.sum(axis=1, keepdims=True)
    between = squareform(pdist(rows, "cityblock"))
    heights = squareform(cophenet(topic_linkage(rows)))
    assert np.all(heights >= between - 1e-12)  # complete linkage joins at the largest distance
    clusters = topic_clusters(rows, 3)
    assert len(set(clusters)) == 3
    np.testing.assert_array_equal(clusters, np.repeat(clusters[::4], 4))
    widths = silhouette_widths(rows, clusters)
    own = np.array([between[i, clusters == clusters[i]].sum() / 3 for i in range(12)])
    other = [min(between[i, clusters == c].mean() for c in set(clusters) - {clusters[i]}) for i in range(12)]
    np.testing.assert_allclose(widths, (other - own) / np.maximum(other, own))


def test_perplexity_with_rows_of_alpha() -> None:
    data = synthetic_lda(30, 20, 3, doc_length=12, seed=2)
    alpha = np.array([[0.2, 0.5, 0.9], [2.0, 0.1, 0.3]])
    row = np.arange(30) % 2
    same = completion_perplexity(data.phi, alpha[0], data.corpus)
    assert completion_perplexity(data.phi, alpha, data.corpus, alpha_row=np.zeros(30, int)) == same
    both = completion_perplexity(data.phi, alpha, data.corpus, alpha_row=row)
    parts = [completion_perplexity(data.phi, alpha[j], data.corpus.select(row == j)) for j in range(2)]
    assert min(parts) < both < max(parts)
    for wrong, message in (
        ((alpha[0], row), "rows × topics"),
        ((alpha, row[:5]), "one of 2 rows for each of 30 documents"),
        ((alpha, row + 1), "one of 2 rows"),
        ((-alpha, row), "every value must be positive"),
    ):
        with pytest.raises(InputError, match=message):
            completion_perplexity(data.phi, wrong[0], data.corpus, alpha_row=wrong[1])
