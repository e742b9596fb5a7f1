"""Work on threads, with results that do not depend on how many there are."""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from topicloom._types import AnyArray, Int64Array
from topicloom.corpus._checks import resolve_jobs as resolve_jobs
from topicloom.errors import InputError

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A", bound=AnyArray)


def threads_for(n_jobs: int | None) -> int:
    """Threads of a model: None is as many as this process has processors for itself, or as it was told to use.

    ``joblib.parallel_config(n_jobs=…)`` and the variable OMP_NUM_THREADS tell it. In a worker of joblib it is one.
    """
    if n_jobs is not None:
        return resolve_jobs(n_jobs)
    if (joblib := sys.modules.get("joblib.parallel")) is not None:  # or nobody has told joblib anything
        backend, configured = joblib.get_active_backend()
        if backend.nesting_level:
            return 1
        if configured is not None:
            return resolve_jobs(int(configured))
    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdecimal() and int(told) > 0 else resolve_jobs(-1)


def joblib_workers(n_jobs: int | None) -> int:
    """Workers of the backend that ``joblib.parallel_config`` has chosen; 0 if that is threads, which are ours."""
    from joblib.parallel import get_active_backend

    backend, configured = get_active_backend(prefer="threads")
    if getattr(backend, "supports_sharedmem", False) or n_jobs == 1:
        return 0
    return int(backend.effective_n_jobs(configured if n_jobs is None else n_jobs))


def _n_threads(n_jobs: int, n_tasks: int) -> int:
    """Threads for so many tasks: one if others cannot be started, as from Python 3.12 on once the main thread ended."""
    n = min(n_jobs, n_tasks)
    too_late = sys.version_info >= (3, 12) and not threading.main_thread().is_alive()
    return 1 if too_late and len(_local.helpers) < n - 1 else n


def run_parallel(function: Callable[[T], R], tasks: Sequence[T], n_jobs: int) -> list[R]:
    """``function`` of every task, in the order of the tasks, each by the next thread that is free.

    The function releases the GIL where it matters. When one task fails the ones that have not begun are left out.
    """
    n = _n_threads(n_jobs, len(tasks))
    if n <= 1:
        return [function(task) for task in tasks]
    done, left = dict[int, R](), deque(range(len(tasks)))

    def run(_: int) -> None:
        try:
            while (i := _next_of(left)) is not None:
                done[i] = function(tasks[i])
        finally:
            left.clear()

    _on_threads(run, n)
    return [done[i] for i in range(len(tasks))]


