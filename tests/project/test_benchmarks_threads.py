"""The benchmark of threads: the schedule that is followed, and the times that it is followed with."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import _tools, threads
from topicloom.datasets import synthetic_lda
from topicloom.engine.sampler import Schedule


def test_threads_follow_the_schedule() -> None:
    equal = threads.Group(np.ones((4, 4)), 1)
    assert [threads.makespan(equal, n) for n in (1, 2, 4, 8)] == [16, 8, 4, 4]
    three = threads.Group(np.ones((3, 3)), 1)  # with a delay of one step they meet after each
    assert threads.makespan(three, 2) == 6
    assert threads.makespan(three._replace(delay=2), 2) == 5  # two threads wait once, for the third part's first step
    assert threads.makespan(three._replace(delay=3), 2) == 6  # each keeps its part to the end, and one has another
    uneven = threads.Group(np.array([[3.0, 1.0], [1.0, 3.0]]), 1)
    assert threads.makespan(uneven, 2) == 6
    assert threads.makespan(uneven._replace(delay=2), 2) == 4


@pytest.mark.parametrize("more", [[], ["--lagging"]])
def test_more_threads_than_cores_are_simulated(more: list[str], tmp_path: Path) -> None:
    threads.main(
        ["--corpus", "zipf:300", "--tokens", "2e4", "--topics", "5", "--threads", "2", "4", "--cores", "2", "--settle",
         "2", "--turns", "2", "--sweeps", "2", "--out", str(tmp_path), *more]
    )  # fmt: skip
    rows = [
        line.split(" | ") for line in (tmp_path / "threads_simulated.md").read_text().splitlines() if "zipf" in line
    ]
    rows = [row for row in rows if len(row) == 8]
    assert [(row[2], row[3], row[4]) for row in rows] == [
        ("1", "1", "measured"), ("4", "1", "measured"), ("4", "2", "measured"), ("4", "2", "simulated"),
        ("4", "4", "simulated"),
    ]  # fmt: skip
    two, four = (float(row[6]) for row in rows[-2:])
    assert 1 < two <= 2.0
    assert two < four <= 4.0


def test_the_steps_of_a_chain_are_timed() -> None:
    corpus = synthetic_lda(30, 25, 3, doc_length=12.0, seed=2).corpus
    plain, watched = (_tools.Ours("auto", corpus, 3, Schedule(2)) for _ in range(2))
    plain.sweep(4)
    groups, outside = threads.Watched(watched).sweep(4)
    np.testing.assert_array_equal(plain.topics(), watched.topics())
    assert outside > 0
    assert sum(group.seconds.size for group in groups) % (4 * 2 * 2) == 0
    assert all(np.all(group.seconds > 0) for group in groups)
