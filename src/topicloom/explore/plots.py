"""Plots of models, with matplotlib (the extra ``plot``): ``from topicloom.explore import plots; plots.topics(model)``.

Functions with one picture take ``ax``, matplotlib axes to draw into, and return them; without it they make a new
figure. Functions with one panel per topic or state return the figure. Nothing is shown: call ``figure.savefig`` or
``plt.show()``. Functions whose names start with ``draw_`` take plain arrays, of any model or tool.
"""

from topicloom.explore.plot_chains import (
    bucket_lengths,
    calibration,
    convergence,
    entropy_over_time,
    ranks,
    search,
)
from topicloom.explore.plot_document import document
from topicloom.explore.plot_effects import draw_effects, effects
from topicloom.explore.plot_families import classes, draw_weights, emissions, simplex, transition_graph, transitions
from topicloom.explore.plot_prevalence import (
    by_group,
    draw_by_group,
    draw_group_panels,
    draw_over_time,
    group_panels,
    over_time,
)
from topicloom.explore.plot_style import labels
from topicloom.explore.plot_topics import draw_tree, topic, topic_map, topic_tree, topics

__all__ = [
    "bucket_lengths",
    "by_group",
    "calibration",
    "classes",
    "convergence",
    "document",
    "draw_by_group",
    "draw_effects",
    "draw_group_panels",
    "draw_over_time",
    "draw_tree",
    "draw_weights",
    "effects",
    "emissions",
    "entropy_over_time",
    "group_panels",
    "labels",
    "over_time",
    "ranks",
    "search",
    "simplex",
    "topic",
    "topic_map",
    "topic_tree",
    "topics",
    "transition_graph",
    "transitions",
]
