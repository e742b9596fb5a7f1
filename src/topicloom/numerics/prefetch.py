"""Ask for memory before it is needed.

A sampler knows the words to come, and where their counts are; what the processor cannot guess by itself it can be told.
A hint changes no result.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from topicloom._types import AnyArray, Int32Array, Int64Array
from topicloom.numerics.jit import step

_READ, _KEEP, _DATA = 0, 3, 1  # llvm.prefetch: for reading, into all caches, data


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
    begin: int, end: int, words: Int32Array, word_start: int, word_stop: int, mine: Int64Array
) -> tuple[int, int]:
    """Which tokens of a document have words in a range: the first of them, and how many there are.

    Without room, ``mine``, they must lie side by side: the document's words are in order, or all are in the range. Else
    they are listed there, without a branch: where a text keeps its order, whether the next word is in the range is
    anyone's guess.
    """
    if mine.shape[0] == 0:
        first, stop = begin, end
        if begin < end and words[begin] < word_start:
            first = _first_from(begin, end, words, word_start)
        if begin < end and words[end - 1] >= word_stop:
            stop = _first_from(begin, end, words, word_stop)
        return first, stop - first
    low, width = np.uint32(word_start), np.uint32(word_stop - word_start)
    n = 0
    for i in range(begin, end):
        mine[n] = i
        n += int(np.uint32(np.uint32(words[i]) - low) < width)  # one comparison: what is below 0 is far above
    return begin, n


@step
def own_token(first: int, j: int, mine: Int64Array) -> int:
    """The j-th of them."""
    return mine[j] if mine.shape[0] > 0 else first + j


@intrinsic
def _prefetch(typing_context: Any, array: Any, index: Any) -> tuple[Any, Callable[..., Any]]:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.gep(data, [context.cast(builder, arguments[1], signature.args[1], types.intp)])
        byte = ir.IntType(8).as_pointer()
        hint = ir.FunctionType(ir.VoidType(), [byte, *[ir.IntType(32)] * 3])
        function = cgutils.get_or_insert_function(builder.module, hint, "llvm.prefetch.p0i8")  # type: ignore[no-untyped-call]
        flags = [ir.Constant(ir.IntType(32), flag) for flag in (_READ, _KEEP, _DATA)]
        builder.call(function, [builder.bitcast(place, byte), *flags])
        return context.get_dummy_value()

    return types.void(array, index), build


@overload(prefetch)
def _(array: Any, index: Any) -> Callable[..., None]:
    def compiled(array: Any, index: Any) -> None:
        _prefetch(array, index)  # type: ignore[call-arg]

    return compiled
