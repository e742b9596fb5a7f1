"""Differences between collections, and trends over them, with intervals."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.compound.collections import CollectionModel
from topicloom.corpus._checks import as_numbers
from topicloom.errors import InputError
from topicloom.explore.plot_style import (
    COLORS,
    GREY,
    axes_of,
    check_labels,
    chosen_topics,
    labels,
    percent_axis,
    reach,
    tidy,
)


def effects(
    model: CollectionModel, first: Hashable = None, second: Hashable = None, *,
    topics: Sequence[int | str] | None = None, level: float = 0.9, ax: Any = None,
) -> Any:  # fmt: skip
    """Differences between two collections, or trends over all of them, of a ``CompoundLDA``, largest first.

    Parameters
    ----------
    model : fitted CompoundLDA
    first, second : labels of collections, default=None
        The share in the first less that in the second (``model.differences``). None: the slope of each topic's share
        over all collections, by their value (``model.trends``).
    topics : sequence of int or str, default=None
        None: all.
    level : float, default=0.9
        Probability of the intervals.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A filled mark is one whose interval does not hold 0. On the right is the probability that the effect is
        positive.

    Examples
    --------
    >>> from topicloom import CompoundLDA, from_texts
    >>> from topicloom.explore import plots
    >>> corpus = from_texts(["sun moon sun", "loan bank loan", "sun loan"] * 20, groups=[1999, 2000, 2001] * 20)
    >>> model = CompoundLDA(2, max_iter=20, burn_in=10, thin=1, random_state=0).fit(corpus)
    >>> plots.effects(model).get_xlabel()  # trends
    'percentage points per unit, 1999 to 2001'
    >>> plots.effects(model, 2001, 1999).get_xlabel()
    'percentage points in 2001 less those in 1999'
    """
    if not isinstance(model, CollectionModel):
        raise InputError(f"effects need a CompoundLDA, whose collections have intervals, not {type(model).__name__}.")
    if (first is None) != (second is None):
        raise InputError("a difference needs two collections; give first and second, or none of them for trends.")
    if first is None:
        columns, (numbers, _, unit) = model._trend_columns(level=level), model._order()
        ends = " to ".join(str(model.collections_[j]) for j in (numbers[0], numbers[-1]))
        what = f"percentage points per {unit or 'collection'}, {ends}"
    else:
        columns = model._difference_columns(first, second, level)
        what = f"percentage points in {first} less those in {second}"
    names = labels(model)
    chosen = chosen_topics(topics, model)
    mean, lower, upper, probability = (
        np.asarray(columns[name])[chosen] for name in ("mean", "lower", "upper", "probability")
    )
    ax = draw_effects(
        mean, lower, upper, labels=[names[k] for k in chosen], probability=probability, xlabel=what, ax=ax
    )
    percent_axis(ax.xaxis, symbol="")
    return ax


def draw_effects(
    mean: AnyArray, lower: AnyArray, upper: AnyArray, *, labels: Sequence[str] | None = None,
    probability: AnyArray | None = None, xlabel: str = "effect", ax: Any = None,
) -> Any:  # fmt: skip
    """Effects with their intervals from plain arrays, largest first.

    Parameters
    ----------
    mean, lower, upper : arrays of shape (n_topics,)
        Effects and the limits of their intervals.
    labels : sequence of str, default=None
        One per topic. None: their numbers.
    probability : array of shape (n_topics,), default=None
        That an effect is above 0.
    xlabel : str, default="effect"
        What the effects are.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from topicloom.explore import plots
    >>> ax = plots.draw_effects([0.1, -0.2], [0.05, -0.3], [0.15, 0.1], labels=["sport", "law"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['sport', 'law']
    """
    middle = as_numbers("mean", mean)
    n = middle.size
    low, high = (as_numbers(name, values) for name, values in (("lower", lower), ("upper", upper)))
    if middle.ndim != 1 or n == 0 or low.shape != middle.shape or high.shape != middle.shape:
        raise InputError("mean, lower and upper must have one number for each topic.")
    names = check_labels("labels", labels, n, "topic")
    order = np.argsort(-middle, kind="stable")
    ax = axes_of(ax, (7.0, 1.0 + 0.27 * n))
    ax.axvline(0.0, color=GREY, lw=0.8, zorder=0)
    for place, k in enumerate(order.tolist()):
        sure = low[k] > 0 or high[k] < 0
        tone = COLORS[0] if middle[k] > 0 else COLORS[1]
        bars = reach(middle[k : k + 1], low[k : k + 1], high[k : k + 1])
        ax.errorbar([middle[k]], [place], xerr=bars, fmt="o", ms=5, color=tone, mfc=tone if sure else "white", lw=1.3)
    ax.set_yticks(np.arange(n), [names[k] for k in order], fontsize="small")
    ax.set_ylim(n - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(xlabel)
    tidy(ax)
    if probability is not None:
        _probabilities(ax, as_numbers("probability", probability), order)
    return ax


def _probabilities(ax: Any, probability: FloatArray, order: Int64Array) -> None:
    if probability.shape != order.shape:
        raise InputError(f"probability has shape {probability.shape}; give one for each of {len(order)} topics.")
    shown = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": "small", "color": "0.3"}
    for place, k in enumerate(order.tolist()):
        ax.annotate(f"{probability[k]:.2f}", (1.02, place), **shown)
    ax.annotate("P(> 0)", (1.02, 1.0), xycoords="axes fraction", va="bottom", fontsize="small", color="0.3")
