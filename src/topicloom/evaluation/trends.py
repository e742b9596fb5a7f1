"""Topics over time, of any model and any time stamps (multipath Gibbs, section 4.2.2 and supplement A)."""

from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, BoolArray, FloatArray
from topicloom.corpus._checks import as_array, as_numbers, check_number, shown
from topicloom.errors import InputError
from topicloom.evaluation.topics import check_distributions


class TopicWeights(NamedTuple):
    """Topic shares of periods, in the order of time.

    Attributes
    ----------
    times : array of shape (n_periods,)
        Whole numbers or datetime64.
    weights : array of shape (n_periods, n_topics)
        Mean topic shares. Each row sums to 1.
    """

    times: AnyArray  # [Y] whole numbers or datetime64
    weights: FloatArray  # [Y, K], each row a distribution over topics


def topic_weights(
    theta: AnyArray, times: AnyArray, *, unit: str | None = None, documents: BoolArray | None = None
) -> TopicWeights:
    """Mean topic shares of the documents of each period: yearly topic weights, if times are years.

    Parameters
    ----------
    theta : array of shape (n_docs, n_topics)
        Topic shares of the documents, such as ``model.doc_topic_``.
    times : array of shape (n_docs,)
        A whole number or a date per document, such as ``corpus.times``.
    unit : {"Y", "M", "W", "D"}, optional
        Periods that dates are put together by. Default: as the dates are.
    documents : array of bool of shape (n_docs,), optional
        Documents that count, such as ``~corpus.empty_docs``. Default: all.

    Returns
    -------
    TopicWeights
        ``times`` and ``weights``.

    Examples
    --------
    >>> found = topic_weights([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], [1990, 1990, 1991])
    >>> found.times.tolist(), found.weights.tolist()
    ([1990, 1991], [[0.75, 0.25], [0.0, 1.0]])
    """
    shares = check_distributions("theta", theta, "document")
    when = as_periods(times, unit)
    if when.shape != (len(shares),):
        raise InputError(f"times has shape {when.shape} but theta has {len(shares)} documents; give one for each.")
    if documents is not None:
        mask = as_array("documents", documents)
        if mask.shape != when.shape or mask.dtype != bool:
            raise InputError(f"documents must be a mask of {len(shares)} values, True for those that count.")
        if not mask.any():
            raise InputError("documents leaves none to count; mark at least one.")
        shares, when = shares[mask], when[mask]
    periods, where = np.unique(when, return_inverse=True)
    weights = np.zeros((len(periods), shares.shape[1]))
    np.add.at(weights, where, shares)
    return TopicWeights(periods, weights / np.bincount(where)[:, None])


def time_entropy(weights: AnyArray) -> FloatArray:
    """Entropy of the topics of each period, in nats: low where few topics make up the period.

    Parameters
    ----------
    weights : array of shape (n_periods, n_topics)
        As :func:`topic_weights` returns them.

    Returns
    -------
    array of shape (n_periods,)

    Examples
    --------
    >>> time_entropy([[0.9, 0.1], [0.5, 0.5]]).round(3)
    array([0.325, 0.693])
    """
    rows = check_distributions("weights", weights, "period")
    logs = np.log(rows, out=np.zeros_like(rows), where=rows > 0)
    return np.asarray(-np.einsum("yk,yk->y", rows, logs))


def bucket_lengths(times: AnyArray, weights: AnyArray, share: float = 0.05) -> FloatArray:
    """Lengths of the stretches of time that hold an equal share of a topic's weight each, first to last.

    Parameters
    ----------
    times : array of shape (n_periods,)
        As :func:`topic_weights` returns them, rising.
    weights : array of shape (n_periods, n_topics)
        As :func:`topic_weights` returns them.
    share : float, default=0.05
        Share of the topic's weight per stretch: one over a whole number.

    Returns
    -------
    array of shape (n_topics, 1 / share)
        In periods, such as years. NaN for a topic without weight.

    Notes
    -----
    A period's weight is spread evenly over it, and periods without documents have none. The lengths of a topic sum to
    the whole time, from the first period to the end of the last. So a topic that is concentrated in time has many short
    stretches and a few long ones.

    Examples
    --------
    >>> bucket_lengths([2000, 2001, 2002, 2003], [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]], share=0.5)
    array([[0.5, 3.5],
           [2.5, 1.5]])
    """
    rows = check_distributions("weights", weights, "period")
    when = as_periods(times, None)
    if when.shape != (len(rows),) or np.any(when[1:] <= when[:-1]):
        raise InputError(f"times must have one rising entry for each of {len(rows)} periods, as topic_weights gives.")
    n_buckets = round(1 / share) if check_number("share", share, 0.0, 1.0) > 0 else 0
    if n_buckets < 1 or abs(n_buckets * share - 1) > 1e-9:
        raise InputError(f"share={share} must be one over a whole number, such as 0.05.")
    start = when.astype(np.int64)
    edges = np.stack((start, start + 1), axis=1).ravel().astype(np.float64)
    inner = np.arange(1, n_buckets) / n_buckets
    lengths = np.full((rows.shape[1], n_buckets), np.nan)
    for k, of_topic in enumerate(rows.T):
        total = of_topic.sum()
        if total <= 0:
            continue
        reached = np.cumsum(of_topic / total)
        held = np.stack((np.concatenate(([0.0], reached[:-1])), reached), axis=1).ravel()
        cuts = np.interp(inner, held, edges)
        lengths[k] = np.diff(np.concatenate(([edges[0]], cuts, [edges[-1]])))
    return lengths


