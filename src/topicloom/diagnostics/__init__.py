"""Chains and topics judged: convergence, alignment, stability, diagnostics of topics, the number of topics.

Names are loaded when they are asked for, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from topicloom.diagnostics.alignment import align as align
    from topicloom.diagnostics.alignment import chain_topics as chain_topics
    from topicloom.diagnostics.alignment import nearest as nearest
    from topicloom.diagnostics.alignment import topic_distance as topic_distance
    from topicloom.diagnostics.comparison import compare as compare
    from topicloom.diagnostics.comparison import compare_all as compare_all
    from topicloom.diagnostics.fitted import diagnose as diagnose
    from topicloom.diagnostics.held_out import HeldOut as HeldOut
    from topicloom.diagnostics.inference_data import to_inference_data as to_inference_data
    from topicloom.diagnostics.publishing import publish as publish
    from topicloom.diagnostics.search import TopicSearch as TopicSearch
    from topicloom.diagnostics.search import search_topics as search_topics
    from topicloom.diagnostics.topic_flows import flows as flows
    from topicloom.diagnostics.topic_stability import consensus as consensus
    from topicloom.diagnostics.topic_stability import medoid as medoid
    from topicloom.diagnostics.topic_stability import stability as stability
    from topicloom.diagnostics.topics import topic_diagnostics as topic_diagnostics
    from topicloom.diagnostics.word_lists import topic_words as topic_words
    from topicloom.evaluation.convergence import autocorrelation as autocorrelation
    from topicloom.evaluation.convergence import ess_bulk as ess_bulk
    from topicloom.evaluation.convergence import ess_mean as ess_mean
    from topicloom.evaluation.convergence import ess_tail as ess_tail
    from topicloom.evaluation.convergence import mcse_mean as mcse_mean
    from topicloom.evaluation.convergence import mcse_quantile as mcse_quantile
    from topicloom.evaluation.convergence import mcse_sd as mcse_sd
    from topicloom.evaluation.convergence import rhat as rhat
    from topicloom.evaluation.convergence import summary as summary
    from topicloom.evaluation.convergence import verdict as verdict

_CONVERGENCE = "topicloom.evaluation.convergence"  # over plain arrays, so that fits can use it, too
_HOME = {
    **dict.fromkeys(("align", "chain_topics", "nearest", "topic_distance"), "alignment"),
    **dict.fromkeys(("autocorrelation", "ess_bulk", "ess_mean", "ess_tail", "mcse_mean"), _CONVERGENCE),
    **dict.fromkeys(("mcse_quantile", "mcse_sd", "rhat", "summary", "verdict"), _CONVERGENCE),
    **dict.fromkeys(("compare", "compare_all"), "comparison"),
    "diagnose": "fitted",
    "HeldOut": "held_out",
    "publish": "publishing",
    "to_inference_data": "inference_data",
    "flows": "topic_flows",
    **dict.fromkeys(("consensus", "medoid", "stability"), "topic_stability"),
    **dict.fromkeys(("TopicSearch", "search_topics"), "search"),
    "topic_words": "word_lists",
    "topic_diagnostics": "topics",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        home = _HOME[name]
        return getattr(import_module(home if "." in home else f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
