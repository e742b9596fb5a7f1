"""What a second shard costs on one thread: the documents' second entry, and finding the words of one part in them.

    python -m benchmarks.shards --data DIR --corpus news20 nips --topics 100 1000

DIR holds one folder a corpus, as read by ``topicloom.read(..., format="folder")``. After ``--settle`` sweeps by auto,
the chain goes on with the sampler that auto has come to, in pieces of documents: each piece with all words at once and
with the words in ``--shards`` parts one after the other, by turns, milliseconds apart. Shown is the median over
pieces and rounds of the ratio of the two, and that of the sums of least times, which a busy machine disturbs less.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks._common import machine, need_files, table, timed, without_paths
from benchmarks._tools import SEED, Ours, read, say, shuffled, warm_up
from topicloom._types import FloatArray
from topicloom.corpus import Corpus
from topicloom.engine.shards import start_shards
from topicloom.engine.state import State
from topicloom.engine.threads import cut, private
from topicloom.errors import InputError
from topicloom.lda.gibbs.auto import BLOCK_SAMPLERS
from topicloom.numerics.rng import stream

PIECES = 16  # of the documents, some milliseconds each


def compare(corpus: Corpus, n_topics: int, n_shards: int, settle: int, rounds: int) -> tuple[str, FloatArray]:
    """Which sampler, and seconds by round, piece, and one or several shards."""
    warm_up("auto", corpus, n_topics, n_shards)
    chain = Ours("auto", corpus, n_topics)
    chain.sweep(settle)
    state, prior = chain.state, chain.prior
    name = "dense" if isinstance(state, State) else "sparse"
    sampler = BLOCK_SAMPLERS[name]
    progress = start_shards(corpus, n_topics, n_shards, sampler.loads(corpus, prior))
    parts = [[(0, corpus.n_words)], [(start, stop) for start, stop in progress.words.tolist()]]
    draws = [[sampler.make_draw(corpus, words, prior) for words in part] for part in parts]
    pieces, rng = cut(corpus.doc_lengths, PIECES), private(stream(SEED, rounds))
    seconds = np.zeros((rounds, len(pieces), 2))
    for r in range(rounds):
        for i, docs in enumerate(pieces):
            for which in ((0, 1), (1, 0))[(r + i) % 2]:  # who goes first changes

                def draw(which: int = which, docs: tuple[int, int] = docs) -> None:
                    for own in draws[which]:
                        own(docs, state, rng)

                seconds[r, i, which] = timed(draw)
        if sampler.finish is not None:
            sampler.finish(state)((0, corpus.n_words))
    return name, seconds


def row(name: str, corpus: Corpus, n_topics: int, given: argparse.Namespace) -> list[str]:
    sampler, seconds = compare(corpus, n_topics, given.shards, given.settle, given.rounds)
    ratio = float(np.median(seconds[..., 1] / seconds[..., 0]))
    one, more = seconds.min(axis=0).sum(axis=0) * 1e9 / max(corpus.n_tokens, 1)
    cells = [name, str(n_topics), sampler, f"{ratio:.3f}", f"{more / one:.3f}", f"{one:.1f}", f"{more:.1f}"]
    say(" | ".join(cells))
    return cells


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shards", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", nargs="+", default=["news20"])
    parser.add_argument("--topics", nargs="+", type=int, default=[100, 1000])
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--settle", type=int, default=30, help="sweeps before")
    parser.add_argument("--rounds", type=int, default=20, help="sweeps of each kind")
    parser.add_argument("--shuffled", action="store_true", help="tokens of a document in random order, as in texts")
    given = parser.parse_args(arguments)
    if min(given.shards - 1, given.settle, given.rounds, *given.topics) < 1:
        parser.error("--settle, --rounds and --topics must be at least 1, --shards at least 2")
    given.shown = without_paths(arguments)
    return given


def main(arguments: Sequence[str]) -> None:
    given = parse(arguments)
    need_files(given.data, given.corpus)
    rows = []
    for name in given.corpus:
        corpus = read(given.data, name)
        corpus = shuffled(corpus) if given.shuffled else corpus
        rows += [row(name, corpus, n_topics, given) for n_topics in given.topics]
    more = f"{given.shards} shards"
    head = ["corpus", "K", "sampler", f"{more} over one, median", "by least times"]
    print(f"`python -m benchmarks.shards {given.shown}`\n\n{machine()}\n")
    print(table([*head, "one shard, least, ns a token", more], rows))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
