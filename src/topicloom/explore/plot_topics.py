"""Topics and what they are like: their words, the map, the tree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom import evaluation
from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import as_numbers
from topicloom.diagnostics.word_lists import By, topic_words
from topicloom.errors import InputError
from topicloom.evaluation.clusters import Distance, Linkage, topic_linkage
from topicloom.explore.plot_style import (
    COLORS,
    GREY,
    axes_of,
    check_labels,
    chosen_topics,
    labels,
    panels_of,
    sizes,
    tidy,
    wrapped,
)  # fmt: skip

_PANEL = 2.9  # inches wide
_LARGEST_CIRCLE = 2200.0  # points², of a topic with a fifth of the tokens


def topics(
    model: Any, topics: Sequence[int | str] | None = None, *, n_words: int = 8, by: By = "probability", columns: int = 4
) -> Any:
    """Bars of the best words of each topic, one panel per topic.

    Parameters
    ----------
    model : fitted topic model
    topics : sequence of int or str, default=None
        Topic numbers, in the order of the panels. None: all.
    n_words : int, default=8
        Words per topic.
    by : {"probability", "relevance", "lift", "frex"}, default="probability"
        What words are chosen and ordered by. Bars are always probabilities.
    columns : int, default=4
        Panels side by side.

    Returns
    -------
    matplotlib.figure.Figure
        With one axes per topic. For a single topic in axes of your own, see ``topic``.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.explore import plots
    >>> model = LDA(2, max_iter=20, random_state=0).fit(["sun moon sun", "loan bank loan"] * 20)
    >>> figure = plots.topics(model, n_words=2)
    >>> len(figure.axes)
    2
    """
    names, words = labels(model), _words(model, n_words, by)
    chosen = chosen_topics(topics, model)
    figure, panels = panels_of(len(chosen), columns, (_PANEL, 0.45 + 0.22 * n_words))
    shares = sizes(model)
    for ax, k in zip(panels, chosen.tolist(), strict=True):
        word_bars(ax, *words[k])
        ax.set_title(wrapped(f"{names[k]} ({shares[k]:.1%})", _PANEL), fontsize="small", loc="left")
    return figure


def topic(model: Any, topic: int | str, *, n_words: int = 15, by: By = "probability", ax: Any = None) -> Any:
    """Bars of the best words of one topic.

    Parameters
    ----------
    model : fitted topic model
    topic : int or str
        Its number or its name.
    n_words : int, default=15
        Words of the topic.
    by : {"probability", "relevance", "lift", "frex"}, default="probability"
        What words are chosen and ordered by. Bars are always probabilities.
    ax : matplotlib.axes.Axes, default=None
        None: of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.explore import plots
    >>> model = LDA(2, max_iter=20, random_state=0).fit(["sun moon sun", "loan bank loan"] * 20)
    >>> len(plots.topic(model, 0, n_words=2).patches)
    2
    """
    names = labels(model)
    (k,) = chosen_topics([topic], model).tolist()
    ax = axes_of(ax, (4.5, 0.8 + 0.22 * n_words))
    word_bars(ax, *_words(model, n_words, by)[k])
    ax.set_title(names[k], fontsize="medium", loc="left")
    ax.set_xlabel("probability of the word in the topic")
    return ax


def _words(model: Any, n_words: int, by: By) -> list[tuple[list[str], FloatArray]]:
    """The best words of each topic, and their probabilities."""
    best = topic_words(model, n_words, by)
    number = {word: v for v, word in enumerate(model.vocabulary_)}
    phi = model.topic_word_
    return [(words, phi[k, [number[word] for word in words]]) for k, words in enumerate(best)]


def word_bars(ax: Any, words: list[str], values: FloatArray, fill: str = COLORS[0]) -> None:
    at = np.arange(len(words))
    ax.barh(at, values, color=fill, height=0.75)
    ax.set_yticks(at, words, fontsize="small")
    ax.set_ylim(len(words) - 0.4, -0.6)
    ax.set_xlim(0.0)
    ax.locator_params(axis="x", nbins=3)
    ax.tick_params(axis="x", labelsize="x-small")
    ax.tick_params(axis="y", length=0)
    tidy(ax)


# -- the map -----------------------------------------------------------------------------------------------------


def topic_map(model: Any, topics: Sequence[int | str] | None = None, *, n_words: int = 3, ax: Any = None) -> Any:
    """Topics as circles in a plane: near if they share words, large if they have many tokens.

    Parameters
    ----------
    model : fitted topic model
    topics : sequence of int or str, default=None
        Topics that are named beside the map. None: all, up to the 30 largest. Every topic has its circle and number.
    n_words : int, default=3
        Words in a name.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Places are those of ``topicloom.evaluation.topic_map``. Axes have no meaning of their own; their labels say
    how much of the squared distances each dimension shows. If that is little, topics that are drawn together may still
    be far apart.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.explore import plots
    >>> model = LDA(2, max_iter=20, random_state=0).fit(["sun moon sun", "loan bank loan"] * 20)
    >>> plots.topic_map(model).get_xlabel()
    'first dimension (100% of the distances)'
    """
    names, share = labels(model, n_words), sizes(model)
    found = evaluation.topic_map(model.topic_word_)
    x, y = found.places.T
    ax = axes_of(ax, (8.5, 5.5))
    order = np.argsort(-share, kind="stable")  # small circles over large ones
    area = _LARGEST_CIRCLE * share / max(0.2, float(share.max()))
    ax.scatter(x[order], y[order], s=area[order], color=COLORS[0], alpha=0.35, edgecolor=COLORS[0], lw=0.8)
    ax.axhline(0.0, color="0.85", lw=0.6, zorder=0)
    ax.axvline(0.0, color="0.85", lw=0.6, zorder=0)
    ax.margins(0.12)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])
    ax.set_xlabel(f"first dimension ({found.explained[0]:.0%} of the distances)")
    ax.set_ylabel(f"second dimension ({found.explained[1]:.0%})")
    listed = chosen_topics(topics, model, share, 30)
    key = "\n".join(f"{names[k]} ({share[k]:.1%})" for k in listed.tolist())
    ax.annotate(key, (1.02, 1.0), xycoords="axes fraction", va="top", fontsize="small", linespacing=1.35)
    _write_numbers(ax, found.places, np.sqrt(area) / 2)
    return ax


def _write_numbers(ax: Any, positions: FloatArray, radius: FloatArray) -> None:
    """Topics' numbers in their circles, or beside them where another number stands; ``radius`` is in points."""
    ax.figure.draw_without_rendering()  # so that the axes have their final size
    points = ax.transData.transform(positions) * 72.0 / ax.figure.dpi
    boxes: list[tuple[float, float, float]] = []  # centre and half width of numbers that are written, in points
    for k in np.argsort(-radius, kind="stable").tolist():
        half = 2.8 * len(str(k)) + 0.7
        far = radius[k] + 4.0
        places = [(0.0, 0.0), (far + half, 0.0), (-far - half, 0.0), (0.0, far + 2.0), (0.0, -far - 2.0)]
        places += [(dx * (far + half), dy * far) for dx in (0.8, -0.8) for dy in (0.9, -0.9)]
        places += [(1.7 * dx, 1.7 * dy) for dx, dy in places[1:]]
        free = [shift for shift in places if _is_free(points[k] + shift, half, boxes)]
        shift = free[0] if free else (0.0, 0.0)
        boxes.append((*(points[k] + shift), half))
        ax.annotate(
            str(k), positions[k], xytext=shift, textcoords="offset points", ha="center", va="center", fontsize="small"
        )


