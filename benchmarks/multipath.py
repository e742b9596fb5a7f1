"""Seconds a sweep with several paths, beside a plain sweep of the same sampler, taken in turn on one thread.

    python -m benchmarks.multipath --data DIR [--corpus kos] [--topics 20 100] [--paths 2 5] [--samplers …]
                                   [--sweeps 20] [--settle 10] [--clock wall|cpu]

DIR holds one folder a corpus, as read by ``topicloom.read(..., format="folder")``. Both chains first go through
--settle sweeps. A sweep of m paths has m times the tokens; the share that is over m is what sharing counts costs.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import topicloom
from benchmarks._common import CLOCKS, in_turn, machine, need_files, table, without_paths
from topicloom.corpus import Corpus
from topicloom.engine.multipath import repeated, repeated_prior
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler, sampler_names

ALPHA, BETA, SEED = 0.1, 0.01, 1
LIMIT = 1.1


class Paths:
    """A chain with several paths."""

    def __init__(self, sampler: str, corpus: Corpus, n_topics: int, n_paths: int) -> None:
        self._kernel, self._corpus, self._sweep = get_sampler(sampler), repeated(corpus, n_paths), 0
        prior = make_prior(np.full(n_topics, ALPHA), np.full(corpus.n_words, BETA), corpus.n_docs)
        self._prior = repeated_prior(prior, n_paths)
        self._state = self._kernel.init(self._corpus, self._prior, Key(SEED, 0, 0))

    def sweep(self) -> None:
        self._sweep += 1
        key = Key(SEED, 0, self._sweep)
        self._state, _ = self._kernel.sweep(self._corpus, self._state, self._prior, key, Schedule())


def compare(
    sampler: str, corpus: Corpus, n_topics: int, paths: Sequence[int], sweeps: int, settle: int, clock: str
) -> list[float]:
    """Median seconds a sweep with one path, and with each number of paths."""
    chains = [Paths(sampler, corpus, n_topics, m) for m in (1, *paths)]
    for chain in chains:
        for _ in range(settle):
            chain.sweep()
    return [float(np.median(seconds)) for seconds in in_turn([chain.sweep for chain in chains], sweeps, clock)]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.multipath", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", default="kos")
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 100])
    parser.add_argument("--paths", nargs="+", type=int, default=[2, 5])
    parser.add_argument("--samplers", nargs="+", default=sampler_names(), choices=sampler_names())
    parser.add_argument("--sweeps", type=int, default=20, help="sweeps that are timed")
    parser.add_argument("--settle", type=int, default=10, help="sweeps before them")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="cpu where the machine is shared")
    given = parser.parse_args(arguments)
    if min(given.sweeps, *given.paths, *given.topics) < 1 or given.settle < 0:
        parser.error("--sweeps, --paths and --topics must be at least 1, --settle at least 0")
    need_files(given.data, [given.corpus])
    corpus = topicloom.read(given.data / given.corpus, format="folder")
    print(f"`python -m benchmarks.multipath {without_paths(arguments)}`\n")
    print(f"{machine()} {given.corpus}: {corpus!r}\n")
    rows, worst = [], 0.0
    for n_topics in given.topics:
        for sampler in given.samplers:
            one, *several = compare(sampler, corpus, n_topics, given.paths, given.sweeps, given.settle, given.clock)
            ratios = [seconds / one / m for seconds, m in zip(several, given.paths, strict=True)]
            worst = max(worst, *ratios)
            rows.append([sampler, n_topics, f"{one * 1e3:.1f}", *(f"{ratio:.2f}" for ratio in ratios)])
    header = ["sampler", "topics", "plain sweep, ms", *(f"{m} paths, time over {m} plain sweeps" for m in given.paths)]
    print(table(header, rows))
    held = "holds" if worst <= LIMIT else "DOES NOT HOLD"
    print(f"\nAt most {LIMIT} times as many plain sweeps: {held} (at worst {worst:.2f}).")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
