"""What approximations cost: shards, and the sampler "warp", beside the exact sampler.

    python -m benchmarks.approximations                          tiny corpora, against their exact posterior
    python -m benchmarks.approximations --data DIR               real corpora: likelihood and coherence, and speed
    python -m benchmarks.approximations --synthetic              the same on a corpus with known topics

DIR holds one folder a corpus, as read by ``topicloom.read(..., format="folder")``. A corpus of ten tokens has so few
states that all can be listed; how often a chain is in each of them is compared with the posterior. Shards of so small a
corpus meet after each round; those of large ones lag behind each other, which is measured here, too. On corpora of real
size chains of every kind start from the same prior and go through the same number of sweeps. Everything is on one
thread: threads change no result.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

import topicloom
from benchmarks._common import CLOCKS, machine, need_files, table
from topicloom._types import FloatArray
from topicloom.corpus import Corpus
from topicloom.datasets import zipf
from topicloom.engine import shards as blocks
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.state import AnyState
from topicloom.errors import InputError
from topicloom.evaluation import coherence
from topicloom.lda.gibbs import get_sampler

ALPHA, BETA = 0.1, 0.01
WARM_UP = 20


class Way(NamedTuple):
    """A sampler and how its sweep is made."""

    sampler: str
    schedule: Schedule = Schedule()
    lags: bool = False  # shards lag behind each other however small the corpus is

    def __str__(self) -> str:
        if self.sampler in ("warp", "mh"):
            return f"{self.sampler}, n_mh = {self.schedule.n_mh}"
        shards = f"{self.schedule.n_shards} shards" if self.schedule.n_shards > 1 else "1 shard, exact"
        return f"{self.sampler}, {shards}{', which lag' if self.lags else ''}"

    @contextmanager
    def set_up(self) -> Iterator[None]:
        """Where documents come in pieces from so few tokens on."""
        before = blocks.LEAST, blocks.PER_TOPIC
        if self.lags:
            blocks.LEAST = blocks.PER_TOPIC = 0
        yield
        blocks.LEAST, blocks.PER_TOPIC = before


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def states(corpus: Corpus, prior: Prior, way: Way, seed: int, n: int) -> Iterator[AnyState]:
    """The states after each of ``n`` sweeps."""
    kernel = get_sampler(way.sampler)
    state, progress = kernel.init(corpus, prior, Key(seed, 0, 0)), None
    for sweep in range(1, n + 1):
        state, _, progress = kernel.run(corpus, state, prior, Key(seed, 0, sweep), way.schedule, 1, progress)
        yield state


# -- tiny corpora ----------------------------------------------------------------------------------------------------


def tiny(docs: Sequence[Sequence[int]], n_words: int, alpha: Sequence[float], beta: float) -> tuple[Corpus, Prior]:
    ptr = np.concatenate(([0], np.cumsum([len(doc) for doc in docs])))
    names = tuple(f"w{v}" for v in range(n_words))
    corpus = Corpus(np.array([v for doc in docs for v in doc], np.int32), ptr, names)
    return corpus, make_prior(np.array(alpha), np.full(n_words, beta), len(docs))


TINY = {
    "6 tokens, 2 topics": tiny([[0, 0, 1], [], [1, 2, 0]], 3, [0.3, 0.9], 0.4),
    "10 tokens, 2 topics": tiny([[0], [1, 2], [3], [4], [5, 0], [6], [7], [1]], 8, [0.3, 0.9], 0.4),
}
TINY_WAYS = [
    Way("dense"),
    Way("sparse"),
    *(Way(sampler, Schedule(n_shards, exact=False)) for sampler in ("dense", "sparse") for n_shards in (2, 4, 8)),
    *(Way("dense", Schedule(n_shards, exact=False), lags=True) for n_shards in (2, 4)),
    *(Way("warp", Schedule(n_mh=n_mh)) for n_mh in (1, 2, 4)),
]


def posterior(corpus: Corpus, prior: Prior) -> tuple[FloatArray, FloatArray]:
    """Every state and its exact probability."""
    kernel = get_sampler("dense")
    every = np.array(list(itertools.product(range(prior.n_topics), repeat=corpus.n_tokens)))
    logs = np.array([kernel.log_joint(corpus, kernel.restore(corpus, z, prior.n_topics), prior) for z in every])
    p = np.exp(logs - logs.max())
    return every, p / p.sum()


def together(every: FloatArray, p: FloatArray) -> FloatArray:
    """Probability that two tokens have one topic, for all pairs."""
    return np.einsum("s,sij->ij", p, every[:, :, None] == every[:, None, :])


def tiny_row(name: str, way: Way, sweeps: int, chains: int = 10) -> list[str]:
    """Distances from the posterior of the states that ``chains`` chains visit."""
    corpus, prior = TINY[name]
    kernel = get_sampler(way.sampler)
    every, p = posterior(corpus, prior)
    place = prior.n_topics ** np.arange(corpus.n_tokens)[::-1]
    seen = np.zeros(len(p))
    starts = np.random.default_rng(1).choice(len(p), size=chains, p=p)
    for chain, start in enumerate(starts):
        state, progress = kernel.restore(corpus, every[start], prior.n_topics), None
        with way.set_up():
            for sweep in range(WARM_UP + sweeps // chains):
                state, _, progress = kernel.run(corpus, state, prior, Key(2, chain, sweep), way.schedule, 1, progress)
                if sweep >= WARM_UP:
                    seen[int(place @ state.z)] += 1
    q = seen / seen.sum()
    pairs = np.abs(together(every, q) - together(every, p)).max()
    say(f"{name}: {way}")
    return [name, str(way), f"{np.abs(q - p).sum() / 2:.3f}", f"{pairs:.3f}"]


# -- corpora of real size --------------------------------------------------------------------------------------------


REAL_WAYS = [
    *(Way("sparse", Schedule(n_shards, exact=False)) for n_shards in (1, 2, 4, 8, 16)),
    *(Way("warp", Schedule(n_mh=n_mh)) for n_mh in (1, 2, 4)),
]


def quality(corpus: Corpus, prior: Prior, way: Way, sweeps: Sequence[int], seed: int) -> list[float]:
    """Log joint probability a token after each number of sweeps; then coherence, c_npmi and u_mass."""
    kernel = get_sampler(way.sampler)
    measured = []
    for sweep, state in enumerate(states(corpus, prior, way, seed, max(sweeps)), 1):
        if sweep in sweeps:
            measured.append(kernel.log_joint(corpus, state, prior) / corpus.n_tokens)
    topics = state.as_dense().word_topic.T + prior.beta
    return [*measured, *(float(coherence(topics, corpus, measure).mean()) for measure in ("c_npmi", "u_mass"))]


def quality_row(corpus: Corpus, prior: Prior, way: Way, sweeps: Sequence[int], seeds: int) -> list[str]:
    runs = np.array([quality(corpus, prior, way, sweeps, seed) for seed in range(seeds)])
    row = [str(way), *(f"{m:.4f} ± {s:.4f}" for m, s in zip(runs.mean(axis=0), runs.std(axis=0, ddof=1), strict=True))]
    say(" | ".join(row))
    return row


def speed_rows(corpus: Corpus, prior: Prior, ways: Sequence[Way], sweeps: int, clock: str) -> list[list[str]]:
    """Nanoseconds a token: the least of all sweeps, and the mean, taken in turn."""
    now = CLOCKS[clock]
    chains = [states(corpus, prior, way, 0, sweeps + 1) for way in ways]
    ends = [next(chain) for chain in chains]  # compiles, and is not counted
    seconds = np.zeros((len(ways), sweeps))
    for sweep in range(sweeps):
        for i, chain in enumerate(chains):
            started = now()
            ends[i] = next(chain)
            seconds[i, sweep] = now() - started
    rows = []
    for way, end, taken in zip(ways, ends, seconds * 1e9 / corpus.n_tokens, strict=True):
        reached = get_sampler(way.sampler).log_joint(corpus, end, prior) / corpus.n_tokens
        total = taken.sum() * corpus.n_tokens / 1e9
        rows.append([str(prior.n_topics), str(way), f"{taken.min():.0f}", f"{taken.mean():.0f}"])
        rows[-1] += [f"{total:.1f}", f"{reached:.3f}"]
        say(" | ".join(rows[-1]))
    return rows


# -- the command -----------------------------------------------------------------------------------------------------


def report_tiny(sweeps: int) -> None:
    print(f"Tiny corpora, {sweeps:,} sweeps after {WARM_UP} that are not counted:\n")
    rows = [tiny_row(name, way, sweeps) for name in TINY for way in TINY_WAYS]
    print(table(["corpus", "sampler", "total variation distance", "largest error of P(z_i = z_j)"], rows))


def report_quality(name: str, corpus: Corpus, n_topics: int, sweeps: Sequence[int], seeds: int) -> None:
    prior = symmetric(corpus, n_topics)
    print(f"\n{name}: {corpus!r}, K = {n_topics}, mean ± standard deviation of {seeds} seeds:\n")
    head = ["sampler", *(f"log p(w, z) per token, {n} sweeps" for n in sweeps), "c_npmi", "u_mass"]
    print(table(head, [quality_row(corpus, prior, way, sweeps, seeds) for way in REAL_WAYS]), flush=True)


def report_speed(name: str, corpus: Corpus, topics: Sequence[int], sweeps: int, clock: str) -> None:
    ways = [Way("sparse"), *(Way("warp", Schedule(n_mh=n_mh)) for n_mh in (1, 2, 4))]
    print(f"\n{name}, {sweeps} sweeps after the first, in turn:\n")
    rows = [row for k in topics for row in speed_rows(corpus, symmetric(corpus, k), ways, sweeps, clock)]
    head = ["K", "sampler", "ns per token, least", "mean", f"{clock} seconds in all", "log p(w, z) per token"]
    print(table(head, rows), flush=True)


def symmetric(corpus: Corpus, n_topics: int) -> Prior:
    return make_prior(np.full(n_topics, ALPHA), np.full(corpus.n_words, BETA), corpus.n_docs)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.approximations", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", nargs="+", default=["kos", "nips"])
    parser.add_argument("--synthetic", action="store_true", help="a corpus of a million tokens, of 100 topics")
    parser.add_argument("--topics", nargs="+", type=int, default=[100])
    parser.add_argument("--sweeps", nargs="+", type=int, default=[100, 200])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--speed", action="store_true", help="time sweeps in place of measuring quality")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--tiny-sweeps", type=int, default=60_000)
    given = parser.parse_args(arguments)
    if given.seeds < 2 or min(*given.topics, *given.sweeps, given.tiny_sweeps) < 1:
        parser.error("--seeds must be at least 2, and --topics and all numbers of sweeps at least 1")
    if given.data:
        need_files(given.data, given.corpus)
    print(f"`python -m benchmarks.approximations {' '.join(arguments)}`\n\n{machine()}\n")
    corpora = {"synthetic": zipf(1_000_000, 20_000, 100, seed=1).corpus} if given.synthetic else {}
    if given.data:
        corpora |= {name: topicloom.read(given.data / name, format="folder") for name in given.corpus}
    if not corpora:
        report_tiny(given.tiny_sweeps)
    for name, corpus in corpora.items():
        if given.speed:
            report_speed(name, corpus, given.topics, max(given.sweeps), given.clock)
        else:
            for n_topics in given.topics:
                report_quality(name, corpus, n_topics, given.sweeps, given.seeds)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
