"""Pictures of collections and their topics (needs matplotlib, the extra ``plot``).

``draws`` is samples × collections × topics (a model's ``pi_draws_``); bars are means, lines on them intervals.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom._types import AnyArray
from topicloom.corpus._checks import as_numbers
from topicloom.errors import InputError
from topicloom.evaluation.clusters import topic_linkage
from topicloom.evaluation.collections import Interval, draw_interval
from topicloom.evaluation.trend_plots import _axes, pyplot


def plot_collections(
    draws: AnyArray,
    collections: Sequence[Hashable],
    topics: Sequence[int] | None = None,
    labels: Sequence[str] | None = None,
    *,
    level: float = 0.9,
    ax: Any = None,
) -> Any:
    """Topics side by side, a bar a collection (compound LDA figure 12); returns the axes."""
    found, chosen, names = _chosen(draws, collections, topics, labels, level)
    axes = _axes(ax)
    at, width = np.arange(len(chosen)), 0.8 / len(collections)
    for j, label in enumerate(collections):
        shift = (j - (len(collections) - 1) / 2) * width
        axes.bar(at + shift, found.mean[j], width, yerr=_reach(found, j), label=str(label), error_kw={"lw": 0.7})
    axes.set_xticks(at, names, rotation=90 if len(chosen) > 6 else 0)
    axes.set(ylabel="share of the collection")
    axes.legend(fontsize=7)
    return axes


def plot_topics_by_collection(
    draws: AnyArray,
    collections: Sequence[Hashable],
    topics: Sequence[int] | None = None,
    labels: Sequence[str] | None = None,
    *,
    level: float = 0.9,
    columns: int = 4,
) -> Any:
    """A panel a topic, with its share in each collection (figures 10 and 11); returns the panels' axes, [topics]."""
    found, chosen, names = _chosen(draws, collections, topics, labels, level)
    columns = max(1, min(columns, len(chosen)))
    rows = -(-len(chosen) // columns)
    _, panels = pyplot().subplots(
        rows, columns, figsize=(2.2 * columns, 1.8 * rows), squeeze=False, sharex=True, layout="constrained"
    )
    flat = panels.ravel()
    at = np.arange(len(collections))
    for number, name in enumerate(names):
        reach = np.stack((found.mean - found.lower, found.upper - found.mean))[:, :, number]
        flat[number].bar(at, found.mean[:, number], yerr=np.maximum(reach, 0), error_kw={"lw": 0.7})
        flat[number].set_title(name, fontsize=8)
        flat[number].set_xticks(at, [str(label) for label in collections], rotation=90, fontsize=7)
    for unused in flat[len(names) :]:
        unused.set_visible(False)
    return flat[: len(names)]


def plot_topic_tree(topics: AnyArray, sizes: AnyArray, labels: Sequence[str] | None = None) -> Any:
    """Topics as a tree by likeness, and below each leaf its size (figures 8 and 15); returns both axes."""
    tree = topic_linkage(topics)
    heights = as_numbers("sizes", sizes)
    n = len(tree) + 1
    if heights.shape != (n,):
        raise InputError(f"sizes has shape {heights.shape}; give one for each of {n} topics.")
    names = [str(k) for k in range(n)] if labels is None else list(labels)
    if len(names) != n:
        raise InputError(f"labels has {len(names)} entries for {n} topics; give one for each.")
    _, (above, below) = pyplot().subplots(2, 1, height_ratios=[2, 1], layout="constrained")
    order: Any = scipy.cluster.hierarchy.dendrogram(tree, ax=above, no_labels=True, color_threshold=0)["leaves"]
    above.set(ylabel="distance")
    below.bar(np.arange(n), heights[order])
    below.set_xticks(np.arange(n), [names[k] for k in order], rotation=90, fontsize=7)
    below.set(ylabel="size", xlim=(-0.5, n - 0.5))
    return above, below


def plot_simplex(trace: AnyArray, truth: AnyArray | None = None, ax: Any = None) -> Any:
    """The way of one collection's mixture of three topics, [sweeps, 3], in a triangle (figure 3); returns the axes."""
    way = as_numbers("trace", trace)
    if way.ndim != 2 or way.shape[1] != 3:
        raise InputError(f"trace has shape {way.shape}; a triangle shows sweeps × 3 topics.")
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])
    axes = _axes(ax)
    outline = corners[[0, 1, 2, 0]]
    axes.plot(outline[:, 0], outline[:, 1], color="0.6", lw=0.8)
    points = way @ corners
    axes.plot(points[:, 0], points[:, 1], lw=0.4, alpha=0.6)
    axes.scatter(points[:, 0], points[:, 1], c=np.arange(len(points)), s=6, zorder=2)
    if truth is not None:
        x, y = as_numbers("truth", truth) @ corners
        axes.scatter([x], [y], marker="x", color="red", zorder=3)
    for k, (x, y) in enumerate(corners):
        axes.annotate(f"topic {k}", (x, y), textcoords="offset points", xytext=(0, -10 if k < 2 else 5), ha="center")
    axes.set_aspect("equal")
    axes.set_axis_off()
    return axes


def _chosen(
    draws: AnyArray, collections: Sequence[Hashable], topics: Sequence[int] | None, labels: Sequence[str] | None,
    level: float,
) -> tuple[Interval, list[int], list[str]]:  # fmt: skip
    values = as_numbers("draws", draws)
    if values.ndim != 3 or values.shape[1] != len(collections):
        raise InputError(f"draws has shape {values.shape}; expected samples × {len(collections)} collections × topics.")
    chosen = list(range(values.shape[2])) if topics is None else [int(k) for k in topics]
    if not chosen or any(not 0 <= k < values.shape[2] for k in chosen):
        raise InputError(f"topics={chosen} must name some of the topics 0 to {values.shape[2] - 1}.")
    names = [f"topic {k}" for k in chosen] if labels is None else list(labels)
    if len(names) != len(chosen):
        raise InputError(f"labels has {len(names)} entries for {len(chosen)} topics; give one for each.")
    return draw_interval(values[:, :, chosen], level), chosen, names


def _reach(found: Interval, j: int) -> AnyArray:
    return np.asarray(np.maximum(np.stack((found.mean[j] - found.lower[j], found.upper[j] - found.mean[j])), 0))
