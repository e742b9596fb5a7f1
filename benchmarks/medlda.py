"""Time of a sweep of supervised topics, against the two C++ programs by way of a yardstick.

    python -m benchmarks.medlda --data DIR

The programs (LightMedLDA of the paper's authors, MedLDA-MT) are not run: their time of a sweep over news20's training
part, K = 40, was measured once beside tomotopy's LDA sweep over all of news20, K = 40, on one machine. The same sweep
of tomotopy is timed here in turn with ours, and the ratios compared. All sweeps draw topics, augmented variables and
weights of 20 tasks; the first ones, in which most tokens move, are left out.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks._common import CLOCKS, in_turn, machine, need_files, rival, table, without_paths
from benchmarks._tools import Tomotopy
from topicloom import read
from topicloom.corpus import Corpus
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.errors import InputError, MissingExtraError
from topicloom.medlda.sampler import Options, Tasks, medlda_sampler
from topicloom.medlda.targets import read_classes

SEED = 1
YARDSTICK = 0.174  # seconds of tomotopy's sweep where the programs were timed
PROGRAMS = {"LightMedLDA (C++)": 1.29, "MedLDA-MT (C++)": 0.60}  # seconds of theirs there


def sweeper(
    corpus: Corpus, n_topics: int, options: Options, n_mh: int, n_shards: int = 1, n_jobs: int = 1
) -> Callable[[], object]:
    """A chain with the paper's settings; each call is one sweep."""
    targets = read_classes(None, corpus)
    weight = np.full(targets.target.shape, 102.4)
    groups = [range(targets.target.shape[1])]
    kernel = medlda_sampler(Tasks(targets.target, weight, "hinge", 0.0, 4096.0, groups), options)
    prior = make_prior(np.full(n_topics, 6.4 / n_topics), np.full(corpus.n_words, 0.01), corpus.n_docs)
    state, sweep = kernel.init(corpus, prior, Key(SEED, 0, 0)), 0

    def step() -> None:
        nonlocal state, sweep
        sweep += 1
        state, _ = kernel.sweep(corpus, state, prior, Key(SEED, 0, sweep), Schedule(n_shards, n_jobs, n_mh))

    return step


def sizes_report(
    whole: Corpus, train: Corpus, sizes: Sequence[int], n_mh: int, skip: int, rounds: int, clock: str
) -> str:
    tomotopy = Tomotopy(whole, 40)
    work: dict[str, Callable[[], object]] = {"tomotopy LDA, K = 40": tomotopy.sweep}
    for k in sizes:
        work[f"mh, K = {k}"] = sweeper(train, k, Options("mh"), n_mh)
    for k in sizes:
        if k <= 100:
            work[f"dense, K = {k}"] = sweeper(train, k, Options("dense"), n_mh)
    for step in work.values():
        for _ in range(skip):
            step()
    seconds = dict(zip(work, map(np.median, in_turn(list(work.values()), rounds, clock)), strict=True))
    base = seconds["tomotopy LDA, K = 40"]
    first = seconds[f"mh, K = {sizes[0]}"]
    rows = [
        [name, f"{value:.3f}", f"{value / base:.2f}", f"{value / first:.2f}" if name.startswith("mh") else ""]
        for name, value in seconds.items()
    ]
    rows += [[name, "", f"{value / YARDSTICK:.2f}", ""] for name, value in PROGRAMS.items()]
    return table(["a sweep", f"s ({clock})", "times the yardstick", f"times mh, K = {sizes[0]}"], rows)


def threads_report(train: Corpus, k: int, n_mh: int, skip: int, rounds: int) -> str:
    work = {n: sweeper(train, k, Options("mh"), n_mh, 2, n) for n in (1, 2)}
    for step in work.values():
        for _ in range(skip):
            step()
    one, two = (float(np.median(values)) for values in in_turn(list(work.values()), rounds, "wall"))
    return table(
        ["threads, 2 shards", "s (wall)", "times as fast"],
        [[1, f"{one:.3f}", ""], [2, f"{two:.3f}", f"{one / two:.2f}"]],
    )


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.medlda", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", default="news20")
    parser.add_argument("--topics", type=int, nargs="+", default=[40, 100, 400])
    parser.add_argument("--n-mh", type=int, default=6)
    parser.add_argument("--skip", type=int, default=8, help="sweeps that are not timed")
    parser.add_argument("--rounds", type=int, default=9, help="sweeps that are; the median counts")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--no-threads", action="store_true", help="leave out one thread against two")
    given = parser.parse_args(arguments)
    need_files(given.data, [given.corpus])
    print(f"`python -m benchmarks.medlda {without_paths(arguments)}`\n\n{machine(rival('tomotopy'))}\n")
    whole = read(given.data / given.corpus, format="folder")
    split = given.data / given.corpus / "split.txt"
    train = whole.select(np.array(split.read_text().split()) == "train") if split.is_file() else whole
    print(sizes_report(whole, train, given.topics, given.n_mh, given.skip, given.rounds, given.clock), flush=True)
    if not given.no_threads:
        print("\n" + threads_report(train, given.topics[0], given.n_mh, given.skip, given.rounds), flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"error: {error}")
