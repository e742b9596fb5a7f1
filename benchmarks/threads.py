"""What several threads give one chain: measured where there are cores for them, and simulated beyond.

    python -m benchmarks.threads --data DIR --corpus news20 nips --topics 100 1000 --threads 1 2 4 8
    python -m benchmarks.threads --corpus zipf:50000 --tokens 1e7 --topics 100 --shards 8

``benchmarks._corpora`` says what corpora there are. All chains have the same number of shards, so that all threads draw
the same topics; one more has a single shard. *Measured*: turns of ``--sweeps`` sweeps, by the wall clock, for as many
threads as there are cores; speed-ups are medians of ratios within a turn. *Simulated*: on one thread the processor time
of every step (a block of documents and words with what surrounds it) is taken, and the rule by which threads take steps
is followed with these times. What is outside steps is counted as if one thread did it. A simulation does not know that
cores share caches and the way to memory, nor that they wait for one another's locks: it is an upper bound.
"""

import argparse
import heapq
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks import _corpora
from benchmarks._common import CLOCKS, cores, in_turn, machine, table, without_paths
from benchmarks._tools import Ours, say, shuffled, warm_up
from topicloom._types import FloatArray
from topicloom.corpus import Corpus
from topicloom.engine import exact_shards, shards
from topicloom.engine.sampler import Schedule
from topicloom.errors import InputError

Steps = Callable[[int, int, int], Iterator[tuple[int, int]]]


class Group(NamedTuple):
    """Steps between two meetings of all threads."""

    seconds: FloatArray  # [parts, steps]
    delay: int  # a part is less than so many steps before another


def recorder(groups: list[Group], steps_in_order: Steps) -> Steps:
    """The same steps on one thread, with what each of them took."""

    def steps(n_tasks: int, n_steps: int, delay: int) -> Iterator[tuple[int, int]]:
        group = Group(np.zeros((n_tasks, n_steps)), delay)
        groups.append(group)
        for task, step in steps_in_order(n_tasks, n_steps, delay):
            started = time.process_time()
            yield task, step
            group.seconds[task, step] = time.process_time() - started

    return steps


