"""Threads that exchange tasks: when they are called to meet, who gets what, and that it changes no draw."""

import numpy as np
import pytest

from topicloom import datasets
from topicloom.inference import pace as module
from topicloom.inference.kernel import Key, Schedule, get_kernel, make_prior
from topicloom.inference.pace import ALONE, Pace
from topicloom.kernels.pace import DONE, EVERY, MET, calls

MANY = 1 << 40  # tokens


def two_tasks(other: float, met: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
    """Two tasks of 1,000 tokens, the second of which has come so far."""
    pace = Pace(2, 2, MANY)
    rows = pace.begin(0, 5000, 6000).pace
    pace.begin(1, 0, 1000)
    rows[:2, MET] = met
    rows[1, DONE] = other
    return rows


def called(rows: np.ndarray, done: float) -> bool:
    answer = bool(calls(rows, 0, 5000 + round(1000 * done)))
    assert rows[0, DONE] == pytest.approx(done)
    assert bool(rows[-1, 0]) == answer
    return answer


@pytest.mark.parametrize(
    ("done", "other", "met", "answer"),
    [
        (0.3, 0.2, (0.0, 0.0), False),  # exchanged now the other would be the one that ends first
        (0.59, 0.4, (0.0, 0.0), False),
        (0.6, 0.4, (0.0, 0.0), True),  # half of all is done: after an exchange both end together
        (0.8, 0.6, (0.0, 0.0), True),
        (0.6, 0.6, (0.0, 0.0), False),
        (0.4, 0.6, (0.0, 0.0), False),  # the one that is behind does not call
        (0.505, 0.5, (0.0, 0.0), False),  # not worth it
        (0.9, 0.0, (0.0, 0.0), False),  # nothing is known of a thread that has not begun
        (0.99, 0.98, (0.0, 0.0), False),
        (0.7, 0.5, (0.5, 0.3), False),  # ahead, but not quicker since they met
        (0.8, 0.6, (0.5, 0.42), True),
        (0.52, 0.45, (0.5, 0.44), False),  # too soon to say
    ],
)
def test_the_quicker_thread_calls_when_an_exchange_ends_both_together(
    done: float, other: float, met: tuple[float, float], answer: bool
) -> None:
    assert called(two_tasks(other, met), done) == answer


def test_who_is_called_comes_however_far_it_is() -> None:
    rows = two_tasks(0.9)
    rows[-1, 0] = 1.0
    assert called(rows, 0.1)


def test_quicker_threads_get_what_is_further_behind() -> None:
    pace = Pace(3, 3, MANY)
    rows = pace.begin(0, 0, 10).pace
    rows[:3, DONE] = 0.5, 0.9, 0.6
    rows[:3, MET] = 0.1, 0.7, 0.5
    rows[-1, 0] = 1.0
    assert pace.exchange([2, 0, 1]) == [1, 0, 2]  # speeds 0.1, 0.4, 0.2 by thread; tasks 0, 2, 1 from the last one on
    np.testing.assert_array_equal(rows[:3, MET], rows[:3, DONE])
    assert rows[-1, 0] == 0.0


@pytest.mark.parametrize(("n_tasks", "n_jobs", "n_tokens"), [(1, 2, MANY), (2, 1, MANY), (4, 2, MANY), (2, 2, 1000)])
def test_nothing_is_told_where_nothing_can_be_gained(n_tasks: int, n_jobs: int, n_tokens: int) -> None:
    pace = Pace(n_tasks, n_jobs, n_tokens)
    assert pace.begin(0, 0, 10) is ALONE
    assert pace.reached(0, 7) == 7


@pytest.mark.parametrize("sampler", ["dense", "sparse", "words", "mh"])
@pytest.mark.parametrize("n_shards", [2, 3])
def test_threads_that_always_meet_draw_the_same(monkeypatch, sampler: str, n_shards: int) -> None:
    corpus = datasets.zipf(20_000, 300, 12, doc_length=20_000 / (8 * EVERY), seed=3).corpus
    prior, kernel = make_prior(np.full(12, 0.3), np.full(corpus.n_words, 0.1), corpus.n_docs), get_kernel(sampler)
    exchanges: list[list[int]] = []

    class Restless(Pace):
        def begin(self, task: int, first: int, stop: int) -> module.Watch:
            watch = super().begin(task, first, stop)
            self._pace[-1:, 0] = 1.0
            return watch

        def exchange(self, has: list[int]) -> list[int]:
            exchanges.append(super().exchange(has))
            self._pace[-1, 0] = 1.0
            return exchanges[-1][::-1]

    def after_two_sweeps(n_jobs: int) -> np.ndarray:
        state = kernel.init(corpus, prior, Key(1, 0, 0))
        for sweep in (1, 2):
            state, _ = kernel.sweep(corpus, state, prior, Key(1, 0, sweep), Schedule(n_shards, n_jobs))
        return state.z

    alone = after_two_sweeps(1)
    monkeypatch.setattr(module, "_LEAST", 0)
    monkeypatch.setattr("topicloom.inference.samplers.Pace", Restless)
    np.testing.assert_array_equal(after_two_sweeps(n_shards), alone)
    assert (len(exchanges) > 0) == (sampler in ("dense", "sparse"))
