"""Topics cut to sets: which features, or which cells, belong to a topic."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from topicloom._types import BoolArray, FloatArray
from topicloom.corpus._checks import as_numbers, check_choice, check_whole
from topicloom.corpus.frames import to_frame
from topicloom.errors import InputError

METHODS = ("otsu", "top")
_SMALLEST = 1e-100  # in place of a probability of 0, before its logarithm


@dataclass(frozen=True, eq=False)
class Sets:
    """The features or cells that belong to each topic, and their scores.

    Attributes
    ----------
    of : str
        "feature" or "cell".
    names : tuple of str
        Names of the features or cells.
    topics : tuple of str
        Names of the topics, ``topic_3`` for topic 3 if it has none.
    scores : array of float, shape (n_names, n_topics)
        Scores by which the sets are chosen.
    chosen : array of bool, shape (n_names, n_topics)
        What belongs to a topic. Sets may overlap, and need not cover everything.
    thresholds : array of float, shape (n_topics,)
        Scores above it are chosen by Otsu's method. With ``method="top"`` it is the lowest chosen score.

    Examples
    --------
    >>> import numpy as np
    >>> from topicloom.cells import Sets
    >>> scores = np.array([[0.9], [0.1], [0.95]])
    >>> sets = Sets("feature", ("a", "b", "c"), ("topic_0",), scores, scores > 0.5, np.array([0.5]))
    >>> sets.to_dict()
    {'topic_0': ['c', 'a']}
    """

    of: str
    names: tuple[str, ...]
    topics: tuple[str, ...]
    scores: FloatArray
    chosen: BoolArray
    thresholds: FloatArray

    def members(self, topic: int) -> list[str]:
        """Names that belong to a topic.

        Parameters
        ----------
        topic : int

        Returns
        -------
        list of str
            Highest score first.
        """
        return [self.names[i] for i in self._ranked(topic)]

    def to_dict(self) -> dict[str, list[str]]:
        """Names that belong to each topic.

        Returns
        -------
        dict of str to list of str
            By the topic's name, highest score first.
        """
        return {name: self.members(k) for k, name in enumerate(self.topics)}

    def to_frame(self, frame: Any = None) -> Any:
        """A table with one row per topic and member: topic, name, rank (from 1), the feature or cell, and its score.

        Parameters
        ----------
        frame : str, default=None
            "pandas", "polars" or "rows". None uses what is installed.

        Returns
        -------
        data frame or Rows
        """
        header = ("topic", "name", "rank", self.of, "score")
        columns = list(zip(*self.rows(), strict=True)) or [()] * len(header)
        return to_frame(dict(zip(header, map(list, columns), strict=True)), frame)

    def rows(self) -> list[tuple[int, str, int, str, float]]:
        """The rows of :meth:`to_frame` as plain tuples.

        Returns
        -------
        list of tuple
        """
        return [
            (k, name, rank, self.names[i], float(self.scores[i, k]))
            for k, name in enumerate(self.topics)
            for rank, i in enumerate(self._ranked(k), 1)
        ]

    def _ranked(self, topic: int) -> Any:
        rows = np.flatnonzero(self.chosen[:, topic])
        return rows[np.argsort(-self.scores[rows, topic], kind="stable")]


def feature_sets(model: Any, method: str = "otsu", *, n_top: int = 2000, smooth: bool = True) -> Sets:
    """The features (regions, genes) of each topic.

    Parameters
    ----------
    model : fitted model with topics
    method : {"otsu", "top"}, default="otsu"
        "otsu" cuts the scores of a topic in two by Otsu's threshold; "top" takes the ``n_top`` highest.
    n_top : int, default=2000
        Features of a topic with ``method="top"``; ties go to the feature that comes first.
    smooth : bool, default=True
        Score a feature by φ_kv (log φ_kv − mean over topics of log φ_jv), which is low for features that all topics
        have; False scores it by its probability φ_kv.

    Returns
    -------
    Sets

    Examples
    --------
    >>> from topicloom import LDA, cells
    >>> from topicloom.datasets import synthetic_cells
    >>> data = synthetic_cells(200, 300, 3, fragments_per_cell=40.0)
    >>> model = LDA(3, max_iter=20, random_state=0).fit(data.corpus)
    >>> sets = cells.feature_sets(model, "top", n_top=5)
    >>> [len(members) for members in sets.to_dict().values()]
    [5, 5, 5]
    """
    if not isinstance(smooth, bool | np.bool_):
        raise InputError(f"smooth={smooth!r} must be True or False.")
    check_topics(model)
    scores = np.ascontiguousarray(model.topic_word_.T)
    if smooth:
        logs = np.log(scores + _SMALLEST)
        scores = scores * (logs - logs.mean(axis=1, keepdims=True))
    return _cut("feature", tuple(model.vocabulary_), model, scores, method, n_top)


def cell_sets(model: Any, method: str = "otsu", *, n_top: int = 2000) -> Sets:
    """The cells of each topic, by their shares of it; of the cells that the model was fitted on.

    Parameters
    ----------
    model : fitted model with topics
    method : {"otsu", "top"}, default="otsu"
        As in :func:`feature_sets`.
    n_top : int, default=2000

    Returns
    -------
    Sets

    Examples
    --------
    >>> from topicloom import LDA, cells
    >>> from topicloom.datasets import synthetic_cells
    >>> data = synthetic_cells(200, 300, 3, fragments_per_cell=40.0)
    >>> model = LDA(3, max_iter=20, random_state=0).fit(data.corpus)
    >>> cells.cell_sets(model).scores.shape
    (200, 3)
    """
    check_topics(model)
    corpus = model.corpus_
    names = tuple(map(str, range(corpus.n_docs))) if corpus.ids is None else corpus.ids
    return _cut("cell", names, model, np.asarray(model.doc_topic_), method, n_top)


def otsu_threshold(values: Any) -> float:
    """Otsu's threshold: values above it and the others are the two classes with the least variance within.

    All cuts between two distinct values are compared, so there are no bins to choose; of equally good ones the lowest
    is taken. If all values are equal it is that value, and no value lies above it.

    Parameters
    ----------
    values : array of finite numbers

    Returns
    -------
    float
        The largest value of the lower class.

    Examples
    --------
    >>> from topicloom.cells import otsu_threshold
    >>> otsu_threshold([0.1, 0.2, 0.1, 5.0, 6.0])
    0.2
    """
    numbers = as_numbers("values", values).ravel()
    if not len(numbers) or not np.all(np.isfinite(numbers)):
        raise InputError("values must hold finite numbers, at least one.")
    ordered = np.sort(numbers)
    low, spread = ordered[0], ordered[-1] - ordered[0]
    if spread == 0:
        return float(low)
    scaled = (ordered - low) / spread
    n = np.arange(1, len(scaled))
    below = np.cumsum(scaled)
    means = below[:-1] / n, (below[-1] - below[:-1]) / (len(scaled) - n)
    between = n * (len(scaled) - n) * (means[1] - means[0]) ** 2
    between[ordered[1:] == ordered[:-1]] = -1.0  # no cut between equal values
    return float(ordered[int(np.argmax(between))])


def check_topics(model: Any) -> None:
    """Refuse what is no fitted model with topics."""
    if not hasattr(model, "topic_word_") or not hasattr(model, "vocabulary_"):
        raise InputError(f"model is a {type(model).__name__}; expected a fitted model with topics, such as LDA.")


def topic_names(model: Any) -> tuple[str, ...]:
    """Names of the topics, with ``topic_3`` for topic 3 if it has none."""
    names = getattr(model, "topic_names_", None) or [None] * len(model.topic_word_)
    return tuple(name or f"topic_{k}" for k, name in enumerate(names))


def _cut(of: str, names: tuple[str, ...], model: Any, scores: FloatArray, method: str, n_top: int) -> Sets:
    check_choice("method", method, METHODS)
    n_top = min(check_whole("n_top", n_top, 1), len(scores))
    chosen, thresholds = np.zeros(scores.shape, bool), np.empty(scores.shape[1])
    for k, column in enumerate(scores.T):
        if method == "otsu":
            thresholds[k] = otsu_threshold(column)
            chosen[:, k] = column > thresholds[k]
        else:
            best = np.argsort(-column, kind="stable")[:n_top]
            chosen[best, k], thresholds[k] = True, column[best[-1]]
    return Sets(of, names, topic_names(model), scores, chosen, thresholds)
