"""Where a uniform draw falls among weights or their running sums; short arrays in order.

NumPy's own functions for the last two take seconds to compile.
"""

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.numerics.jit import kernel, reducing_kernel

_WIDE, _NARROW = 128, 16


@reducing_kernel
def _sum_wide(weight: FloatArray, start: int) -> float:
    total = 0.0
    for k in range(start, start + _WIDE):
        total += weight[k]
    return total


@reducing_kernel
def _sum_narrow(weight: FloatArray, start: int) -> float:
    total = 0.0
    for k in range(start, start + _NARROW):
        total += weight[k]
    return total


@kernel
def search(weight: FloatArray, u: float) -> int:
    """The index in whose stretch of the running sum of the weights u falls, by skipping over blocks.

    Subtracting one weight after the other is a chain of dependent additions; sums of blocks vectorise.
    """
    last = weight.shape[0] - 1
    k = np.int64(0)  # not a literal, for which the sums would be compiled once more
    while k + _WIDE <= last:
        s = _sum_wide(weight, k)
        if u < s:
            break
        u -= s
        k += _WIDE
    while k + _NARROW <= last:
        s = _sum_narrow(weight, k)
        if u < s:
            break
        u -= s
        k += _NARROW
    while k < last and u >= weight[k]:
        u -= weight[k]
        k += 1
    return int(k)


@kernel
def search_sums(sums: FloatArray, u: float) -> int:
    """The index in whose stretch u falls, given running sums: the first sum above u, or the last index."""
    low, high = 0, sums.shape[0] - 1
    while low < high:
        middle = (low + high) >> 1
        if u < sums[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def first_from(values: AnyArray, start: int, stop: int, least: int) -> int:
    """The first place from ``start`` on whose value is at least ``least``, values rising, or ``stop``."""
    while start < stop:
        middle = (start + stop) >> 1
        if values[middle] < least:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def put_in_order(values: AnyArray, n: int) -> None:
    """Sort the first n values, which may well be nearly in order (Shell's method)."""
    gap = n // 2
    while gap > 0:
        for j in range(gap, n):
            value = values[j]
            i = j
            while i >= gap and values[i - gap] > value:
                values[i] = values[i - gap]
                i -= gap
            values[i] = value
        gap = 1 if gap == 2 else 5 * gap // 11
