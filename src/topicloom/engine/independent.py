"""Fits that do not depend on each other, several at a time."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TypeVar

from topicloom.corpus._executors import current_executor

T = TypeVar("T")
R = TypeVar("R")


def run_independent(function: Callable[[T], R], tasks: Sequence[T], n_jobs: int | None) -> list[R]:
    """``function`` of every task, in their order: by the executor that is in use, otherwise by joblib.

    Joblib has ``n_jobs`` threads, unless ``joblib.parallel_config`` says otherwise. Sweeps release the GIL, and threads
    share the corpus and compiled code; processes and other machines get copies of the corpus.
    """
    executor = current_executor()
    if executor is not None:
        with closing(executor.map(function, tasks)) as found:
            return list(found)
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=n_jobs, prefer="threads", max_nbytes=None)
    return list(run(delayed(function)(task) for task in tasks))


def n_at_a_time(n_jobs: int | None) -> int:
    """How many tasks ``run_independent`` has under way."""
    from joblib import effective_n_jobs

    executor = current_executor()
    return max(effective_n_jobs(n_jobs), 1) if executor is None else executor.n_workers
