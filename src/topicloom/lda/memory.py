"""How much memory a fit will need, reported before it starts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import is_mapped
from topicloom.engine.estimates import Estimator
from topicloom.engine.state import topic_dtype
from topicloom.errors import InputError
from topicloom.lda.gibbs.growing_start import MOST_TOKENS
from topicloom.lda.gibbs.word_order import AT_ONCE
from topicloom.lda.memory_on_workers import Fit, WorkersPlan, on_workers, text


class Sizes(NamedTuple):
    """The size of a corpus, for an estimate before the corpus exists.

    Parameters
    ----------
    n_docs : int
        Number of documents.
    n_words : int
        Number of distinct words.
    n_tokens : int
        Number of tokens.

    Examples
    --------
    >>> from topicloom.lda.memory import Sizes
    >>> Sizes(n_docs=1000, n_words=500, n_tokens=80_000).n_tokens
    80000
    """

    n_docs: int
    n_words: int
    n_tokens: int


BYTES_OF_PART = 24  # per token of the part on which a chain starts


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
    """Bytes of memory by what they are for. It prints as a sentence.

    Tokens and assignments of a mapped corpus are in files, not in memory.

    Parameters
    ----------
    tokens : int
        Word numbers, 4 bytes each. With several paths once for each, beside the corpus itself.
    assignments : int
        The tokens' topics, 2 bytes each (4 beyond 65,536 topics), of all chains.
    documents : int
        What grows with documents and words alone: pointers, lengths, priors, vocabulary.
    counts : int
        Counts of words in topics, of all chains.
    sweep : int
        What sweeps need beside these.
    averages : int
        Sums over kept samples.
    estimates : int
        Expected counts and φ, when the fit ends. Two thirds of it stay.
    doc_topic : int
        θ, when it is first asked for.
    mapped : bool, default=False
        Whether tokens and assignments are in files.
    draws : int, default=0
        Draws of θ and φ that are kept.
    on_workers : WorkersPlan, default=None
        What the same fit needs on workers, if ``n_workers`` was given; all else is of one process.

    Examples
    --------
    >>> from topicloom.lda.memory import Sizes, estimate
    >>> plan = estimate(Sizes(n_docs=10_000, n_words=5_000, n_tokens=1_000_000), n_topics=100, sampler="dense")
    >>> plan.tokens, plan.assignments, plan.counts
    (4000000, 2000000, 2000800)
    >>> plan.sampling < plan.peak
    True
    """

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
    on_workers: WorkersPlan | None = None  # the same fit there; all else is of one process

    @property
    def in_files(self) -> int:
        """Bytes in files instead of memory (int)."""
        return self.tokens + self.assignments if self.mapped else 0

    @property
    def sampling(self) -> int:
        """Bytes of memory while the chains run (int)."""
        everything = self.tokens + self.assignments + self.documents + self.counts + self.sweep + self.averages
        return everything + self.draws - self.in_files

    @property
    def peak(self) -> int:
        """Most bytes of memory, without θ (int)."""
        return self.sampling - self.sweep + max(self.sweep, self.estimates)

    def __str__(self) -> str:
        if self.on_workers is not None:
            return str(self.on_workers)
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
            f"memory: about {text(self.sampling)} while sampling ({inside}){files}; up to {text(self.peak)} when "
            f"estimates are made; doc_topic_, made when it is asked for, is {text(self.doc_topic)}."
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
    estimator: Estimator = "cgs_p",
    n_shards: int | None = None,
    n_workers: int | None = None,
) -> MemoryPlan:
    """How much memory a fit of ``LDA`` will need.

    The interpreter and its libraries, about 150 MB, come on top. On workers (``topicloom.scale``) they are included.

    Parameters
    ----------
    corpus : Corpus or Sizes
        The corpus, or the size of one.
    n_topics : int
        Number of topics.
    sampler : str, default="auto"
        As of ``LDA``.
    n_chains : int, default=1
        Number of chains.
    n_mh : int, default=2
        Steps per token of the samplers "mh" and "warp".
    averaged : bool, default=False
        Whether the fit has a ``burn_in``, and so keeps sums over samples.
    n_paths : int, default=1
        Paths per chain.
    draws : int, default=0
        Bytes of the draws that one chain keeps.
    estimator : {"cgs_p", "standard"}, default="cgs_p"
        As of ``LDA``; it matters on workers alone.
    n_shards : int, default=None
        As of ``LDA``; it matters on workers alone. None: as many as workers.
    n_workers : int, default=None
        If given, ``on_workers`` of the plan says what so many workers of ``topicloom.scale`` and the driver need, and
        what travels. Sizes then stand for a corpus in a file, with words spread evenly over the shards.

    Returns
    -------
    MemoryPlan

    Raises
    ------
    InputError
        If a number is below 1.

    Examples
    --------
    >>> from topicloom.lda.memory import Sizes, estimate
    >>> plan = estimate(Sizes(n_docs=500_000, n_words=50_000, n_tokens=100_000_000), n_topics=1000, sampler="sparse")
    >>> f"{plan.sampling / 1e9:.1f} GB"
    '1.0 GB'
    """
    if min(n_topics, n_chains, n_paths) < 1:
        raise InputError(f"n_topics={n_topics}, n_chains={n_chains} and n_paths={n_paths} must be at least 1.")
    n_shards = n_workers or 1 if n_shards is None else n_shards
    if n_shards < 1 or (n_workers is not None and n_workers < 1):
        raise InputError(f"n_shards={n_shards} and n_workers={n_workers} must be at least 1.")
    fit = Fit(n_topics, sampler, n_chains, n_paths, averaged, estimator == "cgs_p", draws)
    there = None if n_workers is None else on_workers(corpus, fit, n_shards, n_workers)
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
        on_workers=there,
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
    """Lists, or a dense matrix where sweeps are quicker with one; both for a moment. At the start a part's tokens."""
    dense = 4 * task.n_words * task.n_topics
    start = BYTES_OF_PART * min(task.n_tokens // 3, MOST_TOKENS)
    return _Room(_lists(task).counts, sweep=max(dense, _words(task).sweep, start))


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
    return ", ".join(f"{what} {text(size)}" for what, size in parts.items() if size)
