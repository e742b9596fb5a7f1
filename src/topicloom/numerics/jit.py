"""The one way kernels are compiled.

Kernels take whole states, priors and scratch as named tuples of arrays and numbers, and read their fields by name. What
Numba makes of a function promises the result's type alone: type checkers do not follow its arguments.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

from topicloom._types import AnyArray
from topicloom.numerics import cache as _cache
from topicloom.numerics import numba_private

A = TypeVar("A", bound=AnyArray)
R = TypeVar("R")


def _digest(package: Path) -> str:
    """Of all sources that compiled code depends on.

    These are the files of this folder, those that import this module, and those that define named tuples: compiled code
    finds a field by its number.
    """
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if path.parent.name == "numerics" or b"topicloom.numerics.jit" in source or b"NamedTuple" in source:
            digest.update(source)
    return digest.hexdigest()


# Of all kernels' sources. Kernels inline functions and constants of other files, which Numba does not look at when it
# takes compiled code from disk: without this, a new version of the package could run parts of the old one.
SOURCES = _digest(Path(__file__).parents[1])


def kernel(function: Callable[..., R]) -> Callable[..., R]:
    """Compile on first use, without the GIL, kept on disk for the next process.

    Where nothing can be written next to the package nor in the user's cache, the kernel is compiled in memory only, and
    a damaged file is replaced (``_cache``).
    Sums are not reassociated: results must not depend on how LLVM likes to order an addition.
    """
    return _compile(function, fastmath=False)


def reducing_kernel(function: Callable[..., R]) -> Callable[..., R]:
    """As ``kernel``, for small helpers that write no array and whose sum may be reordered so that it vectorises.

    The order is fixed by the compiled code, so one machine gives one answer whatever the number of threads. It would
    not be if the loop stored anything: see ``sums``.
    """
    return _compile(function, fastmath={"reassoc", "contract", "nsz"})


def bare_kernel(function: Callable[..., R]) -> Callable[..., R]:
    """As ``kernel``, for kernels that make no arrays: no references to the arrays that they are handed are counted.

    A kernel counts them atomically whenever it takes a row of an array, which in short inner loops is a tenth of the
    time, and threads that count references to one array wait for each other.
    """
    return _compile(function, fastmath=False, counts_references=False)


def step(function: Callable[..., R]) -> Callable[..., R]:
    """A part of a kernel's inner loop, written into the kernel before it is compiled: nothing is compiled twice."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "inline": "always"}
    return cast(Callable[..., R], numba.njit(**options, **numba_private.options(counts_references=False))(function))


# For what ``numba.extending.overload`` compiles. LLVM writes it into kernels. Numba must not (``inline="always"``):
# after that it drops what it takes for dead code, among it the last writes into arrays that a kernel has from a tuple.
PART_OF_A_KERNEL: Any = {
    "nogil": True, "error_model": "numpy", **numba_private.options(counts_references=False, inlined=True),
}  # fmt: skip


def _compile(function: Callable[..., R], fastmath: bool | set[str], counts_references: bool = True) -> Callable[..., R]:
    options: dict[str, Any] = {"nogil": True, "fastmath": fastmath, "error_model": "numpy"}
    dispatcher = numba.njit(**options, **numba_private.options(counts_references=counts_references))(function)
    _cache.attach(dispatcher, SOURCES)
    return cast(Callable[..., R], dispatcher)


def private_or_public(private: Callable[..., R] | None, public: Callable[..., R]) -> Callable[..., R]:
    """What a function is compiled as: code that Numba may fail to build (``numba_private``), otherwise plain code."""
    if private is None:
        _cache.reporter.trouble(
            f"Numba {numba.__version__} is not known to this version, so fits are slower; their results are the same."
        )
        return public
    return private


def as_input(array: A) -> A:
    """The array, contiguous and read-only. Numba compiles a kernel again for each form that an argument takes."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return cast(A, view)
