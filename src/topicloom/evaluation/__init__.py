"""How good are the topics: what they predict, whether their words go together, how they differ."""

from topicloom.evaluation.coherence import coherence
from topicloom.evaluation.labels import label_calibration, label_ranking_scores, label_set_scores
from topicloom.evaluation.predictive import (
    completion_perplexities,
    completion_perplexity,
    left_to_right,
    log_likelihood,
)
from topicloom.evaluation.topics import (
    effective_words,
    exclusivity,
    topic_distances,
    topic_diversity,
    topic_sizes,
)

__all__ = [
    "coherence",
    "completion_perplexities",
    "completion_perplexity",
    "effective_words",
    "exclusivity",
    "label_calibration",
    "label_ranking_scores",
    "label_set_scores",
    "left_to_right",
    "log_likelihood",
    "topic_distances",
    "topic_diversity",
    "topic_sizes",
]
