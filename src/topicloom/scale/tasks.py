"""Tasks on Ray: independent pieces of work, in order, on the workers of a cluster."""

import platform
from collections import deque
from collections.abc import Callable, Generator, Iterable
from pickle import PicklingError
from typing import Any, TypeVar
from uuid import uuid4

from topicloom.errors import InputError, MissingExtraError

T = TypeVar("T")
R = TypeVar("R")
_WAITING = 2  # tasks per worker that are under way, so that memory stays bounded
_RETRIES = 3  # after which a task whose workers die is given up
_SECONDS = 10.0  # for tasks to end that are given up


def needed_ray() -> Any:
    """The module ray, which is imported on first use."""
    try:
        import ray
    except ImportError:
        raise MissingExtraError("this needs Ray; install it with pip install 'topicloom[ray]'.") from None
    return ray


class RayExecutor:
    """An ``Executor`` whose tasks are done by Ray, which must have been started or joined (``ray.init``).

    Parameters
    ----------
    n_workers : int, default=None
        How many tasks are done at a time; None takes one for each CPU of the cluster.
    max_retries : int, default=3
        How often a task is done again if its worker dies.
    """

    def __init__(self, n_workers: int | None = None, *, max_retries: int = _RETRIES) -> None:
        self._ray = needed_ray()
        self._n_workers, self._max_retries = n_workers, max_retries

    @property
    def n_workers(self) -> int:
        if self._n_workers is not None:
            return self._n_workers
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Generator[R, None, None]:
        """Results in the order of the tasks; see ``Executor``."""
        most, waiting = _WAITING * self.n_workers, deque[Any]()
        call = self._ray.remote(_call).options(max_retries=self._max_retries)
        shared = (uuid4().hex, [self._sent(function)])  # in a list, so that it is fetched by hand
        try:
            for task in tasks:
                waiting.append(call.remote(shared, task))
                if len(waiting) >= most:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        finally:
            self._give_up(list(waiting))

    def _sent(self, function: Callable[..., Any]) -> Any:
        """The function in Ray's object store, with all that it refers to."""
        try:
            return self._ray.put(function)
        except (PicklingError, TypeError, AttributeError, ValueError) as error:
            raise InputError(
                f"what a task needs cannot be sent to Ray's workers ({' '.join(str(error).split())[:200]}). Give a "
                "function that makes what it needs when it is first called."
            ) from None

    def _result(self, reference: Any) -> Any:
        failures = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except failures.RayTaskError as error:
            if isinstance(error.cause, Exception):
                raise error.cause from None
            raise
        except (failures.WorkerCrashedError, failures.OutOfMemoryError, failures.NodeDiedError) as error:
            reason = " ".join(str(error).split())[:300]
            raise InputError(
                f"a Ray task was started {self._max_retries + 1} times, and each time its worker ended before it was "
                f"done; its memory may not suffice. ({reason})"
            ) from None

    def _give_up(self, references: list[Any]) -> None:
        for reference in references:
            self._ray.cancel(reference)
        if references:
            self._ray.wait(references, num_returns=len(references), timeout=_SECONDS)


_kept: dict[str, Callable[[Any], Any]] = {}  # in a worker: the last function, which is fetched and made once


def _call(shared: tuple[str, list[Any]], task: Any) -> Any:
    name, (reference,) = shared
    if name not in _kept:
        _kept.clear()
        _kept[name] = _fetched(reference)
    return _kept[name](task)


def _fetched(reference: Any) -> Callable[[Any], Any]:
    import ray

    try:
        function: Callable[[Any], Any] = ray.get(reference)
    except ray.exceptions.RayError as error:
        raise InputError(
            f"what a task needs cannot be made again on {platform.node()} ({' '.join(str(error).split())[-200:]}). "
            "Install what it imports on all machines, or name it in Ray's runtime_env."
        ) from None
    return function
