"""What all plots share: axes, colours, legends, dates, the names of topics.

Figures are made with matplotlib's constrained layout, so that legends beside the axes and long names fit. Nothing is
shown and no global setting is changed.
"""

import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus._checks import as_array, as_numbers, check_whole, items, shown
from topicloom.errors import InputError, MissingExtraError
from topicloom.evaluation.topics import topic_sizes

# Okabe and Ito's colours, which people with any colour vision can tell apart; their yellow is too light for lines.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#777777"
_PER_DATE = 0.55  # inches


def pyplot() -> Any:
    """``matplotlib.pyplot``, if it is installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError("plots need matplotlib; pip install 'topicloom[plot]'.") from error
    return plt


def part(name: str) -> Any:
    """A module of matplotlib."""
    pyplot()
    return import_module(f"matplotlib.{name}")


def axes_of(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """The axes that were given, or those of a new figure of this size in inches."""
    return pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def panels_of(n: int, columns: int, size: tuple[float, float], *, share: bool = False) -> tuple[Any, list[Any]]:
    """A figure with ``n`` panels of this size, and their axes."""
    check_whole("columns", columns, 1)
    columns = min(columns, n)
    rows = -(-n // columns)
    figure, axes = pyplot().subplots(
        rows, columns, figsize=(size[0] * columns, size[1] * rows), squeeze=False, sharex=share, layout="constrained"
    )
    flat = list(axes.ravel())
    for unused in flat[n:]:
        unused.set_axis_off()
    return figure, flat[:n]


def color(number: int) -> str:
    return COLORS[number % len(COLORS)]


def style(number: int) -> str:
    """Solid for the first seven lines, dashed for the next seven and so on."""
    return STYLES[number // len(COLORS) % len(STYLES)]


def legend_outside(ax: Any, **more: Any) -> None:
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize="small", frameon=False, **more)


def wrapped(text: str, inches: float) -> str:
    """A small title in as many lines as a panel of this width needs."""
    return textwrap.fill(text, max(12, int(13 * inches)), break_long_words=False, break_on_hyphens=False)


def tidy(ax: Any) -> None:
    """Without the lines above and on the right, which show nothing."""
    ax.spines[["top", "right"]].set_visible(False)


def date_axis(ax: Any, times: AnyArray) -> None:
    """Ticks that do not overlap: at round dates, written once where they share a year or month; or at whole numbers.

    Call it last: there are as many ticks as the axes have room for.
    """
    ax.figure.draw_without_rendering()  # so that the axes have their final size
    most = int(np.clip(ax.get_window_extent().width / ax.figure.dpi / _PER_DATE, 3, 8))
    if times.dtype.kind == "M":
        dates = part("dates")
        locator = dates.AutoDateLocator(minticks=2, maxticks=most)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    elif times.dtype.kind in "iu" or np.all(times == np.floor(times)):
        ticker = part("ticker")
        ax.xaxis.set_major_locator(ticker.MaxNLocator(most, integer=True))
        ax.xaxis.set_major_formatter(ticker.FormatStrFormatter("%d"))


def percent_axis(axis: Any, symbol: str = "%") -> None:
    axis.set_major_formatter(part("ticker").PercentFormatter(1.0, symbol=symbol))


# -- topics ----------------------------------------------------------------------------------------------------


def labels(model: Any, n_words: int = 3) -> list[str]:
    """One line per topic: its number and its name, or its most relevant words if it has none.

    Parameters
    ----------
    model : fitted topic model
    n_words : int, default=3
        Words of a topic without a name.

    Returns
    -------
    list of str
        ``"3: space"`` for a topic that was named, ``"3: orbit moon launch"`` otherwise. A model whose topics are
        labels has the labels.

    Examples
    --------
    >>> from topicloom import LDA
    >>> model = LDA(2, max_iter=20, random_state=0).fit(["sun moon sun", "loan bank loan"] * 20)
    >>> sorted(label.split(": ")[1] for label in labels(model, n_words=2))
    ['loan bank', 'sun moon']
    """
    if not hasattr(type(model), "topic_labels"):
        raise InputError(f"{shown(model)} has no topics; give a fitted model of topicloom.")
    found: list[str] = model.topic_labels(n_words)
    return found if hasattr(model, "label_counts_") else [f"{k}: {label}" for k, label in enumerate(found)]


def sizes(model: Any) -> FloatArray:
    """Share of the training corpus's tokens that each topic has."""
    return topic_sizes(model.doc_topic_, model.corpus_.doc_lengths)


def chosen_topics(topics: Any, model: Any, largest: FloatArray | None = None, most: int | None = None) -> Int64Array:
    """Numbers of topics that are given by number or name. Without any given: all, or the ``most`` largest, in order."""
    n_topics = len(model.topic_names_)
    if topics is None:
        if largest is None or most is None or most >= n_topics:
            return np.arange(n_topics)
        return np.sort(np.argsort(-largest, kind="stable")[:most])
    if isinstance(topics, list | tuple):
        topics = [model._topic_number(topic) if isinstance(topic, str) else topic for topic in topics]
    chosen = as_array("topics", topics)
    if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "iu":
        raise InputError(f"topics={shown(topics)} must be a list of topic numbers or names.")
    if chosen.min() < 0 or chosen.max() >= n_topics:
        raise InputError(f"topics={shown(topics)} must name some of the topics 0 to {n_topics - 1}.")
    return np.asarray(chosen, np.int64)


def check_labels(name: str, given: Sequence[Any] | None, n: int, what: str) -> list[str]:
    """One text for each of ``n`` things; by default their numbers."""
    if given is None:
        return [f"{what} {i}" for i in range(n)]
    found = [str(text) for text in items(name, given)]
    if len(found) != n:
        raise InputError(f"{name} has {len(found)} entries for {n} {what}s; give one for each.")
    return found


def check_matrix(name: str, values: Any, shape: tuple[int, ...] | None = None) -> FloatArray:
    """Numbers in rows and columns, of this shape if it is known."""
    found = as_numbers(name, values)
    if found.ndim != 2 or found.size == 0 or (shape is not None and found.shape != shape):
        expected = "rows × columns" if shape is None else " × ".join(map(str, shape))
        raise InputError(f"{name} has shape {found.shape}; expected {expected}.")
    return found


def reach(mean: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Lengths of error bars below and above, [2, ...]."""
    return np.asarray(np.maximum(np.stack((mean - lower, upper - mean)), 0.0))
