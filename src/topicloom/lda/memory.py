"""How much memory a fit will need, computed before it starts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import is_mapped
from topicloom.engine.state import topic_dtype
from topicloom.errors import InputError
from topicloom.lda.gibbs.word_order import AT_ONCE


class Sizes(NamedTuple):
    """What is known of a corpus before it is there."""

    n_docs: int
    n_words: int
    n_tokens: int


class _Task(NamedTuple):
    """What the bytes of a sampler depend on."""

    n_words: int
    n_tokens: int
    n_topics: int
    entries: int  # of words' lists of topics, Σ_v min(n_v, K)
    n_mh: int

    @property
    def topic_bytes(self) -> int:
        return np.dtype(topic_dtype(self.n_topics)).itemsize


class _Room(NamedTuple):
    """Bytes of a chain's counts, of what its sweep needs beside them, and of what all chains share."""

    counts: int
    sweep: int = 0
    shared: int = 0


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes by what they are for. Tokens and assignments of a mapped corpus are in files, not in memory."""

    tokens: int  # word numbers, 4 bytes each; of several paths once for each, beside the corpus itself
    assignments: int  # the tokens' topics, 2 bytes each (4 beyond 65,536 topics), of all chains
    documents: int  # pointers, lengths, priors, vocabulary: what grows with documents and words alone
    counts: int  # of words in topics, of all chains
    sweep: int  # what sweeps need beside: made and given back, or kept with the corpus
    averages: int  # sums over kept samples
    estimates: int  # expected counts and φ, as the fit ends; two thirds of it stay
    doc_topic: int  # θ, when it is first asked for
    mapped: bool = False
    draws: int = 0  # θ and φ that are kept

    @property
    def in_files(self) -> int:
        return self.tokens + self.assignments if self.mapped else 0

    @property
    def sampling(self) -> int:
        """Memory while the chains run."""
        everything = self.tokens + self.assignments + self.documents + self.counts + self.sweep + self.averages
        return everything + self.draws - self.in_files

    @property
    def peak(self) -> int:
        """Memory at the most, θ left out."""
        return self.sampling - self.sweep + max(self.sweep, self.estimates)

    def __str__(self) -> str:
        parts = {"tokens": self.tokens, "their topics": self.assignments}
        held = {
            "counts": self.counts + self.sweep,
            "sums over samples": self.averages,
            "draws": self.draws,
            "the rest": self.documents,
        }
        files = f", with {_listed(parts)} in files" if self.mapped else ""
        inside = _listed(held if self.mapped else parts | held)
        return (
            f"memory: about {_text(self.sampling)} while sampling ({inside}){files}; up to {_text(self.peak)} when "
            f"estimates are made; doc_topic_, made when it is asked for, is {_text(self.doc_topic)}."
        )


def estimate(
    corpus: Corpus | Sizes,
    n_topics: int,
    sampler: str = "auto",
    n_chains: int = 1,
    *,
    n_mh: int = 2,
    averaged: bool = False,
    n_paths: int = 1,
    draws: int = 0,
) -> MemoryPlan:
    """What a fit of LDA on the corpus, or on one of these sizes, will take.

    ``averaged`` is for a fit with ``burn_in``, which keeps sums over samples, and ``draws`` are the bytes of the draws
    that one chain keeps. The interpreter and its libraries, some
    150 MB, come on top.
    """
    if min(n_topics, n_chains, n_paths) < 1:
        raise InputError(f"n_topics={n_topics}, n_chains={n_chains} and n_paths={n_paths} must be at least 1.")
    d, v, n = corpus.n_docs, corpus.n_words, corpus.n_tokens * n_paths
    if isinstance(corpus, Corpus):
        entries = int(np.minimum(corpus.word_counts * n_paths, n_topics).sum())
        names = sum(map(len, corpus.vocabulary)) + 60 * v
    else:
        entries, names = min(n, v * n_topics), 70 * v
    task = _Task(v, n, n_topics, entries, n_mh)
    room = _ROOM.get(sampler, _dense)(task)
    cells = 8 * v * n_topics
    return MemoryPlan(
        tokens=4 * n + (4 * corpus.n_tokens if n_paths > 1 else 0),
        assignments=n * task.topic_bytes * n_chains,
        documents=20 * d * n_paths + 28 * v + names,
        counts=room.counts * n_chains,
        sweep=room.sweep * n_chains + room.shared,
        # Adding a sample to a sum makes a new sum, so that for a moment there are two arrays more.
        averages=8 * (d * n_paths + v) * n_topics * (n_chains + 2) if averaged else 0,
        estimates=3 * cells + (0 if sampler in ("dense", "mh", "partial") else cells // 2),
        doc_topic=8 * d * n_topics,
        mapped=isinstance(corpus, Corpus) and is_mapped(corpus),
        draws=draws * n_chains,
    )


# -- what each sampler keeps -----------------------------------------------------------------------------------------


def _dense(task: _Task) -> _Room:
    return _Room((4 * task.n_words + 8) * task.n_topics)


def _lists(task: _Task) -> _Room:
    return _Room(8 * (task.entries + task.n_topics + 1) + 12 * task.n_words)


def _words(task: _Task) -> _Room:
    """Lists; of some documents at a time their tokens by word and their topics, 8 bytes and up to 4 a token."""
    return _Room(_lists(task).counts, sweep=12 * min(task.n_tokens, AT_ONCE) + 8 * task.n_words)


def _auto(task: _Task) -> _Room:
    """Lists, or a dense matrix where sweeps are quicker with one; both for a moment."""
    dense = 4 * task.n_words * task.n_topics
    return _Room(_lists(task).counts, sweep=max(dense, _words(task).sweep))


def _mh(task: _Task) -> _Room:
    """A dense matrix; the tokens by word; in a sweep their topics in that order."""
    return _Room(_dense(task).counts, sweep=task.topic_bytes * task.n_tokens, shared=8 * (task.n_tokens + task.n_words))


def _partial(task: _Task) -> _Room:
    """A dense matrix; in a sweep φ, and one number per word."""
    return _Room(_dense(task).counts, sweep=8 * task.n_words * (task.n_topics + 1))


def _warp(task: _Task) -> _Room:
    """Lists; the tokens by word; in a sweep each token's topic and proposals."""
    number = 4 if task.n_tokens < 1 << 32 else 8
    slots = task.topic_bytes * (1 + task.n_mh) * task.n_tokens
    return _Room(_lists(task).counts, sweep=slots, shared=number * task.n_tokens + 8 * task.n_words)


_ROOM: dict[str, Callable[[_Task], _Room]] = {
    "dense": _dense,
    "sparse": _lists,
    "words": _words,
    "auto": _auto,
    "mh": _mh,
    "partial": _partial,
    "warp": _warp,
}


def _listed(parts: dict[str, int]) -> str:
    return ", ".join(f"{what} {_text(size)}" for what, size in parts.items() if size)


def _text(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 0.1):.{0 if size >= 1e7 else 1}f} MB"
