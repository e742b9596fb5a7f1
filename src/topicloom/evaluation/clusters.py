"""Topics put together by likeness: hierarchical clusters, and how well they hold together."""

from typing import Literal, TypeAlias

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus._checks import as_array, check_choice, check_whole
from topicloom.errors import InputError
from topicloom.evaluation.topics import check_distributions

Linkage: TypeAlias = Literal["complete", "average", "single"]
Distance: TypeAlias = Literal["cityblock", "jensenshannon", "euclidean"]


def topic_linkage(
    rows: AnyArray, *, metric: Distance = "cityblock", method: Linkage = "complete"
) -> FloatArray:  # fmt: skip
    """Tree of distributions by likeness.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
        Topics over words (``model.topic_word_``) or documents over topics (``model.doc_topic_``).
    metric : {"cityblock", "jensenshannon", "euclidean"}, default="cityblock"
        Distance between two rows.
    method : {"complete", "average", "single"}, default="complete"
        Distance between two clusters. The defaults are those of R's ``hclust``.

    Returns
    -------
    array of shape (n_rows - 1, 4)
        As ``scipy.cluster.hierarchy`` has it: the two parts that meet, their distance, and the rows in both.

    Examples
    --------
    >>> topic_linkage([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]).tolist()
    [[0.0, 1.0, 0.5, 2.0], [2.0, 3.0, 2.0, 3.0]]
    """
    check_choice("method", method, ("complete", "average", "single"))
    return np.asarray(scipy.cluster.hierarchy.linkage(_distances(rows, metric), method))


def topic_clusters(
    rows: AnyArray, n_clusters: int, *, metric: Distance = "cityblock", method: Linkage = "complete"
) -> Int64Array:
    """Cut the tree of distributions into clusters.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
        Topics over words (``model.topic_word_``) or documents over topics (``model.doc_topic_``).
    n_clusters : int
        The most clusters that there may be.
    metric : {"cityblock", "jensenshannon", "euclidean"}, default="cityblock"
        As of :func:`topic_linkage`.
    method : {"complete", "average", "single"}, default="complete"
        As of :func:`topic_linkage`.

    Returns
    -------
    array of shape (n_rows,)
        The cluster of each row, counted from 0.

    Examples
    --------
    >>> topic_clusters([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]], 2).tolist()
    [0, 0, 1]
    """
    n = len(check_distributions("rows", rows, "row"))
    if check_whole("n_clusters", n_clusters, 1) > n:
        raise InputError(f"n_clusters={n_clusters} must be from 1 to {n}, the number of rows.")
    tree = topic_linkage(rows, metric=metric, method=method)
    return np.asarray(scipy.cluster.hierarchy.fcluster(tree, n_clusters, "maxclust") - 1, np.int64)


def silhouette_widths(rows: AnyArray, clusters: AnyArray, *, metric: Distance = "cityblock") -> FloatArray:
    """How much nearer each distribution is to its own cluster than to the next one.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
        Topics over words (``model.topic_word_``) or documents over topics (``model.doc_topic_``).
    clusters : array of shape (n_rows,)
        The cluster of each row, as :func:`topic_clusters` returns them.
    metric : {"cityblock", "jensenshannon", "euclidean"}, default="cityblock"
        Distance between two rows.

    Returns
    -------
    array of shape (n_rows,)
        From −1 to 1; 0 for a row that is alone in its cluster.

    Examples
    --------
    >>> silhouette_widths([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]], [0, 0, 1]).round(2).tolist()
    [0.75, 0.67, 0.0]
    """
    labels = as_array("clusters", clusters)
    between = scipy.spatial.distance.squareform(_distances(rows, metric))
    n = len(between)
    if labels.shape != (n,):
        raise InputError(f"clusters has shape {labels.shape}; give one cluster for each of {n} rows.")
    if not 2 <= len(np.unique(labels)) <= n - 1:
        raise InputError(f"silhouette widths need from 2 to {n - 1} clusters; there are {len(np.unique(labels))}.")
    from sklearn.metrics import silhouette_samples

    return np.asarray(silhouette_samples(between, labels, metric="precomputed"))


def _distances(rows: AnyArray, metric: Distance) -> FloatArray:
    given = check_distributions("rows", rows, "row")
    if len(given) < 2:
        raise InputError("at least two rows are needed to compare them.")
    check_choice("metric", metric, ("cityblock", "jensenshannon", "euclidean"))
    return np.asarray(scipy.spatial.distance.pdist(given, metric))
