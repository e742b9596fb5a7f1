"""Topics matched across chains, runs and models: distances, the nearest topic, one-to-one alignment.

Every function takes topics as arrays [K, V] whose rows sum to 1, or as fitted models with ``topic_word_`` and
``vocabulary_``. Models over different vocabularies are compared over the union of their words, in which a word that a
model does not know has probability 0. So topics that give much to words of one model alone are far apart.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus._checks import check_choice, check_number, check_whole, items, shown
from topicloom.errors import InputError, counted
from topicloom.evaluation.topics import _DISTANCES, check_finite, check_topics, top_words

Metric: TypeAlias = Literal["hellinger", "jensen_shannon", "cosine", "rbo"]
METRICS: tuple[Metric, ...] = ("hellinger", "jensen_shannon", "cosine", "rbo")

RBO_P = 0.9  # a reader who has seen one rank goes on to the next with this probability
RBO_DEPTH = 20  # ranks that are compared; they hold 97% of the weight, and what lies below is extrapolated

# Below the distance of a topic to an even mixture of itself and another that shares no word: 0.54, 0.56, 0.29 and, for
# lists of words that take turns, about 0.5. ``align`` has the figures.
THRESHOLDS: dict[str, float] = {"hellinger": 0.5, "jensen_shannon": 0.55, "cosine": 0.25, "rbo": 0.5}


# -- what is compared ----------------------------------------------------------------------------------------


class CommonTopics(NamedTuple):
    """Topics of several models over the same words."""

    topics: list[FloatArray]  # [K_m, V] of each model
    vocabulary: tuple[str, ...] | None  # None if only arrays were given


def common_topics(models: Iterable[Any], name: str = "models") -> CommonTopics:
    """Topics of at least two models over one vocabulary: the union of theirs.

    Parameters
    ----------
    models : iterable of arrays [K, V], or of fitted models
        Arrays have no words, so all must have the same number of columns. They may stand beside models
        only if these have one vocabulary.
    name : str, default="models"
        What error messages call them.

    Returns
    -------
    CommonTopics
        Arrays [K_m, V], and the words of their columns: those of the first model, then words that only the second
        knows, and so on.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> first = SimpleNamespace(topic_word_=[[0.5, 0.5]], vocabulary_=("bank", "river"))
    >>> second = SimpleNamespace(topic_word_=[[0.9, 0.1]], vocabulary_=("river", "water"))
    >>> topics, vocabulary = common_topics([first, second])
    >>> vocabulary
    ('bank', 'river', 'water')
    >>> topics[1]
    array([[0. , 0.9, 0.1]])
    """
    given = items(name, models)
    if len(given) < 2:
        raise InputError(f"{name} has {len(given)} of them; give at least 2 to compare.")
    found = [_read_topics(f"{name}[{m}]", model) for m, model in enumerate(given)]
    vocabularies = list(dict.fromkeys(words for _, words in found if words is not None))
    if len(vocabularies) > 1:
        return _over_union(name, found)
    topics = [phi for phi, _ in found]
    for m, phi in enumerate(topics):
        if phi.shape[1] != topics[0].shape[1]:
            raise InputError(
                f"{name}[{m}] has {counted(phi.shape[1], 'words')} and {name}[0] has {topics[0].shape[1]:,}; give "
                "arrays over the same words, or fitted models, whose vocabularies are known."
            )
    return CommonTopics(topics, vocabularies[0] if vocabularies else None)


def chain_topics(model: Any) -> list[FloatArray]:
    """Topics [K, V] of each chain of a fitted model, of which ``topic_word_`` has the best one's alone.

    Parameters
    ----------
    model : fitted topic model
        With ``n_chains`` of 2 or more.

    Returns
    -------
    list of arrays [K, V]
        By chain, over the model's vocabulary; each estimated as ``topic_word_`` is.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.datasets import synthetic_lda
    >>> corpus = synthetic_lda(n_docs=50, n_words=30, n_topics=3).corpus
    >>> model = LDA(3, n_chains=2, max_iter=20, random_state=0).fit(corpus)
    >>> align(chain_topics(model)).matches.shape
    (2, 3)
    """
    if not hasattr(model, "seed_") or not hasattr(model, "_word_counts_of"):
        raise InputError(f"model is {shown(model)}; give a fitted topic model of topicloom, which has chains.")
    by_word = [model._word_counts_of(chain) for chain in model.chains_]
    return [np.ascontiguousarray((counts / counts.sum(axis=0)).T) for counts in by_word]


def _read_topics(name: str, model: Any) -> tuple[FloatArray, tuple[str, ...] | None]:
    """Topics of a model or an array, and the words if they are known."""
    if not hasattr(model, "topic_word_"):
        if hasattr(model, "fit"):
            raise InputError(
                f"{name} is {shown(model)}, which has no topic_word_; give a fitted topic model or an array [K, V]."
            )
        return check_topics(model, name=name), None
    phi = check_topics(model.topic_word_, name=f"{name}.topic_word_")
    if not hasattr(model, "vocabulary_"):
        return phi, None
    words = tuple(map(str, model.vocabulary_))
    if len(words) != phi.shape[1] or len(set(words)) != len(words):
        raise InputError(
            f"{name} has topics over {counted(phi.shape[1], 'words')} but {len(set(words)):,} different words in its "
            "vocabulary; there must be one for each column."
        )
    return phi, words


def _over_union(name: str, found: list[tuple[FloatArray, tuple[str, ...] | None]]) -> CommonTopics:
    column: dict[str, int] = {}
    for m, (_, words) in enumerate(found):
        if words is None:
            raise InputError(
                f"{name}[{m}] is an array, whose words are not known, and the models beside it have different "
                "vocabularies; give the model instead."
            )
        for word in words:
            column.setdefault(word, len(column))
    topics = []
    for phi, words in found:
        wide = np.zeros((len(phi), len(column)))
        wide[:, [column[word] for word in words or ()]] = phi
        topics.append(wide)
    return CommonTopics(topics, tuple(column))


# -- distances -----------------------------------------------------------------------------------------------


def topic_distance(a: Any, b: Any, metric: Metric = "hellinger") -> FloatArray:
    """Distance of every topic of one model to every topic of another, from 0 (the same) to 1 (nothing shared).

    Parameters
    ----------
    a, b : arrays [K_a, V] and [K_b, V], or fitted models
    metric : {"hellinger", "jensen_shannon", "cosine", "rbo"}, default="hellinger"
        "hellinger" is √(1 − Σ_v √(a_v b_v)). "jensen_shannon" is the square root of the Jensen-Shannon divergence in
        bits. "cosine" is one minus the cosine, which the few most frequent words decide. "rbo" is one minus the
        rank-biased overlap of the likeliest words (see Notes), which looks at their order alone.

    Returns
    -------
    array [K_a, K_b]

    Notes
    -----
    Rank-biased overlap [1]_ is extrapolated (their equation 32) from the 20 likeliest words with p = 0.9, so that
    the first 10 ranks have 86% of the weight and the first 20 have 97%. Of equally likely words the one with the lower
    number comes first. Words that share a topic's least probability have no rank, since those that the topic does not
    use would otherwise be in an order of no meaning; so a list may be shorter than 20.

    "hellinger" and "jensen_shannon" obey the triangle inequality, "rbo" does if no list is shorter than 20, "cosine"
    does not.

    References
    ----------
    .. [1] Webber, Moffat and Zobel (2010). A similarity measure for indefinite rankings. ACM Transactions on
       Information Systems 28(4).

    Examples
    --------
    >>> topic_distance([[0.5, 0.5, 0.0]], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    array([[0., 1.]])
    """
    check_choice("metric", metric, METRICS)
    first, second = common_topics((a, b), name="topics").topics
    return distance_matrix(first, second, metric)


def distance_matrix(a: FloatArray, b: FloatArray, metric: Metric) -> FloatArray:
    """Distances of topics that are over the same words and have been checked."""
    if metric == "rbo":
        return _rank_distance(a, b)
    how = _DISTANCES[metric]
    between = how.scale * scipy.spatial.distance.cdist(how.prepare(a), how.prepare(b), how.metric)
    return np.asarray(np.clip(between, 0.0, 1.0))


def _rank_distance(a: FloatArray, b: FloatArray) -> FloatArray:
    """One minus extrapolated rank-biased overlap."""
    depth = np.arange(1, min(RBO_DEPTH, a.shape[1]) + 1)
    weight = (1 - RBO_P) / RBO_P * RBO_P**depth
    weight[-1] += RBO_P ** depth[-1]  # the agreement at the last rank goes on for ever
    ranks, n_ranked = _ranks(b, len(depth))
    out = np.empty((len(a), len(b)))
    for i, (of_topic, n) in enumerate(zip(*_ranks(a, len(depth)), strict=True)):
        words = np.flatnonzero(of_topic < np.inf)
        seen_from = np.maximum(of_topic[words], ranks[:, words])  # the depth at which both lists have the word
        overlap = (seen_from[:, :, None] <= depth).sum(axis=1)
        agreement = _agreement(overlap, np.minimum(n, n_ranked), np.maximum(n, n_ranked), depth)
        out[i] = 1 - (agreement * weight).sum(axis=1)
    return np.clip(out, 0.0, 1.0)


def _ranks(phi: FloatArray, depth: int) -> tuple[FloatArray, Int64Array]:
    """Ranks from 1 of each topic's words [K, V], infinite where a word has none, and the number of ranked words [K]."""
    best = top_words(phi, depth)
    ranked = np.take_along_axis(phi, best, axis=1) > phi.min(axis=1, keepdims=True)
    ranks = np.full(phi.shape, np.inf)
    np.put_along_axis(ranks, best, np.where(ranked, np.arange(1, depth + 1), np.inf), axis=1)
    return ranks, ranked.sum(axis=1)


def _agreement(overlap: Int64Array, short: Int64Array, long: Int64Array, depth: Int64Array) -> FloatArray:
    """Share of words that two lists have in common at each depth [K, depth].

    Below the end of the shorter list, its agreement there is taken to go on; below both, that of the longer.
    """
    at = np.minimum(depth, np.maximum(long, 1)[:, None])
    end = np.maximum(short, 1)[:, None]
    at_end = np.take_along_axis(overlap, end - 1, axis=1)
    beyond = np.where(at > end, at_end * (at - end) / (end * at), 0.0)
    both_empty = (long == 0)[:, None]
    return np.where(both_empty, 1.0, overlap / at + beyond)


class Nearest(NamedTuple):
    """For each topic of one model, the nearest of another."""

    topic: Int64Array  # [K_a]
    distance: FloatArray  # [K_a]


def nearest(a: Any, b: Any, metric: Metric = "hellinger") -> Nearest:
    """For each topic of ``a`` the nearest topic of ``b``, which may be the nearest of several.

    Parameters
    ----------
    a, b : arrays [K_a, V] and [K_b, V], or fitted models
    metric : {"hellinger", "jensen_shannon", "cosine", "rbo"}, default="hellinger"
        As in :func:`topic_distance`.

    Returns
    -------
    Nearest
        ``topic`` and ``distance``, one for each topic of ``a``. Of equally near topics, the lower number.

    Examples
    --------
    >>> found = nearest([[1.0, 0.0], [0.9, 0.1]], [[0.0, 1.0], [1.0, 0.0]])
    >>> found.topic
    array([1, 1])
    """
    between = topic_distance(a, b, metric)
    topic = between.argmin(axis=1)
    return Nearest(topic, between[np.arange(len(topic)), topic])


# -- one-to-one ----------------------------------------------------------------------------------------------


def match_topics(distances: AnyArray, threshold: float = 1.0) -> Int64Array:
    """The best one-to-one matching for a matrix of distances [K_a, K_b].

    It makes the sum of distances least, where a topic without a partner counts as ``threshold``. So pairs beyond the
    threshold do not decide which of the others are made.

    Parameters
    ----------
    distances : array [K_a, K_b]
    threshold : float, default=1.0
        Pairs beyond this distance are not made.

    Returns
    -------
    array [K_a]
        The column matched to each row, −1 if there is none.

    Examples
    --------
    >>> match_topics([[0.1, 0.2], [0.2, 0.9]])
    array([1, 0])
    >>> match_topics([[0.1, 0.9], [0.9, 0.8]], threshold=0.5)
    array([ 0, -1])
    """
    cost = np.asarray(distances, np.float64)
    if cost.ndim != 2:
        raise InputError(f"distances must be of shape [K_a, K_b], not {cost.shape}.")
    check_finite("distances", cost, "topic")
    check_number("threshold", threshold, 0.0, np.inf)
    rows, columns = scipy.optimize.linear_sum_assignment(np.minimum(cost, threshold))
    near = cost[rows, columns] <= threshold
    matches = np.full(len(cost), -1, np.int64)
    matches[rows[near]] = columns[near]
    return matches


@dataclass(frozen=True)
class Alignment:
    """Topics of several models matched to those of a reference.

    Attributes
    ----------
    matches : array [n_models, K]
        Topic of each model that matches each of the reference's K topics; −1 if none does.
    distances : array [n_models, K]
        Distance of each match; NaN if there is none.
    unmatched : tuple of arrays
        For each model, its topics that match none of the reference's.
    reference : int
        Number of the reference, whose own row is 0, 1, …
    metric : str
    threshold : float
    """

    matches: Int64Array
    distances: FloatArray
    unmatched: tuple[Int64Array, ...]
    reference: int
    metric: Metric
    threshold: float

    def rows(self) -> list[dict[str, Any]]:
        """One row for each pair and for each topic left over, for instance for ``pandas.DataFrame``.

        Each has ``model``, ``reference_topic``, ``topic`` (−1 on the side that has none) and ``distance``.
        """
        rows = []
        for m, others in enumerate(self.unmatched):
            pairs = [(k, self.matches[m, k], self.distances[m, k]) for k in range(self.matches.shape[1])]
            pairs += [(-1, topic, np.nan) for topic in others]
            for k, topic, distance in pairs:
                rows.append(
                    {"model": m, "reference_topic": k, "topic": int(topic), "distance": float(distance)}
                )  # fmt: skip
        return rows


def align(
    models: Iterable[Any], reference: int = 0, metric: Metric = "hellinger", threshold: float | None = None
) -> Alignment:
    """Match the topics of each model one-to-one to those of a reference.

    Parameters
    ----------
    models : iterable of arrays [K_m, V], or of fitted models
        At least two. For the chains of one model give ``chain_topics(model)``. Numbers of topics may differ.
    reference : int, default=0
        Number of the model to which the others are matched.
    metric : {"hellinger", "jensen_shannon", "cosine", "rbo"}, default="hellinger"
        As in :func:`topic_distance`.
    threshold : float, optional
        Topics further apart than this are never matched. By default 0.5 for "hellinger" and "rbo", 0.55 for
        "jensen_shannon", 0.25 for "cosine" (see Notes).

    Returns
    -------
    Alignment

    See Also
    --------
    topicloom.diagnostics.topic_flows.flows : splits and merges between models with different numbers of topics.

    Notes
    -----
    The default thresholds are a little less than the distance of a topic to an even mixture of itself and another that
    shares no word with it (0.54, 0.56, 0.29, about 0.5), so that two topics merged into one are not taken for either.
    An uneven merge is taken for its larger part: by "hellinger" if that is 9/16 of it or more.

    Between independent chains of :class:`~topicloom.LDA` on seven corpora of :func:`~topicloom.datasets.synthetic_lda`
    and :func:`~topicloom.datasets.bands`, with topics told apart by the true topics of their tokens:

    ==============  =============================  ==============================  ============  ===========
    metric          837 pairs of the same topic    11,438 pairs of others          same, beyond  others,
                    (median, 99%, largest)         (smallest, 1%, median)          threshold     within
    ==============  =============================  ==============================  ============  ===========
    hellinger       0.13, 0.25, 0.31               0.42, 0.69, 0.88                0             0.05%
    jensen_shannon  0.14, 0.29, 0.33               0.47, 0.71, 0.92                0             0.07%
    cosine          0.00, 0.05, 0.07               0.27, 0.52, 0.96                0             0
    rbo             0.04, 0.52, 0.66               0.49, 0.83, 1.00                1.3%          0.02%
    ==============  =============================  ==============================  ============  ===========

    On real text (:func:`~topicloom.datasets.docstrings`, 20 topics) no two topics of one chain are nearer than 0.67 by
    "hellinger", and 76% of the topics of a chain have a match in another. Choose a lower threshold if topics are nearly
    flat: distributions drawn from a Dirichlet(1) are 0.46 apart by chance.

    Examples
    --------
    >>> import numpy as np
    >>> topics = np.random.default_rng(0).dirichlet(np.full(50, 0.1), 4)
    >>> align([topics, topics[[2, 0, 3]]]).matches
    array([[ 0,  1,  2,  3],
           [ 1, -1,  0,  2]])
    """
    check_choice("metric", metric, METRICS)
    topics = common_topics(models).topics
    check_whole("reference", reference, 0)
    if reference >= len(topics):
        raise InputError(f"reference={reference} does not exist; models are numbered 0 to {len(topics) - 1}.")
    return align_topics(topics, reference, metric, resolve_threshold(metric, threshold))


def align_topics(topics: list[FloatArray], reference: int, metric: Metric, threshold: float) -> Alignment:
    """The alignment of topics that are over the same words and have been checked."""
    n = len(topics[reference])
    matches, distances = np.full((len(topics), n), -1, np.int64), np.full((len(topics), n), np.nan)
    for m, phi in enumerate(topics):
        if m == reference:
            matches[m], distances[m] = np.arange(n), 0.0
            continue
        between = distance_matrix(topics[reference], phi, metric)
        matches[m] = match_topics(between, threshold)
        pairs = np.flatnonzero(matches[m] >= 0)
        distances[m, pairs] = between[pairs, matches[m, pairs]]
    unmatched = tuple(np.setdiff1d(np.arange(len(phi)), row) for phi, row in zip(topics, matches, strict=True))
    return Alignment(matches, distances, unmatched, reference, metric, threshold)


def resolve_threshold(metric: Metric, threshold: float | None) -> float:
    """The threshold as given, or the metric's own."""
    return THRESHOLDS[metric] if threshold is None else check_number("threshold", threshold, 0.0, 1.0)
