"""Private parts of Numba and LLVM: all that we use of them is in this file, and all of it can be missing.

A new version of Numba may rename or drop any of these. Each part is tried before it is used, and without it the public
way is taken, which computes the same bits:

=================  ==============================  ==================================================  ==============
part               what it is for                  tried                                               without it
=================  ==============================  ==================================================  ==============
`options`          no counting of references,      on import: is each compile option known?            slower
                   inlining by LLVM
`use_cache`        our own files of compiled code  on import: does Numba ask for what we offer?        no files
`Packing`          what those files hold           on import: are its names there?                     no files
`prefetch_hint`    asking for memory early         when first compiled: does a small kernel compile?   not asked for
`vector_weights`   sums written out in vectors     when first compiled: does a small kernel compile?   a plain loop
=================  ==============================  ==================================================  ==============

Nothing is compiled on import. A process that finds its kernels on disk compiles nothing at all.
"""

import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.extending import intrinsic

from topicloom._types import AnyArray, FloatArray, Int32Array

# Without any of these names, whatever uses it fails when it is tried.
try:
    from numba.core import caching, serialize
except ImportError:
    caching = serialize = None  # type: ignore[assignment]
try:
    from llvmlite import ir
    from numba.core import cgutils

    _FLOAT, _INT, _INDEX = ir.DoubleType(), ir.IntType(32), ir.IntType(64)
    _BYTES = {_FLOAT: 8, _INT: 4}
except (ImportError, AttributeError):
    ir = cgutils = None  # type: ignore[assignment]

# -- compile options -------------------------------------------------------------------------------------------------

_COUNTS_REFERENCES, _INLINED = "_nrt", "forceinline"


def _knows(option: str) -> bool:
    try:
        from numba.core.compiler import Flags
        from numba.core.registry import cpu_target

        cpu_target.options.parse_as_flags(Flags(), {option: False})
    except Exception:
        return False
    return True


_KNOWN = {option for option in (_COUNTS_REFERENCES, _INLINED) if _knows(option)}


def options(*, counts_references: bool, inlined: bool = False) -> dict[str, Any]:
    """Compile options that are not documented, those of them that Numba knows.

    References to arrays are counted or not, and LLVM must write the function into its callers or may do so.
    """
    wanted = {_COUNTS_REFERENCES: counts_references} | ({_INLINED: True} if inlined else {})
    return {option: value for option, value in wanted.items() if option in _KNOWN}


# -- versions --------------------------------------------------------------------------------------------------------


def llvm_version() -> str:
    """Of the package that makes machine code for Numba."""
    try:
        import llvmlite
    except ImportError:
        return "none"
    return str(llvmlite.__version__)


# -- compiled code on disk -------------------------------------------------------------------------------------------


def _asked_of_a_cache() -> list[str] | None:
    """What Numba asks of a kernel's cache; None if that is not the Numba we know."""
    try:
        parts = [caching.FunctionCache._index_key, serialize.dumps]
        kept = caching.FunctionCache._impl_class
        parts += [kept.check_cachable, kept.reduce, kept.rebuild, kept.filename_base, kept.locator]
        return [name for name in dir(caching.NullCache) if not name.startswith("_")]
    except AttributeError:
        return None


_ASKED = _asked_of_a_cache()


def use_cache(dispatcher: Any, kernel_cache: object) -> bool:
    """Make a compiled function use a cache of ours; False if this Numba would not know how to."""
    if _ASKED is None or not hasattr(dispatcher, "_cache"):
        return False
    if not all(hasattr(kernel_cache, name) for name in _ASKED):
        return False
    dispatcher._cache = kernel_cache
    return True


class Packing:
    """How Numba makes bytes of a function's compiled code and code of bytes, and where it would keep them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._numba = caching.FunctionCache(function)
        self._impl: Any = self._numba._impl
        self.path = Path(self._numba.cache_path) / self._impl.filename_base
        self.source_stamp = self._impl.locator.get_source_stamp()

    def key_wanted(self, sig: Any, context: Any) -> Any:
        """The key of the code for some types of arguments on this machine."""
        context.refresh()
        return self._numba._index_key(sig, context.codegen())

    def key_compiled(self, sig: Any, result: Any) -> Any:
        """The same key, from the compiled code."""
        return self._numba._index_key(sig, result.codegen)

    def can_pack(self, result: Any) -> bool:
        return bool(self._impl.check_cachable(result))

    def pack(self, result: Any) -> bytes:
        return self.to_bytes(self._impl.reduce(result))

    def unpack(self, packed: bytes, context: Any) -> Any:
        return self._impl.rebuild(context, pickle.loads(packed))

    @staticmethod
    def to_bytes(value: Any) -> bytes:
        """Of anything that types of arguments are part of; read by ``pickle.loads``."""
        return bytes(serialize.dumps(value))


# -- code written for LLVM -------------------------------------------------------------------------------------------


def _compiles(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether a function can be compiled for these types of arguments, down to machine code."""
    try:
        numba.njit(arguments, **options(counts_references=False))(function)
    except Exception:
        return False
    return True


