"""Weights of all topics and their sums in lanes, several topics at a time in the processor's vector registers.

Topics 0 to 15 start a lane each, topic k goes to lane k mod 16; those that do not fill a last round of lanes, up to 15,
are added up apart, as one more lane. The sums of the lanes cost nothing beyond the sum of all weights, and a draw looks
at them and then at the topics of one lane.

The additions are written out in vectors, in place of a loop that LLVM may turn into some: their order is the same on
every machine.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from topicloom._types import FloatArray, Int32Array
from topicloom.numerics.jit import step

LANES = 16
_FLOAT, _INT, _INDEX = ir.DoubleType(), ir.IntType(32), ir.IntType(64)
_BYTES = {_FLOAT: 8, _INT: 4}


def weigh(row: Int32Array, beta: float, coef: FloatArray, weight: FloatArray, lanes: FloatArray) -> float:
    """Fill ``weight`` with (row + β) · coef and ``lanes`` [LANES + 1] with the lanes' sums; returns the sum of all."""
    weight[:] = (row + beta) * coef
    main = len(weight) // LANES * LANES
    lanes[:LANES] = weight[:main].reshape(-1, LANES).sum(axis=0)
    lanes[LANES] = weight[main:].sum()
    return float(lanes.sum())


def weigh_boosted(
    row: Int32Array, beta: float, boost: FloatArray, coef: FloatArray, weight: FloatArray, lanes: FloatArray
) -> float:
    """As ``weigh`` for a seed word, whose prior differs from topic to topic."""
    return weigh(row, beta + boost, coef, weight, lanes)  # type: ignore[arg-type]


@step
def put(weight: FloatArray, lanes: FloatArray, k: int, new: float) -> None:
    """Another weight for topic k, and its lane's sum with it."""
    n_topics = weight.shape[0]
    lanes[k % LANES if k < n_topics - n_topics % LANES else LANES] += new - weight[k]
    weight[k] = new


@step
def search_lanes(weight: FloatArray, lanes: FloatArray, u: float) -> int:
    """The topic in whose stretch of the running sum of the weights u falls, the sum taken lane by lane."""
    n_topics = weight.shape[0]
    main = n_topics - n_topics % LANES
    last = LANES if main < n_topics else LANES - 1
    lane = 0
    while lane < last and u >= lanes[lane]:
        u -= lanes[lane]
        lane += 1
    k, pace, stop = (lane, LANES, main) if lane < LANES else (main, 1, n_topics)
    while k + pace < stop and u >= weight[k]:
        u -= weight[k]
        k += pace
    return k


class _Code:
    """Writes the code of ``weigh``: rounds of m topics, as long as m are left."""

    def __init__(self, builder: Any, row: Any, beta: Any, boost: Any, coef: Any, weight: Any) -> None:
        self.builder, self.beta, self.boost = builder, beta, boost
        self.row, self.coef, self.weight = row, coef, weight

    def place(self, array: Any, element: Any, m: int, k: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(array.data, [k]), ir.VectorType(element, m).as_pointer())

    def load(self, array: Any, element: Any, m: int, k: Any) -> Any:
        return self.builder.load(self.place(array, element, m, k), align=_BYTES[element])

    def store(self, values: Any, array: Any, k: Any) -> None:
        self.builder.store(values, self.place(array, _FLOAT, values.type.count, k), align=_BYTES[_FLOAT])

    def take(self, values: Any, indices: list[int]) -> Any:
        return self.builder.shuffle_vector(values, values, ir.Constant(ir.VectorType(_INT, len(indices)), indices))

    def rounds(self, m: int, k: Any) -> tuple[Any, Any]:
        """Weigh from topic k on, m at a time; returns the first topic that is left, and the sums of the m lanes."""
        b, vector = self.builder, ir.VectorType(_FLOAT, m)
        n = b.extract_value(self.coef.shape, 0)
        lone = b.insert_element(ir.Constant(vector, ir.Undefined), self.beta, ir.Constant(_INT, 0))
        beta, before = self.take(lone, [0] * m), b.basic_block
        head, body, after = b.append_basic_block(), b.append_basic_block(), b.append_basic_block()
        b.branch(head)
        b.position_at_end(head)
        at, sums = b.phi(_INDEX), b.phi(vector)
        following = b.add(at, ir.Constant(_INDEX, m))
        b.cbranch(b.icmp_signed("<=", following, n), body, after)
        b.position_at_end(body)
        prior = b.fadd(beta, self.load(self.boost, _FLOAT, m, at)) if self.boost else beta
        counts = b.sitofp(self.load(self.row, _INT, m, at), vector)
        weights = b.fmul(b.fadd(counts, prior), self.load(self.coef, _FLOAT, m, at))
        self.store(weights, self.weight, at)
        grown = b.fadd(sums, weights)
        b.branch(head)
        for phi, start, then in ((at, k, following), (sums, ir.Constant(vector, [0.0] * m), grown)):
            phi.add_incoming(start, before)
            phi.add_incoming(then, body)
        b.position_at_end(after)
        return at, sums

    def total(self, values: Any) -> Any:
        half = values.type.count // 2
        if half == 0:
            return self.builder.extract_element(values, ir.Constant(_INT, 0))
        low, high = self.take(values, [*range(half)]), self.take(values, [*range(half, 2 * half)])
        return self.total(self.builder.fadd(low, high))


