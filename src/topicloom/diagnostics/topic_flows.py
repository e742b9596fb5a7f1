"""Splits and merges of topics between models with different numbers of them (Fukuyama, Sankaran and Symul, 2023).

A flow says which share of the corpus goes from each topic of one model to each topic of the next.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import as_numbers, check_choice, check_number, items
from topicloom.diagnostics.alignment import METRICS, Metric, common_topics, distance_matrix
from topicloom.errors import InputError, counted
from topicloom.evaluation.topics import check_distributions, check_finite, topic_sizes
from topicloom.numerics.product import product

Method: TypeAlias = Literal["product", "transport"]
METHODS: tuple[Method, ...] = ("product", "transport")

_MOST = 0.5  # a part has at least this much of its mass from, or in, the topic it is a part of
_UNITS = 1e6  # masses are solved for in these units, so that the solver's tolerance of 1e-7 is 1e-13 of the corpus


@dataclass(frozen=True)
class Flow:
    """What goes from each topic of one model to each topic of the next.

    Attributes
    ----------
    weights : array [K_a, K_b]
        Shares of the corpus; they sum to 1. Rows sum to the sizes of the source's topics, columns to the target's.
    source, target : int
        Numbers of the models.
    method : {"product", "transport"}
    """

    weights: FloatArray
    source: int
    target: int
    method: Method

    @property
    def forward(self) -> FloatArray:
        """Where each topic of the source goes [K_a, K_b]; rows sum to 1, or to 0 for a topic of size 0."""
        return _normalised(self.weights, axis=1)

    @property
    def backward(self) -> FloatArray:
        """Where each topic of the target comes from [K_a, K_b]; columns sum to 1, or to 0 for a topic of size 0."""
        return _normalised(self.weights, axis=0)

    def splits(self, share: float = 0.1) -> dict[int, list[int]]:
        """Topics of the source with two parts or more in the target.

        A part comes to at least a half from the topic, and has at least ``share`` of it.
        """
        check_number("share", share, 0.0, 1.0)
        parts = (self.forward >= share) & (self.backward >= _MOST)
        return {k: np.flatnonzero(row).tolist() for k, row in enumerate(parts) if row.sum() >= 2}

    def merges(self, share: float = 0.1) -> dict[int, list[int]]:
        """Topics of the target with two parts or more in the source.

        A part goes to at least a half to the topic, and makes at least ``share`` of it.
        """
        check_number("share", share, 0.0, 1.0)
        parts = (self.backward >= share) & (self.forward >= _MOST)
        return {k: np.flatnonzero(row).tolist() for k, row in enumerate(parts.T) if row.sum() >= 2}

    def rows(self, share: float = 0.0) -> list[dict[str, Any]]:
        """One row for each pair of topics with weight, for instance for ``pandas.DataFrame``.

        Each has ``source``, ``target`` (models), ``source_topic``, ``target_topic``, ``weight``, ``forward`` and
        ``backward``. Pairs are left out if both ``forward`` and ``backward`` are below ``share``.
        """
        check_number("share", share, 0.0, 1.0)
        forward, backward = self.forward, self.backward
        pairs = np.argwhere((self.weights > 0) & (np.maximum(forward, backward) >= share)).tolist()
        return [
            {
                "source": self.source,
                "target": self.target,
                "source_topic": k,
                "target_topic": j,
                "weight": float(self.weights[k, j]),
                "forward": float(forward[k, j]),
                "backward": float(backward[k, j]),
            }
            for k, j in pairs
        ]


def _normalised(weights: FloatArray, axis: int) -> FloatArray:
    total = weights.sum(axis=axis, keepdims=True)
    return np.asarray(np.divide(weights, total, out=np.zeros_like(weights), where=total > 0))


def product_weights(theta_a: AnyArray, theta_b: AnyArray, lengths: AnyArray | None = None) -> FloatArray:
    """Weights Σ_d N_d θ_dk θ'_dk' / Σ_d N_d between topics of two models of the same documents.

    They are the share of tokens that would have topics k and k' if both were drawn anew for each token. So a document
    with several topics spreads its weight over all their pairs.

    Parameters
    ----------
    theta_a, theta_b : arrays [D, K_a] and [D, K_b]
        Topic proportions of the documents (``doc_topic_``).
    lengths : array [D], optional
        Tokens of each document; without it all documents count the same.

    Returns
    -------
    array [K_a, K_b]
        Sums to 1; rows and columns sum to the topics' sizes.

    Examples
    --------
    >>> product_weights([[1.0, 0.0], [0.0, 1.0]], [[1.0], [1.0]], lengths=[30, 10])
    array([[0.75],
           [0.25]])
    """
    first = check_distributions("theta_a", theta_a, "document")
    second = check_distributions("theta_b", theta_b, "document")
    if len(first) != len(second):
        raise InputError(
            f"theta_a has {counted(len(first), 'documents')} and theta_b has {len(second):,}; give both models' topic "
            "proportions of the same documents, in the same order."
        )
    weight = np.ones(len(first)) if lengths is None else as_numbers("lengths", lengths)
    topic_sizes(first, weight)  # refuses lengths that cannot be used
    return product(first.T * (weight / weight.sum()), second)


def transport_weights(sizes_a: AnyArray, sizes_b: AnyArray, distances: AnyArray) -> FloatArray:
    """The cheapest way to move the masses of one model's topics to another's: exact optimal transport.

    Parameters
    ----------
    sizes_a, sizes_b : arrays [K_a] and [K_b]
        Masses of the topics (:func:`~topicloom.evaluation.topic_sizes`); each is divided by its sum.
    distances : array [K_a, K_b]
        Cost of moving a unit of mass, for instance from :func:`~topicloom.diagnostics.alignment.topic_distance`.

    Returns
    -------
    array [K_a, K_b]
        Rows sum to ``sizes_a`` and columns to ``sizes_b``. At most K_a + K_b − 1 are not 0.

    Notes
    -----
    The linear program is solved by HiGHS's dual simplex method; 200 × 200 topics take some 0.2 s.

    Examples
    --------
    >>> transport_weights([0.5, 0.5], [0.5, 0.25, 0.25], [[0.1, 0.9, 0.9], [0.9, 0.2, 0.3]])
    array([[0.5 , 0.  , 0.  ],
           [0.  , 0.25, 0.25]])
    """
    cost = as_numbers("distances", distances)
    if cost.ndim != 2 or cost.size == 0:
        raise InputError(f"distances must be of shape [K_a, K_b], not {cost.shape}.")
    check_finite("distances", cost, "topic")
    n, m = cost.shape
    supply, demand = _masses("sizes_a", sizes_a, n), _masses("sizes_b", sizes_b, m)
    rows = scipy.sparse.kron(scipy.sparse.identity(n), np.ones((1, m)))
    columns = scipy.sparse.kron(np.ones((1, n)), scipy.sparse.identity(m))
    sums = scipy.sparse.vstack((rows, columns)).tocsr()[:-1]  # the last sum follows from the others
    masses = _UNITS * np.concatenate((supply, demand))[:-1]
    solved = scipy.optimize.linprog(cost.ravel(), A_eq=sums, b_eq=masses, method="highs-ds")
    if solved.x is None:
        raise RuntimeError(f"optimal transport was not solved: {solved.message}")
    return np.asarray(np.maximum(solved.x, 0.0).reshape(n, m) / _UNITS)


def _masses(name: str, sizes: AnyArray, n: int) -> FloatArray:
    mass = as_numbers(name, sizes)
    if mass.shape != (n,) or not np.all(np.isfinite(mass) & (mass >= 0)) or not np.any(mass):
        raise InputError(f"{name} must have one finite number of 0 or more for each of {n} topics, not all 0.")
    return np.asarray(mass / mass.sum())


def flows(
    models: Iterable[Any],
    *,
    doc_topics: Sequence[AnyArray] | None = None,
    lengths: AnyArray | None = None,
    method: Method = "product",
    metric: Metric = "hellinger",
) -> list[Flow]:
    """What becomes of topics from each model to the next, for instance with a growing number of topics.

    Parameters
    ----------
    models : iterable of arrays [K_m, V], or of fitted models
        At least two, of the same documents. Flows are between neighbours, in the order given.
    doc_topics : sequence of arrays [D, K_m], optional
        Topic proportions of the same documents by each model; without it, the models' ``doc_topic_``.
    lengths : array [D], optional
        Tokens of each document; without it those of the first model's training documents, and if ``models`` are
        arrays all documents count the same.
    method : {"product", "transport"}, default="product"
        "product" goes by documents alone (:func:`product_weights`): topics are linked if they are found in the same
        documents. "transport" moves topics' sizes at the least cost (:func:`transport_weights`): topics are linked if
        they have alike words and sizes.
    metric : {"hellinger", "jensen_shannon", "cosine", "rbo"}, default="hellinger"
        Cost of "transport", as in :func:`~topicloom.diagnostics.alignment.topic_distance`.

    Returns
    -------
    list of Flow
        One fewer than there are models.

    References
    ----------
    .. [1] Fukuyama, Sankaran and Symul (2023). Multiscale analysis of count data through topic alignment.
       Biostatistics 24(4). Their transport is regularised; here it is exact.

    Examples
    --------
    One topic over two words, and then a topic for each word:

    >>> one, two = [[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]
    >>> (flow,) = flows([one, two], doc_topics=[[[1.0], [1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    >>> flow.weights
    array([[0.5, 0.5]])
    >>> flow.splits()
    {0: [0, 1]}
    """
    check_choice("method", method, METHODS)
    check_choice("metric", metric, METRICS)
    given = items("models", models)
    topics = common_topics(given).topics
    theta = _doc_topics(given, doc_topics)
    if lengths is None:
        corpus = getattr(given[0], "corpus_", None)
        lengths = np.ones(len(theta[0])) if corpus is None else corpus.doc_lengths
    for m, (phi, shares) in enumerate(zip(topics, theta, strict=True)):
        if shares.shape != (len(theta[0]), len(phi)):
            raise InputError(
                f"doc_topics[{m}] has shape {shares.shape}; expected {len(theta[0]):,} documents, as of the first, and "
                f"{counted(len(phi), 'topics')}."
            )
    found = []
    for m in range(len(topics) - 1):
        if method == "product":
            weights = product_weights(theta[m], theta[m + 1], lengths)
        else:
            cost = distance_matrix(topics[m], topics[m + 1], metric)
            weights = transport_weights(topic_sizes(theta[m], lengths), topic_sizes(theta[m + 1], lengths), cost)
        found.append(Flow(weights, m, m + 1, method))
    return found


def _doc_topics(models: tuple[Any, ...], doc_topics: Sequence[AnyArray] | None) -> list[FloatArray]:
    """θ of each model, as given or its own."""
    if doc_topics is None:
        for m, model in enumerate(models):
            if not hasattr(model, "doc_topic_"):
                raise InputError(f"models[{m}] has no doc_topic_; give every model's topic proportions as doc_topics.")
        doc_topics = [model.doc_topic_ for model in models]
    given = items("doc_topics", doc_topics)
    if len(given) != len(models):
        raise InputError(
            f"doc_topics has {counted(len(given), 'entries')} for {len(models)} models; give one for each."
        )
    return [check_distributions(f"doc_topics[{m}]", shares, "document") for m, shares in enumerate(given)]
