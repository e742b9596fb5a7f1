"""Fits of other libraries that compute with BLAS, so that the number of its threads changes no bit."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS and OpenMP on one thread: with more, long sums are cut into parts and round otherwise.

    The setting is one for the whole process, so only one thread at a time may change it and change it back.
    """
    from threadpoolctl import threadpool_limits

    with _LOCK, threadpool_limits(limits=1):
        yield
