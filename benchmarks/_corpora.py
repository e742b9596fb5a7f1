"""Corpora of benchmarks by name: folders of ``--data``, their texts with every word, and synthetic ones.

====================  ==================================================================================
``kos``               the folder ``kos`` of ``--data``
``news20:texts``      every word of ``news20/texts.jsonl.gz``, none left out for being rare or frequent
``zipf:500000``       500,000 words by Zipf's law, 100 topics, documents of 200 tokens
``cells:1000``        binary cells × 200,000 regions, about 1,000 regions per cell, 50 topics
====================  ==================================================================================

Words that do not occur and documents without tokens are left out, so that all tools have the same.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import topicloom
from topicloom._types import FloatArray
from topicloom.corpus import Corpus
from topicloom.datasets import synthetic_cells, zipf
from topicloom.errors import InputError

TOKENS, REGIONS = 2_000_000, 200_000
TRUE_TOPICS, TRUE_CELL_TOPICS, DOC_LENGTH = 100, 50, 200.0
LEAST_CELLS = 20
SPREAD = 0.7  # of the logarithm of a cell's number of fragments, in synthetic_cells
BACKGROUND = 0.3


def whole(text: str) -> int:
    """A number as options have it, such as 2e6."""
    return int(float(text))


def split(name: str) -> tuple[str, str]:
    kind, _, rest = name.partition(":")
    return kind, rest


def is_synthetic(name: str) -> bool:
    return split(name)[0] in ("zipf", "cells") and bool(split(name)[1])


def check(names: Sequence[str], data: Path | None) -> None:
    """That every corpus can be had, before anything is measured."""
    for name in names:
        kind, rest = split(name)
        if is_synthetic(name):
            if not rest.isdecimal() or not 2 <= int(rest) <= 10**8:
                raise InputError(f"--corpus {name}: {kind}: is followed by a whole number of at least 2.")
        elif data is None:
            raise InputError(f"--corpus {name} needs --data, the folder that holds the corpora's folders.")
        elif rest not in ("", "texts"):
            raise InputError(f"--corpus {name}: after the colon comes texts, or nothing.")
        else:
            needed = data / kind / ("texts.jsonl.gz" if rest else "docword.npz")
            if not needed.is_file():
                raise InputError(f"--corpus {name}: there is no {needed.name} in --data's folder {kind}.")


def named(
    name: str, data: Path | None = None, tokens: int = TOKENS, regions: int = REGIONS, most: int | None = None
) -> Corpus:
    """The corpus of this name; synthetic ones have about so many tokens, others at most so many, where that is said."""
    check([name], data)
    kind, rest = split(name)
    if kind == "zipf" and rest:
        found = zipf(tokens, int(rest), min(TRUE_TOPICS, int(rest)), doc_length=DOC_LENGTH, seed=1).corpus
    elif kind == "cells" and rest:
        found = cells(int(rest), tokens, regions)
    else:
        assert data is not None
        path = data / kind
        found = topicloom.read(path / "texts.jsonl.gz", text_column="text") if rest else topicloom.read(path, "folder")
        found = some(found, most) if most is not None else found
    return occurring(found)


def some(corpus: Corpus, tokens: int) -> Corpus:
    """Documents chosen at random, in their order, with at most so many tokens; at least one."""
    order = np.random.default_rng(1).permutation(corpus.n_docs)
    n = max(1, int(np.searchsorted(np.cumsum(corpus.doc_lengths[order]), tokens, side="right")))
    return corpus.select(np.sort(order[:n]))


def occurring(corpus: Corpus) -> Corpus:
    """The same without words that do not occur and documents without tokens."""
    if not np.all(corpus.doc_lengths):
        corpus = corpus.select(np.flatnonzero(corpus.doc_lengths))
    if not np.all(corpus.word_counts):
        corpus = corpus.with_vocabulary([corpus.vocabulary[v] for v in np.flatnonzero(corpus.word_counts)])
    return corpus


# -- cells -----------------------------------------------------------------------------------------------------------


def cells(entries: int, tokens: int, n_regions: int) -> Corpus:
    """Cells with about so many open regions each, and together about so many."""
    if entries > n_regions // 2:
        raise InputError(f"cells:{entries} needs at least {2 * entries:,} regions, not {n_regions:,}.")
    open_share = min(0.6, max(0.05, 1.5 * entries / n_regions))  # of a topic's own
    return synthetic_cells(
        max(LEAST_CELLS, round(tokens / entries)), n_regions, TRUE_CELL_TOPICS,
        fragments_per_cell=fragments(entries, n_regions, open_share), open_share=open_share, background=BACKGROUND,
        seed=1,
    ).corpus  # fmt: skip


def fragments(entries: int, n_regions: int, open_share: float) -> float:
    """So many that a cell of one topic has about so many distinct regions; a cell of several has somewhat more."""
    spread, weights = np.polynomial.hermite_e.hermegauss(15)
    depth = np.exp(SPREAD * spread - SPREAD**2 / 2)  # cells differ in their numbers of fragments

    def distinct(mean: float) -> float:
        hit: FloatArray = depth * mean / n_regions
        own = (1 + (1 - BACKGROUND) * hit / (2 * open_share)) ** -2.0  # weights are gamma variables
        shared = 1 / (1 + BACKGROUND * hit)
        missed = open_share * own * shared + (1 - open_share) * shared
        return float(weights @ (1 - missed) / weights.sum()) * n_regions

    low, high = 0.1, 1e6
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if distinct(middle) < entries else (low, middle)
    return high