def bucket_histogram(lengths: AnyArray, bins: Any = 40, topic_weight: AnyArray | None = None) -> tuple[FloatArray, Any]:
    """Share of all topics' buckets by length.

    Parameters
    ----------
    lengths : array of shape (n_topics, n_buckets)
        As :func:`bucket_lengths` returns them. Topics with NaN do not count.
    bins : int or array, default=40
        Number of bins, or their edges, as of ``numpy.histogram``.
    topic_weight : array of shape (n_topics,), optional
        How much each topic counts, for instance ``weights.sum(axis=0)`` (eq. 7). Default: all the same.

    Returns
    -------
    (array of shape (n_bins,), array of shape (n_bins + 1,))
        Shares, which sum to 1, and the edges of the bins.

    Examples
    --------
    >>> shares, edges = bucket_histogram([[1.0, 3.0], [2.0, 2.0]], bins=2)
    >>> shares.tolist(), edges.tolist()
    ([0.25, 0.75], [1.0, 2.0, 3.0])
    """
    given = as_numbers("lengths", lengths)
    if given.ndim != 2:
        raise InputError(f"lengths must be topics × buckets, as bucket_lengths gives, not of shape {given.shape}.")
    weight = np.ones(len(given)) if topic_weight is None else as_numbers("topic_weight", topic_weight)
    if weight.shape != (len(given),) or not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise InputError(f"topic_weight must have one number of 0 or more for each of {len(given)} topics.")
    used = np.isfinite(given).all(axis=1) & (weight > 0)
    if not used.any():
        raise InputError("no topic has weight, so there are no buckets to count.")
    each = np.repeat(weight[used], given.shape[1])
    counted, edges = np.histogram(given[used].ravel(), bins=bins, weights=each)
    return np.asarray(counted / each.sum()), edges


def _numbers(times: AnyArray) -> FloatArray:
    try:
        return np.asarray(times, np.float64)
    except (ValueError, TypeError):
        raise InputError(
            "times must be whole numbers, such as years, or dates (datetime64, or text such as '1790-01-08')."
        ) from None


def as_periods(times: AnyArray, unit: str | None) -> AnyArray:
    """Time stamps as whole numbers or dates."""
    when: AnyArray = as_array("times", times)
    if when.dtype.kind == "O" or when.dtype.kind in "US":
        try:
            when = when.astype("datetime64")
        except (ValueError, TypeError):
            when = _numbers(when)
    if when.dtype.kind == "f" and np.all(np.isfinite(when)) and np.all(when == np.floor(when)):
        when = when.astype(np.int64)
    if when.dtype.kind == "M" and np.isnat(when).any():
        where = int(np.argmax(np.isnat(when)))
        raise InputError(f"times: entry {where} is missing (NaT); give the date of every document.")
    if when.dtype.kind not in "iuM" or when.size == 0:
        raise InputError(
            f"times of type {when.dtype} cannot be used: each must be a whole number, such as a year, or a date."
        )
    if unit is not None:
        if when.dtype.kind != "M":
            raise InputError(f"unit={shown(unit)} puts dates together, but times are whole numbers; leave it out.")
        try:
            when = when.astype(f"datetime64[{unit}]")
        except TypeError:
            raise InputError(f"unit={shown(unit)} is not known; use 'Y', 'M', 'W' or 'D'.") from None
    return when
