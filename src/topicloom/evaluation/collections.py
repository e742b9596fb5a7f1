"""What draws of collections' topic mixtures say: intervals, differences with probabilities, trends.

``draws`` is samples × collections × topics, each last row a distribution over topics (a model's ``pi_draws_``).
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import as_array, as_numbers, check_number, shown
from topicloom.errors import InputError


class Interval(NamedTuple):
    """Mean and limits, an entry for each quantity that was drawn.

    Attributes
    ----------
    mean, lower, upper : arrays
        Of the shape of one draw.
    """

    mean: FloatArray
    lower: FloatArray
    upper: FloatArray


class Change(NamedTuple):
    """Mean and limits of a difference or a slope, with the probability that it is above 0.

    Attributes
    ----------
    mean, lower, upper : arrays of shape (n_topics,)
        The change of each topic's share and its interval.
    probability : array of shape (n_topics,)
        That the change is above 0.
    """

    mean: FloatArray
    lower: FloatArray
    upper: FloatArray
    probability: FloatArray


def draw_interval(draws: AnyArray, level: float = 0.9) -> Interval:
    """Mean and equal-tailed interval over the first axis.

    Parameters
    ----------
    draws : array [S, …]
        At least one draw of one quantity or more.
    level : float, default=0.9
        Probability that the interval is to have.

    Returns
    -------
    Interval
        Limits are quantiles p(S + 1) of the ordered draws, so that one more draw of the same distribution lies between
        them with the probability ``level``, however few draws there are. With fewer than 2/(1 − level) − 1 draws, 19
        for 90%, the limits are the least and the largest, and the probability is only (S − 1)/(S + 1). Draws that
        depend on each other count for fewer.

    Examples
    --------
    >>> found = draw_interval([[0.1], [0.2], [0.3]], level=0.5)
    >>> found.lower, found.upper
    (array([0.1]), array([0.3]))
    """
    check_level(level)
    values = as_numbers("draws", draws)
    if values.ndim < 2 or len(values) == 0:
        raise InputError(f"draws has shape {values.shape}; give at least one draw, of one quantity or more.")
    lower, upper = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0, method="weibull")
    return Interval(values.mean(axis=0), lower, upper)


def mixture_difference(draws: AnyArray, first: int, second: int, level: float = 0.9) -> Change:
    """Difference between two collections, topic by topic: π_first,k − π_second,k.

    Parameters
    ----------
    draws : array of shape (n_draws, n_collections, n_topics)
        Topic mixtures of the collections, such as ``model.pi_draws_``.
    first : int
        Number of the first collection.
    second : int
        Number of the collection that is subtracted.
    level : float, default=0.9
        Probability of the intervals.

    Returns
    -------
    Change
        Mean, limits and the probability that the difference is above 0, per topic.

    Examples
    --------
    >>> draws = [[[0.7, 0.3], [0.5, 0.5]], [[0.8, 0.2], [0.6, 0.4]], [[0.9, 0.1], [0.4, 0.6]]]
    >>> found = mixture_difference(draws, 0, 1)
    >>> found.mean.round(2).tolist(), found.probability.tolist()
    ([0.3, -0.3], [1.0, 0.0])
    """
    values = _check_draws(draws)
    for number in (first, second):
        if not isinstance(number, int | np.integer) or not 0 <= number < values.shape[1]:
            raise InputError(
                f"collection {shown(number)} does not exist; they are numbered 0 to {values.shape[1] - 1}."
            )
    return _change(values[:, first] - values[:, second], level)


def mixture_trend(
    draws: AnyArray, times: AnyArray | None = None, level: float = 0.9, *, weights: AnyArray | None = None
) -> Change:
    """Slope of each topic's share over ordered collections, with the probability that it rises.

    Parameters
    ----------
    draws : array of shape (n_draws, n_collections, n_topics)
        Topic mixtures of the collections, such as ``model.pi_draws_``.
    times : array of shape (n_collections,), optional
        When each collection is. Default: 0, 1, 2, …
    level : float, default=0.9
        Probability of the intervals.
    weights : array of shape (n_collections,), optional
        How much each collection counts, for instance its documents. Default: all the same.

    Returns
    -------
    Change
        Slope of the least-squares line through (time, share), per topic: mean, limits and the probability that it is
        above 0.

    Examples
    --------
    >>> draws = [[[0.7, 0.3], [0.5, 0.5]], [[0.8, 0.2], [0.6, 0.4]], [[0.9, 0.1], [0.4, 0.6]]]
    >>> mixture_trend(draws, [1990, 2000]).mean.round(3).tolist()
    [-0.03, 0.03]
    """
    values = _check_draws(draws)
    when = np.arange(values.shape[1]) if times is None else as_array("times", times)
    if when.shape != (values.shape[1],) or when.dtype.kind not in "iuf" or not np.all(np.isfinite(when)):
        raise InputError(f"times must have one number for each of {values.shape[1]} collections.")
    weight = np.ones(len(when)) if weights is None else as_numbers("weights", weights)
    if weight.shape != when.shape or not np.all(np.isfinite(weight) & (weight >= 0)) or not np.any(weight):
        raise InputError(f"weights must have one number of 0 or more for each of {len(when)} collections, not all 0.")
    away = when - np.average(when, weights=weight)
    spread = float(np.sum(weight * away**2))
    if len(set(when[weight > 0].tolist())) < 2 or spread == 0:
        raise InputError("a trend needs collections at two times or more.")
    return _change(np.einsum("j,sjk->sk", weight * away / spread, values), level)


def merged_draws(draws: AnyArray, numbers: AnyArray, weights: AnyArray) -> FloatArray:
    """Draws of merged collections: each is the weighted mean of its members.

    Parameters
    ----------
    draws : array of shape (n_draws, n_collections, n_topics)
        Topic mixtures of the collections, such as ``model.pi_draws_``.
    numbers : array of int of shape (n_collections,)
        The merged collection that each collection goes to, from 0.
    weights : array of shape (n_collections,)
        How much each collection counts, for instance its documents.

    Returns
    -------
    array of shape (n_draws, n_merged, n_topics)

    Examples
    --------
    >>> merged_draws([[[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]], [0, 0, 1], [10, 30, 20]).tolist()
    [[[0.625, 0.375], [0.0, 1.0]]]
    """
    values = _check_draws(draws)
    to, weight = as_array("numbers", numbers), as_numbers("weights", weights)
    if to.shape != (values.shape[1],) or weight.shape != to.shape:
        raise InputError(f"numbers and weights must have one entry for each of {values.shape[1]} collections.")
    parts = np.zeros((int(to.max()) + 1, len(to)))
    parts[to, np.arange(len(to))] = weight
    total = parts.sum(axis=1, keepdims=True)
    if np.any(total <= 0):
        raise InputError("every merged collection needs some weight.")
    return np.asarray(np.einsum("gj,sjk->sgk", parts / total, values))


def _change(values: FloatArray, level: float) -> Change:
    # A draw of exactly 0 counts half, so that comparing a collection with itself says nothing either way.
    share = (values > 0).mean(axis=0) + 0.5 * (values == 0).mean(axis=0)
    return Change(*draw_interval(values, level), share)


def _check_draws(draws: AnyArray) -> FloatArray:
    values = as_numbers("draws", draws)
    if values.ndim != 3 or 0 in values.shape:
        raise InputError(f"draws has shape {values.shape}; expected samples × collections × topics.")
    return values


def check_level(level: float) -> None:
    if not 0 < check_number("level", level, 0.0, 1.0) < 1:
        raise InputError(f"level={level} must lie between 0 and 1, for instance 0.9.")
