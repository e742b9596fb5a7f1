"""How much of the documents topics make up: over time and by group, with intervals.

Functions that take a model read means and intervals from the library's own; those that start with ``draw_`` take
plain arrays, of any model or tool.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.compound.collections import By, CollectionModel
from topicloom.compound.groups import collections_of, in_order, with_groups
from topicloom.corpus._checks import as_array, as_numbers, check_length
from topicloom.corpus._columns import group_value
from topicloom.errors import InputError
from topicloom.evaluation.collections import draw_interval
from topicloom.evaluation.trends import as_periods
from topicloom.explore.covariates import prevalence
from topicloom.explore.plot_style import (
    COLORS,
    MARKERS,
    axes_of,
    check_labels,
    check_matrix,
    chosen_topics,
    color,
    date_axis,
    labels,
    legend_outside,
    panels_of,
    percent_axis,
    pyplot,
    reach,
    style,
    tidy,
    wrapped,
)  # fmt: skip
from topicloom.explore.source import read_model

_MOST_LINES = 6


class Shares(NamedTuple):
    """Topics' shares in periods or groups, which are rows."""

    rows: Any  # times [n] or labels
    counts: Int64Array  # documents [n]
    mean: FloatArray  # [n, K]
    lower: FloatArray
    upper: FloatArray

    def of(self, topics: Int64Array) -> "Shares":
        """Of these topics alone."""
        return self._replace(mean=self.mean[:, topics], lower=self.lower[:, topics], upper=self.upper[:, topics])


# -- over time ---------------------------------------------------------------------------------------------------


def over_time(
    model: Any, topics: Sequence[int | str] | None = None, *, times: AnyArray | None = None, unit: str | None = None,
    level: float = 0.9, ax: Any = None,
) -> Any:  # fmt: skip
    """Topics' shares over time as lines, with the number of documents above them.

    Parameters
    ----------
    model : fitted topic model
        A ``CompoundLDA`` whose collections are years or dates has the intervals of its mixtures π. Other models have
        the mean share in documents of each period, with intervals by ``topicloom.evaluation.label_prevalence``, as on
        the explorer page.
    topics : sequence of int or str, default=None
        None: the six largest.
    times : array of shape (n_docs,), default=None
        A whole number or date per training document. None: collections, or the times of the corpus.
    unit : {"Y", "M", "W", "D"}, default=None
        Periods that dates are put together by.
    level : float, default=0.9
        Probability of the bands.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Of the lines. The number of documents is in its child axes, ``ax.child_axes[0]``.

    Examples
    --------
    >>> from topicloom import LDA, from_texts
    >>> from topicloom.explore import plots
    >>> corpus = from_texts(["sun moon sun", "loan bank loan"] * 20, times=[1990, 1990, 1991, 1992] * 10)
    >>> model = LDA(2, max_iter=20, random_state=0).fit(corpus)
    >>> [len(line.get_xdata()) for line in plots.over_time(model, [0]).lines]  # three years
    [3]
    """
    found = _shares_over_time(model, times, unit, level)
    chosen = chosen_topics(topics, model, found.mean.mean(axis=0), _MOST_LINES)
    names, part = labels(model), found.of(chosen)
    return draw_over_time(
        part.rows, part.mean, part.lower, part.upper, counts=part.counts, labels=[names[k] for k in chosen], ax=ax
    )


