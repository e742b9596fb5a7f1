"""Which topics are found again in independent runs: stability, the medoid run, consensus topics.

Runs are chains or fits that differ in their random numbers, or in the documents that they were given. Each is an array
[K, V] whose rows sum to 1, or a fitted model, as in :mod:`topicloom.diagnostics.alignment`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus._checks import check_choice, check_number, check_whole
from topicloom.diagnostics import html
from topicloom.diagnostics.alignment import (
    METRICS,
    Alignment,
    CommonTopics,
    Metric,
    align_topics,
    common_topics,
    distance_matrix,
    match_topics,
    resolve_threshold,
)
from topicloom.errors import InputError
from topicloom.evaluation.collections import Interval

# -- the run in the middle -----------------------------------------------------------------------------------


def run_distances(runs: Iterable[Any], metric: Metric = "hellinger") -> FloatArray:
    """Distance of every run to every other: the mean distance of their topics when these are matched best.

    Parameters
    ----------
    runs : iterable of arrays [K_r, V], or of fitted models
        At least two.
    metric : {"hellinger", "jensen_shannon", "cosine", "rbo"}, default="hellinger"

    Returns
    -------
    array [R, R]
        From 0 to 1. A topic without a partner, where one run has more topics than the other, counts as 1.

    Examples
    --------
    >>> run_distances([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    array([[0., 0.],
           [0., 0.]])
    """
    check_choice("metric", metric, METRICS)
    return _run_distances(common_topics(runs, "runs").topics, metric)


def _run_distances(topics: list[FloatArray], metric: Metric) -> FloatArray:
    out = np.zeros((len(topics), len(topics)))
    for r, first in enumerate(topics):
        for s in range(r):
            between = distance_matrix(first, topics[s], metric)
            matches = match_topics(between)
            pairs = np.flatnonzero(matches >= 0)
            most = max(between.shape)
            out[r, s] = out[s, r] = (between[pairs, matches[pairs]].sum() + most - len(pairs)) / most
    return out


def medoid(runs: Iterable[Any], metric: Metric = "hellinger") -> int:
    """Number of the run that is nearest to all others: the one to report (the idea of ldaPrototype [1]_).

    Parameters
    ----------
    runs : iterable of arrays [K_r, V], or of fitted models
        At least two.
    metric : {"hellinger", "jensen_shannon", "cosine", "rbo"}, default="hellinger"

    Returns
    -------
    int
        The run whose distances to all others (:func:`run_distances`) have the least sum; of equals, the first.

    References
    ----------
    .. [1] Rieger, Rahnenführer and Jentsch (2020). Improving latent Dirichlet allocation: on reliability of the novel
       method LDAPrototype. Natural Language Processing and Information Systems.

    Examples
    --------
    >>> medoid([[[1.0, 0.0]], [[0.5, 0.5]], [[0.0, 1.0]]])
    1
    """
    return _medoid(run_distances(runs, metric))


def _medoid(distances: FloatArray) -> int:
    total = distances.sum(axis=1)
    # Sums in another order differ by a rounding, and must not decide between equals.
    return int(np.flatnonzero(total <= total.min() + 1e-12 * len(total))[0])


# -- stability -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stability:
    """How far the topics of a reference run are found again in the other runs.

    Attributes
    ----------
    share : Interval
        For each of the reference's K topics, the share of the other runs that have it: ``mean``, ``lower``, ``upper``.
    score : float
        Mean share over topics, from 0 to 1.
    similarity : float
        One minus the mean distance of matched topics; NaN if none is matched.
    reference : int
        Number of the reference run.
    alignment : Alignment
        The matches that all this comes from.
    level : float
        Of the intervals.
    """

    share: Interval
    score: float
    similarity: float
    reference: int
    alignment: Alignment
    level: float

    def _repr_html_(self) -> str:
        return html.stability_html(self)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each topic of the reference, for instance for ``pandas.DataFrame``.

        Each has ``topic``, ``share``, ``lower``, ``upper`` and ``similarity``.
        """
        likeness = _mean_likeness(self.alignment)
        columns = zip(self.share.mean, self.share.lower, self.share.upper, likeness, strict=True)
        return [
            {"topic": k, "share": float(mean), "lower": float(low), "upper": float(high), "similarity": float(like)}
            for k, (mean, low, high, like) in enumerate(columns)
        ]


def stability(
    runs: Iterable[Any],
    metric: Metric = "hellinger",
    threshold: float | None = None,
    *,
    reference: int | None = None,
    level: float = 0.95,
) -> Stability:
    """For each topic of a run, the share of the other runs that have it too.

    Parameters
    ----------
    runs : iterable of arrays [K_r, V], or of fitted models
        At least two. For the chains of one model give ``chain_topics(model)``.
    metric : {"hellinger", "jensen_shannon", "cosine", "rbo"}, default="hellinger"
    threshold : float, optional
        A run has a topic if its match is no further away; by default as in
        :func:`~topicloom.diagnostics.alignment.align`.
    reference : int, optional
        Number of the run whose topics are judged; by default the medoid.
    level : float, default=0.95
        Of the intervals.

    Returns
    -------
    Stability

    Notes
    -----
    Intervals are Wilson's for a proportion, which keep their level on average for few runs. Runs are the unit: with R
    runs there are R − 1 trials, however many documents each has, and four other runs that all have a topic say no more
    than a share of 0.51 or above. Intervals take the runs to be independent given the reference, and speak of runs like
    these on the same data, not of other data. The medoid is chosen for being like the others, so its shares are a
    little high; give ``reference`` to judge a run that was chosen without looking.

    Examples
    --------
    >>> import numpy as np
    >>> topics = np.random.default_rng(0).dirichlet(np.full(50, 0.1), 4)
    >>> found = stability([topics[:3], topics[[2, 0, 1]], topics[[1, 0, 3]]], reference=0)
    >>> found.share.mean
    array([1. , 1. , 0.5])
    >>> round(found.score, 3)
    0.833
    """
    topics = _checked_runs(runs, metric, reference).topics
    if not 0 < check_number("level", level, 0.0, 1.0) < 1:
        raise InputError(f"level={level} must lie between 0 and 1, for instance 0.95.")
    chosen = _medoid(_run_distances(topics, metric)) if reference is None else int(reference)
    found = align_topics(topics, chosen, metric, resolve_threshold(metric, threshold))
    others = np.delete(found.matches, chosen, axis=0) >= 0
    share = _wilson(others.sum(axis=0), len(others), level)
    distances = np.delete(found.distances, chosen, axis=0)[others]
    similarity = float(1 - distances.mean()) if distances.size else float("nan")
    return Stability(share, float(share.mean.mean()), similarity, chosen, found, level)


def _checked_runs(runs: Iterable[Any], metric: Metric, reference: int | None) -> CommonTopics:
    check_choice("metric", metric, METRICS)
    common = common_topics(runs, "runs")
    if reference is not None and check_whole("reference", reference, 0) >= len(common.topics):
        raise InputError(f"reference={reference} does not exist; runs are numbered 0 to {len(common.topics) - 1}.")
    return common


def _wilson(found: Int64Array, n: int, level: float) -> Interval:
    """Shares with Wilson's score intervals."""
    share = found / n
    z = float(scipy.special.ndtri((1 + level) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    lower = np.where(found == 0, 0.0, middle - half)  # exactly 0 and 1, but for roundings
    return Interval(share, lower, np.where(found == n, 1.0, middle + half))


def _mean_likeness(found: Alignment) -> FloatArray:
    """One minus the mean distance of each reference topic's matches in the other runs; NaN without any."""
    distances = np.delete(found.distances, found.reference, axis=0)
    made = np.isfinite(distances)
    total, n = np.where(made, distances, 0.0).sum(axis=0), made.sum(axis=0)
    return np.asarray(1 - np.divide(total, n, out=np.full(len(total), np.nan), where=n > 0))


# -- consensus -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Consensus:
    """Topics that several runs agree on.

    Attributes
    ----------
    topics : array [C, V]
        Mean of each consensus topic's members; rows sum to 1.
    support : array [C]
        Share of the runs that have it.
    members : array [R, C]
        Topic of each run in each consensus topic; −1 if the run does not have it.
    noise : list of (run, topic)
        Topics of runs that are in no consensus topic, by run. No topic of any run is lost: each is in ``members`` or
        here.
    vocabulary : tuple of str, or None
        Words of the columns of ``topics``; None if runs were arrays.
    reference : int
        Number of the run that the others were aligned to.
    min_support : float
    """

    topics: FloatArray
    support: FloatArray
    members: Int64Array
    noise: list[tuple[int, int]]
    vocabulary: tuple[str, ...] | None
    reference: int
    min_support: float

    def rows(self) -> list[dict[str, Any]]:
        """One row for each topic of each run: ``run``, ``topic``, ``consensus_topic`` (−1 for noise), ``support``.

        Noise has a ``support`` of NaN.
        """
        rows = [
            {"run": r, "topic": topic, "consensus_topic": c, "support": float(self.support[c])}
            for r, of_run in enumerate(self.members.tolist())
            for c, topic in enumerate(of_run)
            if topic >= 0
        ]
        rows += [{"run": r, "topic": k, "consensus_topic": -1, "support": float("nan")} for r, k in self.noise]
        return sorted(rows, key=lambda row: (row["run"], row["topic"]))


def consensus(
    runs: Iterable[Any],
    metric: Metric = "hellinger",
    threshold: float | None = None,
    *,
    reference: int | None = None,
    min_support: float = 0.5,
) -> Consensus:
    """Clusters of topics across runs, in which each run has at most one, and the topics that are in none.

    All runs are aligned to the reference; a topic of the reference and its matches are a cluster. Topics left over are
    clustered in the same way, with the run that has most of them left as the reference, until none is left. So a topic
    that the reference lacks is still found.

    Parameters
    ----------
    runs : iterable of arrays [K_r, V], or of fitted models
        At least two.
    metric : {"hellinger", "jensen_shannon", "cosine", "rbo"}, default="hellinger"
    threshold : float, optional
        No topic is further from its cluster's reference topic than this; by default as in
        :func:`~topicloom.diagnostics.alignment.align`.
    reference : int, optional
        Number of the first reference; by default the medoid.
    min_support : float, default=0.5
        A cluster is a consensus topic if at least this share of all runs, and at least two runs, have it. The topics of
        others are noise.

    Returns
    -------
    Consensus
        Topics of the reference first, in its order.

    Examples
    --------
    >>> import numpy as np
    >>> topics = np.random.default_rng(0).dirichlet(np.full(50, 0.1), 4)
    >>> found = consensus([topics[:2], topics[[1, 0]], topics[[0, 2]], topics[[3, 1]]], reference=0)
    >>> found.support
    array([0.75, 0.75])
    >>> found.members
    array([[ 0,  1],
           [ 1,  0],
           [ 0, -1],
           [-1,  1]])
    >>> found.noise
    [(2, 1), (3, 0)]
    """
    topics, vocabulary = _checked_runs(runs, metric, reference)
    check_number("min_support", min_support, 0.0, 1.0)
    limit = resolve_threshold(metric, threshold)
    chosen = _medoid(_run_distances(topics, metric)) if reference is None else int(reference)
    clusters = _clusters(topics, chosen, metric, limit)
    n_runs = (clusters >= 0).sum(axis=0)
    agreed = (n_runs >= 2) & (n_runs >= min_support * len(topics) - 1e-9)
    members = clusters[:, agreed]
    noise = sorted((int(r), int(clusters[r, c])) for r, c in np.argwhere((clusters >= 0) & ~agreed))
    mean = np.array([_mean_topic(topics, of_runs) for of_runs in members.T]).reshape(-1, topics[0].shape[1])
    return Consensus(mean, n_runs[agreed] / len(topics), members, noise, vocabulary, chosen, min_support)


def _clusters(topics: list[FloatArray], reference: int, metric: Metric, threshold: float) -> Int64Array:
    """Topic of each run in each cluster [R, clusters], −1 for none; every topic is in one cluster."""
    left = [np.arange(len(phi)) for phi in topics]
    found = []
    while any(len(numbers) for numbers in left):
        some = [r for r, numbers in enumerate(left) if len(numbers)]
        passed = align_topics([topics[r][left[r]] for r in some], some.index(reference), metric, threshold)
        matches = np.full((len(topics), len(left[reference])), -1, np.int64)
        for r, row, others in zip(some, passed.matches, passed.unmatched, strict=True):
            matches[r] = np.where(row >= 0, left[r][row], -1)
            left[r] = left[r][others]
        found.append(matches)
        reference = int(np.argmax([len(numbers) for numbers in left]))
    return np.concatenate(found, axis=1)


def _mean_topic(topics: list[FloatArray], members: Int64Array) -> FloatArray:
    rows = np.array([topics[r][k] for r, k in enumerate(members) if k >= 0])
    mean = rows.mean(axis=0)
    return np.asarray(mean / mean.sum())
