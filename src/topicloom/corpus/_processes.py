"""Processes that cut texts: started for one corpus and gone when it is made, or when making it fails."""

import pickle
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from topicloom.errors import InputError

T = TypeVar("T")
R = TypeVar("R")
_WAITING = 3  # tasks per process that are under way, so that memory stays bounded

_function: Callable[[Any], Any]  # of this process


class Processes:
    """An ``Executor`` of processes of this machine. Each has one copy of the function, and tasks in their order.

    Processes are loky's: they do not run the caller's script again, take functions of notebooks, and say when one dies.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Generator[R, None, None]:
        """Results in the order of the tasks; see ``Executor``."""
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.cloudpickle_wrapper import dumps

        try:
            packed = dumps(function)
        except Exception as error:  # whatever the caller's objects raise
            raise InputError(
                f"the tokenizer or normalizer cannot be sent to other processes ({error}). Use n_jobs=1, or a function "
                "that makes what it needs when it is first called."
            ) from None
        pool = ProcessPoolExecutor(self.n_workers, initializer=_begin, initargs=(packed,))
        waiting: deque[Future[R]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(_do, task))
                if len(waiting) > _WAITING * self.n_workers:
                    yield _result(waiting.popleft())
            while waiting:
                yield _result(waiting.popleft())
        finally:  # processes end when they have done the task that they are at
            for future in waiting:
                future.cancel()
            pool.shutdown(wait=True)


def _result(future: "Future[R]") -> R:
    from concurrent.futures.process import BrokenProcessPool

    try:
        return future.result()
    except BrokenProcessPool as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(
            "a process that cut texts ended before it was done; memory may not suffice, or the tokenizer may have "
            f"ended it. Try n_jobs=1. ({reason})"
        ) from None


def _begin(packed: bytes) -> None:
    """In a new process: Ctrl-C is the caller's to handle."""
    global _function
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _function = pickle.loads(packed)


def _do(task: Any) -> Any:
    return _function(task)
