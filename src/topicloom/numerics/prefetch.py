"""Ask for memory before it is needed.

A sampler knows the words to come, and where their counts are; what the processor cannot guess by itself it can be told.
A hint changes no result, so that without it (``numba_private``) nothing is done.
"""

from collections.abc import Callable

import numpy as np
from numba.extending import overload

from topicloom._types import AnyArray, Int32Array, Int64Array
from topicloom.numerics import numba_private
from topicloom.numerics.jit import private_or_public, step


def prefetch(array: AnyArray, index: int) -> None:
    """Start to load the cache line of ``array[index]`` of a contiguous array, counted from its first element."""


@step
def _first_from(begin: int, end: int, words: Int32Array, word: int) -> int:
    """The first of some tokens in the order of their words, not none, whose word is this one or a later one."""
    n = end - begin
    while n > 1:
        half = n >> 1
        begin += half if words[begin + half - 1] < word else 0
        n -= half
    return begin + int(words[begin] < word)


@step
def own_tokens(
    begin: int, end: int, words: Int32Array, word_start: int, word_stop: int, listed: Int64Array
) -> tuple[int, int]:
    """Which tokens of a document have words in a range: the first of them, and how many there are.

    ``listed`` is room for one number per token of the document, in which the tokens found are listed. The list is
    made without a branch: where a text keeps its order, whether the next word is in the range cannot be predicted.
    If ``listed`` is empty, the tokens must lie side by side: the document's words are in order, or all of them are
    in the range.
    """
    if listed.shape[0] == 0:
        first, stop = begin, end
        if begin < end and words[begin] < word_start:
            first = _first_from(begin, end, words, word_start)
        if begin < end and words[end - 1] >= word_stop:
            stop = _first_from(begin, end, words, word_stop)
        return first, stop - first
    low, width = np.uint32(word_start), np.uint32(word_stop - word_start)
    n = 0
    for i in range(begin, end):
        listed[n] = i
        n += int(np.uint32(np.uint32(words[i]) - low) < width)  # one comparison: what is below 0 is far above
    return begin, n


@step
def own_token(first: int, j: int, listed: Int64Array) -> int:
    """The j-th of the tokens that ``own_tokens`` found, by what it returned and listed."""
    return listed[j] if listed.shape[0] > 0 else first + j


@overload(prefetch)
def _(array: AnyArray, index: int) -> Callable[..., None]:
    return private_or_public(numba_private.prefetch_hint(), prefetch)
