"""The collapsed sampler's view of an emission: what is left of it when its parameters are integrated out.

A kind of emission brings a NamedTuple of sums over the rows of each state and three functions of it. In compiled code
``predict``, ``remove`` and ``add`` are the three of the kind that they are given, chosen by its type when a kernel is
compiled and written into it, so that one kernel does for all. In plain Python they look it up.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from numba.extending import overload

from topicloom._types import FloatArray
from topicloom.numerics.jit import PART_OF_A_KERNEL


class Functions(NamedTuple):
    predict: Callable[..., None]
    remove: Callable[..., None]
    add: Callable[..., None]


_OF: dict[Any, Functions] = {}


def register(kind: Any, predict: Callable[..., None], remove: Callable[..., None], add: Callable[..., None]) -> None:
    """Make a kind of sums known, with the functions that take them."""
    _OF[kind] = Functions(predict, remove, add)


def predict(kept: Any, row: int, above: FloatArray, below: FloatArray) -> None:
    """P(row | what each state has) into ``above`` over ``below``, up to a factor that all states share."""
    _OF[type(kept)].predict(kept, row, above, below)


def remove(kept: Any, row: int, state: int) -> None:
    """Take a row out of a state."""
    _OF[type(kept)].remove(kept, row, state)


def add(kept: Any, row: int, state: int) -> None:
    """Put a row into a state."""
    _OF[type(kept)].add(kept, row, state)


# Names of arguments and what is said of their types may differ from the kind's own functions (``strict``).
@overload(predict, jit_options=PART_OF_A_KERNEL, strict=False)
def _predict(kept: Any, row: Any, above: Any, below: Any) -> Any:
    return _OF[kept.instance_class].predict


@overload(remove, jit_options=PART_OF_A_KERNEL, strict=False)
def _remove(kept: Any, row: Any, state: Any) -> Any:
    return _OF[kept.instance_class].remove


@overload(add, jit_options=PART_OF_A_KERNEL, strict=False)
def _add(kept: Any, row: Any, state: Any) -> Any:
    return _OF[kept.instance_class].add
