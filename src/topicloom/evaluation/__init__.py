"""How good are the topics: what they predict, whether their words go together, how they differ."""

from topicloom.evaluation.association import word_association
from topicloom.evaluation.averaged import token_probabilities
from topicloom.evaluation.clusters import silhouette_widths, topic_clusters, topic_linkage
from topicloom.evaluation.coherence import coherence
from topicloom.evaluation.collections import (
    Change,
    Interval,
    draw_interval,
    merged_draws,
    mixture_difference,
    mixture_trend,
)
from topicloom.evaluation.labels import (
    CalibrationBins,
    calibration_bins,
    label_calibration,
    label_ranking_scores,
    label_set_scores,
)
from topicloom.evaluation.predictive import (
    DocumentScores,
    completion_perplexities,
    completion_perplexity,
    completion_scores,
    log_likelihood,
)
from topicloom.evaluation.prevalence import LabelPrevalence, label_prevalence
from topicloom.evaluation.reports import LabelReport, label_report, regression_scores
from topicloom.evaluation.sequential import left_to_right
from topicloom.evaluation.topic_maps import TopicMap, topic_map
from topicloom.evaluation.topics import (
    effective_words,
    exclusivity,
    topic_discrepancy,
    topic_distances,
    topic_diversity,
    topic_sizes,
)
from topicloom.evaluation.trends import TopicWeights, bucket_histogram, bucket_lengths, time_entropy, topic_weights

__all__ = [
    "CalibrationBins",
    "Change",
    "DocumentScores",
    "Interval",
    "LabelPrevalence",
    "LabelReport",
    "TopicMap",
    "TopicWeights",
    "bucket_histogram",
    "bucket_lengths",
    "calibration_bins",
    "coherence",
    "completion_perplexities",
    "completion_perplexity",
    "completion_scores",
    "draw_interval",
    "effective_words",
    "exclusivity",
    "label_calibration",
    "label_prevalence",
    "label_ranking_scores",
    "label_report",
    "label_set_scores",
    "left_to_right",
    "log_likelihood",
    "merged_draws",
    "mixture_difference",
    "mixture_trend",
    "regression_scores",
    "silhouette_widths",
    "time_entropy",
    "token_probabilities",
    "topic_clusters",
    "topic_discrepancy",
    "topic_distances",
    "topic_diversity",
    "topic_linkage",
    "topic_map",
    "topic_sizes",
    "topic_weights",
    "word_association",
]
