"""Pictures of topics over time (needs matplotlib, the extra ``plot``)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from topicloom._types import AnyArray
from topicloom.errors import MissingExtraError
from topicloom.evaluation.trends import TopicWeights, bucket_histogram, time_entropy


def plot_topic_weights(
    found: TopicWeights, topics: Sequence[int], labels: Sequence[str] | None = None, ax: Any = None
) -> Any:
    """Weights of some topics over time (figure 5); returns the axes."""
    axes = _axes(ax)
    for number, topic in enumerate(topics):
        label = f"topic {topic}" if labels is None else labels[number]
        axes.plot(found.times, found.weights[:, topic], lw=1, label=label)
    axes.set(xlabel="time", ylabel="topic weight")
    axes.legend(fontsize=7)
    return axes


def plot_time_entropy(models: Mapping[str, TopicWeights], ax: Any = None) -> Any:
    """Entropy of each period, a line a model (figure 7, right); returns the axes."""
    axes = _axes(ax)
    for name, found in models.items():
        axes.plot(found.times, time_entropy(found.weights), lw=1, label=name)
    axes.set(xlabel="time", ylabel="entropy of topics (nats)")
    axes.legend(fontsize=7)
    return axes


def plot_bucket_lengths(
    models: Mapping[str, AnyArray],
    *,
    topic_weight: Mapping[str, AnyArray] | None = None,
    bins: int = 40,
    ax: Any = None,
) -> Any:
    """Histogram of bucket lengths, a line a model (figure 7, left; weighted: figure 8, left); returns the axes."""
    axes = _axes(ax)
    longest = max(float(np.nanmax(lengths)) for lengths in models.values())
    for name, lengths in models.items():
        weight = None if topic_weight is None else topic_weight[name]
        shares, edges = bucket_histogram(lengths, np.linspace(0.0, longest, bins + 1), weight)
        axes.stairs(shares, edges, label=name)
    axes.set(xlabel="length of a bucket", ylabel="share of buckets")
    axes.legend(fontsize=7)
    return axes


def _axes(ax: Any) -> Any:
    return pyplot().subplots(layout="constrained")[1] if ax is None else ax


def pyplot() -> Any:
    """matplotlib's, where it is installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError("plots need matplotlib; pip install 'topicloom[plot]'.") from error
    return plt
