"""Work on threads: order, failures, and what threads write."""

import threading
from itertools import pairwise

import numpy as np
import pytest

import oracle
from topicloom.inference import samplers
from topicloom.inference.kernel import Key, Schedule, make_prior
from topicloom.inference.parallel import add_moves, cut, private, run_parallel, run_rounds
from topicloom.inference.state import rebuild_counts


def run_one_round(function, tasks, n_jobs: int) -> list:
    """``run_rounds`` as ``run_parallel`` is called."""
    results = [None] * len(tasks)

    def run(task: int, r: int) -> None:
        assert r == 0
        results[task] = function(tasks[task])

    run_rounds(run, len(tasks), 1, n_jobs, lambda: None)
    return results


RUNS = [run_parallel, run_one_round]


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


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_tasks_that_pause_go_on_where_they_were_whoever_has_them(n_jobs: int) -> None:
    """Tasks of three threads go round; one ends before the others."""
    steps: list[tuple[int, int, int]] = []
    has: list[list[int]] = []

    def run(task: int, r: int):
        for step in range(3 - (task == 1)):
            steps.append((r, task, step))
            yield

    def exchange(before: list[int]) -> list[int]:
        has.append(before)
        return before[1:] + before[:1]

    run_rounds(run, 3, 2, n_jobs, lambda: steps.append((0, 0, -1)), exchange)
    for r, first in ((0, 0), (1, 9)):
        of_round = steps[first : first + 8]
        assert sorted(of_round) == [
            (r, 0, 0),
            (r, 0, 1),
            (r, 0, 2),
            (r, 1, 0),
            (r, 1, 1),
            (r, 2, 0),
            (r, 2, 1),
            (r, 2, 2),
        ]
        for task in range(3):
            own = [step for _, t, step in of_round if t == task]
            assert own == sorted(own)
    assert all(sorted(tasks) == list(range(n_jobs)) for tasks in has)
    assert bool(has) == (n_jobs > 1)


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


def test_runs_of_one_word_count_once_and_long_ones_not_in_full() -> None:
    corpus = oracle.tiny_corpus([[0, 0, 1, 0], [], [2] * 500 + [1]], 4)
    of = samplers._runs(corpus)
    assert of.doc_runs.tolist() == [3, 0, 2]
    assert of.word_runs.tolist() == [2, 2, 1, 0]
    assert of.doc_tokens.tolist() == [4, 0, samplers._LONG + 1]
    assert of.word_tokens.tolist() == [3, 2, samplers._LONG, 0]
    assert samplers._runs(corpus) is of


@pytest.mark.parametrize("n_parts", [2, 3, 8])
@pytest.mark.parametrize("by_word", [False, True])
def test_sweeps_are_cut_by_loads_as_anything_else_is(n_parts: int, by_word: bool) -> None:
    """The kernel that adds up loads as it goes has the rule of ``cut``, for few and for many documents and words."""
    rng = np.random.default_rng(n_parts)
    for n_docs, n_words in [(1, 1), (3, 40), (60, 5), (200, 90)]:
        lengths = rng.integers(0, 30, n_docs)
        lengths[0] += 1
        corpus = oracle.tiny_corpus([np.sort(rng.integers(0, n_words, n)).tolist() for n in lengths], n_words)
        run = 30.0 + 1.2 * rng.integers(0, 50, n_words) if by_word else 41.0
        of = samplers._runs(corpus)
        docs = (25.0 * of.doc_tokens + np.mean(run) * of.doc_runs).astype(np.int64)
        words = (25.0 * of.word_tokens + run * of.word_runs).astype(np.int64)
        found = samplers._cut_both(corpus, n_parts, samplers.Loads(25.0, run))
        assert found == (cut(docs, n_parts), cut(words, n_parts))


def test_every_part_of_the_words_is_finished_once() -> None:
    """With fewer documents than parts, too; and not before all of its tokens have been drawn."""
    corpus = oracle.tiny_corpus([[0, 1, 2, 3, 0, 1], [4, 2]], 5)
    prior = make_prior(np.ones(2), np.ones(5), 2)
    state = rebuild_counts(corpus, np.zeros(8, np.int64), 2)
    events: list[tuple[str, tuple[int, int]]] = []

    def block(corpus, docs, words, state, prior, rng, watch) -> np.ndarray:
        events.append(("drawn", words))
        return np.zeros(2, np.int64)

    samplers._sweep_blocks(
        block, corpus, state, prior, Key(0, 0, 1), Schedule(4), finish=lambda words: events.append(("finished", words))
    )
    finished = [words for what, words in events if what == "finished"]
    assert sorted(v for words in finished for v in range(*words)) == [0, 1, 2, 3, 4]
    for words in finished:
        assert events.index(("finished", words)) > max(i for i, e in enumerate(events) if e == ("drawn", words))
