"""Chains and topics judged: convergence, alignment, stability, diagnostics of topics, the number of topics."""

from typing import Any

__all__ = ["TopicSearch", "search_topics"]


def __getattr__(name: str) -> Any:
    """The search over numbers of topics, which needs models, is loaded on first use."""
    if name in __all__:
        from topicloom.diagnostics import search

        return getattr(search, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
