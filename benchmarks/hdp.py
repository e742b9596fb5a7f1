"""Time of a sweep of a hierarchical Dirichlet process beside tomotopy's, both on one thread, taken in turn.

    python -m benchmarks.hdp --data DIR [--corpus kos] [--topics 50 100] [--seeds 1 2 3] [--sweeps 10]

Both start with the same number of topics and have the same concentrations and the same prior of words, none of which
is learned. Numbers of topics then go their own ways, so that they are in the table, too. tomotopy draws tables of the
franchise, one seat after the other; we draw topics directly, and numbers of tables after each sweep.
"""

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import CLOCKS, in_turn, machine, rival, table, without_paths
from topicloom import HDP, read
from topicloom.corpus import Corpus
from topicloom.engine.run import advance, start_chain

DOC, TOPIC, BETA = 1.0, 1.0, 0.1
SETTLE = 40


class Ours:
    """A chain of topicloom's."""

    def __init__(self, corpus: Corpus, n_topics: int, seed: int) -> None:
        model = HDP(
            n_topics, doc_concentration=DOC, topic_concentration=TOPIC, topic_word_prior=BETA, max_iter=10**9,
            trace_every=10**9,
        )  # fmt: skip
        self._problem = model._problem(corpus, seed)
        self._chain = start_chain(self._problem.sampler, corpus, self._problem.prior(), seed, 0)

    def sweep(self) -> None:
        advance(self._problem.sampler, self._problem.sampled, self._chain, self._problem.plan)

    def n_topics(self) -> int:
        return len(self._chain.state.topic)


class Tomotopy:
    """A chain of tomotopy's."""

    def __init__(self, corpus: Corpus, n_topics: int, seed: int) -> None:
        self._model: Any = rival("tomotopy").HDPModel(initial_k=n_topics, alpha=DOC, gamma=TOPIC, eta=BETA, seed=seed)
        self._model.optim_interval = 0
        names = np.array(corpus.vocabulary, dtype=object)
        for d in np.flatnonzero(corpus.doc_lengths):
            self._model.add_doc(names[corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]].tolist())
        self._train(0)

    def _train(self, sweeps: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self._model.train(sweeps, workers=1)

    def sweep(self) -> None:
        self._train(1)

    def n_topics(self) -> int:
        return int(self._model.live_k)


def row(corpus: Corpus, n_topics: int, seed: int, sweeps: int, clock: str) -> list[object]:
    """Topics and milliseconds a sweep of both, and how many times as quick ours is."""
    tools = [make(corpus, n_topics, seed) for make in (Ours, Tomotopy)]
    in_turn([tool.sweep for tool in tools], SETTLE, clock)
    ours, theirs = (1e3 * float(np.median(own)) for own in in_turn([tool.sweep for tool in tools], sweeps, clock))
    topics = [tool.n_topics() for tool in tools]
    return [n_topics, seed, *topics, f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.1f}"]


def report(data: Path, name: str, topics: Sequence[int], seeds: Sequence[int], sweeps: int, clock: str) -> str:
    corpus = read(data / name, format="folder")
    header = ["first topics", "seed", "topics", "tomotopy's", "ms a sweep", "tomotopy's", "times as quick"]
    rows = [row(corpus, k, seed, sweeps, clock) for k in topics for seed in seeds]
    return (
        f"**{name}**, {corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens, α₀ = {DOC}, γ = {TOPIC}, η = {BETA}; ms of "
        f"{clock} time, median of {sweeps} sweeps after {SETTLE}\n\n" + table(header, rows)
    )


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hdp", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", nargs="+", default=["kos"])
    parser.add_argument("--topics", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--clock", choices=CLOCKS, default="cpu")
    given = parser.parse_args(arguments)
    print(f"`python -m benchmarks.hdp {without_paths(arguments)}`\n\n{machine(rival('tomotopy'))}")
    for name in given.corpus:
        print("\n" + report(given.data, name, given.topics, given.seeds, given.sweeps, given.clock))


if __name__ == "__main__":
    main(sys.argv[1:])
