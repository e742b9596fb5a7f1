"""Time of a sweep of a hierarchical Dirichlet process beside tomotopy's, both on one thread, taken in turn.

    python -m benchmarks.hdp --data DIR [--corpus kos] [--topics 50 100] [--seeds 1 2 3] [--sweeps 10]
    python -m benchmarks.hdp --recover 1000 [--seeds 1 2 3]

Both start with the same number of topics and have the same concentrations and the same prior of words, none of which
is learned. Numbers of topics then go their own ways, so that they are in the table, too. tomotopy draws tables of the
franchise, one seat after the other; we draw topics directly, and numbers of tables after each sweep. ``--recover``
shows the posterior of the number of topics, after so many sweeps, of corpora whose number is known.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import CLOCKS, in_turn, machine, need_files, rival, table, without_paths
from topicloom import HDP, read
from topicloom.corpus import Corpus
from topicloom.datasets import bars, synthetic_lda, zipf
from topicloom.engine.run import advance, start_chain
from topicloom.errors import InputError, MissingExtraError

DOC, TOPIC, BETA = 1.0, 1.0, 0.1
SETTLE = 40
CORPORA: tuple[tuple[str, Callable[[int], Corpus], int], ...] = (
    ("bars, 500 images", lambda seed: bars(n_docs=500, seed=seed).corpus, 10),
    ("LDA, 500 documents", lambda seed: synthetic_lda(500, 300, 5, seed=seed).corpus, 5),
    ("LDA, 1,000 documents", lambda seed: synthetic_lda(1000, 500, 20, seed=seed).corpus, 20),
    (
        "zipf, 1,000 documents",
        lambda seed: zipf(100_000, 1000, 20, doc_length=100, background=0.0, seed=seed).corpus,
        20,
    ),
)


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
    given = f"α₀ = {DOC}, γ = {TOPIC}, η = {BETA}"
    return (
        f"**{name}**, {corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens, {given}; ms of {clock} time, median of "
        f"{sweeps} sweeps after {SETTLE}\n\n" + table(header, rows)
    )


def recovered(seeds: Sequence[int], sweeps: int) -> str:
    """Posterior of the number of topics of corpora whose number is known, at the model's defaults."""
    rows: list[list[object]] = []
    for name, make, truth in CORPORA:
        for seed in seeds:
            trace = HDP(max_iter=sweeps, random_state=seed).fit(make(seed)).trace_
            late = len(trace.sweep) // 2
            rows.append(
                [f"{name}, seed {seed}", truth, *(_interval(own[late:]) for own in (trace.n_topics, trace.n_main))]
            )
    header = ["corpus", "topics in truth", "topics: median (90%)", "with 99% of the tokens"]
    return f"Default model, {sweeps} sweeps, of which the second half counts\n\n" + table(header, rows)


def _interval(numbers: Sequence[int]) -> str:
    low, middle, high = np.percentile(numbers, [5, 50, 95], method="nearest")
    return f"{middle} ({low} to {high})"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hdp", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", nargs="+", default=["kos"])
    parser.add_argument("--topics", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--clock", choices=CLOCKS, default="cpu")
    parser.add_argument("--recover", type=int, metavar="SWEEPS", help="the numbers of topics of synthetic corpora")
    given = parser.parse_args(arguments)
    if given.recover is not None:
        print(f"`python -m benchmarks.hdp {without_paths(arguments)}`\n\n{recovered(given.seeds, given.recover)}")
        return
    if given.data is None:
        parser.error("give the corpora's folder with --data, or --recover")
    need_files(given.data, given.corpus)
    print(f"`python -m benchmarks.hdp {without_paths(arguments)}`\n\n{machine(rival('tomotopy'))}")
    for name in given.corpus:
        print("\n" + report(given.data, name, given.topics, given.seeds, given.sweeps, given.clock))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"error: {error}")