def draw_over_time(
    times: AnyArray, mean: AnyArray, lower: AnyArray | None = None, upper: AnyArray | None = None, *,
    counts: AnyArray | None = None, labels: Sequence[str] | None = None, ax: Any = None,
) -> Any:  # fmt: skip
    """Shares over time from plain arrays.

    Parameters
    ----------
    times : array of shape (n_times,)
        Numbers or dates (datetime64), rising.
    mean : array of shape (n_times, n_topics)
        Shares: the lines.
    lower, upper : arrays of shape (n_times, n_topics), default=None
        Limits of the bands. None: no bands.
    counts : array of shape (n_times,), default=None
        Documents of each time, drawn as bars above the lines.
    labels : sequence of str, default=None
        One per topic.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from topicloom.explore import plots
    >>> mean = [[0.2, 0.8], [0.3, 0.7]]
    >>> ax = plots.draw_over_time([1990, 1991], mean, counts=[12, 30], labels=["sport", "law"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['sport', 'law']
    """
    when, middle = as_array("times", times), check_matrix("mean", mean)
    n, n_topics = middle.shape
    if when.shape != (n,) or when.dtype.kind not in "iufM" or np.any(when[1:] <= when[:-1]):
        raise InputError(f"times must be {n} rising numbers or dates, one for each row of mean.")
    names = check_labels("labels", labels, n_topics, "topic")
    limits = _limits(lower, upper, middle.shape)
    ax = axes_of(ax, (8.5, 4.2))
    marker = "o" if n <= 25 else None
    for k, name in enumerate(names):
        ax.plot(when, middle[:, k], style(k), color=color(k), lw=1.6, marker=marker, ms=3.5, label=name)
        if limits is not None:
            ax.fill_between(when, limits[0][:, k], limits[1][:, k], color=color(k), alpha=0.18, lw=0)
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel("share of the documents")
    percent_axis(ax.yaxis)
    tidy(ax)
    legend_outside(ax)
    if counts is not None:
        _count_strip(ax, when, as_numbers("counts", counts))
    date_axis(ax, when)
    return ax


def _count_strip(ax: Any, when: AnyArray, counts: FloatArray) -> None:
    """Bars of the documents of each time, above the axes."""
    if counts.shape != when.shape:
        raise InputError(f"counts has shape {counts.shape}; give one for each of {len(when)} times.")
    above = ax.inset_axes((0.0, 1.04, 1.0, 0.16), sharex=ax)
    gap = np.diff(when).min() if len(when) > 1 else np.ones(1, when.dtype if when.dtype.kind != "M" else "m8[D]")[0]
    above.bar(when, counts, width=0.9 * gap if when.dtype.kind != "M" else gap, color="0.7")
    above.tick_params(axis="x", length=0, labelbottom=False)
    above.tick_params(axis="y", labelsize="x-small")
    above.locator_params(axis="y", nbins=2, integer=True)
    above.set_ylim(bottom=0.0)
    above.set_ylabel("documents", fontsize="x-small", rotation=0, ha="right", va="center")
    tidy(above)


def _shares_over_time(model: Any, times: AnyArray | None, unit: str | None, level: float) -> Shares:
    if times is None and isinstance(model, CollectionModel):
        order = in_order(model.collections_)
        if order.times is None:
            raise InputError("the collections are neither numbers nor dates; use by_group, or give times.")
        values = [group_value(model.collections_[j]) for j in order.numbers]
        when: AnyArray = np.array(values, "datetime64[s]") if order.unit == "year" else _plain_numbers(order.times)
        found = draw_interval(model.pi_draws_[:, order.numbers], level)
        return Shares(when, model.collection_docs_[order.numbers], *found)
    if times is None and model.corpus_.times is None:
        raise InputError("the model's corpus has no times; give times=, one whole number or date per document.")
    when = as_periods(model.corpus_.times if times is None else times, unit)
    check_length("times", len(when), model.corpus_.n_docs, "documents")
    periods, row = np.unique(when, return_inverse=True)
    return _of_labels(model, periods, row, level)


def _of_labels(model: Any, names: Any, row: AnyArray, level: float) -> Shares:
    """Means and intervals by labels of documents, as the explorer page has them; ``row`` is each document's label."""
    found = prevalence(read_model(model), row.tolist(), level)
    rows: Any = [names[j] for j in np.array(found.labels)]
    return Shares(rows, found.docs, found.mean, found.lower, found.upper)


def _plain_numbers(values: list[float]) -> AnyArray:
    found = np.array(values)
    return found.astype(np.int64) if np.all(found == np.floor(found)) else found


def _limits(lower: AnyArray | None, upper: AnyArray | None, shape: tuple[int, ...]) -> list[FloatArray] | None:
    if lower is None and upper is None:
        return None
    if lower is None or upper is None:
        raise InputError("lower and upper are the limits of one interval; give both or none.")
    return [check_matrix("lower", lower, shape), check_matrix("upper", upper, shape)]


# -- by group ----------------------------------------------------------------------------------------------------


