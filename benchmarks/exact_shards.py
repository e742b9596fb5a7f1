"""What exact sweeps on several shards cost and gain, beside one shard and shards whose totals lag behind.

    python -m benchmarks.exact_shards --data DIR --corpus kos news20 nips --topics 100 1000
    python -m benchmarks.exact_shards --synthetic 10000000 --topics 100 1000 --sweeps 30 --more 20

DIR holds one folder a corpus, as read by ``topicloom.read(..., format="folder")``. All chains run on one thread, and
time is that of the processor, so that a busy machine disturbs little. *From the start*: each chain's log p(w, z) per
token after ``--sweeps`` sweeps, and how many sweeps it needs to get where one shard is after three quarters of them.
*Settled*: all go on from the state of one shard for ``--more`` sweeps; shown are the mean log p(w, z) per token over
the second half of them and, as a measure of how quickly a chain forgets, the share of tokens that are in another topic
than where they started.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._common import machine, need_files, table, timed, without_paths
from benchmarks._tools import SEED, fixed_prior, read, say, warm_up
from topicloom import datasets
from topicloom.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler


class Arm(NamedTuple):
    """A way to sweep."""

    name: str
    schedule: Schedule


class Run:
    """A chain of one arm, with what each sweep took and led to."""

    def __init__(self, arm: Arm, corpus: Corpus, prior: Prior, state: Any, first: int) -> None:
        self.arm, self.corpus, self.prior, self.state = arm, corpus, prior, state
        self.sampler, self.progress, self.first = get_sampler("auto"), None, first
        self.seconds: list[float] = []
        self.values: list[float] = []

    def sweep(self, n: int) -> "Run":
        for number in range(self.first + len(self.seconds), self.first + len(self.seconds) + n):

            def do(number: int = number) -> None:
                self.state, _, self.progress = self.sampler.run(
                    self.corpus, self.state, self.prior, Key(SEED, 0, number), self.arm.schedule, 1, self.progress
                )

            self.seconds.append(timed(do, "cpu"))
            self.values.append(self.sampler.log_joint(self.corpus, self.state, self.prior, 1) / self.corpus.n_tokens)
        return self

    def nanoseconds(self) -> float:
        """Per token, a median over the later half of the sweeps."""
        return float(np.median(self.seconds[len(self.seconds) // 2 :])) * 1e9 / self.corpus.n_tokens


def reached(values: Sequence[float], goal: float) -> str:
    """After how many sweeps, linear between them."""
    for i, value in enumerate(values):
        if value >= goal:
            before = values[i - 1] if i else value - 1.0
            return f"{i + (goal - before) / (value - before):.1f}"
    return f"> {len(values)}"


def rows_of(name: str, corpus: Corpus, n_topics: int, given: argparse.Namespace) -> list[list[str]]:
    arms = [Arm("one shard, exact", Schedule())]
    for n in given.shards:
        arms += [Arm(f"{n} shards, lagging", Schedule(n, exact=False)), Arm(f"{n} shards, exact", Schedule(n))]
    prior, sampler = fixed_prior(corpus, n_topics), get_sampler("auto")
    for arm in arms:
        warm_up("auto", corpus, n_topics, arm.schedule.n_shards)
    young = []
    for arm in arms:
        start = sampler.init(corpus, prior, Key(SEED, 0, 0))
        young.append(Run(arm, corpus, prior, start, 1).sweep(given.sweeps))
        say(f"{name} K={n_topics} {arm.name}: {young[-1].values[-1]:.4f}")
        if arm is not arms[0]:
            young[-1].state = None
    goal, settled = young[0].values[3 * given.sweeps // 4 - 1], young[0].state.z.copy()
    rows = []
    for arm, run in zip(arms, young, strict=True):
        old = Run(arm, corpus, prior, sampler.restore(corpus, settled.copy(), n_topics), given.sweeps + 1)
        old.sweep(given.more)
        moved = float(np.mean(old.state.z != settled))
        rows.append(
            [name, str(n_topics), arm.name, f"{run.values[-1]:.4f}", reached(run.values, goal),
             f"{old.nanoseconds():.1f}", f"{np.mean(old.values[given.more // 2 :]):.4f}", f"{moved:.4f}"]
        )  # fmt: skip
        say(" | ".join(rows[-1]))
    return rows


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exact_shards", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", nargs="*", default=[])
    parser.add_argument("--synthetic", type=int, default=0, help="tokens of a synthetic corpus")
    parser.add_argument("--topics", nargs="+", type=int, default=[100, 1000])
    parser.add_argument("--shards", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--sweeps", type=int, default=60, help="from the start")
    parser.add_argument("--more", type=int, default=30, help="from the settled state")
    given = parser.parse_args(arguments)
    if bool(given.corpus) > bool(given.data) or min(*given.topics, *given.shards, given.sweeps - 3, given.more - 1) < 1:
        parser.error("--corpus needs --data; --sweeps must be at least 4, --more 2, and all other numbers positive")
    given.shown = without_paths(arguments)
    return given


def main(arguments: Sequence[str]) -> None:
    given, rows = parse(arguments), []
    need_files(given.data, given.corpus)
    corpora = [(name, read(given.data, name)) for name in given.corpus]
    if given.synthetic:
        corpora.append(("synthetic", datasets.zipf(given.synthetic, doc_length=100.0, seed=SEED).corpus))
    for name, corpus in corpora:
        for n_topics in given.topics:
            rows += rows_of(name, corpus, n_topics, given)
    head = ["corpus", "K", "chain", f"log p per token, sweep {given.sweeps}", "sweeps to one shard's three quarters"]
    head += ["ns per token, settled", "log p per token, settled", "tokens moved"]
    print(f"`python -m benchmarks.exact_shards {given.shown}`\n\n{machine()}\n")
    print(table(head, rows))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
