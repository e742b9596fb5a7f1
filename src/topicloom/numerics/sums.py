"""Sums and the like over topics that vectorise.

They read and never write. A loop that also stores is compiled twice, with and without vector instructions, and takes
the one or the other by where its arrays lie in memory; elementwise work is the same in both, a reordered sum is not.
"""

from topicloom._types import AnyArray, FloatArray
from topicloom.numerics.jit import reducing_kernel


@reducing_kernel
def sum_of(values: FloatArray) -> float:
    s = 0.0
    for k in range(values.shape[0]):
        s += values[k]
    return s


@reducing_kernel
def sum_first(values: FloatArray, n: int) -> float:
    """As ``sum_of(values[:n])``, for loops in which making the slice would count."""
    s = 0.0
    for k in range(n):
        s += values[k]
    return s


@reducing_kernel
def sum_sizes(values: FloatArray) -> float:
    s = 0.0
    for k in range(values.shape[0]):
        s += abs(values[k])
    return s


@reducing_kernel
def largest(values: FloatArray) -> float:
    most = values[0]
    for k in range(1, values.shape[0]):
        most = max(most, values[k])
    return float(most)


@reducing_kernel
def dot(left: FloatArray, right: FloatArray) -> float:
    s = 0.0
    for k in range(left.shape[0]):
        s += left[k] * right[k]
    return s


@reducing_kernel
def distance(left: AnyArray, right: AnyArray) -> float:
    """Σ |left − right|."""
    s = 0.0
    for k in range(left.shape[0]):
        s += abs(left[k] - right[k])
    return s
