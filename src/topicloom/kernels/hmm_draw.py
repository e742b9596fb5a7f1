"""Normal, gamma and Dirichlet draws from a stream."""

import numpy as np

from topicloom._types import FloatArray, UInt64Array
from topicloom.kernels._jit import kernel
from topicloom.kernels.rng import uniform


@kernel
def normal(s: UInt64Array) -> float:
    """Standard normal, by Marsaglia's polar method (of its pair of draws one is used)."""
    while True:
        x = 2.0 * uniform(s) - 1.0
        y = 2.0 * uniform(s) - 1.0
        r = x * x + y * y
        if 0.0 < r < 1.0:
            return float(x * np.sqrt(-2.0 * np.log(r) / r))


@kernel
def log_gamma_draw(s: UInt64Array, shape: float) -> float:
    """log of a draw from Gamma(shape, 1), shape > 0: Marsaglia and Tsang (2000).

    Below 1, Gamma(a) = Gamma(a + 1) U^(1/a). The logarithm stays finite where the draw itself would be 0.
    """
    boosted = shape if shape >= 1.0 else shape + 1.0
    d = boosted - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x = normal(s)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - uniform(s)
        if np.log(u) < 0.5 * x * x + d - d * v + d * np.log(v):
            break
    value = np.log(d * v)
    if shape < 1.0:
        value += np.log(1.0 - uniform(s)) / shape
    return float(value)


@kernel
def dirichlet(s: UInt64Array, parameter: FloatArray, out: FloatArray) -> None:
    """A draw into ``out``; never all zero, whatever the parameter."""
    n = parameter.shape[0]
    top = -np.inf
    for i in range(n):
        out[i] = log_gamma_draw(s, parameter[i])
        top = max(top, out[i])
    total = 0.0
    for i in range(n):
        out[i] = np.exp(out[i] - top)
        total += out[i]
    for i in range(n):
        out[i] /= total


@kernel
def dirichlets(s: UInt64Array, parameter: FloatArray, out: FloatArray) -> None:
    """A draw for every row."""
    for r in range(parameter.shape[0]):
        dirichlet(s, parameter[r], out[r])
