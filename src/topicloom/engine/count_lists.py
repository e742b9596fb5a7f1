"""A word's topics and their counts side by side in one list, the larger counts first, so that searches end early."""

from typing import TYPE_CHECKING

import numpy as np

from topicloom._types import Int32Array, Int64Array
from topicloom.numerics.jit import bare_kernel
from topicloom.numerics.prefetch import prefetch

if TYPE_CHECKING:
    from topicloom.engine.state import SparseState

SHIFT = 32  # an entry of a list is count · 2³² + topic: one load gives both, and larger counts compare larger
ONE = 1 << SHIFT
TOPIC = ONE - 1
_AHEAD = 6  # words from now whose lists are asked for
_LINE = 8  # entries in a cache line


@bare_kernel
def find(entries: Int64Array, start: int, size: int, k: int) -> int:
    """Where topic k stands in a word's list, or the list's end."""
    j = start
    while j < start + size and entries[j] & TOPIC != k:
        j += 1
    return j


@bare_kernel
def move(entries: Int64Array, start: int, size: int, own: int, at: int, new: int) -> int:
    """Move one token of a list from entry ``own`` to entry ``at``, of topic ``new``; returns the list's length."""
    e = entries[own] - ONE
    if e < ONE:  # its topic leaves the list: the last entry takes its place
        size -= 1
        entries[own] = entries[start + size]
        if at == start + size:
            at = own
        elif at > start + size:
            at = start + size
    else:
        entries[own] = e
    if at == start + size:
        entries[at] = ONE + new
        return size + 1
    e = entries[at] + ONE
    if at > start and entries[at - 1] < e:  # nearly in order is enough until the sweep ends
        entries[at] = entries[at - 1]
        at -= 1
    entries[at] = e
    return size


@bare_kernel
def sort_lists(word_start: int, word_stop: int, state: "SparseState") -> None:
    """Put lists in falling order, which depends on the counts alone and not on how they came about."""
    list_ptr, entries = state.list_ptr, state.entries
    for v in range(word_start, word_stop):
        start = list_ptr[v]
        later = list_ptr[min(v + _AHEAD, word_stop - 1)]
        prefetch(entries, later)
        prefetch(entries, later + _LINE)
        for j in range(start + 1, start + state.list_size[v]):
            e = entries[j]
            i = j
            while i > start and entries[i - 1] < e:
                entries[i] = entries[i - 1]
                i -= 1
            entries[i] = e


@bare_kernel
def rebuild_lists(words: Int32Array, state: "SparseState") -> None:
    """Fill the lists and totals that the assignments imply, lists in any order."""
    z, list_ptr, list_size, entries = state.z, state.list_ptr, state.list_size, state.entries
    list_size[:] = 0
    state.topic[:] = 0
    for i in range(words.shape[0]):
        v = words[i]
        at = find(entries, list_ptr[v], list_size[v], np.int64(z[i]))
        if at == list_ptr[v] + list_size[v]:
            entries[at] = z[i]
            list_size[v] += 1
        entries[at] += ONE
        state.topic[z[i]] += 1


@bare_kernel
def add_tokens(words: Int32Array, word_start: int, word_stop: int, state: "SparseState") -> None:
    """Add the tokens of a range of words to their lists, which are numbered from the first word of the range."""
    z, list_ptr, list_size, entries = state.z, state.list_ptr, state.list_size, state.entries
    for i in range(words.shape[0]):
        if word_start <= words[i] < word_stop:
            v = words[i] - word_start
            at = find(entries, list_ptr[v], list_size[v], np.int64(z[i]))
            if at == list_ptr[v] + list_size[v]:
                entries[at] = z[i]
                list_size[v] += 1
            entries[at] += ONE


@bare_kernel
def pack(state: "SparseState", out: Int64Array) -> None:
    """The entries in use side by side, list after list."""
    n = 0
    for v in range(state.list_size.shape[0]):
        for j in range(state.list_ptr[v], state.list_ptr[v] + state.list_size[v]):
            out[n] = state.entries[j]
            n += 1


@bare_kernel
def unpack(packed: Int64Array, state: "SparseState") -> None:
    """Lists of entries that ``pack`` has put side by side."""
    n = 0
    for v in range(state.list_size.shape[0]):
        for j in range(state.list_ptr[v], state.list_ptr[v] + state.list_size[v]):
            state.entries[j] = packed[n]
            n += 1


@bare_kernel
def spread(state: "SparseState", word_topic: Int32Array) -> None:
    """Fill the dense matrix of counts."""
    word_topic[:] = 0
    for v in range(state.list_size.shape[0]):
        for j in range(state.list_ptr[v], state.list_ptr[v] + state.list_size[v]):
            word_topic[v, state.entries[j] & TOPIC] = state.entries[j] >> SHIFT


@bare_kernel
def measure(words: Int32Array, word_topic: Int32Array, sizes: Int32Array) -> None:
    """How long the lists of these words would be, given a dense matrix of counts."""
    for i in range(words.shape[0]):
        n = np.int32(0)
        for k in range(word_topic.shape[1]):
            n += word_topic[words[i], k] > 0
        sizes[i] = n


@bare_kernel
def gather(word_topic: Int32Array, state: "SparseState") -> None:
    """Fill the lists from the dense matrix of counts, in the order of the topics."""
    for v in range(word_topic.shape[0]):
        j = state.list_ptr[v]
        for k in range(word_topic.shape[1]):
            if word_topic[v, k] > 0:
                state.entries[j] = (np.int64(word_topic[v, k]) << SHIFT) + k
                j += 1
        state.list_size[v] = j - state.list_ptr[v]
