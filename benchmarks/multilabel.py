"""Time of labeled models: a sweep whose tokens have the labels of their document to choose from, and predictions.

    python -m benchmarks.multilabel --data DIR

A document with 20 of 983 labels must not pay for 983. The same documents are swept with their labels as they are, with
each document's labels renumbered so that there are only as many in all as the longest list has (the same work for each
token, small tables), and by LDA over all labels. Then the test documents are given labels: ``--sweeps`` sweeps and one
sample each, one chain, one thread.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks._common import CLOCKS, machine, need_files, table, timed, without_paths
from topicloom import read
from topicloom.corpus import Corpus
from topicloom.engine.estimates import phi, topic_counts
from topicloom.engine.estimator.label_sets import LabelSets, read_labels
from topicloom.engine.fold_in import fold_in_corpus
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.sampler import Key, Sampler, Schedule
from topicloom.errors import InputError
from topicloom.labeled import sampler as labeled
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.variational import batch as variational

SEED = 1


def load(data: Path, name: str) -> tuple[Corpus, Corpus]:
    corpus = read(data / name, format="folder")
    split = data / name / "split.txt"
    parts = np.array(split.read_text().split()) if split.is_file() else np.full(corpus.n_docs, "train")
    test = corpus if np.all(parts == "train") else corpus.select(parts == "test")
    return corpus.select(parts == "train"), test


def renumbered(sets: LabelSets) -> LabelSets:
    """Each document's labels as 0, 1, …: as many for each document, but few in all."""
    label = np.arange(len(sets.label)) - np.repeat(sets.ptr[:-1], sets.sizes)
    return LabelSets(sets.ptr, label.astype(np.int32), max(int(sets.sizes.max(initial=1)), 1))


def sweep_seconds(kernel: Sampler, corpus: Corpus, prior: Prior, sweeps: int, clock: str) -> float:
    """The median, over sweeps, after a few that are not counted."""
    state = kernel.init(corpus, prior, Key(SEED, 0, 0))
    seconds = []
    for t in range(1, sweeps + 4):

        def step(t: int = t) -> None:
            nonlocal state
            state, _ = kernel.sweep(corpus, state, prior, Key(SEED, 0, t), Schedule())

        seconds.append(timed(step, clock))
    return float(np.median(seconds[3:]))


def prior_of(corpus: Corpus, n_labels: int) -> Prior:
    return make_prior(np.full(n_labels, 50 / n_labels), np.full(corpus.n_words, 0.1), corpus.n_docs)


def sweep_report(train: Corpus, sets: LabelSets, sweeps: int, clock: str) -> str:
    few = renumbered(sets)
    cases = {
        f"Gibbs, the documents' {sets.sizes.mean():.1f} of {sets.n_labels} labels": (
            labeled.gibbs(sets),
            sets.n_labels,
        ),
        f"Gibbs, as many of {few.n_labels} labels in all": (labeled.gibbs(few), few.n_labels),
        f"LDA (dense), {sets.n_labels} topics": (get_sampler("dense"), sets.n_labels),
    }
    prior = prior_of(train, sets.n_labels)
    cases[f"CVB0, the documents' of {sets.n_labels} labels"] = (labeled.cvb0(sets, train, prior), sets.n_labels)
    seconds = {
        name: sweep_seconds(kernel, train, prior_of(train, n), sweeps, clock) for name, (kernel, n) in cases.items()
    }
    base = list(seconds.values())[1]
    rows = [
        [name, f"{1e3 * value:.1f}", f"{1e9 * value / train.n_tokens:.0f}", f"{value / base:.2f}"]
        for name, value in seconds.items()
    ]
    return table(["a sweep", "ms", "ns a token", "times the second"], rows)


def prediction_report(train: Corpus, test: Corpus, sets: LabelSets, sweeps: int, clock: str) -> str:
    prior = prior_of(train, sets.n_labels)
    kernel = labeled.gibbs(sets)
    state = kernel.init(train, prior, Key(SEED, 0, 0))
    for t in range(1, 21):
        state, _ = kernel.sweep(train, state, prior, Key(SEED, 0, t), Schedule())
    counts = topic_counts(train, state, prior, "standard", docs=False).word
    assert counts is not None
    by_word = phi(counts, 1, prior)
    f = sets.frequencies
    alpha = 50 * f / f.sum() + 30 / sets.n_labels
    fold_in_corpus(test.select([0]), by_word, alpha, burn_in=1)  # compiles
    variational.fold_in(test.select([0]), "cvb0", counts + 0.1, alpha, tol=1e-4, max_rounds=2)
    rows = [
        [f"Gibbs, {sweeps} + 5 sweeps, one chain, θ and θᵖ of two samples", f"{seconds:.2f}"]
        for seconds in [timed(lambda: fold_in_corpus(test, by_word, alpha, burn_in=sweeps, thin=5, n_samples=2), clock)]
    ]
    slow = timed(lambda: variational.fold_in(test, "cvb0", counts + 0.1, alpha, tol=1e-4, max_rounds=100), clock)
    rows.append(["CVB0, to convergence or 100 rounds", f"{slow:.2f}"])
    return table([f"{test.n_docs:,} new documents, {test.n_tokens:,} tokens", "s"], rows)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.multilabel", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", nargs="+", default=["delicious"])
    parser.add_argument("--sweeps", type=int, default=50)
    parser.add_argument("--timed-sweeps", type=int, default=15)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    given = parser.parse_args(arguments)
    need_files(given.data, given.corpus)
    print(f"`python -m benchmarks.multilabel {without_paths(arguments)}`\n\n{machine()}")
    for name in given.corpus:
        train, test = load(given.data, name)
        _, sets = read_labels(None, train)
        train = train.keep_tokens(np.repeat(sets.sizes > 0, train.doc_lengths))
        print(f"\n**{name}**: {train!r}, {sets.n_labels} labels, {sets.sizes.mean():.1f} a document\n")
        print(sweep_report(train, sets, given.timed_sweeps, given.clock), flush=True)
        print("\n" + prediction_report(train, test, sets, given.sweeps, given.clock), flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
