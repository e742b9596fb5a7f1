"""A product of matrices of which each row is the same whatever other rows there are.

Libraries of linear algebra order their sums by the shape of the whole, so that a document's value would depend, by a
rounding, on how many others it comes with.
"""

import numpy as np

from topicloom._types import FloatArray
from topicloom.numerics.jit import kernel


@kernel
def _multiply_rows(rows: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """out = rows · matrix."""
    out[:] = 0.0
    for d in range(rows.shape[0]):
        for k in range(matrix.shape[0]):
            x = rows[d, k]
            for c in range(matrix.shape[1]):
                out[d, c] += x * matrix[k, c]


def product(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    out = np.empty((rows.shape[0], matrix.shape[1]))
    _multiply_rows(np.ascontiguousarray(rows), np.ascontiguousarray(matrix), out)
    return out
