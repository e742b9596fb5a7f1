"""Documents per second of processor time whose topics are found, beside other tools, at equal held-out perplexity.

    python -m benchmarks.transform --data DIR [--corpora kos bbc] [--topics 20 100] [--seeds 2] [--out FILE]
    python -m benchmarks.transform --data DIR --methods
    python -m benchmarks.transform --files 100000 1000000

DIR holds one folder a corpus, as read by ``topicloom.read(..., format="folder")``. Needs ``topicloom[bench]``.
pyrmallet (MALLET's sampler as a package) takes part if it is installed. One thread.

Each rival is trained on the training documents and infers the topics of one half of each test document; the words of
the other half are scored. It does so at several numbers of rounds. topicloom then infers with the *same topics and the
same prior*, at several tolerances. A row compares the rival's quickest setting whose perplexity is within half a
percent of the rival's own best with the quickest of topicloom's that is at least as good as that.

``--methods`` compares topicloom's own ways, given topics that it has learned itself. ``--files`` measures the peak
memory of ``transform_file`` for files of so many documents of 40 tokens, 50 topics.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import topicloom
from benchmarks._common import forget_peak, machine, resident, rival, table, without_paths
from topicloom._types import AnyArray, FloatArray
from topicloom.corpus import Corpus, split_halves
from topicloom.engine.expected_counts import TOL, expected_counts
from topicloom.engine.fold_in import fold_in_corpus
from topicloom.errors import InputError, MissingExtraError
from topicloom.evaluation import log_likelihood

ROUNDS = (2, 5, 10, 20, 50, 100)
TOLERANCES = (0.3, 0.1, TOL, 0.01, 0.001)
TRAINING_SWEEPS, MOST_TRAINING, MOST_TEST = 60, 2000, 200
CLOSE = 1.005  # of the rival's best perplexity


class Run(NamedTuple):
    """One setting of one tool."""

    setting: str
    perplexity: float
    speed: float  # documents per second of processor time


class Task(NamedTuple):
    """What is inferred from, and what is scored."""

    train: Corpus
    observed: Corpus
    held_out: Corpus
    n_topics: int
    seed: int


class Trained(NamedTuple):
    """A rival with its topics, its prior and how it infers: from a number of rounds to shares of topics."""

    phi: FloatArray  # [K, V]
    alpha: FloatArray
    infer: Callable[[int], tuple[AnyArray, float]]  # shares [D, K] and seconds


def texts_of(corpus: Corpus) -> list[list[str]]:
    names = np.array(corpus.vocabulary, object)
    return [names[corpus.words[a:b]].tolist() for a, b in zip(corpus.doc_ptr[:-1], corpus.doc_ptr[1:], strict=True)]


def timed(do: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    found = do()
    return found, time.process_time() - started


def in_our_numbers(topics: AnyArray, words: Sequence[str], corpus: Corpus) -> FloatArray:
    """A rival's topics [K, its words] over our vocabulary; words that it never saw have next to no probability."""
    number = {word: v for v, word in enumerate(corpus.vocabulary)}
    phi = np.full((len(topics), corpus.n_words), 1e-12)
    phi[:, [number[word] for word in words]] = topics
    phi /= phi.sum(axis=1, keepdims=True)
    return phi


# -- rivals --------------------------------------------------------------------------------------------------------


def tomotopy(task: Task) -> Trained:
    model: Any = rival("tomotopy").LDAModel(k=task.n_topics, seed=task.seed)
    for words in texts_of(task.train):
        if words:
            model.add_doc(words)
    model.train(TRAINING_SWEEPS, workers=1)
    topics = np.array([model.get_topic_word_dist(k) for k in range(task.n_topics)])
    texts = texts_of(task.observed)

    def infer(rounds: int) -> tuple[AnyArray, float]:
        docs = [model.make_doc(words) for words in texts]
        found, seconds = timed(lambda: model.infer(docs, iterations=rounds, workers=1))
        return np.array(found[0]), seconds

    return Trained(in_our_numbers(topics, model.used_vocabs, task.train), np.array(model.alpha, float), infer)


def gensim(task: Task) -> Trained:
    models: Any = import_module("gensim.models")
    rival("gensim")
    bags = [_bag(task.train, d) for d in range(task.train.n_docs)]
    names = dict(enumerate(task.train.vocabulary))
    model = models.LdaModel(
        bags, task.n_topics, id2word=names, passes=3, random_state=task.seed, alpha="auto", eta="auto",
        minimum_probability=0.0,
    )  # fmt: skip
    new = [_bag(task.observed, d) for d in range(task.observed.n_docs)]

    def infer(rounds: int) -> tuple[AnyArray, float]:
        model.iterations, model.gamma_threshold = rounds, 1e-3
        (gamma, _), seconds = timed(lambda: model.inference(new))
        return np.asarray(gamma), seconds

    return Trained(in_our_numbers(model.get_topics(), task.train.vocabulary, task.train), model.alpha, infer)


