"""Work on threads: order, failures, and what threads write."""

import subprocess
import sys
import threading
import time
from itertools import pairwise

import joblib
import numpy as np
import pytest

from topicloom.engine import threads as parallel
from topicloom.engine.threads import (
    add_moves,
    cut,
    private,
    resolve_jobs,
    run_parallel,
    run_rounds,
    run_steps,
    threads_for,
)
from topicloom.errors import InputError


def run_one_round(function, tasks, n_jobs: int) -> list:
    """``run_rounds`` as ``run_parallel`` is called."""
    results = [None] * len(tasks)

    def run(task: int, r: int) -> None:
        assert r == 0
        results[task] = function(tasks[task])

    run_rounds(run, len(tasks), 1, n_jobs, lambda: None)
    return results


def run_one_step(function, tasks, n_jobs: int) -> list:
    """``run_steps`` as ``run_parallel`` is called."""
    results = [None] * len(tasks)

    def run(task: int, i: int) -> None:
        assert i == 0
        results[task] = function(tasks[task])

    run_steps(run, len(tasks), 1, 1, n_jobs)
    return results


RUNS = [run_parallel, run_one_round, run_one_step]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("n_jobs", [1, 2, 3, 8])
@pytest.mark.parametrize("n_tasks", [0, 1, 2, 7])
def test_results_come_in_the_order_of_the_tasks(run, n_jobs: int, n_tasks: int) -> None:
    assert run(lambda task: task * task, range(n_tasks), n_jobs) == [task * task for task in range(n_tasks)]


@pytest.mark.parametrize("run", RUNS)
def test_threads_work_at_the_same_time_and_stay_for_the_next_call(run) -> None:
    met = threading.Barrier(2, timeout=20)  # is passed only by two threads that wait together

    def task(_: int) -> int:
        met.wait()
        return threading.get_ident()

    first, second = run(task, range(2), 2), run(task, range(2), 2)
    assert len(set(first)) == 2
    assert set(first) == set(second)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [ValueError, IndexError, KeyboardInterrupt])
def test_a_failure_reaches_the_caller(run, n_jobs: int, error: type[BaseException]) -> None:
    def task(i: int) -> int:
        if i == 3:
            raise error("the third")
        return i

    with pytest.raises(error, match="the third"):
        run(task, range(6), n_jobs)
    assert run(task, range(3), n_jobs) == [0, 1, 2]  # and the threads go on to serve


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 8])
def test_a_round_begins_when_the_last_one_is_over(n_jobs: int) -> None:
    events: list[tuple[int, int] | str] = []
    threads: dict[int, set[int]] = {}

    def run(task: int, r: int) -> None:
        threads.setdefault(task, set()).add(threading.get_ident())
        events.append((task, r))

    run_rounds(run, 5, 4, n_jobs, lambda: events.append("over"))
    for r in range(4):
        *of_round, last = events[6 * r : 6 * r + 6]
        assert sorted(of_round) == [(task, r) for task in range(5)]
        assert last == "over"
    assert len(events) == 24
    assert all(len(own) == 1 for own in threads.values())  # a task stays where its memory is
    assert len(set.union(*threads.values())) == min(n_jobs, 5)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("where", ["a task", "between rounds"])
def test_no_round_follows_a_failure(n_jobs: int, where: str) -> None:
    begun: list[int] = []

    def fail(here: str) -> None:
        if here == where:
            raise ValueError(where)

    def run(task: int, r: int) -> None:
        begun.append(r)
        if task == 1:
            fail("a task")

    with pytest.raises(ValueError, match=where):
        run_rounds(run, 2, 3, n_jobs, lambda: fail("between rounds"))
    assert set(begun) == {0}


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 8])
@pytest.mark.parametrize("n_tasks", [1, 2, 5])
@pytest.mark.parametrize("delay", [1, 2, 4])
def test_no_task_is_further_ahead_than_the_lag(n_jobs: int, n_tasks: int, delay: int) -> None:
    done = [0] * n_tasks
    lock, farthest = threading.Lock(), 0

    def step(task: int, i: int) -> None:
        nonlocal farthest
        with lock:
            assert i == done[task]
            farthest = max(farthest, i - min(done))
        time.sleep(0.0002 * ((7 * task + 3 * i) % 4))  # some take longer than others
        with lock:
            done[task] += 1

    run_steps(step, n_tasks, 40, delay, n_jobs)
    assert done == [40] * n_tasks
    assert farthest < delay
    assert n_jobs > 1 or n_tasks == 1 or farthest == delay - 1  # one thread stays with a task while it may


def exchanges(has: list[list[bool]]) -> int:
    return sum(before != after for own in has for before, after in pairwise(own))


def run_two(n_steps: int, delay: int, is_slow) -> list[list[bool]]:
    """Two tasks on two threads; for each whether the main thread did each step.

    Slow steps last until the others have made three, or as many as they may.
    """
    changed = threading.Condition()
    done, has, quick_steps = [0, 0], [[], []], 0

    def step(task: int, i: int) -> None:
        nonlocal quick_steps
        main = threading.current_thread() is threading.main_thread()
        with changed:
            has[task].append(main)
            changed.notify_all()
            assert changed.wait_for(lambda: all(has), timeout=20)  # both have begun
            if is_slow(task, main):
                goal = quick_steps + 3
                assert changed.wait_for(
                    lambda: quick_steps >= goal or done[1 - task] in (done[task] + delay, n_steps), timeout=20
                )
            else:
                quick_steps += 1
            done[task] += 1
            changed.notify_all()

    run_steps(step, 2, n_steps, delay, 2)
    assert done == [n_steps] * 2
    return has


