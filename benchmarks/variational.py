"""Seconds and held-out perplexity of variational LDA, beside scikit-learn's and gensim's, on one thread, taken in turn.

    python -m benchmarks.variational --data DIR [--sections batch online scaling threads]

DIR holds one folder a corpus, as read by ``topicloom.read(..., format="folder")``. Needs ``topicloom[bench]``. All
tools have the same priors and number of iterations, and for the online modes the same batches and step schedule;
perplexity is by completion, computed by one program from each tool's topics.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import topicloom
from benchmarks._common import machine, need_files, rival, table, timed
from topicloom import VariationalLDA
from topicloom._types import AnyArray, FloatArray
from topicloom.corpus import Corpus, split_documents
from topicloom.engine.prior import make_prior
from topicloom.errors import InputError, MissingExtraError
from topicloom.evaluation import completion_perplexity
from topicloom.lda.variational import batch as v
from topicloom.lda.variational.state import pair_index

ALPHA, BETA, SEED = 0.1, 0.1, 0
BATCH, OFFSET, DECAY = 128, 10.0, 0.7
SECTIONS = ("batch", "online", "scaling", "threads")
NEEDED = {"batch": "kos", "online": "news20", "scaling": "kos", "threads": "nips"}


def split(data: Path, name: str) -> tuple[Corpus, Corpus]:
    """Published split where there is one, or a fifth of the documents."""
    corpus = topicloom.read(data / name, format="folder")
    path = data / name / "split.txt"
    if path.is_file():
        parts = np.array(path.read_text().split())
        return corpus.select(parts == "train"), corpus.select(parts == "test")
    return split_documents(corpus, 0.2, SEED)


def perplexity(topics: AnyArray, test: Corpus) -> float:
    phi: FloatArray = topics / topics.sum(axis=1, keepdims=True)
    return completion_perplexity(phi, np.full(len(phi), ALPHA), test, burn_in=30, n_samples=5, thin=2)


class Tool:
    """A tool that is trained from the start by ``fit`` and then has topics."""

    def __init__(self, name: str, fit: Callable[[], Any], topics: Callable[[Any], AnyArray]) -> None:
        self.name, self._fit, self._topics = name, fit, topics
        self.model: Any = None

    def __call__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model = self._fit()

    def topics(self) -> AnyArray:
        return self._topics(self.model)


def tools(train: Corpus, n_topics: int, iterations: int, online: bool) -> list[Tool]:
    matrix = train.to_matrix()
    priors = {"doc_topic_prior": ALPHA, "topic_word_prior": BETA, "random_state": SEED}
    steps = {"learning_offset": OFFSET, "learning_decay": DECAY, "batch_size": BATCH}
    decomposition = rival("sklearn.decomposition")
    ldamodel = rival("gensim.models.ldamodel")
    text = [
        list(zip(train.pairs.word[a:b].tolist(), train.pairs.count[a:b].astype(int).tolist(), strict=True))
        for a, b in zip(train.pairs.ptr[:-1], train.pairs.ptr[1:], strict=True)
    ]
    names = dict(enumerate(train.vocabulary))
    # gensim's offset counts from its own first step; update_every=0 makes it batch.
    theirs: dict[str, Any] = {
        "id2word": names, "num_topics": n_topics, "alpha": [ALPHA] * n_topics, "eta": BETA, "passes": iterations,
        "eval_every": None, "random_state": SEED, "dtype": np.float64,
    }  # fmt: skip
    if online:
        theirs |= {"chunksize": BATCH, "update_every": 1, "offset": OFFSET, "decay": DECAY}
    else:
        theirs |= {"update_every": 0, "chunksize": train.n_docs}
    ours: dict[str, Any] = {"max_iter": iterations, "tol": 0.0, **priors, **steps}
    modes = ("svb", "scvb0") if online else ("vb", "cvb0", "cvb")
    method = "online" if online else "batch"

    def our_fit(mode: Any) -> Callable[[], Any]:
        return lambda: VariationalLDA(n_topics, method=mode, **ours).fit(train)

    made = [Tool(f"topicloom {mode}", our_fit(mode), lambda m: m.components_) for mode in modes]
    made.append(
        Tool(
            "scikit-learn",
            lambda: decomposition.LatentDirichletAllocation(
                n_topics, learning_method=method, max_iter=iterations, **priors, **steps
            ).fit(matrix),
            lambda m: m.components_,
        )
    )
    made.append(Tool("gensim", lambda: ldamodel.LdaModel(text, **theirs), lambda m: m.get_topics()))
    return made


def in_turn_cpu(work: Sequence[Tool], rounds: int) -> list[list[float]]:
    """As ``in_turn``, in processor time: on one thread it is the same as time, but for what other programs take."""
    seconds: list[list[float]] = [[] for _ in work]
    for turn in range(rounds):
        for i in range(len(work)):
            which = (i + turn) % len(work)
            started = time.process_time()
            work[which]()
            seconds[which].append(time.process_time() - started)
            print(f"{work[which].name}: {seconds[which][-1]:.2f} s", file=sys.stderr, flush=True)
    return seconds


def compare(name: str, data: Path, n_topics: int, iterations: int, online: bool, rounds: int) -> str:
    train, test = split(data, name)
    warm = train.select(np.arange(20))
    for tool in tools(warm, 3, 1, online):
        tool()  # compiles, and is not counted
    work = tools(train, n_topics, iterations, online)
    with threadpool_limits(1):
        seconds = [min(taken) for taken in in_turn_cpu(work, rounds)]
    fastest = min(seconds[-2:])
    rows = []
    for tool, taken in zip(work, seconds, strict=True):
        value = perplexity(tool.topics(), test)
        rows.append([tool.name, f"{taken / iterations:.3f}", f"{fastest / taken:.1f}", f"{value:.1f}"])
    what = "online, passes" if online else "batch, iterations"
    head = f"**{name}**, K = {n_topics}, {what}: {iterations}; processor time, best of {rounds} in turn."
    return f"{head}\n\n{table(['tool', 'CPU s an iteration', 'times the faster rival', 'held-out perplexity'], rows)}"


def iteration_seconds(corpus: Corpus, n_topics: int, mode: v.Mode, n_jobs: int = 1, shards: int = 1) -> float:
    """Best of a few iterations, after one that compiles and one that settles; of one thread in processor time."""
    index = pair_index(corpus)
    prior = make_prior(np.full(n_topics, ALPHA), np.full(corpus.n_words, BETA), corpus.n_docs)
    state = v.start(index, mode, prior, SEED, 0)
    work = v.Work(doc_rounds=5, doc_tol=0.0, n_shards=shards, n_jobs=n_jobs)
    taken = []
    for _ in range(6):

        def step() -> None:
            nonlocal state
            state, _ = v.iterate(index, state, mode, prior, work)

        taken.append(timed(step, "wall" if shards > 1 else "cpu"))
    return min(taken[2:])


def scaling(name: str, data: Path) -> str:
    """Seconds an iteration against the number of pairs, and against the number of topics."""
    corpus = topicloom.read(data / name, format="folder")
    modes: tuple[v.Mode, ...] = ("vb", "cvb0", "cvb")
    by_pairs = []
    for share in (0.25, 0.5, 0.75, 1.0):
        part = corpus.select(np.arange(round(corpus.n_docs * share)))
        pairs = len(part.pairs.word)
        cells = [iteration_seconds(part, 100, mode) for mode in modes]
        by_pairs.append([f"{pairs:,}", *(f"{s:.3f} ({s / pairs * 1e9:.0f})" for s in cells)])
    by_topics = []
    for n_topics in (25, 50, 100, 200, 400):
        cells = [iteration_seconds(corpus, n_topics, mode) for mode in modes]
        by_topics.append([n_topics, *(f"{s:.3f} ({s / n_topics * 1e3:.2f})" for s in cells)])
    return (
        f"**{name}**, K = 100: processor seconds an iteration (ns a pair).\n\n{table(['pairs', *modes], by_pairs)}\n\n"
        f"**{name}**: processor seconds an iteration (ms a topic).\n\n{table(['K', *modes], by_topics)}"
    )


def threads(name: str, data: Path, rounds: int = 3) -> str:
    corpus = topicloom.read(data / name, format="folder")
    rows = []
    modes: tuple[v.Mode, ...] = ("vb", "cvb0", "cvb")
    for mode in modes:
        best = {1: np.inf, 2: np.inf}
        for _ in range(rounds):
            for n_jobs in best:
                best[n_jobs] = min(best[n_jobs], iteration_seconds(corpus, 40, mode, n_jobs, 2))
        rows.append([mode, f"{best[1]:.3f}", f"{best[2]:.3f}", f"{best[1] / best[2]:.2f}"])
    return f"**{name}**, K = 40, 2 shards.\n\n{table(['mode', '1 thread, s', '2 threads, s', 'times'], rows)}"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.variational", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--sections", nargs="+", default=list(SECTIONS), choices=SECTIONS)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args(arguments)
    need_files(given.data, sorted({NEEDED[name] for name in given.sections}))
    print(f"{machine(rival('sklearn'), rival('gensim'))} One thread where nothing else is said.", flush=True)
    if "batch" in given.sections:
        print("\n" + compare("kos", given.data, given.topics, 10, False, given.rounds), flush=True)
    if "online" in given.sections:
        print("\n" + compare("news20", given.data, given.topics, 3, True, given.rounds), flush=True)
    if "scaling" in given.sections:
        print("\n" + scaling("kos", given.data), flush=True)
    if "threads" in given.sections:
        print("\n" + threads("nips", given.data), flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"error: {error}")
