"""Drawing from a fixed distribution over topics in one step: alias tables (Walker 1977, built as Vose 1991 does)."""

import numpy as np

from topicloom._types import FloatArray, Int32Array
from topicloom.numerics.jit import kernel


@kernel
def build_alias(weight: FloatArray, keep: FloatArray, other: Int32Array) -> None:
    """Fill a table for topics in proportion to ``weight`` (none negative, not all zero).

    Column k of K equal columns stands for topic k with probability ``keep[k]`` and for ``other[k]`` otherwise.
    """
    n = weight.shape[0]
    scale = n / weight.sum()
    stack = np.empty(n, np.int32)  # columns with too little from the left, those with too much from the right
    small, large = 0, n
    for k in range(n):
        keep[k] = weight[k] * scale
        other[k] = k
        if keep[k] < 1.0:
            stack[small] = k
            small += 1
        else:
            large -= 1
            stack[large] = k
    while small > 0 and large < n:
        small -= 1
        poor, rich = stack[small], stack[large]
        other[poor] = rich
        keep[rich] -= 1.0 - keep[poor]
        if keep[rich] < 1.0:
            large += 1
            stack[small] = rich
            small += 1
    for j in range(small):  # what is left of either kind is full but for rounding
        keep[stack[j]] = 1.0
    for j in range(large, n):
        keep[stack[j]] = 1.0


@kernel
def build_aliases(weight: FloatArray, keep: FloatArray, other: Int32Array) -> None:
    """A table for each row."""
    for r in range(weight.shape[0]):
        build_alias(weight[r], keep[r], other[r])


@kernel
def draw_alias(keep: FloatArray, other: Int32Array, u: float) -> int:
    """The topic at u, uniform in [0, 1): its whole part after scaling chooses the column, the rest which of the two."""
    x = u * keep.shape[0]
    k = min(int(x), keep.shape[0] - 1)
    return k if x - k < keep[k] else int(other[k])
