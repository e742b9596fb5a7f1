"""A start on some of the tokens beside one from random topics: seconds to a likelihood, and where chains end.

    python -m benchmarks.starts --data DIR --corpus kos nips news20 --topics 20 100 500 --seeds 3

Chains of the sampler "auto" start in two ways and make ``--sweeps`` sweeps each. The goal is where the chain with the
plain start is after a quarter of them. Seconds are of processor time on one thread, and those of the start are counted.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks._common import CLOCKS, machine, table, without_paths
from benchmarks._races import Curve, Point
from benchmarks._tools import as_models_start, fixed_prior, likelihood, read, say, warm_up
from topicloom.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key, Sampler, Schedule
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler

HEAD = [
    "corpus", "K", "plain start, s", "growing start, s", "plain to the goal, s", "growing to the goal, s", "ratio",
    "plain at the goal", "plain at the end", "growing at the end",
]  # fmt: skip


def run(sampler: Sampler, corpus: Corpus, prior: Prior, seed: int, sweeps: int, every: int) -> Curve:
    """A chain from its start on."""
    now = CLOCKS["cpu"]
    begun = now()
    state, progress, curve = sampler.init(corpus, prior, Key(seed, 0, 0)), None, Curve(sampler.name)
    spent = curve.start = now() - begun
    for done in range(0, sweeps + 1, every):
        if done > 0:
            begun, first = now(), Key(seed, 0, done - every + 1)
            state, _, progress = sampler.run(corpus, state, prior, first, Schedule(), every, progress)
            spent += now() - begun
        curve.points.append(Point(done, spent, likelihood(corpus, state.z, prior.n_topics)))
    return curve


def rows_of(name: str, corpus: Corpus, n_topics: int, seeds: int, sweeps: int, every: int) -> list[str]:
    """A row of the table: medians over the seeds."""
    prior, plain = fixed_prior(corpus, n_topics), get_sampler("auto")
    warm_up("auto", corpus, n_topics)
    grown = as_models_start("auto", Schedule())
    found = []
    for seed in range(1, seeds + 1):
        one, other = (run(sampler, corpus, prior, seed, sweeps, every) for sampler in (plain, grown))
        goal = one.points[len(one.points) // 4].likelihood
        to = [math.nan if (reached := curve.seconds_to(goal)) is None else reached for curve in (one, other)]
        ends = one.points[-1].likelihood, other.points[-1].likelihood
        found.append([one.start, other.start, *to, to[0] / to[1], goal, *ends])
        say(f"{name}, K = {n_topics}, seed {seed}: {to[0]:.2f} and {to[1]:.2f} s to {goal:.3f}")
    middle = np.median(found, axis=0)
    ratios = [row[4] for row in found]
    shown = [f"{value:.2f}" for value in middle[:4]]
    return [
        name, str(n_topics), *shown, f"{middle[4]:.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
        *(f"{value:.3f}" for value in middle[5:]),
    ]  # fmt: skip


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.starts", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", nargs="+", default=["kos"])
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 100])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=400)
    parser.add_argument("--every", type=int, default=5, help="sweeps between looks at the likelihood")
    given = parser.parse_args(arguments)
    if min(given.seeds, given.every, given.sweeps // 4, *given.topics) < 1:
        parser.error("--seeds, --every and --topics must be at least 1, and --sweeps at least 4")
    given.shown = without_paths(arguments)
    return given


def main(arguments: Sequence[str]) -> None:
    given = parse(arguments)
    rows = []
    for name in given.corpus:
        corpus = read(given.data, name)
        for n_topics in given.topics:
            rows.append(rows_of(name, corpus, n_topics, given.seeds, given.sweeps, given.every))
    print(f"# Starts of chains\n\n`python -m benchmarks.starts {given.shown}`\n\n{machine()}\n\n{table(HEAD, rows)}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