def _bag(corpus: Corpus, d: int) -> list[tuple[int, int]]:
    words, counts = np.unique(corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]], return_counts=True)
    return list(zip(words.tolist(), counts.tolist(), strict=True))


def pyrmallet(task: Task) -> Trained:
    model: Any = rival("pyrmallet").LatentDirichletAllocation(
        n_components=task.n_topics, max_iter=TRAINING_SWEEPS, random_state=task.seed + 1, burn_in=20,
        optimize_interval=10, doc_topic_prior=5.0,
    )  # fmt: skip
    code = dict(zip(task.train.vocabulary, map(_letters, range(task.train.n_words)), strict=True))
    back = {letters: word for word, letters in code.items()}  # its tokenizer takes letters alone
    model.fit([" ".join(map(code.__getitem__, words)) for words in texts_of(task.train) if words])
    texts = [" ".join(map(code.__getitem__, words)) for words in texts_of(task.observed)]
    topics = np.asarray(model.components_, float)
    words = [back[str(word)] for word in model.feature_names_in_]

    def infer(rounds: int) -> tuple[AnyArray, float]:
        model.n_inference_iter = rounds
        found, seconds = timed(lambda: model.transform(texts))
        return np.asarray(found), seconds

    own = getattr(model._model, "alpha", None)
    alpha = np.full(task.n_topics, 5.0 / task.n_topics) if own is None else np.asarray(own, float)
    return Trained(in_our_numbers(topics / topics.sum(axis=1, keepdims=True), words, task.train), alpha, infer)


def _letters(number: int) -> str:
    return "w" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:06d}")


RIVALS: dict[str, Callable[[Task], Trained]] = {"tomotopy": tomotopy, "gensim": gensim, "pyrmallet": pyrmallet}


# -- the race ------------------------------------------------------------------------------------------------------


def perplexity(phi: FloatArray, theta: AnyArray, held_out: Corpus) -> float:
    shares = np.asarray(theta, float)
    shares = shares / shares.sum(axis=1, keepdims=True)
    return float(np.exp(-log_likelihood(phi, shares, held_out) / held_out.n_tokens))


def runs_of(trained: Trained, task: Task) -> list[Run]:
    found = []
    for rounds in ROUNDS:
        theta, seconds = trained.infer(rounds)
        speed = task.observed.n_docs / seconds
        found.append(Run(f"{rounds} rounds", perplexity(trained.phi, theta, task.held_out), speed))
    return found


def ours(trained: Trained, task: Task) -> list[Run]:
    """topicloom with the rival's topics: expected counts at several tolerances, and draws as earlier versions made."""
    by_word, alpha = np.ascontiguousarray(trained.phi.T), np.asarray(trained.alpha, float)
    work: dict[str, Callable[[Corpus], Any]] = {
        f"cvb0, tol {tol:g}": lambda corpus, tol=tol: expected_counts(corpus, by_word, alpha, tol=tol, max_iter=200)
        for tol in TOLERANCES
    }
    for setting, burn_in, n_samples, n_chains in (("gibbs, 8 chains", 50, 10, 8), ("gibbs", 20, 5, 2)):
        draw = partial(fold_in_corpus, burn_in=burn_in, thin=2, n_samples=n_samples, n_chains=n_chains, hard=False)
        work[setting] = lambda corpus, draw=draw: draw(corpus, by_word, alpha).soft
    found = []
    for setting, infer in work.items():
        infer(task.observed.select(range(2)))  # compiled
        fresh = task.observed.select(range(task.observed.n_docs))  # which has no distinct pairs yet
        counts, seconds = timed(lambda infer=infer, fresh=fresh: infer(fresh))
        found.append(Run(setting, perplexity(trained.phi, counts + alpha, task.held_out), fresh.n_docs / seconds))
    return found


def quickest(runs: Sequence[Run], at_most: float) -> Run | None:
    good = [run for run in runs if run.perplexity <= at_most]
    return max(good, key=lambda run: run.speed) if good else None


