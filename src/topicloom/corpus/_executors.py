"""Where work that is cut into tasks is done: here, in processes, or on other machines. The results are the same."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Executor(Protocol):
    """Calls a function for each of many tasks, several at a time."""

    @property
    def n_workers(self) -> int:
        """How many tasks are done at a time."""
        ...

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Generator[R, None, None]:
        """Results in the order of the tasks, of which a bounded number is under way.

        The function is sent to each worker once, with all that it refers to. It may be called more than once for a
        task, as workers can die, so it must give the same answer again. Its exceptions are raised here as they are.
        Closing the iterator gives up what is under way.
        """
        ...


_CURRENT: ContextVar[Executor | None] = ContextVar("where tasks are done", default=None)


def current_executor() -> Executor | None:
    """The executor that is in use, None for this process and its own."""
    return _CURRENT.get()


@contextmanager
def using(executor: Executor | None) -> Iterator[None]:
    """Within this context tasks are done by the executor."""
    token = _CURRENT.set(executor)
    try:
        yield
    finally:
        _CURRENT.reset(token)
