"""Which of three exact ways to sweep is the quickest: all topics, words' lists, or documents' topics word by word.

    python -m benchmarks.crossover --data DIR --corpus kos nips news20 zipf --topics 20 100 400 1000

One exact chain is moved on; at some of its states a sweep of each kind is timed in turn, from that very state. From all
states together a line is fitted to each: nanoseconds a token = a + b · K for dense, a + b · L for sparse, L being the
mean length of the list of a token's word, and a + b · T for words, T being the mean number of topics in a token's
document. It is by these that the sampler "auto" chooses (``topicloom.lda.gibbs.auto.expected``).
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks._common import CLOCKS, machine, need_files, table, timed, without_paths
from benchmarks._tools import SEED, fixed_prior, read, say, warm_up
from topicloom.corpus import Corpus
from topicloom.datasets import zipf
from topicloom.engine.sampler import Key, Schedule
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.gibbs.auto import expected, shape_of

SAMPLERS = ("dense", "sparse", "words")


class Reading(NamedTuple):
    corpus: str
    n_topics: int
    sweep: int
    length: float  # mean list
    topics: float  # mean number in a document
    found: dict[str, float]  # nanoseconds a token
    chosen: str

    @property
    def quickest(self) -> str:
        return min(self.found, key=self.found.__getitem__)

    @property
    def loss(self) -> float:
        """Time of what auto takes over that of the quickest."""
        return self.found[self.chosen] / self.found[self.quickest]


def measure(name: str, corpus: Corpus, n_topics: int, looks: Sequence[int], repeats: int, clock: str) -> list[Reading]:
    """A reading after each number of sweeps in ``looks``."""
    for sampler in SAMPLERS:
        warm_up(sampler, corpus, n_topics)
    prior, mover = fixed_prior(corpus, n_topics), get_sampler("auto")
    state = mover.init(corpus, prior, Key(SEED, 0, 0))
    found, done = [], 0
    for look in looks:
        while done < look:
            done += 1
            state, _ = mover.sweep(corpus, state, prior, Key(SEED, 0, done), Schedule())
        seconds: dict[str, list[float]] = {sampler: [] for sampler in SAMPLERS}
        for _ in range(repeats):
            for sampler, taken in seconds.items():
                kernel = get_sampler(sampler)
                copy = kernel.restore(corpus, state.z.copy(), n_topics)
                taken.append(timed(partial(kernel.sweep, corpus, copy, prior, Key(SEED, 1, 1), Schedule()), clock))
        lists = get_sampler("sparse").restore(corpus, state.z, n_topics)
        costs, shape = expected(corpus, lists, prior), shape_of(corpus, lists, prior)
        times = {sampler: min(taken) * 1e9 / corpus.n_tokens for sampler, taken in seconds.items()}
        chosen = min(costs, key=costs.__getitem__)
        found.append(Reading(name, n_topics, look, shape.entries, shape.topics, times, chosen))
        told = ", ".join(f"{sampler} {taken:.0f}" for sampler, taken in times.items())
        say(f"{name}, K = {n_topics}, after {look} sweeps: list {shape.entries:.1f}, {told} ns a token")
    return found


def lines(readings: Sequence[Reading]) -> dict[str, tuple[float, float]]:
    """(a, b) for each sampler, by least squares of relative errors."""
    against = {
        "dense": [float(r.n_topics) for r in readings],
        "sparse": [r.length for r in readings],
        "words": [r.topics for r in readings],
    }
    fitted = {}
    for sampler, x in against.items():
        y = np.array([r.found[sampler] for r in readings])
        slope, level = np.polyfit(x, y, 1, w=1 / y)
        fitted[sampler] = float(level), float(slope)
    return fitted


def report(readings: Sequence[Reading]) -> str:
    head = ["corpus", "K", "after sweeps", "L", "T", *(f"{sampler}, ns" for sampler in SAMPLERS), "auto takes", "loss"]
    rows = [
        [
            r.corpus, str(r.n_topics), str(r.sweep), f"{r.length:.1f}", f"{r.topics:.1f}",
            *(f"{r.found[sampler]:.0f}" for sampler in SAMPLERS), r.chosen, f"{r.loss - 1:.0%}",
        ]
        for r in readings
    ]  # fmt: skip
    text = [table(head, rows)]
    if len({r.n_topics for r in readings}) > 1:
        told = ", ".join(
            f"{sampler} {a:.0f} + {b:.2f} {letter}"
            for (sampler, (a, b)), letter in zip(lines(readings).items(), "KLT", strict=True)
        )
        losses = [r.loss - 1 for r in readings]
        text.append(
            f"Fitted: {told} nanoseconds a token. What auto takes costs {np.mean(losses):.1%} more than the quickest "
            f"of the three on average, {max(losses):.0%} at worst."
        )
    return "\n\n".join(text)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crossover", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", nargs="+", default=["zipf"], help="names of folders, or zipf, a synthetic one")
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 100, 400])
    parser.add_argument("--after", nargs="+", type=int, default=[0, 2, 5, 10, 30, 100], help="sweeps")
    parser.add_argument("--tokens", type=float, default=3e6, help="of zipf")
    parser.add_argument("--repeats", type=int, default=2, help="timings of which the least counts")
    parser.add_argument("--clock", default="cpu", choices=CLOCKS)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--name", default="crossover", help="of the file written to --out")
    given = parser.parse_args(arguments)
    if min(given.repeats, *given.topics) < 1 or min(given.after) < 0:
        parser.error("--topics and --repeats must be at least 1, --after at least 0")
    real = [name for name in given.corpus if name != "zipf"]
    if real and given.data is None:
        parser.error(f"--corpus {' '.join(real)} needs --data")
    need_files(given.data, real)
    given.out.mkdir(parents=True, exist_ok=True)
    readings = []
    for name in given.corpus:
        corpus = zipf(int(given.tokens), 50_000, 100, seed=1).corpus if name == "zipf" else read(given.data, name)
        for n_topics in given.topics:
            readings += measure(name, corpus, n_topics, sorted(given.after), given.repeats, given.clock)
    shown = without_paths(arguments)
    text = f"`python -m benchmarks.crossover {shown}`\n\n{machine()}\n\n{report(readings)}\n"
    (given.out / f"{given.name}.md").write_text(f"# Which sweep is the quickest\n\n{text}", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