def run_rounds(
    function: Callable[[int, int], object], n_tasks: int, n_rounds: int, n_jobs: int, after: Callable[[], None]
) -> None:
    """``function(task, round)`` of every task, then ``after()``, round by round.

    A task is always on the same thread of as many, the caller's own among them: for tasks of about equal length that
    come again with the same memory, so that what a core has in its cache stays there. Threads meet between rounds.
    """
    n = _n_threads(n_jobs, n_tasks)
    if n <= 1:
        for r in range(n_rounds):
            for task in range(n_tasks):
                function(task, r)
            after()
        return
    meeting = threading.Barrier(n, after)

    def run(thread: int) -> None:
        try:
            for r in range(n_rounds):
                for task in range(thread * n_tasks // n, (thread + 1) * n_tasks // n):
                    function(task, r)
                meeting.wait()
        except threading.BrokenBarrierError:
            pass  # the thread that has failed says why
        except BaseException:
            meeting.abort()
            raise

    _on_threads(run, n)


def steps_in_order(n_tasks: int, n_steps: int, delay: int) -> Iterator[tuple[int, int]]:
    """Every task's steps on one thread: (task, step), none ``delay`` steps before another task's."""
    done = [0] * n_tasks
    while n_tasks and min(done) < n_steps:
        for task in range(n_tasks):
            while done[task] < min(n_steps, min(done) + delay):
                yield task, done[task]
                done[task] += 1


def run_steps(step: Callable[[int, int], object], n_tasks: int, n_steps: int, delay: int, n_jobs: int) -> None:
    """``step(task, i)`` of every task, its own steps in their order, none ``delay`` steps before another task's.

    Step i of a task begins when all others have done their step i − delay. A thread keeps its task, whose memory is in
    its core's cache, while that may go on, and otherwise has the one that is furthest behind.

    Cores that others use, too, are not equally quick, and which one is the slower changes. A thread that must wait for
    another, although its task was no further than the others when it got it, is the quicker one: they exchange
    tasks. Where tasks are of unequal lengths an exchange gains nothing; a thread that got a task with its
    lead just waits.
    """
    n, done = _n_threads(n_jobs, n_tasks), [0] * n_tasks
    if n <= 1:
        for task, i in steps_in_order(n_tasks, n_steps, delay):
            step(task, i)
        return
    changed = threading.Condition()
    free = set(range(n_tasks))
    quicker: list[int] = []  # threads that wait to exchange
    given: dict[int, int] = {}  # what they get, by thread
    failed = False

    def next_task(thread: int, own: int) -> int | None:
        if thread in given:
            return given.pop(thread)
        most = min(n_steps, min(done) + delay)
        ready = sorted((task for task in free if done[task] < most), key=done.__getitem__)
        if not ready:
            return None
        task = own if own in ready else ready[0]
        if quicker and len(ready) > 1:  # this thread has just done a step of what is furthest behind
            given[quicker.pop()], task = ready[0], ready[-1]
            free.remove(ready[0])
        free.remove(task)
        return task

    def wait_for_task(thread: int, own: int, lead: int) -> int | None:
        """What to do next; nothing if all is done."""
        while not failed and min(done) < n_steps:
            task = next_task(thread, own)
            if task is not None:
                return task
            if done[own] < n_steps and done[own] - min(done) - lead >= max(_WORTH, delay // 2):
                quicker.append(thread)
            changed.wait()
            if thread in quicker:
                quicker.remove(thread)
        return None

    def run(thread: int) -> None:
        nonlocal failed
        own, lead = thread * n_tasks // n, 0
        try:
            while True:
                with changed:
                    task = wait_for_task(thread, own, lead)
                    if task is None:
                        return
                    if task != own:
                        own, lead = task, done[task] - min(done)
                step(task, done[task])
                with changed:
                    done[task] += 1
                    free.add(task)
                    changed.notify_all()
        except BaseException:
            failed = True
            with changed:
                changed.notify_all()
            raise

    _on_threads(run, n)


_WORTH = 2  # steps that a thread must have gained before an exchange, which empties caches, is worth it


def _next_of(left: deque[int]) -> int | None:
    try:
        return left.popleft()  # which no two threads get alike
    except IndexError:
        return None


def _on_threads(function: Callable[[int], R], n: int) -> list[R]:
    """``function`` of 0 … n − 1, each on a thread of its own, the first on the caller's."""
    idle = _local.helpers
    helpers = [idle.pop() if idle else _helper(n) for _ in range(n - 1)]
    others = [helper.submit(function, thread) for thread, helper in enumerate(helpers, 1)]
    try:
        own = function(0)
    finally:
        wait(others)  # they write into arrays that are the caller's again when this returns
        idle.extend(reversed(helpers))  # so that the next call has them in the same order
    return [own, *(other.result() for other in others)]


class _Helper:
    """A thread that waits for work until this object is gone.

    It is no ``ThreadPoolExecutor``, which takes no work once the main thread has ended, though others still run. As a
    daemon it keeps no process alive; while it has work its caller waits for it, and a process waits for the caller.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        threading.Thread(target=_do, args=(self._work,), name="topicloom", daemon=True).start()

    def submit(self, function: Callable[[int], R], thread: int) -> Future[R]:
        future: Future[R] = Future()
        self._work.put((future, function, thread))
        return future

    def __del__(self) -> None:
        self._work.put(None)


_Work: TypeAlias = tuple[Future[Any], Callable[[int], Any], int]


def _do(work: "SimpleQueue[_Work | None]") -> None:
    while (item := work.get()) is not None:
        future, function, thread = item
        try:
            future.set_result(function(thread))
        except BaseException as error:
            future.set_exception(error)
        del item, future, function  # what they hold must not wait for the next work


def _helper(n: int) -> _Helper:
    try:
        return _Helper()
    except RuntimeError as error:
        raise InputError(f"The system does not let this process have {n} threads: take a smaller n_jobs.") from error


class _Local(threading.local):
    """Threads that stay between calls, a caller's own: to start one takes as long as thousands of draws.

    Those that have work are not among them.
    """

    def __init__(self) -> None:
        self.helpers: list[_Helper] = []


_local = _Local()


def _forget_helpers() -> None:
    """In a forked process there are none."""
    global _local
    _local = _Local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)


_GUARD = 128  # bytes on either side of what one thread writes: processors load two lines of 64 at a time


def private(like: A) -> A:
    """A copy that shares no cache line with other memory: threads that write into one line wait for each other.

    It starts where a line starts.
    """
    room = np.empty(like.nbytes + 3 * _GUARD, np.uint8)
    start = 2 * _GUARD - room.ctypes.data % _GUARD
    own = room[start : start + like.nbytes].view(like.dtype).reshape(like.shape)
    own[...] = like
    return cast(A, own)


def add_moves(totals: A, copies: list[A]) -> None:
    """Add up what tasks have moved, each in its own copy of the totals; all copies are then equal to the sums."""
    before = totals.copy()
    for own in copies:
        totals += own - before
    for own in copies:
        own[...] = totals


def cut(loads: Int64Array, n_parts: int) -> list[tuple[int, int]]:
    """Cut 0 … len(loads) into at most ``n_parts`` ranges of about equal total load, none of them empty."""
    if len(loads) == 0 or n_parts == 1:
        return [(0, len(loads))][: len(loads)]
    reached = np.cumsum(loads + 1)  # the 1 keeps empty documents from piling up in one part
    goals = reached[-1] * np.arange(1, n_parts) / n_parts
    edges = np.unique(np.concatenate(([0], np.searchsorted(reached, goals), [len(loads)])))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
