"""Two or more models, or the chains of one: their topics side by side, and the flows between them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from topicloom._types import FloatArray
from topicloom.diagnostics.alignment import distance_matrix, match_topics, resolve_threshold
from topicloom.diagnostics.topic_flows import flows
from topicloom.diagnostics.word_lists import topic_words
from topicloom.errors import InputError
from topicloom.explore.covariates import short
from topicloom.explore.source import Source, lengths
from topicloom.explore.tokens import clean
from topicloom.explore.words import LAMBDA

_N_WORDS = 10
_LEAST_FLOW = 1e-3  # share of the corpus that is drawn
_MOST_CHAINS = 8


def compare(names: Sequence[str], sources: Sequence[Source]) -> dict[str, Any]:
    """Models of the same documents, in the order given; flows go from each to the next."""
    first = sources[0]
    for name, source in zip(names, sources, strict=True):
        if source.corpus is None or source.theta is None:
            raise InputError(f"{name} has no documents, by which models are compared; save it with its corpus.")
        assert first.corpus is not None
        if source.corpus.n_docs != first.corpus.n_docs:
            raise InputError(
                f"{name} has {source.corpus.n_docs:,} documents and {names[0]} {first.corpus.n_docs:,}; compare models "
                "of the same documents."
            )
    topics, vocabulary = _over_one_vocabulary(sources)
    theta = [source.theta for source in sources]
    return _compared(list(names), topics, vocabulary, theta, [source.share for source in sources], first)


def compare_chains(source: Source) -> dict[str, Any] | None:
    """The chains of a model, the published one first; None if there is one, or if topics are labels."""
    model = source.model
    if source.corpus is None or hasattr(model, "label_counts_") or not hasattr(model, "_word_counts_of"):
        return None
    groups = model._chain_groups(len(model.traces_))
    if len(groups) > 1 or len(groups[0]) < 2:
        return None
    best = model.best_chain_
    order = [best, *(c for c in groups[0] if c != best)][:_MOST_CHAINS]
    topics, theta, share = [], [], []
    weight = lengths(source.corpus)
    for c in order:
        chain = model.chains_[c]
        counts = model._word_counts_of(chain)
        topics.append(np.ascontiguousarray((counts / counts.sum(axis=0)).T))
        theta.append(np.asarray(model._doc_topic_of(chain)))
        share.append(np.einsum("d,dk->k", weight, theta[-1]) / weight.sum())
    return _compared([f"chain {c}" for c in order], topics, source.vocabulary, theta, share, source)


def _compared(
    names: list[str], topics: list[FloatArray], vocabulary: tuple[str, ...], theta: list[Any],
    shares: list[FloatArray], first: Source,
) -> dict[str, Any]:  # fmt: skip
    assert first.corpus is not None
    found = flows(topics, doc_topics=theta, lengths=lengths(first.corpus))
    limit = resolve_threshold("hellinger", None)
    matches = [match_topics(distance_matrix(a, b, "hellinger"), limit).tolist() for a, b in pairwise(topics)]
    return {
        "names": [clean(name) for name in names],
        "topics": [_about_topics(phi, share, vocabulary) for phi, share in zip(topics, shares, strict=True)],
        "flows": [
            [[int(a), int(b), short(flow.weights[a, b])] for a, b in np.argwhere(flow.weights >= _LEAST_FLOW)]
            for flow in found
        ],
        "matches": matches,
    }


def _about_topics(phi: FloatArray, share: FloatArray, vocabulary: tuple[str, ...]) -> list[dict[str, Any]]:
    sizes = np.maximum(share, 1e-12)
    relevant = topic_words(
        phi, min(_N_WORDS, phi.shape[1]), "relevance", relevance_lambda=LAMBDA, vocabulary=vocabulary,
        topic_sizes=sizes,
    )  # fmt: skip
    return [
        {"label": ", ".join(clean(w) for w in own[:3]), "share": short(size), "words": [clean(w) for w in own]}
        for own, size in zip(relevant, share, strict=True)
    ]


def _over_one_vocabulary(sources: Sequence[Source]) -> tuple[list[FloatArray], tuple[str, ...]]:
    first = sources[0].vocabulary
    if all(source.vocabulary == first for source in sources):
        return [source.phi for source in sources], first
    column: dict[str, int] = {}
    for source in sources:
        for word in source.vocabulary:
            column.setdefault(word, len(column))
    topics = []
    for source in sources:
        wide = np.zeros((source.n_topics, len(column)))
        wide[:, [column[word] for word in source.vocabulary]] = source.phi
        topics.append(wide)
    return topics, tuple(column)
