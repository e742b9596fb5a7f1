"""Exponentials of many numbers at a time.

The library's exp is called for one number after the other; these loops vectorise. e^x = 2^n e^r with n whole and
|r| ≤ ½ log 2, e^r by its series to r¹³ (relative error below 3·10⁻¹⁶), and 2^n by adding n to the exponent's bits.
"""

import numpy as np

from topicloom._types import FloatArray
from topicloom.numerics.jit import kernel

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
_MAGIC = 6755399441055744.0  # 1.5 · 2⁵²: adding it leaves the nearest whole number in the last bits
_LEAST = -700.0
_EXPONENT = np.int64(52)


@kernel
def largest(values: FloatArray) -> float:
    """The largest value, by four chains of comparisons at a time."""
    n = values.shape[0]
    a = b = c = d = values[0]
    k = 0
    while k + 4 <= n:
        a = values[k] if values[k] > a else a
        b = values[k + 1] if values[k + 1] > b else b
        c = values[k + 2] if values[k + 2] > c else c
        d = values[k + 3] if values[k + 3] > d else d
        k += 4
    while k < n:
        a = values[k] if values[k] > a else a
        k += 1
    a = b if b > a else a
    c = d if d > c else c
    return float(c if c > a else a)


@kernel
def exponentials(values: FloatArray, top: float, out: FloatArray, spare: FloatArray) -> None:
    """``out`` = exp(values − top), none above 1 if ``top`` is the largest; below e⁻⁷⁰⁰ it stays there."""
    n = values.shape[0]
    for k in range(n):
        x = values[k] - top
        spare[k] = (x if x > _LEAST else _LEAST) * _LOG2_E + _MAGIC
    for k in range(n):
        x = values[k] - top
        x = x if x > _LEAST else _LEAST
        whole = spare[k] - _MAGIC
        r = x - whole * _LN2_HIGH - whole * _LN2_LOW
        s = 1.0 / 6227020800.0
        s = s * r + 1.0 / 479001600.0
        s = s * r + 1.0 / 39916800.0
        s = s * r + 1.0 / 3628800.0
        s = s * r + 1.0 / 362880.0
        s = s * r + 1.0 / 40320.0
        s = s * r + 1.0 / 5040.0
        s = s * r + 1.0 / 720.0
        s = s * r + 1.0 / 120.0
        s = s * r + 1.0 / 24.0
        s = s * r + 1.0 / 6.0
        s = s * r + 0.5
        s = s * r + 1.0
        out[k] = s * r + 1.0
    bits, shift = out.view(np.int64), spare.view(np.int64)
    for k in range(n):
        bits[k] += shift[k] << _EXPONENT