def by_group(
    model: Any, topics: Sequence[int | str] | None = None, *, groups: Any = None, level: float = 0.9, ax: Any = None
) -> Any:
    """Topics' shares in each group, one row per topic and one mark per group.

    Parameters
    ----------
    model : fitted topic model
        A ``CompoundLDA`` has the intervals of its ``prevalence``. Other models have the mean share in documents of each
        group, with intervals by ``topicloom.evaluation.label_prevalence``, as on the explorer page.
    topics : sequence of int or str, default=None
        None: the twelve largest.
    groups : sequence, callable or mapping, default=None
        A label per training document. None: collections, or the groups of the corpus. For a ``CompoundLDA`` also a
        function or mapping that puts collections together, as of its ``prevalence``.
    level : float, default=0.9
        Probability of the intervals.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from topicloom import LDA, from_texts
    >>> from topicloom.explore import plots
    >>> corpus = from_texts(["sun moon sun", "loan bank loan"] * 20, groups=["day", "night"] * 20)
    >>> model = LDA(2, max_iter=20, random_state=0).fit(corpus)
    >>> [text.get_text() for text in plots.by_group(model).get_legend().get_texts()]
    ['day (20)', 'night (20)']
    """
    found = _shares_by_group(model, groups, level)
    chosen = chosen_topics(topics, model, found.mean.mean(axis=0), 12)
    names, part = labels(model), found.of(chosen)
    return draw_by_group(
        part.mean, part.lower, part.upper, groups=part.rows, counts=part.counts, labels=[names[k] for k in chosen],
        ax=ax,
    )  # fmt: skip


