"""How much memory a fit on workers will need, of each worker and of the driver, and what travels between them.

Worker i of W has shards i·S/W … of the documents: their topics, and their tokens unless these stay in a file. At any
time it has as many parts of the words as it has shards. In a sweep each part goes through all shards, and so once from
each worker to the next. The constants below are those of ``docs/performance/memory-on-workers.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topicloom._types import Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.shards import LEAST, PER_TOPIC, PIECES
from topicloom.engine.state import topic_dtype
from topicloom.engine.threads import cut
from topicloom.files.arrays import file_of
from topicloom.lda.gibbs.word_order import AT_ONCE

WORKER, DRIVER = 120_000_000, 190_000_000  # bytes of a process that has nothing yet, with libraries and compiled code
CELLS = 1 << 22  # of rows of counts that workers make at a time
_MOST = 1 << 20  # workers that are tried
_STAYS = 1 << 25  # bytes of an array up to which the C library keeps memory that is given back


@dataclass(frozen=True)
class WorkersPlan:
    """Bytes of a fit on workers. It prints as a sentence.

    Parameters
    ----------
    n_workers : int
        Number of workers.
    n_shards : int
        Number of shards of the documents, which workers share.
    worker : int
        Most bytes of memory that a worker has of its own, about 120 MB of libraries and compiled code included.
    store : int
        Bytes of Ray's object store per worker: parts on their way, a copy of the topics to begin again from, and
        tokens that are not in a file.
    driver : int
        Most bytes of memory of the process that calls ``fit``, about 190 MB of libraries included.
    travels : int
        Bytes that travel per sweep at most: counts that go from worker to worker, and weights of the topics.

    Examples
    --------
    >>> from topicloom.lda.memory import Sizes, estimate
    >>> sizes = Sizes(n_docs=5_000_000, n_words=100_000, n_tokens=1_000_000_000)
    >>> plan = estimate(sizes, n_topics=100, sampler="dense", n_shards=16, n_workers=8).on_workers
    >>> plan.travels < 8 * 4 * 100_000 * 100 + 3_000_000
    True
    """

    n_workers: int
    n_shards: int
    worker: int
    store: int
    driver: int
    travels: int

    def __str__(self) -> str:
        each = f"{self.n_workers} workers, each" if self.n_workers > 1 else "one worker"
        return (
            f"memory: on {each} up to {text(self.worker)}, and {text(self.store)} of Ray's object store; the driver up "
            f"to {text(self.driver)}; at most {text(self.travels)} travel per sweep."
        )


class Fit(NamedTuple):
    """What a fit on workers holds beside its corpus."""

    n_topics: int
    sampler: str
    n_chains: int = 1
    n_paths: int = 1
    averaged: bool = False
    soft: bool = True  # estimates by CGS_p
    draws: int = 0


class _Parts(NamedTuple):
    """What the parts of the words take, in bytes, by part."""

    dense: Int64Array  # as rows
    lists: Int64Array
    rows: int  # of the largest piece of rows that is made at a time, in cells


def on_workers(corpus: Corpus | Sequence[int], fit: Fit, n_shards: int, n_workers: int) -> WorkersPlan:
    """The plan of a fit; in place of a corpus numbers of documents, words and tokens, of a corpus in a file."""
    d, v, n = _sizes(corpus)
    d, n, k, chains = d * fit.n_paths, n * fit.n_paths, fit.n_topics, fit.n_chains
    n_workers, parts = min(n_workers, n_shards), _parts(corpus, fit, n_shards)
    held = -(-n_shards // n_workers)  # shards of the worker that has most
    topic, form = np.dtype(topic_dtype(k)).itemsize, _form(fit.sampler, parts)
    largest, docs, tokens = int(form.max(initial=0)), d * held // n_shards, n * held // n_shards
    topics, soft = topic * tokens * chains, 8 * parts.rows * fit.soft
    sums = 8 * k * docs * fit.averaged

    counts = _most_at_once(form, held) * chains
    listing = 4 * parts.rows if fit.soft or fit.sampler != "dense" else 0  # rows that are made for the driver
    at_once = max(_sweeping(fit.sampler, parts, tokens // held), topic * tokens // held, listing + soft + sums)
    worker = WORKER + topics + docs * (16 + 4 * chains) + v * (8 + 28 * chains) + counts + at_once

    sent = 0 if _in_file(corpus) else 4 * tokens + 8 * docs
    on_way = max(2 * largest * (n_workers > 1), counts // chains * (fit.sampler == "auto"))
    store = sent + 2 * topics + max(on_way, (4 * parts.rows + 2 * soft) * min(held, 2), sums // held)
    travels = (n_workers > 1) * n_workers * int(form.sum() + 16 * k * len(form)) + _weights(n, k, n_shards)
    return WorkersPlan(n_workers, n_shards, worker, store, _driver(corpus, fit, parts), travels)


def enough_workers(corpus: Corpus | Sequence[int], fit: Fit, n_shards: int, memory: int) -> tuple[int, int] | None:
    """The fewest workers, and shards for them, with which no worker needs more than so much memory."""
    n = 1
    while n <= _MOST:
        if on_workers(corpus, fit, max(n, n_shards), n).worker <= memory:
            return n, max(n, n_shards)
        n += 1 if n < 64 else n // 16
    return None


def _sizes(corpus: Corpus | Sequence[int]) -> tuple[int, int, int]:
    if isinstance(corpus, Corpus):
        return corpus.n_docs, corpus.n_words, corpus.n_tokens
    d, v, n = corpus
    return d, v, n


def _in_file(corpus: Corpus | Sequence[int]) -> bool:
    return not isinstance(corpus, Corpus) or file_of(corpus.words) is not None


def _parts(corpus: Corpus | Sequence[int], fit: Fit, n_shards: int) -> _Parts:
    """Parts of about equally many tokens; where words are not known each has the same number of words."""
    _, v, n = _sizes(corpus)
    k = fit.n_topics
    if isinstance(corpus, Corpus):
        counts = corpus.word_counts * fit.n_paths
        edges = np.array([start for start, _ in cut(counts, n_shards)], np.int64)
        words = np.diff(np.append(edges, v))
        entries = np.add.reduceat(np.minimum(counts, k), edges) if v else words
    else:
        words = np.diff(np.arange(n_shards + 1) * v // n_shards)
        entries = np.minimum(words * k, -(-n * fit.n_paths // n_shards))
    rows = min(CELLS // k * k or k, int(words.max(initial=0)) * k)
    return _Parts(4 * k * words, 8 * entries + 12 * words, rows)


def _form(sampler: str, parts: _Parts) -> Int64Array:
    """Bytes of each part as the sampler has it; auto may have either form."""
    either = np.maximum(parts.dense, parts.lists)
    return {"dense": parts.dense, "auto": either}.get(sampler, parts.lists)


def _most_at_once(form: Int64Array, held: int) -> int:
    """The most that parts take that follow each other, the first after the last."""
    ring = np.concatenate((form, form))
    sums = np.concatenate(([0], np.cumsum(ring)))
    return int((sums[held:] - sums[:-held]).max()) if held < len(form) else int(form.sum())


def _sweeping(sampler: str, parts: _Parts, tokens: int) -> int:
    """What a sweep needs beside, for a while: a part in two forms or cuts, lists side by side, some tokens by word."""
    dense, lists = int(parts.dense.max(initial=0)), int(parts.lists.max(initial=0))
    by_word = 12 * min(AT_ONCE, tokens)
    stays = dense if dense <= _STAYS else 0
    return {"dense": stays, "sparse": lists, "words": max(lists, by_word)}.get(sampler, max(lists, by_word, dense))


def _weights(n_tokens: int, n_topics: int, n_shards: int) -> int:
    """Bytes per sweep of the numbers by topic that parts exchange when they meet: to the driver, and to all parts."""
    in_pieces = n_tokens >= n_shards * n_shards * PIECES * max(LEAST, PER_TOPIC * n_topics)
    return (1 if in_pieces else n_shards) * 8 * n_topics * n_shards * (n_shards + 1)


def _driver(corpus: Corpus | Sequence[int], fit: Fit, parts: _Parts) -> int:
    """Documents and words by themselves, counts in the end, and what is published; topics are in a file or here."""
    d, v, n = _sizes(corpus)
    d, n, k, chains = d * fit.n_paths, n * fit.n_paths, fit.n_topics, fit.n_chains
    cells, topics = 8 * v * k, np.dtype(topic_dtype(k)).itemsize * n * chains
    names = sum(map(len, corpus.vocabulary)) + 60 * v if isinstance(corpus, Corpus) else 70 * v
    held = 40 * d + 40 * v + names + (0 if _in_file(corpus) else 4 * n + topics)
    counts = int((parts.dense if fit.sampler == "dense" else parts.lists).sum()) * chains
    averages = 8 * (d + v) * k * (chains + 2) if fit.averaged else 0
    return DRIVER + held + counts + averages + (2 + chains) * cells + fit.draws * chains


def text(size: int) -> str:
    """Bytes as people read them."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 0.1):.{0 if size >= 1e7 else 1}f} MB"
