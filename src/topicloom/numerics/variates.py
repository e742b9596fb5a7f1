"""Normal, gamma and Dirichlet variates from a stream."""

from math import exp, inf, log, sqrt

from topicloom._types import FloatArray, UInt64Array
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import uniform

_TRIES = 1000  # of which more than 95% succeed one by one, whatever the shape: none is left unless it is no number


@kernel
def normal(stream: UInt64Array) -> float:
    """A standard normal variate, by the polar method; its twin is thrown away, so that a stream has no memory."""
    while True:
        x = 2.0 * uniform(stream) - 1.0
        y = 2.0 * uniform(stream) - 1.0
        s = x * x + y * y
        if 0.0 < s < 1.0:
            return x * sqrt(-2.0 * log(s) / s)


@kernel
def gamma(stream: UInt64Array, shape: float) -> float:
    """A gamma variate with scale 1, for a shape of at least 1 (Marsaglia and Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    for _ in range(_TRIES):
        x = normal(stream)
        t = 1.0 + c * x
        if t <= 0.0:
            continue
        t = t * t * t
        u = 1.0 - uniform(stream)  # never 0
        if u < 1.0 - 0.0331 * x * x * x * x or log(u) < 0.5 * x * x + d * (1.0 - t + log(t)):
            return d * t
    return d


@kernel
def log_gamma(stream: UInt64Array, shape: float) -> float:
    """The logarithm of a gamma variate of any positive shape, which a small shape would drive below any number.

    A variate of shape a is one of shape a + 1 times U^(1/a).
    """
    if shape >= 1.0:
        return log(gamma(stream, shape))
    return log(gamma(stream, shape + 1.0)) + log(1.0 - uniform(stream)) / shape


@kernel
def dirichlet(stream: UInt64Array, parameter: FloatArray, out: FloatArray) -> None:
    """A draw into ``out``; never all zero, whatever the parameter."""
    n = parameter.shape[0]
    top = -inf
    for i in range(n):
        out[i] = log_gamma(stream, parameter[i])
        top = max(top, out[i])
    total = 0.0
    for i in range(n):
        out[i] = exp(out[i] - top)
        total += out[i]
    for i in range(n):
        out[i] /= total


@kernel
def dirichlets(stream: UInt64Array, parameter: FloatArray, out: FloatArray) -> None:
    """A draw for every row."""
    for r in range(parameter.shape[0]):
        dirichlet(stream, parameter[r], out[r])
