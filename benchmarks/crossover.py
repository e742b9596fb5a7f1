"""Where looking at a word's list of topics becomes quicker than looking at all topics.

    python -m benchmarks.crossover --data DIR --corpus kos nips news20 --topics 10 20 50 100 200

One exact chain is moved on; at some of its states a sweep over all topics (with the change from lists to a matrix and
back) and one over lists are timed in turn, both from that very state. From all states together a line is fitted to
each, time of a token = a + b · K for dense and c + d · L for sparse, L being the mean length of the list of a token's
word, and with them the L below which sparse is quicker. It is by this that the sampler "auto" chooses
(``topicloom.inference.samplers.prefers_dense``).
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks._common import CLOCKS, machine, table, timed, without_path
from benchmarks._tools import SEED, fixed_prior, read, say, warm_up
from topicloom.corpus import Corpus
from topicloom.datasets import zipf
from topicloom.errors import InputError
from topicloom.inference.kernel import Key, Prior, Schedule, get_kernel
from topicloom.inference.long_words import choose, mean_work
from topicloom.inference.samplers import prefers_dense
from topicloom.inference.state import SparseState, as_dense, rebuild_lists
from topicloom.kernels.lists import gather, sort_lists


class Reading(NamedTuple):
    corpus: str
    n_topics: int
    sweep: int
    length: float  # mean list
    dense: float  # nanoseconds a token
    sparse: float

    @property
    def chosen(self) -> str:
        return "dense" if prefers_dense(self.n_topics, self.length) else "sparse"

    @property
    def loss(self) -> float:
        """Time of what auto takes over that of the quicker one."""
        return (self.dense if self.chosen == "dense" else self.sparse) / min(self.dense, self.sparse)


def sweep_dense(corpus: Corpus, lists: SparseState, prior: Prior) -> None:
    state, _ = get_kernel("dense").sweep(corpus, as_dense(lists), prior, Key(SEED, 1, 1), Schedule())
    gather(state[1], *lists[1:4])
    sort_lists(0, corpus.n_words, *lists[1:4])


def sweep_sparse(corpus: Corpus, lists: SparseState, prior: Prior) -> None:
    get_kernel("sparse").sweep(corpus, lists, prior, Key(SEED, 1, 1), Schedule())


SWEEPS = {"dense": sweep_dense, "sparse": sweep_sparse}


def measure(name: str, corpus: Corpus, n_topics: int, looks: Sequence[int], repeats: int, clock: str) -> list[Reading]:
    """A reading after each number of sweeps in ``looks``."""
    for sampler in ("dense", "sparse"):
        warm_up(sampler, corpus, n_topics)
    prior, mover = fixed_prior(corpus, n_topics), get_kernel("sparse")
    state = mover.init(corpus, prior, Key(SEED, 0, 0))
    found, done = [], 0
    for look in looks:
        while done < look:
            done += 1
            state, _ = mover.sweep(corpus, state, prior, Key(SEED, 0, done), Schedule())
        length = mean_work(corpus, choose(corpus, rebuild_lists(corpus, state.z, n_topics), prior))
        seconds: dict[str, list[float]] = {"dense": [], "sparse": []}
        for _ in range(repeats):
            for sampler, taken in seconds.items():
                copy = rebuild_lists(corpus, state.z.copy(), n_topics)
                taken.append(timed(partial(SWEEPS[sampler], corpus, copy, prior), clock))
        scale = 1e9 / corpus.n_tokens
        found.append(Reading(name, n_topics, look, length, *(scale * min(taken) for taken in seconds.values())))
        times = f"dense {found[-1].dense:.0f}, sparse {found[-1].sparse:.0f} ns a token"
        say(f"{name}, K = {n_topics}, after {look} sweeps: list {length:.1f}, {times}")
    return found


def lines(readings: Sequence[Reading]) -> tuple[tuple[float, float], tuple[float, float]]:
    """(a, b) of dense = a + b·K and (c, d) of sparse = c + d·L, by least squares of relative errors."""

    def fit(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
        slope, level = np.polyfit(x, y, 1, w=1 / np.asarray(y))
        return float(level), float(slope)

    return (
        fit([r.n_topics for r in readings], [r.dense for r in readings]),
        fit([r.length for r in readings], [r.sparse for r in readings]),
    )


def report(readings: Sequence[Reading]) -> str:
    head = ["corpus", "K", "after sweeps", "mean list", "dense, ns a token", "sparse", "quicker", "auto takes", "loss"]
    rows = [
        [
            r.corpus, str(r.n_topics), str(r.sweep), f"{r.length:.1f}", f"{r.dense:.0f}", f"{r.sparse:.0f}",
            "dense" if r.dense < r.sparse else "sparse", r.chosen, f"{r.loss - 1:.0%}",
        ]
        for r in readings
    ]  # fmt: skip
    text = [table(head, rows)]
    if len({r.n_topics for r in readings}) > 1:
        (a, b), (c, d) = lines(readings)
        losses = [r.loss - 1 for r in readings]
        text.append(
            f"Fitted: dense {a:.0f} + {b:.2f} K, sparse {c:.0f} + {d:.2f} L nanoseconds a token; sparse is quicker "
            f"where L < {(a - c) / d:.1f} + {b / d:.3f} K. What auto takes costs {np.mean(losses):.1%} more than the "
            f"quicker of the two on average, {max(losses):.0%} at worst."
        )
    return "\n\n".join(text)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crossover", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", nargs="+", default=["zipf"], help="names of folders, or zipf, a synthetic one")
    parser.add_argument("--topics", nargs="+", type=int, default=[10, 20, 50, 100, 200])
    parser.add_argument("--after", nargs="+", type=int, default=[0, 2, 5, 10, 30, 100], help="sweeps")
    parser.add_argument("--repeats", type=int, default=2, help="timings of which the least counts")
    parser.add_argument("--clock", default="cpu", choices=CLOCKS)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--name", default="crossover", help="of the file written to --out")
    given = parser.parse_args(arguments)
    if min(given.repeats, *given.topics) < 1 or min(given.after) < 0:
        parser.error("--topics and --repeats must be at least 1, --after at least 0")
    readings = []
    for name in given.corpus:
        if name != "zipf" and given.data is None:
            parser.error(f"--corpus {name} needs --data")
        corpus = zipf(500_000, 20_000, 50, seed=1).corpus if name == "zipf" else read(given.data, name)
        for n_topics in given.topics:
            readings += measure(name, corpus, n_topics, sorted(given.after), given.repeats, given.clock)
    shown = without_path(arguments, "--data")
    text = f"`python -m benchmarks.crossover {shown}`\n\n{machine()}\n\n{report(readings)}\n"
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / f"{given.name}.md").write_text(f"# Lists or all topics\n\n{text}", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