def _weigh_in_vectors(builder: Any, row: Any, beta: Any, boost: Any, coef: Any, weight: Any, lanes: Any) -> Any:
    code = _Code(builder, row, beta, boost, coef, weight)
    k, main = code.rounds(LANES, ir.Constant(_INDEX, 0))
    k, fours = code.rounds(4, k)
    k, ones = code.rounds(1, k)
    rest = builder.fadd(code.total(fours), code.total(ones))
    code.store(main, lanes, ir.Constant(_INDEX, 0))
    builder.store(rest, builder.gep(lanes.data, [ir.Constant(_INDEX, LANES)]))
    return builder.fadd(code.total(main), rest)


@intrinsic
def _weigh(
    typing_context: Any, row: Any, beta: Any, coef: Any, weight: Any, lanes: Any
) -> tuple[Any, Callable[..., Any]]:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, _, *rest = _arrays(context, builder, signature, arguments)
        return _weigh_in_vectors(builder, row, arguments[1], None, *rest)

    return _signature(row, beta, coef, weight, lanes), build


@intrinsic
def _weigh_boosted(
    typing_context: Any, row: Any, beta: Any, boost: Any, coef: Any, weight: Any, lanes: Any
) -> tuple[Any, Callable[..., Any]]:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, _, *rest = _arrays(context, builder, signature, arguments)
        return _weigh_in_vectors(builder, row, arguments[1], *rest)

    return _signature(row, beta, boost, coef, weight, lanes), build


def _signature(row: Any, beta: Any, *rest: Any) -> Any:
    """The code reads memory as it lies: other types, or rows with gaps, would be read as something else."""
    assert all(array.layout == "C" for array in (row, *rest)), (row, *rest)
    assert [array.dtype for array in (row, *rest)] == [types.int32, *[types.float64] * len(rest)], (row, *rest)
    return types.float64(row, types.float64, *rest)


def _arrays(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """The arguments that are arrays, in a form that tells where their data lie."""
    return [
        context.make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else None
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


@overload(weigh, inline="always")
def _(row: Any, beta: Any, coef: Any, weight: Any, lanes: Any) -> Callable[..., float]:
    def compiled(row: Any, beta: Any, coef: Any, weight: Any, lanes: Any) -> float:
        return _weigh(row, beta, coef, weight, lanes)  # type: ignore[call-arg]

    return compiled


@overload(weigh_boosted, inline="always")
def _(row: Any, beta: Any, boost: Any, coef: Any, weight: Any, lanes: Any) -> Callable[..., float]:
    def compiled(row: Any, beta: Any, boost: Any, coef: Any, weight: Any, lanes: Any) -> float:
        return _weigh_boosted(row, beta, boost, coef, weight, lanes)  # type: ignore[call-arg]

    return compiled