def race(name: str, task: Task, corpus_name: str) -> list[object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trained = RIVALS[name](task)
        theirs = runs_of(trained, task)
    mine = ours(trained, task)
    best = quickest(theirs, CLOSE * min(run.perplexity for run in theirs))
    assert best is not None
    equal, default = quickest(mine, best.perplexity), next(run for run in mine if run.setting == f"cvb0, tol {TOL:g}")
    shown = ["—", "—", "—"]
    if equal is not None:
        shown = [equal.setting, f"{equal.perplexity:.0f}", f"{equal.speed / best.speed:.0f}"]
    drawn = mine[-1]
    return [
        name, corpus_name, task.n_topics, task.seed, best.setting, f"{best.perplexity:.0f}", f"{best.speed:,.0f}",
        f"{default.perplexity:.0f}", f"{default.speed:,.0f}", f"{default.speed / best.speed:.0f}", *shown,
        f"{drawn.perplexity:.0f}", f"{drawn.speed:,.0f}",
    ]  # fmt: skip


def methods(task: Task) -> list[Run]:
    """topicloom's own ways, given its own topics."""
    model = topicloom.LDA(task.n_topics, max_iter=TRAINING_SWEEPS, random_state=task.seed).fit(task.train)
    return ours(Trained(model.topic_word_, model.alpha_, lambda rounds: (np.empty(0), 0.0)), task)


HEADER = (
    "tool", "corpus", "K", "seed", "its setting", "perplexity", "docs/s", "topicloom: perplexity", "docs/s", "times",
    "quickest as good", "perplexity", "times", "gibbs: perplexity", "docs/s",
)  # fmt: skip


def make_task(corpus: Corpus, n_topics: int, seed: int) -> Task:
    """Test documents that the training has not seen, of two tokens at least, and their halves."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(corpus.doc_lengths >= 2))
    n_test = min(MOST_TEST, len(order) // 10)
    train = corpus.select(np.sort(order[n_test : n_test + MOST_TRAINING]))
    seen = np.isin(corpus.words, np.unique(train.words))
    test = corpus.keep_tokens(seen).select(np.sort(order[:n_test]))
    test = test.select(test.doc_lengths >= 4)
    return Task(train, *split_halves(test), n_topics, seed)


def _compare_methods(options: argparse.Namespace) -> None:
    rows: list[list[object]] = []
    for corpus_name in options.corpora:
        corpus = topicloom.read(options.data / corpus_name, format="folder")
        for n_topics in options.topics:
            for seed in range(options.seeds):
                found = methods(make_task(corpus, n_topics, seed))
                rows.append([corpus_name, n_topics, seed, *(f"{r.perplexity:.0f} ({r.speed:,.0f}/s)" for r in found)])
                print(*rows[-1], file=sys.stderr, flush=True)
    print(table(("corpus", "K", "seed", *(run.setting for run in found)), rows))


TARGETS: tuple[tuple[str, dict[str, Any]], ...] = ((".jsonl", {}), (".jsonl", {"top_n": 5}), (".parquet", {}))


def _measure_files(sizes: Sequence[int]) -> None:
    """Peak memory of this process while it reads and writes files."""
    rng, rows = np.random.default_rng(0), []
    words = np.array([f"w{v}" for v in range(20_000)])
    texts = [" ".join(words[own]) for own in (20_000 * rng.random((10_000, 40)) ** 3).astype(int)]
    model = topicloom.LDA(50, max_iter=5, random_state=0).fit(texts)
    lines = "".join(f'{{"text": "{text}"}}\n' for text in texts)
    with TemporaryDirectory() as folder:
        for n in sizes:
            source = Path(folder) / "new.jsonl"
            with source.open("w") as file:
                for _ in range(-(-n // len(texts))):
                    file.write(lines)
            for ending, options in TARGETS:
                forget_peak()
                done = model.transform_file(source, (Path(folder) / "shares").with_suffix(ending), **options)
                told = f"{ending}{', top_n=5' if options else ''}"
                rows.append([f"{done.documents:,}", told, f"{done.seconds:.0f}", f"{resident('VmHWM') / 1e6:.0f}"])
                print(*rows[-1], file=sys.stderr, flush=True)
    print(table(("documents", "out", "seconds", "peak memory, MB"), rows))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--files", nargs="+", type=int, default=None, metavar="DOCUMENTS")
    parser.add_argument("--corpora", nargs="+", default=["kos", "nips", "news20", "bbc"])
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 100, 500])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tools", nargs="+", choices=list(RIVALS), default=None)
    parser.add_argument("--methods", action="store_true")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args(arguments)
    if options.files:
        _measure_files(options.files)
        return
    if options.data is None:
        parser.error("give --data, the folder of corpora, or --files")
    for name in options.corpora:  # all that is needed, before the first race
        if not (options.data / name).is_dir():
            raise InputError(f"--data {options.data}: there is no folder {name} in it.")
    if options.methods:
        _compare_methods(options)
        return
    tools = options.tools or [name for name in RIVALS if name != "pyrmallet" or find_spec(name)]
    versions = [rival(name) for name in tools if name != "pyrmallet"]
    if "pyrmallet" in tools:
        rival("pyrmallet")
    lines = [f"`python -m benchmarks.transform {without_paths(arguments)}`", "", machine(*versions), ""]
    rows: list[list[object]] = []
    for corpus_name in options.corpora:
        corpus = topicloom.read(options.data / corpus_name, format="folder")
        for n_topics in options.topics:
            for seed in range(options.seeds):
                task = make_task(corpus, n_topics, seed)
                for name in tools:
                    rows.append(race(name, task, corpus_name))
                    print(*rows[-1], file=sys.stderr, flush=True)
                    text = "\n".join([*lines, table(HEADER, rows), ""])
                    if options.out is not None:
                        options.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"benchmarks.transform: {error}")
