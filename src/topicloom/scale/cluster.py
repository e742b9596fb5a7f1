"""Where workers are: in Ray actors, or in this process.

A cluster takes calls of workers' methods and gives references to what they will return. References may be arguments of
other calls. The calls of one worker are done one after the other, in the order in which they were made.
"""

from collections.abc import Callable
from typing import Any, Protocol

from topicloom.scale.worker import Worker

Ref = Any
"""What stands for a result that may not be there yet."""


class WorkersLostError(Exception):
    """A worker has gone away with what it held; the message says which, and why."""


class StoreFullError(WorkersLostError):
    """A result has been lost as there was no room for it where results are kept; its worker may be there."""


class Cluster(Protocol):
    """Workers that can be called."""

    @property
    def n_workers(self) -> int:
        """Workers that there can be."""

    def start(self, n_workers: int, *args: Any) -> int:
        """Start workers with these arguments in place of those that are lost; returns how many there are now."""

    def call(self, worker: int, method: str, *args: Any, returns: int = 1) -> Any:
        """Call a method; returns a reference to the result, or one to each of several."""

    def get(self, refs: list[Ref]) -> list[Any]:
        """Results; raises WorkersLostError if some will never be there."""

    def wait(self, refs: list[Ref]) -> None:
        """Wait until results are near this process, where they outlive the workers. Raises WorkersLostError."""

    def put(self, value: Any) -> Ref:
        """A reference to a value that several calls take."""

    def stop(self) -> None:
        """End all workers."""


class InProcess:
    """Workers in this process: for tests, which need no other."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self.workers: list[Worker] = []
        self.before_call: Callable[[int, str], None] = lambda worker, method: None  # tests lose workers here

    def start(self, n_workers: int, *args: Any) -> int:
        self.workers = [Worker(*args) for _ in range(min(n_workers, self.n_workers))]
        return len(self.workers)

    def call(self, worker: int, method: str, *args: Any, returns: int = 1) -> Any:
        self.before_call(worker, method)
        return getattr(self.workers[worker], method)(*args)

    def get(self, refs: list[Ref]) -> list[Any]:
        return refs

    def wait(self, refs: list[Ref]) -> None:
        pass

    def put(self, value: Any) -> Ref:
        return value

    def stop(self) -> None:
        self.workers = []
