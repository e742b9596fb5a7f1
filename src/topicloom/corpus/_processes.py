"""Worker processes that cut texts: started for one corpus and gone when it is made, or when making it fails."""

import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from topicloom.corpus._cutting import Cutter
from topicloom.corpus._numbering import Worker
from topicloom.errors import InputError

_worker: Worker  # of this process


@contextmanager
def workers(jobs: int, cutter: Cutter) -> Iterator[Callable[..., Any]]:
    """A function that gives a batch to a worker; it returns a function that waits for the answer.

    Processes are loky's: they do not run the caller's script again, take functions of notebooks, and say when one dies.
    """
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.cloudpickle_wrapper import dumps

    try:
        packed = dumps(cutter)
    except Exception as error:  # whatever the caller's objects raise
        raise InputError(
            f"the tokenizer or normalizer cannot be sent to other processes ({error}). Use n_jobs=1, or a function "
            "that makes what it needs when it is first called."
        ) from None
    pool = ProcessPoolExecutor(jobs, initializer=_begin, initargs=(packed,))
    asked: deque[Future[Any]] = deque(maxlen=8 * jobs)

    def submit(first: int, documents: list[Any]) -> _Answer:
        asked.append(pool.submit(_number, first, documents))
        return _Answer(asked[-1])

    try:
        yield submit
    finally:  # workers end when they have done the batch that they are at
        for future in asked:
            future.cancel()
        pool.shutdown(wait=True)


class _Answer:
    def __init__(self, future: "Future[Any]") -> None:
        self._future = future

    def __call__(self) -> Any:
        from concurrent.futures.process import BrokenProcessPool

        try:
            return self._future.result()
        except BrokenProcessPool as error:
            reason = " ".join(str(error).split())[:300]
            raise InputError(
                "a process that cut texts ended before it was done; memory may not suffice, or the tokenizer may have "
                f"ended it. Try n_jobs=1. ({reason})"
            ) from None


def _begin(packed: bytes) -> None:
    """In a new worker: Ctrl-C is the caller's to handle."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker = Worker(pickle.loads(packed))


def _number(first: int, documents: list[Any]) -> Any:
    return _worker.number(first, documents)
