"""LDA, compound LDA with one collection and a hierarchical Dirichlet process beside each other (figures 7 and 8)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproduce._common import load, note, table
from reproduce._compound_corpora import CASES, grouped
from topicloom import HDP, LDA, CompoundLDA
from topicloom.corpus import Corpus
from topicloom.evaluation import coherence, silhouette_widths, topic_clusters, topic_sizes

_SMALL = 0.001  # of the tokens
_HEADER = ["corpus", "model", "topics", "with under 0.1% of the tokens", "tokens of a topic, quartiles",
           "nearest topic, median", "coherence, median", "silhouette, median (K/3 clusters)"]  # fmt: skip


def sizes(data: Path, names: Sequence[str], sweeps: int, max_docs: int | None, quick: bool) -> str:
    """How many topics each model has, how large they are, and how far each is from the one nearest to it."""
    rows = []
    for name in names:
        case, corpus = CASES[name], grouped(load(data, name), name, max_docs)
        k, options = 5 if quick else case.n_topics, {"max_iter": sweeps, "trace_every": 10, "random_state": 0}
        models = {
            "LDA": LDA(k, doc_topic_prior=case.lda[1], topic_word_prior=case.lda[0], **options).fit(corpus),
            "cLDA, J = 1": CompoundLDA(k, **options).fit(corpus, groups=["all"] * corpus.n_docs),
            **{
                f"HDP, η = {eta}": HDP(k, topic_word_prior=eta, **options).fit(corpus)
                for eta in ((0.1,) if quick else (0.1, 0.5))
            },
        }
        for kind, model in models.items():
            rows.append([name, kind, *_measured(model, corpus)])
            note(f"hdp: {rows[-1]}")
    return f"{sweeps} sweeps, one run. Distances are those of Manhattan.\n\n" + table(_HEADER, rows)


def _measured(model: Any, corpus: Corpus) -> list[object]:
    phi = model.topic_word_
    tokens = topic_sizes(model.doc_topic_, corpus.doc_lengths) * corpus.n_tokens
    low, mid, high = np.quantile(tokens, [0.25, 0.5, 0.75])
    nearest = [np.sort(np.abs(phi - own).sum(axis=1))[1] for own in phi] if len(phi) > 1 else [np.nan]
    widths = silhouette_widths(phi, topic_clusters(phi, max(2, len(phi) // 3))) if len(phi) > 2 else np.array([np.nan])
    return [len(phi), int(np.sum(tokens < _SMALL * corpus.n_tokens)), f"{low:,.0f} / {mid:,.0f} / {high:,.0f}",
            f"{np.median(nearest):.2f}",
            f"{np.median(coherence(phi, corpus, 'u_mass', n_words=10, aggregate='sum')):.1f}",
            f"{np.median(widths):.3f}"]  # fmt: skip