def draw_by_group(
    mean: AnyArray, lower: AnyArray | None = None, upper: AnyArray | None = None, *,
    groups: Sequence[Any] | None = None, counts: AnyArray | None = None, labels: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:  # fmt: skip
    """Shares by group from plain arrays.

    Parameters
    ----------
    mean : array of shape (n_groups, n_topics)
        Shares: the marks.
    lower, upper : arrays of shape (n_groups, n_topics), default=None
        Limits of the intervals. None: no intervals.
    groups : sequence, default=None
        Names of the groups.
    counts : array of shape (n_groups,), default=None
        Documents of each group, for the legend.
    labels : sequence of str, default=None
        One per topic.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from topicloom.explore import plots
    >>> ax = plots.draw_by_group([[0.2, 0.8], [0.3, 0.7]], groups=["north", "south"], labels=["sport", "law"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['sport', 'law']
    """
    middle = check_matrix("mean", mean)
    n_groups, n_topics = middle.shape
    names, limits = check_labels("labels", labels, n_topics, "topic"), _limits(lower, upper, middle.shape)
    of_groups = _with_counts(check_labels("groups", groups, n_groups, "group"), counts)
    ax = axes_of(ax, (7.5, 1.2 + n_topics * max(0.3, 0.09 * n_groups)))
    at, width = np.arange(n_topics), 0.7 / n_groups
    for g, name in enumerate(of_groups):
        bars = None if limits is None else reach(middle[g], limits[0][g], limits[1][g])
        shift = (g - (n_groups - 1) / 2) * width
        ax.errorbar(
            middle[g], at + shift, xerr=bars, fmt=MARKERS[g % len(MARKERS)], ms=4, lw=1.2, color=_shade(g, n_groups),
            label=name,
        )  # fmt: skip
    for line in at[:-1] + 0.5:
        ax.axhline(line, color="0.9", lw=0.6, zorder=0)
    ax.set_yticks(at, names, fontsize="small")
    ax.set_ylim(n_topics - 0.5, -0.5)
    ax.set_xlim(left=-0.015 * float((middle if limits is None else limits[1]).max()))
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("share of the group")
    percent_axis(ax.xaxis)
    tidy(ax)
    legend_outside(ax)
    return ax


def group_panels(
    model: Any, topics: Sequence[int | str] | None = None, *, groups: Any = None, level: float = 0.9, columns: int = 4
) -> Any:
    """Topics' shares in each group, one panel per topic and one bar per group.

    Parameters
    ----------
    model, topics, groups, level
        As of ``by_group``.
    columns : int, default=4
        Panels side by side.

    Returns
    -------
    matplotlib.figure.Figure
        With one axes per topic.

    Examples
    --------
    >>> from topicloom import LDA, from_texts
    >>> from topicloom.explore import plots
    >>> corpus = from_texts(["sun moon sun", "loan bank loan"] * 20, groups=["day", "night"] * 20)
    >>> model = LDA(2, max_iter=20, random_state=0).fit(corpus)
    >>> len(plots.group_panels(model).axes)
    2
    """
    found = _shares_by_group(model, groups, level)
    chosen = chosen_topics(topics, model, found.mean.mean(axis=0), 12)
    names, part = labels(model), found.of(chosen)
    return draw_group_panels(
        part.mean, part.lower, part.upper, groups=part.rows, counts=part.counts, labels=[names[k] for k in chosen],
        columns=columns,
    )  # fmt: skip


def draw_group_panels(
    mean: AnyArray, lower: AnyArray | None = None, upper: AnyArray | None = None, *,
    groups: Sequence[Any] | None = None, counts: AnyArray | None = None, labels: Sequence[str] | None = None,
    columns: int = 4,
) -> Any:  # fmt: skip
    """The same panels from plain arrays.

    Parameters
    ----------
    mean, lower, upper, groups, counts, labels
        As of ``draw_by_group``; counts stand below the names of the groups.
    columns : int, default=4
        Panels side by side.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from topicloom.explore import plots
    >>> figure = plots.draw_group_panels([[0.2, 0.8], [0.3, 0.7]], groups=["north", "south"], labels=["sport", "law"])
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['sport', 'law']
    """
    middle = check_matrix("mean", mean)
    n_groups, n_topics = middle.shape
    names, limits = check_labels("labels", labels, n_topics, "topic"), _limits(lower, upper, middle.shape)
    of_groups = _with_counts(check_labels("groups", groups, n_groups, "group"), counts)
    width = max(2.4, 0.22 * n_groups + 0.8)
    figure, panels = panels_of(n_topics, columns, (width, 2.0), share=True)
    at = np.arange(n_groups)
    for k, ax in enumerate(panels):
        bars = None if limits is None else reach(middle[:, k], limits[0][:, k], limits[1][:, k])
        ax.bar(at, middle[:, k], yerr=bars, color=COLORS[5], error_kw={"lw": 0.9, "ecolor": "0.2"})
        ax.set_title(wrapped(names[k], width), fontsize="small", loc="left")
        ax.set_xticks(at, of_groups, rotation=90, fontsize="x-small")
        ax.tick_params(axis="x", length=0)
        ax.tick_params(axis="y", labelsize="x-small")
        ax.locator_params(axis="y", nbins=4)
        percent_axis(ax.yaxis)
        tidy(ax)
    for ax in panels[max(0, n_topics - min(columns, n_topics)) :]:
        ax.tick_params(axis="x", labelbottom=True)  # also above an empty place
    return figure


def _shade(number: int, of: int) -> Any:
    """A colour for each group; of many groups, which have an order, along viridis."""
    if of <= len(COLORS):
        return color(number)
    return pyplot().colormaps["viridis"](0.95 * number / (of - 1))


def _with_counts(names: list[str], counts: AnyArray | None) -> list[str]:
    if counts is None:
        return names
    found = as_numbers("counts", counts)
    if found.shape != (len(names),):
        raise InputError(f"counts has shape {found.shape}; give one for each of {len(names)} groups.")
    return [f"{name} ({n:,.0f})" for name, n in zip(names, found, strict=True)]


def _shares_by_group(model: Any, groups: Any, level: float) -> Shares:
    if isinstance(model, CollectionModel):
        return _shares_of_collections(model, groups, level)
    corpus = with_groups(model.corpus_, groups, every=True)
    if corpus.groups is None:
        raise InputError("the model's corpus has no groups; give groups=, one label per document.")
    names, row = collections_of(corpus)
    return _of_labels(model, names, row, level)


def _shares_of_collections(model: CollectionModel, groups: By | None, level: float) -> Shares:
    columns = model._prevalence_columns(groups, level)
    label, k = next(iter(columns)), model.pi_draws_.shape[2]
    names = list(columns[label])[::k]
    mean, lower, upper = (np.asarray(columns[name]).reshape(-1, k) for name in ("mean", "lower", "upper"))
    if label == "label":
        order, row = collections_of(with_groups(model.corpus_, groups, every=True))
        counts = np.bincount(row, minlength=len(order))[[order.index(name) for name in names]]
    else:
        merged, numbers = model._merged(groups)  # type: ignore[arg-type]
        counts = np.bincount(numbers, model.collection_docs_)[[merged.index(name) for name in names]]
    return Shares(names, counts.astype(np.int64), mean, lower, upper)
