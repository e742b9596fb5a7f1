"""Topics over time, of any model and any time stamps (multipath Gibbs, section 4.2.2 and supplement A)."""

from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, BoolArray, FloatArray
from topicloom.corpus._checks import as_array, as_numbers, check_number, shown
from topicloom.errors import InputError
from topicloom.evaluation.topics import check_distributions


class TopicWeights(NamedTuple):
    """Topic proportions of periods, in the order of time."""

    times: AnyArray  # [Y] whole numbers or datetime64
    weights: FloatArray  # [Y, K], each row a distribution over topics


def topic_weights(
    theta: AnyArray, times: AnyArray, *, unit: str | None = None, documents: BoolArray | None = None
) -> TopicWeights:
    """The mean of θ_d over the documents of each period: the yearly topic weights, if times are years.

    ``theta`` is documents × topics, ``times`` a whole number or a date for each document (``corpus.times``). Dates
    are put together by ``unit``, such as "Y" or "M". ``documents`` is a mask of those that count, for instance
    ``~corpus.empty_docs``.
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
    """Entropy (nats) of each period's distribution over topics: low where few topics make up the period."""
    rows = check_distributions("weights", weights, "period")
    logs = np.log(rows, out=np.zeros_like(rows), where=rows > 0)
    return np.asarray(-np.einsum("yk,yk->y", rows, logs))


def bucket_lengths(times: AnyArray, weights: AnyArray, share: float = 0.05) -> FloatArray:
    """Lengths [K, 1/share] of the stretches of time that hold ``share`` of a topic's weight each, first to last.

    A period's weight is spread evenly over it (one year, if times are years; one unit of their dates), and periods
    without documents have none. Each topic's lengths sum to the whole time, from the first period to the end of the
    last, so that a topic that is concentrated in time has many short and a few long ones. A topic without weight has
    NaN.
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
    """Share of all topics' buckets by length, and the edges of the bins.

    With ``topic_weight`` each topic's buckets count in proportion to it; w_t = Σ_y θ_y(t) (eq. 7) is
    ``weights.sum(axis=0)``. Topics without weight count for nothing.
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