def _array(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """An array in a form that tells where its data lie, and its shape."""
    return context.make_array(kind)(context, builder, value)


# -- asking for memory

_READ, _KEEP, _DATA = 0, 3, 1  # llvm.prefetch: for reading, into all caches, data


@intrinsic
def _prefetch(typing_context: Any, array: Any, index: Any) -> tuple[Any, Callable[..., Any]]:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _array(context, builder, signature.args[0], arguments[0]).data
        place = builder.gep(data, [context.cast(builder, arguments[1], signature.args[1], types.intp)])
        byte = ir.IntType(8).as_pointer()
        hint = ir.FunctionType(ir.VoidType(), [byte, *[_INT] * 3])
        function = cgutils.get_or_insert_function(builder.module, hint, "llvm.prefetch.p0i8")
        flags = [ir.Constant(_INT, flag) for flag in (_READ, _KEEP, _DATA)]
        builder.call(function, [builder.bitcast(place, byte), *flags])
        return context.get_dummy_value()

    return types.void(array, index), build


def _hint(array: AnyArray, index: int) -> None:
    _prefetch(array, index)  # type: ignore[call-arg]


@cache
def prefetch_hint() -> Callable[..., None] | None:
    """What ``prefetch.prefetch`` is compiled as; None if it cannot be."""
    return _hint if _compiles(_hint, types.int32[::1], types.int64) else None


# -- weights in vectors


class _Weights:
    """Writes the code of ``simd.weigh``: rounds of m topics, as long as m are left."""

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


def _weigh_in_vectors(
    n_lanes: int, builder: Any, row: Any, beta: Any, boost: Any, coef: Any, weight: Any, lane_sums: Any
) -> Any:
    code = _Weights(builder, row, beta, boost, coef, weight)
    k, main = code.rounds(n_lanes, ir.Constant(_INDEX, 0))
    k, fours = code.rounds(4, k)
    k, ones = code.rounds(1, k)
    rest = builder.fadd(code.total(fours), code.total(ones))
    code.store(main, lane_sums, ir.Constant(_INDEX, 0))
    builder.store(rest, builder.gep(lane_sums.data, [ir.Constant(_INDEX, n_lanes)]))
    return builder.fadd(code.total(main), rest)


def _signature(row: Any, beta: Any, *rest: Any) -> Any:
    """The code reads memory as it lies: other types, or rows with gaps, would be read as something else."""
    assert all(array.layout == "C" for array in (row, *rest)), (row, *rest)
    assert [array.dtype for array in (row, *rest)] == [types.int32, *[types.float64] * len(rest)], (row, *rest)
    return types.float64(row, types.float64, *rest)


def _arrays(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """The arguments that are arrays."""
    return [
        _array(context, builder, kind, value) if isinstance(kind, types.Array) else None
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


@cache
def vector_weights(n_lanes: int) -> tuple[Callable[..., float], Callable[..., float]] | None:
    """What ``simd.weigh`` and ``simd.weigh_boosted`` are compiled as; None if they cannot be."""

    @intrinsic
    def plain(
        typing_context: Any, row: Any, beta: Any, coef: Any, weight: Any, lane_sums: Any
    ) -> tuple[Any, Callable[..., Any]]:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row, _, *rest = _arrays(context, builder, signature, arguments)
            return _weigh_in_vectors(n_lanes, builder, row, arguments[1], None, *rest)

        return _signature(row, beta, coef, weight, lane_sums), build

    @intrinsic
    def boosted(
        typing_context: Any, row: Any, beta: Any, boost: Any, coef: Any, weight: Any, lane_sums: Any
    ) -> tuple[Any, Callable[..., Any]]:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row, _, *rest = _arrays(context, builder, signature, arguments)
            return _weigh_in_vectors(n_lanes, builder, row, arguments[1], *rest)

        return _signature(row, beta, boost, coef, weight, lane_sums), build

    def weigh(row: Int32Array, beta: float, coef: FloatArray, weight: FloatArray, lane_sums: FloatArray) -> float:
        return plain(row, beta, coef, weight, lane_sums)  # type: ignore[call-arg]

    def weigh_boosted(
        row: Int32Array, beta: float, boost: FloatArray, coef: FloatArray, weight: FloatArray, lane_sums: FloatArray
    ) -> float:
        return boosted(row, beta, boost, coef, weight, lane_sums)  # type: ignore[call-arg]

    numbers = types.float64[::1]
    tried = _compiles(weigh_boosted, types.int32[::1], types.float64, *[numbers] * 4)  # the other is a part of it
    return (weigh, weigh_boosted) if tried else None