@pytest.mark.parametrize("slow", [False, True])
def test_a_thread_that_is_quicker_gets_the_task_that_is_behind(slow: bool) -> None:
    has = run_two(120, 4, lambda task, main: main == slow)
    quick = sum(main != slow for own in has for main in own)
    assert quick > 150  # without exchanges 120 and no more
    assert 10 < exchanges(has) < 90


@pytest.mark.parametrize("longer", [0, 1])
def test_a_task_that_is_longer_is_not_passed_on_and_back(longer: int) -> None:
    assert exchanges(run_two(60, 4, lambda task, main: task == longer)) <= 4


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_no_step_follows_a_failure(n_jobs: int, error: type[BaseException]) -> None:
    """Threads that wait for the task that has failed end, too."""
    begun: list[int] = []

    def step(task: int, i: int) -> None:
        begun.append(i)
        if (task, i) == (1, 2):
            raise error("the third")

    with pytest.raises(error, match="the third"):
        run_steps(step, 3, 100, 2, n_jobs)
    assert max(begun) <= 4
    assert run_one_step(lambda task: task, range(3), n_jobs) == [0, 1, 2]


def test_moves_of_all_copies_are_added_up() -> None:
    totals = np.array([5, 7, 9])
    copies = [np.array([6, 6, 9]), np.array([4, 7, 10]), totals.copy()]
    add_moves(totals, copies)
    for found in (totals, *copies):
        np.testing.assert_array_equal(found, [5, 6, 10])


def test_after_a_failure_no_task_is_begun() -> None:
    begun: list[int] = []

    def task(i: int) -> None:
        begun.append(i)
        raise ValueError(f"task {i}")

    with pytest.raises(ValueError, match="task"):
        run_parallel(task, range(1000), 2)
    assert len(begun) <= 2


@pytest.mark.parametrize("run", RUNS)
def test_tasks_may_themselves_work_on_threads(run) -> None:
    inner = run(lambda i: sum(run(lambda j: i * j, range(4), 2)), range(4), 2)
    assert inner == [0, 6, 12, 18]


@pytest.mark.parametrize("shape", [(), (5,), (3, 8)])
def test_private_copies_lie_apart(shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)
    own = private(values)
    assert np.array_equal(own, values)
    assert own.ctypes.data % 128 == 0
    assert own.flags.c_contiguous
    assert own.flags.writeable


def test_cuts_are_even_and_leave_nothing_out() -> None:
    loads = np.random.default_rng(1).integers(0, 9, 200)
    parts = cut(loads, 4)
    assert parts[0][0] == 0
    assert parts[-1][1] == 200
    assert all(stop == start for (_, stop), (start, _) in pairwise(parts))
    sums = [loads[slice(*part)].sum() for part in parts]
    assert max(sums) - min(sums) < 40
    assert cut(np.zeros(0, np.int64), 3) == []


IN_A_THREAD = """
import threading
import joblib
import numpy as np
from topicloom import LDA

def fit():
    if {late}:
        threading.main_thread().join()
    X = np.random.default_rng(0).integers(0, 4, (40, 9))
    model = LDA(2, max_iter=3, n_chains=2, random_state=0, n_jobs={n_jobs}).fit(X)
    print(model.fingerprint_, model.transform(X[:5]).tobytes().hex())

threading.Thread(target=fit).start()
"""


def test_a_fit_in_a_thread_goes_on_when_the_main_thread_has_ended() -> None:
    printed = []
    for late, n_jobs in ((False, 1), (True, 2)):
        code = IN_A_THREAD.format(late=late, n_jobs=n_jobs)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        printed.append(done.stdout)
    assert printed[0] == printed[1] != ""


def test_threads_end_with_the_thread_that_they_worked_for() -> None:
    def call() -> None:
        met = threading.Barrier(3, timeout=20)
        run_parallel(lambda _: met.wait(), range(3), 3)

    before = set(threading.enumerate())
    caller = threading.Thread(target=call)
    caller.start()
    caller.join()
    for helper in set(threading.enumerate()) - before:
        helper.join(20)
        assert not helper.is_alive()


@pytest.mark.parametrize("run", RUNS)
def test_threads_that_cannot_be_had(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(parallel, "_local", parallel._Local())
    monkeypatch.setattr(threading.Thread, "start", start)
    done: list[int] = []
    with pytest.raises(InputError, match="does not let this process have 4 threads: take a smaller n_jobs"):
        run(done.append, range(4), 4)
    assert done == []


# -- how many --------------------------------------------------------------------------------------------------------


def test_threads_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """All processors, or what the environment or joblib says; one in a worker of joblib."""
    cores = resolve_jobs(-1)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert [threads_for(n) for n in (None, 1, 2, -1)] == [3, 1, 2, cores]
    with joblib.parallel_config(n_jobs=5):
        assert threads_for(None) == 5
    assert joblib.Parallel(2, prefer="threads")(joblib.delayed(threads_for)(n) for n in (None, 4)) == [1, 4]
    for text in ("", "many", "0"):
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert threads_for(None) == cores
