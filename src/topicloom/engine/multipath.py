"""Several paths: m assignments of topics that share their topic-word counts (multipath Gibbs, eqs. 5 and 6).

A corpus that holds every document m times, each copy with its own topic counts, *is* the model with m paths: its
posterior of φ is proportional to P(φ) P(w | φ)^m. So every sampler, and all that works on a sampler's state, carries
paths by being given that corpus. Paths follow each other: those of z are the rows of ``z.reshape(m, -1)``.
"""

from dataclasses import replace
from typing import Literal
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import read_only
from topicloom.corpus.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.engine.state import State, rebuild_counts
from topicloom.files.arrays import array_in_file, file_of

DocTopicPaths = Literal["mean", "first"]
DOC_TOPIC_PATHS: tuple[DocTopicPaths, ...] = ("mean", "first")
_CHUNK = 1 << 22  # tokens compared together

# Corpora in use that repeat another.
_REPEATED: WeakKeyDictionary[Corpus, WeakValueDictionary[int, Corpus]] = WeakKeyDictionary()


def repeated(corpus: Corpus, n_paths: int) -> Corpus:
    """The corpus n times over: the same object as long as anyone has it, and with one path the corpus itself.

    Of what is known about documents the copies have nothing. The tokens of a memory-mapped corpus go to a file beside
    it.
    """
    if n_paths == 1:
        return corpus
    known = _REPEATED.setdefault(corpus, WeakValueDictionary())
    found = known.get(n_paths)
    if found is None:
        file, n = file_of(corpus.words), corpus.n_tokens
        words = np.empty(n * n_paths, np.int32) if file is None else array_in_file(file.parent, n * n_paths, np.int32)
        for path in range(n_paths):
            words[path * n : (path + 1) * n] = corpus.words
        shift = np.arange(n_paths, dtype=np.int64)[:, None] * n
        ptr = np.append((corpus.doc_ptr[:-1] + shift).ravel(), n * n_paths)
        found = replace(
            corpus, words=read_only(words), doc_ptr=ptr,
            ids=None, labels=None, groups=None, responses=None, times=None, unknown=None, texts=None,
        )  # fmt: skip
        known[n_paths] = found
    return found


def repeated_prior(prior: Prior, n_paths: int) -> Prior:
    """The prior of the repeated corpus: every copy of a document has its row of α; that of φ stays as it is."""
    return prior if n_paths == 1 else prior._replace(alpha_row=np.tile(prior.alpha_row, n_paths))


def first_path(corpus: Corpus, z: AnyArray, prior: Prior) -> tuple[State, Prior]:
    """State and prior of the first path by itself."""
    state = rebuild_counts(corpus, z[: corpus.n_tokens], prior.n_topics)
    return state, prior._replace(alpha_row=prior.alpha_row[: corpus.n_docs])


def join_documents(counts: FloatArray, n_paths: int, how: DocTopicPaths) -> FloatArray:
    """Topic counts [D, K] from those of every path's documents: their mean, or the first path's."""
    if n_paths == 1:
        return counts
    by_path = counts.reshape(n_paths, -1, counts.shape[1])
    return by_path[0] if how == "first" else np.asarray(by_path.mean(axis=0))


def agreement(z: AnyArray, n_paths: int) -> float:
    """Share of tokens to which all paths give the same topic."""
    paths = z.reshape(n_paths, -1)
    n = paths.shape[1]
    agreed = 0
    for start in range(0, n, _CHUNK):
        part = paths[:, start : start + _CHUNK]
        agreed += int(np.count_nonzero((part[1:] == part[0]).all(axis=0)))
    return agreed / max(n, 1)