def _is_free(at: FloatArray, half: float, boxes: list[tuple[float, float, float]]) -> bool:
    return all(abs(at[0] - x) > half + other or abs(at[1] - y) > 8.5 for x, y, other in boxes)


# -- the tree ----------------------------------------------------------------------------------------------------


def topic_tree(
    model: Any, *, metric: Distance = "cityblock", method: Linkage = "complete", n_words: int = 3, ax: Any = None
) -> Any:
    """Topics as a tree by likeness, with a name and the share of the tokens at each leaf.

    Parameters
    ----------
    model : fitted topic model
    metric : {"cityblock", "jensenshannon", "euclidean"}, default="cityblock"
    method : {"complete", "average", "single"}, default="complete"
        Both as of ``topicloom.evaluation.topic_linkage``.
    n_words : int, default=3
        Words in a name.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.explore import plots
    >>> model = LDA(2, max_iter=20, random_state=0).fit(["sun moon sun", "loan bank loan"] * 20)
    >>> plots.topic_tree(model, metric="euclidean").get_xlabel()
    'distance (euclidean)'
    """
    return draw_tree(model.topic_word_, sizes(model), labels(model, n_words), metric=metric, method=method, ax=ax)


def draw_tree(
    rows: AnyArray, shares: AnyArray | None = None, labels: Sequence[str] | None = None, *,
    metric: Distance = "cityblock", method: Linkage = "complete", ax: Any = None,
) -> Any:  # fmt: skip
    """The tree of any distributions.

    Parameters
    ----------
    rows : array of shape (n_topics, n_words)
        Distributions over words, or documents' over topics.
    shares : array of shape (n_topics,), default=None
        Sizes, which are written behind the names and set the size of the dots.
    labels : sequence of str, default=None
        One per row. None: their numbers.
    metric : {"cityblock", "jensenshannon", "euclidean"}, default="cityblock"
    method : {"complete", "average", "single"}, default="complete"
        Both as of ``topicloom.evaluation.topic_linkage``.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from topicloom.explore import plots
    >>> rows = [[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]
    >>> ax = plots.draw_tree(rows, labels=["sun", "moon", "bank"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['bank', 'sun', 'moon']
    """
    tree = topic_linkage(rows, metric=metric, method=method)
    n = len(tree) + 1
    names = check_labels("labels", labels, n, "topic")
    ax = axes_of(ax, (7.0, 1.0 + 0.26 * n))
    drawn: Any = scipy.cluster.hierarchy.dendrogram(
        tree, ax=ax, orientation="left", no_labels=True, color_threshold=0.0, above_threshold_color=GREY
    )
    order, at = drawn["leaves"], 10.0 * np.arange(n) + 5.0  # where scipy puts the leaves
    if shares is not None:
        size = _check_shares(shares, n)
        names = [f"{name} ({size[k]:.1%})" for k, name in enumerate(names)]
        ax.scatter(np.zeros(n), at, s=300.0 * size[order] / size.max(), color=COLORS[0], zorder=3, clip_on=False)
    ax.yaxis.tick_right()
    ax.set_yticks(at, [names[k] for k in order], fontsize="small")
    ax.tick_params(axis="y", length=0, pad=12)
    ax.set_xlabel(f"distance ({metric})")
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def _check_shares(shares: AnyArray, n: int) -> FloatArray:
    found = as_numbers("shares", shares)
    if found.shape != (n,) or not np.all(np.isfinite(found) & (found >= 0)) or not found.any():
        raise InputError(f"shares must have a number of 0 or more for each of {n} topics, not all 0.")
    return found
