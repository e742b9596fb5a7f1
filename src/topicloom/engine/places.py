"""Where the chains of a fit run: here, or in a place that ``using`` names, as ``topicloom.scale`` does.

A place takes a fit as it is stated, and gives it back with a sampler whose states lie elsewhere. Loop, checkpoints and
estimates do not know.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Stay(Protocol):
    """A fit in a place."""

    problem: Any
    here: bool  # whether states are in this process

    def take(self, chains: Sequence[Any]) -> None:
        """Take over chains that were begun elsewhere."""

    def bring_home(self, chains: Sequence[Any]) -> None:
        """Give the chains states that are in this process."""


class Place(Protocol):
    """Somewhere to run chains."""

    def hold(self, model: Any, problem: Any) -> AbstractContextManager[Stay]:
        """The fit, for as long as it lasts; refuses one that cannot run there."""


class Here:
    """This process."""

    here = True

    def __init__(self, problem: Any) -> None:
        self.problem = problem

    def take(self, chains: Sequence[Any]) -> None:
        pass

    def bring_home(self, chains: Sequence[Any]) -> None:
        pass


_place: ContextVar[Place | None] = ContextVar("place", default=None)


@contextmanager
def using(place: Place | None) -> Iterator[None]:
    """Run the chains of all fits within in a place."""
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)


@contextmanager
def staying(model: Any, problem: Any) -> Iterator[Stay]:
    """The place of a fit."""
    place = _place.get()
    if place is None:
        yield Here(problem)
    else:
        with place.hold(model, problem) as stay:
            yield stay