def makespan(group: Group, n_threads: int) -> float:
    """Seconds of so many threads, each on a core of its own.

    A step begins when no part is ``delay`` steps behind. A thread keeps its part where that may go on, and otherwise
    takes the one that is furthest behind.
    """
    n_tasks, n_steps = group.seconds.shape
    done, free = [0] * n_tasks, set(range(n_tasks))
    idle = {thread: thread * n_tasks // n_threads for thread in range(min(n_threads, n_tasks))}  # thread: its part
    busy: list[tuple[float, int, int]] = []  # until when, thread, part
    now = 0.0
    while busy or min(done) < n_steps:
        for thread in sorted(idle):
            most = min(n_steps, min(done) + group.delay)
            ready = sorted((task for task in free if done[task] < most), key=done.__getitem__)
            if ready:
                task = idle[thread] if idle[thread] in ready else ready[0]
                free.remove(task)
                del idle[thread]
                heapq.heappush(busy, (now + group.seconds[task, done[task]], thread, task))
        now, thread, task = heapq.heappop(busy)
        done[task] += 1
        free.add(task)
        idle[thread] = task
    return now


class Watched:
    """A chain on one thread whose steps are timed."""

    def __init__(self, chain: Ours) -> None:
        self._chain = chain

    def sweep(self, n_sweeps: int) -> tuple[list[Group], float]:
        """The steps, and the seconds that passed outside of them."""
        groups: list[Group] = []
        with ExitStack() as patches:
            for module in (shards, exact_shards):
                real = module.steps_in_order
                patches.enter_context(patch.object(module, "steps_in_order", recorder(groups, real)))
            started = time.process_time()
            self._chain.sweep(n_sweeps)
            whole = time.process_time() - started
        return groups, whole - sum(float(group.seconds.sum()) for group in groups)


def simulated(chain: Ours, threads: Sequence[int], turns: int, sweeps: int) -> FloatArray:
    """Seconds of a sweep, by number of threads and turn."""
    seconds = np.zeros((len(threads), turns))
    for turn in range(turns):
        groups, outside = Watched(chain).sweep(sweeps)
        for i, n in enumerate(threads):
            seconds[i, turn] = (outside + sum(makespan(group, n) for group in groups)) / sweeps
    return seconds


def rows_of(name: str, corpus: Corpus, n_topics: int, given: argparse.Namespace) -> list[list[str]]:
    n_shards, alone = given.shards, Schedule(exact=not given.lagging)
    threads = sorted({1, *given.threads})
    within = [n for n in threads if n <= given.cores]
    warm_up("auto", corpus, n_topics, n_shards)
    schedules = [alone, *(Schedule(n_shards, n, exact=not given.lagging) for n in within)]
    chains = [Ours("auto", corpus, n_topics, schedule) for schedule in schedules]
    for chain in chains:
        chain.sweep(given.settle)
    work = [lambda chain=chain: chain.sweep(given.sweeps) for chain in chains]
    one, *several = np.array(in_turn(work, given.turns, given.clock)) / given.sweeps
    topics = [chain.topics() for chain in chains[1:]]
    if not all(np.array_equal(topics[0], other) for other in topics):
        raise AssertionError("the topics depend on the number of threads")
    rows = [row(name, n_topics, 1, 1, "measured", one, one, one)]
    first = several[0]
    rows += [
        row(name, n_topics, n_shards, n, "measured", taken, first, one)
        for n, taken in zip(within, several, strict=True)
    ]
    made = simulated(chains[1], threads, given.turns, given.sweeps)
    rows += [
        row(name, n_topics, n_shards, n, "simulated", taken, made[0], None)
        for n, taken in zip(threads, made, strict=True)
        if n > 1
    ]
    for shown in rows:
        say(" | ".join(shown))
    return rows


def row(
    name: str, n_topics: int, n_shards: int, n: int, how: str, taken: FloatArray, same: FloatArray,
    one: FloatArray | None,
) -> list[str]:  # fmt: skip
    over = [f"{np.median(other / taken):.2f}" if other is not None else "" for other in (same, one)]
    return [name, str(n_topics), str(n_shards), str(n), how, f"{np.median(taken):.4f}", *over]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, help="folder that holds the corpora's folders; synthetic ones need none")
    parser.add_argument("--corpus", nargs="+", default=["zipf:50000"])
    parser.add_argument(
        "--tokens", type=lambda text: int(float(text)), default=_corpora.TOKENS, help="of synthetic ones"
    )
    parser.add_argument("--topics", nargs="+", type=int, default=[100, 1000])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--shards", type=int, help="of all chains but one (default: the most threads)")
    parser.add_argument("--cores", type=int, default=cores(), help="for as many threads time is measured")
    parser.add_argument("--clock", default="wall", choices=CLOCKS, help="cpu, on a shared machine: measures one thread")
    parser.add_argument("--lagging", action="store_true", help="shards whose totals lag behind, not exact ones")
    parser.add_argument("--settle", type=int, default=20, help="sweeps before")
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--sweeps", type=int, default=10, help="of a turn")
    parser.add_argument("--shuffled", action="store_true", help="tokens of a document in random order, as in texts")
    parser.add_argument("--out", type=Path, help="folder for threads.md; without it the table is printed alone")
    given = parser.parse_args(arguments)
    given.cores = 1 if given.clock == "cpu" else given.cores
    given.shards = given.shards or max(given.threads)
    sizes = (given.shards, given.cores, given.turns, given.sweeps, given.settle, given.tokens)
    if min(*sizes, *given.topics, *given.threads) < 1:
        parser.error("all numbers must be at least 1")
    return given


def main(arguments: Sequence[str]) -> None:
    given = parse(arguments)
    _corpora.check(given.corpus, given.data)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in given.corpus:
        corpus = _corpora.named(name, given.data, given.tokens)
        corpus = shuffled(corpus) if given.shuffled else corpus
        for n_topics in given.topics:
            rows += rows_of(name, corpus, n_topics, given)
    head = ["corpus", "K", "shards", "threads", "", "s a sweep, median", "times one thread's speed", "one shard's"]
    text = "\n\n".join(
        [
            f"`python -m benchmarks.threads {without_paths(arguments)}`",
            machine(),
            f"`auto`, {'shards that lag behind' if given.lagging else 'exact shards'}; {given.turns} turns of "
            f"{given.sweeps} sweeps after {given.settle}; speed-ups are medians of ratios within a turn. Measured rows "
            f"are of {'processor time' if given.clock == 'cpu' else 'the wall clock'}. Simulated "
            "rows follow the schedule with the processor time that each step took on "
            "one thread; they know no shared caches, memory or locks, and are upper bounds.",
            table(head, rows),
        ]
    )
    if given.out:
        (given.out / "threads_simulated.md").write_text(f"# Threads\n\n{text}\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
