"""What is latent: the topic of each token, and the counts that follow from it in the form that a sampler takes.

Only z is ever saved; every other array is rebuilt from it.
"""

from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine import count_lists as lists
from topicloom.engine import counts
from topicloom.engine.prior import Prior
from topicloom.files.arrays import array_in_file, file_of


class State(NamedTuple):
    """Counts as a dense matrix: 4 bytes per word-topic cell."""

    z: AnyArray  # [N] uint16, or int32 beyond 65,536 topics
    word_topic: Int32Array  # [V, K]
    topic: Int64Array  # [K]

    def as_dense(self) -> "State":
        """The same counts as a dense matrix."""
        return self

    def as_lists(self, corpus: Corpus) -> "SparseState":
        """The same counts as lists."""
        of_words = new_lists(corpus, self.z, len(self.topic))._replace(topic=self.topic)
        lists.gather(self.word_topic, of_words)
        lists.sort_lists(0, corpus.n_words, of_words)
        return of_words

    def list_sizes(self, words: Int32Array) -> Int32Array:
        """In how many topics each of these words occurs."""
        sizes = np.empty(len(words), np.int32)
        lists.measure(words, self.word_topic, sizes)
        return sizes

    def count_histogram(self) -> Int64Array:
        """How often each value n_kv > 0 occurs, indexed by the value."""
        out = np.zeros(int(self.word_topic.max(initial=0)) + 1, np.int64)
        counts.count_histogram(self.word_topic, out)
        return out

    def add_topics(self, words: tuple[int, int], out: Int64Array) -> None:
        """Add the tokens that a range of words has in each topic."""
        counts.add_rows(words[0], words[1], self.word_topic, out)

    def log_joint_words(self, words: tuple[int, int], prior: Prior, total: float = 0.0) -> float:
        """log p(w | z, β) of a range of words, but for the part of the topics' totals, added to ``total``."""
        return counts.log_joint_words(words[0], words[1], self.word_topic, prior, total)


class SparseState(NamedTuple):
    """Counts as a list of (topic, count) for each word: 8 bytes per entry, room for min(tokens, K) entries per word."""

    z: AnyArray
    list_ptr: Int64Array  # [V + 1] where each word's list starts
    list_size: Int32Array  # [V] entries in use
    entries: Int64Array  # count · 2³² + topic
    topic: Int64Array

    def as_dense(self) -> State:
        """The same counts as a dense matrix."""
        word_topic = np.empty((len(self.list_size), len(self.topic)), np.int32)
        lists.spread(self, word_topic)
        return State(self.z, word_topic, self.topic)

    def as_lists(self, corpus: Corpus) -> "SparseState":
        """The same counts as lists."""
        return self

    def list_sizes(self, words: Int32Array) -> Int32Array:
        """In how many topics each of these words occurs."""
        return self.list_size[words]

    def count_histogram(self) -> Int64Array:
        """How often each value n_kv > 0 occurs, indexed by the value."""
        first = self.entries[self.list_ptr[:-1][self.list_size > 0]] >> 32  # the lists are sorted when a sweep ends
        out = np.zeros(int(first.max(initial=0)) + 1, np.int64)
        counts.list_histogram(self, out)
        return out

    def add_topics(self, words: tuple[int, int], out: Int64Array) -> None:
        """Add the tokens that a range of words has in each topic."""
        counts.add_lists(words[0], words[1], self, out)

    def log_joint_words(self, words: tuple[int, int], prior: Prior, total: float = 0.0) -> float:
        """log p(w | z, β) of a range of words, but for the part of the topics' totals, added to ``total``."""
        return counts.log_joint_lists(words[0], words[1], self, prior, total)


AnyState = Any
"""The state of any sampler: a NamedTuple of arrays."""


def topic_dtype(n_topics: int) -> type[np.uint16] | type[np.int32]:
    """Smallest type of z in use for this many topics."""
    return np.uint16 if n_topics <= 1 << 16 else np.int32


def new_assignments(corpus: Corpus, n_topics: int) -> AnyArray:
    """Room for z: in memory, or in a nameless file beside that of a memory-mapped corpus."""
    file, dtype = file_of(corpus.words), topic_dtype(n_topics)
    return np.empty(corpus.n_tokens, dtype) if file is None else array_in_file(file.parent, corpus.n_tokens, dtype)


def rebuild_counts(corpus: Corpus, z: AnyArray, n_topics: int) -> State:
    """The state that assignments imply, as a dense matrix."""
    z = np.ascontiguousarray(z, topic_dtype(n_topics))
    state = State(z, np.empty((corpus.n_words, n_topics), np.int32), np.empty(n_topics, np.int64))
    counts.rebuild(corpus.words, state.z, state.word_topic, state.topic)
    return state


def new_lists(corpus: Corpus, z: AnyArray, n_topics: int) -> SparseState:
    """Room for the lists of a state."""
    room = np.minimum(corpus.word_counts, n_topics)
    list_ptr = np.concatenate(([0], np.cumsum(room, dtype=np.int64)))
    sizes, entries = np.empty(corpus.n_words, np.int32), np.empty(list_ptr[-1], np.int64)
    return SparseState(z, list_ptr, sizes, entries, np.empty(n_topics, np.int64))


def rebuild_lists(corpus: Corpus, z: AnyArray, n_topics: int) -> SparseState:
    """The state that assignments imply, as lists."""
    state = new_lists(corpus, np.ascontiguousarray(z, topic_dtype(n_topics)), n_topics)
    lists.rebuild_lists(corpus.words, state)
    lists.sort_lists(0, corpus.n_words, state)
    return state


def topics_of_documents(corpus: Corpus, z: Any, docs: Int64Array) -> tuple[AnyArray, Int64Array]:
    """Topics of some documents' tokens, side by side, and where each document's begin.

    Topics that lie in other processes are fetched at once.
    """
    starts, lengths = corpus.doc_ptr[docs], corpus.doc_lengths[docs]
    ptr = np.concatenate(([0], np.cumsum(lengths)))
    if isinstance(z, np.ndarray):
        return np.concatenate([z[:0], *(z[a : a + n] for a, n in zip(starts, lengths, strict=True))]), ptr
    return z[np.repeat(starts - ptr[:-1], lengths) + np.arange(ptr[-1])], ptr
