"""What is latent: the topic of each token, and the counts that follow from it in the form that a kernel likes best.

Only z is ever saved; every other array is rebuilt from it.
"""

from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine import count_lists as lists
from topicloom.engine import counts
from topicloom.files.arrays import array_in_file, file_of


class State(NamedTuple):
    """Counts as a dense matrix: 4 bytes a word-topic cell."""

    z: AnyArray  # [N] uint16, or int32 beyond 65,536 topics
    word_topic: Int32Array  # [V, K]
    topic: Int64Array  # [K]


class SparseState(NamedTuple):
    """Counts as a list of (topic, count) for each word: 8 bytes an entry, room for min(tokens, K) entries a word."""

    z: AnyArray
    list_ptr: Int64Array  # [V + 1] where each word's list starts
    list_size: Int32Array  # [V] entries in use
    entries: Int64Array  # count · 2³² + topic
    topic: Int64Array


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
    counts.rebuild(corpus.words, *state)
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
    lists.rebuild_lists(corpus.words, *state)
    lists.sort_lists(0, corpus.n_words, *state[1:4])
    return state


def as_dense(state: AnyState) -> State:
    """The same counts as a dense matrix."""
    if isinstance(state, State):
        return state
    if not isinstance(state, SparseState):  # of a model with more than counts
        return State(state.z, state.word_topic, state.topic)
    word_topic = np.empty((len(state.list_size), len(state.topic)), np.int32)
    lists.spread(state.list_ptr, state.list_size, state.entries, word_topic)
    return State(state.z, word_topic, state.topic)


def as_lists(corpus: Corpus, state: State | SparseState) -> SparseState:
    """The same counts as lists."""
    if isinstance(state, SparseState):
        return state
    of_words = new_lists(corpus, state.z, len(state.topic))._replace(topic=state.topic)
    lists.gather(state.word_topic, *of_words[1:4])
    lists.sort_lists(0, corpus.n_words, *of_words[1:4])
    return of_words


def list_sizes(state: State | SparseState, words: Int32Array) -> Int32Array:
    """In how many topics each of these words occurs."""
    if isinstance(state, SparseState):
        return state.list_size[words]
    sizes = np.empty(len(words), np.int32)
    lists.measure(words, state.word_topic, sizes)
    return sizes


def count_histogram(state: AnyState) -> Int64Array:
    """How often each value n_kv > 0 occurs, indexed by the value."""
    if not isinstance(state, SparseState):
        state = as_dense(state)
        largest = int(state.word_topic.max(initial=0))
        out = np.zeros(largest + 1, np.int64)
        counts.count_histogram(state.word_topic, out)
    else:
        first = state.entries[state.list_ptr[:-1][state.list_size > 0]] >> 32  # the lists are sorted when a sweep ends
        out = np.zeros(int(first.max(initial=0)) + 1, np.int64)
        counts.list_histogram(state.list_ptr, state.list_size, state.entries, out)
    return out
