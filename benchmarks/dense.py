"""Seconds a sweep of the dense LDA kernel, beside tomotopy's on the same corpus, both on one thread, taken in turn.

    python -m benchmarks.dense --data DIR [--corpus nips] [--topics 20 100 1000] [--sweeps 10]

DIR holds one folder a corpus, as read by ``topicloom.read(..., format="folder")``. Needs ``topicloom[bench]``. Both
start from random topics and go through the same number of sweeps; the log joint probability a token that each has
reached, computed by one program from both tools' assignments, shows that they did the same work.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import topicloom
from benchmarks._common import import_seconds, in_turn, machine, need_files, rival, table
from topicloom.corpus import Corpus
from topicloom.engine.estimates import from_assignments
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.errors import InputError, MissingExtraError
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.gibbs.joint import log_joint

ALPHA, BETA, SEED = 0.1, 0.01, 1


class Ours:
    """A chain of topicloom's."""

    def __init__(self, corpus: Corpus, prior: Prior) -> None:
        self._kernel = get_sampler("dense")
        self._corpus, self._prior, self._sweep = corpus, prior, 0
        self._state = self._kernel.init(corpus, prior, Key(SEED, 0, 0))

    def sweep(self) -> None:
        self._sweep += 1
        key = Key(SEED, 0, self._sweep)
        self._state, _ = self._kernel.sweep(self._corpus, self._state, self._prior, key, Schedule())

    def log_joint(self) -> float:
        return log_joint(self._corpus, self._state, self._prior)


class Tomotopy:
    """A chain of tomotopy's, with fixed priors."""

    def __init__(self, tomotopy: Any, corpus: Corpus, prior: Prior) -> None:
        self._corpus, self._prior = corpus, prior
        self._model = tomotopy.LDAModel(k=prior.n_topics, alpha=ALPHA, eta=BETA, seed=SEED)
        self._model.optim_interval = 0
        words = np.array(corpus.vocabulary, dtype=object)[corpus.words]
        self._docs = np.flatnonzero(corpus.doc_lengths)  # tomotopy takes no empty document
        for d in self._docs:
            self._model.add_doc(words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]].tolist())

    def sweep(self) -> None:
        self._model.train(1, workers=1)

    def log_joint(self) -> float:
        number = {word: v for v, word in enumerate(self._corpus.vocabulary)}
        ours = np.array([number[word] for word in self._model.vocabs])
        words = np.concatenate([ours[np.asarray(doc.words)] for doc in self._model.docs])
        z = np.concatenate([np.asarray(doc.topics) for doc in self._model.docs]).astype(np.int64)
        docs = np.repeat(self._docs, [len(doc.words) for doc in self._model.docs])
        return log_joint(self._corpus, from_assignments(words, docs, z, self._prior, self._corpus), self._prior)


def compare(tomotopy: Any, corpus: Corpus, n_topics: int, sweeps: int) -> list[list[str]]:
    """One row a tool."""
    prior = make_prior(np.full(n_topics, ALPHA), np.full(corpus.n_words, BETA), corpus.n_docs)
    tools: dict[str, Ours | Tomotopy] = {
        "topicloom": Ours(corpus, prior),
        "tomotopy": Tomotopy(tomotopy, corpus, prior),
    }
    for tool in tools.values():
        tool.sweep()  # compiles, or prepares, and is not counted
    seconds = in_turn([tool.sweep for tool in tools.values()], sweeps)
    medians = [float(np.median(s)) for s in seconds]
    rows = []
    for (name, tool), taken, median in zip(tools.items(), seconds, medians, strict=True):
        rate = corpus.n_tokens / median / 1e6
        reached = tool.log_joint() / corpus.n_tokens
        cells = [f"{median:.3f}", f"{min(taken):.3f}", f"{rate:.2f}", f"{median / medians[-1]:.2f}", f"{reached:.3f}"]
        rows.append([str(n_topics), name, *cells])
    return rows


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dense", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", default="nips")
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 100, 1000])
    parser.add_argument("--sweeps", type=int, default=10)
    given = parser.parse_args(arguments)
    if given.sweeps < 1 or min(given.topics) < 1:
        parser.error("--sweeps and --topics must be at least 1")
    tomotopy = rival("tomotopy")
    need_files(given.data, [given.corpus])
    corpus = topicloom.read(given.data / given.corpus, format="folder")
    rows = []
    for n_topics in given.topics:
        print(f"K = {n_topics}", file=sys.stderr, flush=True)
        rows += compare(tomotopy, corpus, n_topics, given.sweeps)
    command = f"--corpus {given.corpus} --topics {' '.join(map(str, given.topics))} --sweeps {given.sweeps}"
    print(
        f"`python -m benchmarks.dense --data DATA {command}`\n\n"
        f"{machine(tomotopy)} tomotopy uses {tomotopy.isa}.\n\n"
        f"{given.corpus}: {corpus.n_docs:,} documents, {corpus.n_words:,} words, {corpus.n_tokens:,} tokens; "
        f"α = {ALPHA}, β = {BETA}, one thread, {given.sweeps} sweeps in turn after one that is not counted.\n"
    )
    head = ["K", "tool", "s a sweep, median", "least", "M tokens/s", "time / tomotopy's", "log p(w, z) a token"]
    print(table(head, rows))
    print(
        f"\n`import topicloom`: {import_seconds('import topicloom'):.3f} s; "
        f"`from topicloom import LDA`: {import_seconds('from topicloom import LDA'):.2f} s (median of 5)."
    )


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"error: {error}")
