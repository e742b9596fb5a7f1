"""Time of a sweep of compound LDA beside that of LDA with the same sampler, and of the yardstick tomotopy.

    python -m benchmarks.compound --data DIR [--corpus news16] [--topics 50] [--samplers auto dense sparse warp]

All chains take turns, sweep by sweep, after some that are not counted. AGS and MGS are a sweep of the sampler and the
draw of the collections' mixtures; VEM is an iteration. With tomotopy installed, a sweep of its LDA is the yardstick by
which times on other machines are carried over.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import CLOCKS, in_turn, machine, need_files, rival, table, without_paths
from benchmarks._tools import TOMOTOPY, Tomotopy
from topicloom import LDA, CompoundLDA, read
from topicloom.corpus import Corpus
from topicloom.engine.estimator.fitted import Problem
from topicloom.engine.run import advance, start_chain
from topicloom.errors import InputError, MissingExtraError

PAPER_TOPICS = {"news16": 64, "nips_years": 90, "yelp": 60}
PAPER = {"news16": (0.6101, 0.6879, 1.8616, 52.3518), "nips_years": (3.9568, 4.2588, 12.558, 320.9931),
         "yelp": (1.2997, 1.4743, 3.9524, 164.0285)}  # fmt: skip
SETTLE = 10
SEED = 1


def stepper(model: Any, corpus: Corpus) -> Callable[[], None]:
    """One sweep, or iteration, of the model's chain."""
    problem: Problem = model._problem(corpus, SEED)
    sampler, sampled = problem.sampler, problem.sampled
    chain = start_chain(sampler, sampled, problem.prior(), SEED, 0)
    return lambda: advance(sampler, sampled, chain, problem.plan)


def seconds(
    corpus: Corpus, n_topics: int, sampler: str, sweeps: int, clock: str, n_langevin: int, yardstick: bool
) -> dict[str, float]:
    """Median time of a sweep: LDA, AGS, MGS with one and with several steps, and tomotopy."""
    never = 10**9
    own = {"sampler": sampler, "topic_word_prior": 0.05, "trace_every": never, "thin": never, "max_iter": never}
    work = {
        "LDA": stepper(LDA(n_topics, doc_topic_prior=1 / n_topics, **own), corpus),
        "AGS": stepper(CompoundLDA(n_topics, concentration=1.0, **own), corpus),
        **{
            name: stepper(
                CompoundLDA(n_topics, method="mgs", concentration=1.0, method_options={"n_langevin": n}, **own), corpus
            )
            for name, n in (("MGS", 1), (f"MGS, {n_langevin} steps", n_langevin))
        },
    }
    if yardstick:
        work[TOMOTOPY] = Tomotopy(corpus, n_topics).sweep
    in_turn(list(work.values()), SETTLE, clock)
    found = in_turn(list(work.values()), sweeps, clock)
    return {name: float(np.median(times)) for name, times in zip(work, found, strict=True)}


def vem_seconds(corpus: Corpus, n_topics: int, iterations: int, clock: str) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step = stepper(CompoundLDA(n_topics, method="vem", concentration=1.0, trace_every=10**9), corpus)
    step()
    return float(np.median(in_turn([step], iterations, clock)[0]))


def report(
    data: Path, name: str, n_topics: int | None, sweeps: int, clock: str, max_docs: int | None = None,
    samplers: Sequence[str] = ("auto", "dense", "sparse", "warp"), n_langevin: int = 5,
) -> str:  # fmt: skip
    corpus = read(data / name, format="folder")
    if max_docs is not None:
        corpus = corpus.select(np.arange(min(max_docs, corpus.n_docs)))
    k = n_topics or PAPER_TOPICS[name]
    try:
        has_yardstick = rival(TOMOTOPY) is not None
    except MissingExtraError:
        has_yardstick = False
    rows, yard = [], float("nan")
    for sampler in samplers:
        found = seconds(corpus, k, sampler, sweeps, clock, n_langevin, has_yardstick and sampler == samplers[0])
        yard = found.pop(TOMOTOPY, yard)
        base = found["LDA"]
        rows.append([sampler, f"{1e3 * base:.1f}",
                     *(f"{1e3 * t:.1f} ({t / base:.2f})" for t in list(found.values())[1:])])  # fmt: skip
    steps = f"MGS, {n_langevin} steps (ratio)"
    vem = vem_seconds(corpus, k, min(sweeps, 5), clock)
    beside = "" if np.isnan(yard) else f"; tomotopy's LDA {1e3 * yard:.1f} ms"
    lines = [
        f"**{name}**, K = {k}, {corpus.n_tokens:,} tokens, {len(set(corpus.groups or ()))} collections, ms of {clock} "
        f"time, median of {sweeps} sweeps; VEM {vem:.2f} s an iteration{beside}.",
        table(["sampler", "LDA", "AGS (ratio)", "MGS (ratio)", steps], rows),
    ]
    if k == PAPER_TOPICS.get(name):
        cgs, ags, mgs, slow = PAPER[name]
        lines.append(
            f"Paper, table 3 (its machine, s): CGS {cgs}, AGS {ags} ({ags / cgs:.2f}), MGS {mgs} ({mgs / cgs:.2f}), "
            f"VEM {slow}."
        )
    return "\n\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compound", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", nargs="+", default=["news16"])
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--samplers", nargs="+", default=["auto", "dense", "sparse", "mh", "warp"])
    parser.add_argument("--sweeps", type=int, default=25)
    parser.add_argument("--langevin", type=int, default=5)
    parser.add_argument("--clock", choices=CLOCKS, default="cpu")
    given = parser.parse_args(arguments)
    need_files(given.data, given.corpus)
    print(f"`python -m benchmarks.compound {without_paths(arguments)}`\n\n{machine()}")
    for name in given.corpus:
        print(
            "\n"
            + report(given.data, name, given.topics, given.sweeps, given.clock, None, given.samplers, given.langevin)
        )


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"error: {error}")
