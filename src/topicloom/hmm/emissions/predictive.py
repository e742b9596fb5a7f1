"""The collapsed sampler's view of an emission: what is left of it when its parameters are integrated out.

A kind of emission brings a NamedTuple of sums over the rows of each state and three compiled functions of it. In
compiled code ``predict``, ``remove`` and ``add`` are the three of the kind that they are given, chosen by its type when
a kernel is compiled, so that one kernel does for all. In plain Python they look it up.
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


@overload(predict, jit_options=PART_OF_A_KERNEL)
def _predict(kept: Any, row: Any, above: Any, below: Any) -> Any:
    function = _OF[kept.instance_class].predict

    def implementation(kept: Any, row: Any, above: Any, below: Any) -> Any:
        function(kept, row, above, below)

    return implementation


@overload(remove, jit_options=PART_OF_A_KERNEL)
def _remove(kept: Any, row: Any, state: Any) -> Any:
    function = _OF[kept.instance_class].remove

    def implementation(kept: Any, row: Any, state: Any) -> Any:
        function(kept, row, state)

    return implementation


@overload(add, jit_options=PART_OF_A_KERNEL)
def _add(kept: Any, row: Any, state: Any) -> Any:
    function = _OF[kept.instance_class].add

    def implementation(kept: Any, row: Any, state: Any) -> Any:
        function(kept, row, state)

    return implementation
