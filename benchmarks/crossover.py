"""Which of three exact ways to sweep is the quickest: all topics, words' lists, or documents' topics word by word.

    python -m benchmarks.crossover --data DIR --corpus kos nips news20 zipf --topics 20 100 400 1000

One exact chain is moved on; at some of its states a sweep of each kind is timed in turn, from that very state. From all
states together a formula is fitted to each, in nanoseconds per token: a + (b + c F) K for dense, a + b L for sparse and
a + b T for words. L is the mean length of the list of a token's word, and T the mean number of topics in a token's
document. F is the share of the tokens whose words' rows of counts do not fit into the cache beside those of more
frequent words. By formulas like these the sampler "auto" chooses (``topicloom.lda.gibbs.auto.expected``). Its own are
those with which it loses least near the crossovers: where one sampler is much quicker, nothing depends on them.

Corpora are folders of ``--data`` or names as of ``benchmarks.lda``, and ``zipf``, which has 50,000 words.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import _corpora
from benchmarks._common import CLOCKS, machine, table, timed, without_paths
from benchmarks._tools import SEED, fixed_prior, say, warm_up
from topicloom.corpus import Corpus
from topicloom.engine.sampler import Key, Schedule
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.gibbs.auto import far_share, quickest, shape_of

SAMPLERS = ("dense", "sparse", "words")


class Reading(NamedTuple):
    corpus: str
    n_topics: int
    sweep: int
    length: float  # mean list
    topics: float  # mean number in a document
    far_rows: float  # share of the tokens
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
        of_state = get_sampler("sparse").restore(corpus, state.z, n_topics)
        shape = shape_of(corpus, of_state, prior)
        times = {sampler: min(taken) * 1e9 / corpus.n_tokens for sampler, taken in seconds.items()}
        chosen = quickest(corpus, of_state, prior)
        far = far_share(corpus, n_topics)
        found.append(Reading(name, n_topics, look, shape.entries, shape.topics, far, times, chosen))
        told = ", ".join(f"{sampler} {taken:.0f}" for sampler, taken in times.items())
        say(f"{name}, K = {n_topics}, after {look} sweeps: list {shape.entries:.1f}, {told} ns a token")
    return found


def formulas(readings: Sequence[Reading]) -> dict[str, list[float]]:
    """Their numbers for each sampler, by least squares of relative errors."""
    against = {
        "dense": [[1.0, r.n_topics, r.n_topics * r.far_rows] for r in readings],
        "sparse": [[1.0, r.length] for r in readings],
        "words": [[1.0, r.topics] for r in readings],
    }
    fitted = {}
    for sampler, given in against.items():
        x, y = np.array(given), np.array([r.found[sampler] for r in readings])
        fitted[sampler] = [float(number) for number in np.linalg.lstsq(x / y[:, None], np.ones(len(y)))[0]]
    return fitted


def report(readings: Sequence[Reading]) -> str:
    times = [f"{sampler}, ns" for sampler in SAMPLERS]
    head = ["corpus", "K", "after sweeps", "L", "T", "F", *times, "auto takes", "loss"]
    rows = [
        [
            r.corpus, str(r.n_topics), str(r.sweep), f"{r.length:.1f}", f"{r.topics:.1f}",
            f"{r.far_rows:.2f}",
            *(f"{r.found[sampler]:.0f}" for sampler in SAMPLERS), r.chosen, f"{r.loss - 1:.0%}",
        ]
        for r in readings
    ]  # fmt: skip
    text = [table(head, rows)]
    if len({r.n_topics for r in readings}) > 1:
        of = formulas(readings)
        (a, b, c), (d, e), (g, h) = of["dense"], of["sparse"], of["words"]
        told = f"dense {a:.0f} + ({b:.2f} + {c:.2f} F) K, sparse {d:.0f} + {e:.2f} L, "
        told += f"words {g:.0f} + {h:.2f} T"
        losses = [r.loss - 1 for r in readings]
        text.append(
            f"Fitted: {told} nanoseconds per token. What auto takes costs {np.mean(losses):.1%} more than the quickest "
            f"of the three on average, {max(losses):.0%} at worst, and more than 5% in "
            f"{sum(loss > 0.05 for loss in losses)} of {len(losses)} states."
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
    _corpora.check([name for name in given.corpus if name != "zipf"], given.data)
    given.out.mkdir(parents=True, exist_ok=True)
    readings = []
    for name in given.corpus:
        corpus = _corpora.named("zipf:50000" if name == "zipf" else name, given.data, int(given.tokens))
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
