"""Tools that cannot be stepped sweep by sweep: MALLET and WarpLDA through their files, topica and pyrmallet.

A run starts from the beginning each time, so a curve is made of runs of several lengths. What a run takes beyond its
sweeps (start, reading, writing) is the same in all of them and drops out of the difference between two.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from benchmarks._common import rival, timed
from benchmarks._tools import ALPHA, BETA, SEED, Counts, counts_likelihood, likelihood
from topicloom._types import AnyArray
from topicloom.corpus import Corpus
from topicloom.corpus.formats import write
from topicloom.errors import InputError
from topicloom.mallet import read_state


class Run(NamedTuple):
    sweeps: int
    seconds: float  # of the whole process
    likelihood: float  # log p(w, z) a token
    peak: int | None  # bytes, where it is a process of its own


class Program(Protocol):
    def run(self, n_topics: int, sweeps: int) -> Run: ...


class Mallet:
    """MALLET's SparseLDA on one thread. ``path`` is bin/mallet, or MALLET's folder."""

    def __init__(self, path: Path, corpus: Corpus, folder: Path, seed: int = SEED, clock: str = "wall") -> None:
        self._seed, self._clock = seed, clock
        self._program = mallet_path(path)
        self._corpus = corpus.select(np.flatnonzero(corpus.doc_lengths))
        self._folder = folder
        write(self._corpus, folder / "corpus.txt", "mallet")
        _call(
            [self._program, "import-file", "--input", folder / "corpus.txt", "--output", folder / "corpus.bin",
             "--keep-sequence", "--preserve-case", "--token-regex", r"\S+"],
            folder,
        )  # fmt: skip

    def run(self, n_topics: int, sweeps: int) -> Run:
        state = self._folder / "state.gz"
        seconds, peak = _call(
            [self._program, "train-topics", "--input", self._folder / "corpus.bin", "--num-topics", n_topics,
             "--alpha", ALPHA * n_topics, "--beta", BETA, "--num-iterations", sweeps, "--optimize-interval", 0,
             "--num-threads", 1, "--random-seed", self._seed, "--show-topics-interval", 0, "--output-state", state],
            self._folder,
            self._clock,
        )  # fmt: skip
        found = read_state(state, self._corpus)
        return Run(sweeps, seconds, likelihood(self._corpus, found.state.z, n_topics), peak)


def mallet_path(path: Path) -> Path:
    """The program, where ``path`` is that or MALLET's folder."""
    found = [p for p in (path, path / "bin" / "mallet") if p.is_file()]
    if not found:
        raise InputError(f"--mallet {path}: there is no such program; give the path of bin/mallet.")
    return found[0].resolve()


def warplda_path(path: Path) -> Path:
    """The folder with the programs ``format`` and ``warplda``."""
    folder = (path if path.is_dir() else path.parent).resolve()
    for name in ("format", "warplda"):
        if not (folder / name).is_file():
            raise InputError(f"--warplda {path}: there is no program {name} in {folder}.")
    return folder


class WarpLDA:
    """The C++ program of WarpLDA's authors. ``path`` is the folder with its programs ``format`` and ``warplda``."""

    def __init__(self, path: Path, corpus: Corpus, folder: Path) -> None:
        self._path = warplda_path(path)
        self._corpus, self._folder = corpus.select(np.flatnonzero(corpus.doc_lengths)), folder
        write(self._corpus, folder / "corpus.txt", "mallet")  # two names, then the words: its own format
        _call([self._path / "format", "-input", folder / "corpus.txt", "-prefix", folder / "corpus"], folder)

    def run(self, n_topics: int, sweeps: int) -> Run:
        # Its --alpha is the sum over topics.
        seconds, peak = _call(
            [self._path / "warplda", "--prefix", self._folder / "corpus", "--k", n_topics, "--niter", sweeps,
             "--alpha", ALPHA * n_topics, "--beta", BETA],
            self._folder,
        )  # fmt: skip
        words, lengths, topics = _assignments(self._folder / "corpus.z.estimate")
        if sorted(lengths) != sorted(self._corpus.doc_lengths):
            raise InputError(f"WarpLDA's {self._folder}/corpus.z.estimate has other documents than the corpus.")
        # It shuffles documents and words. The joint probability does not depend on their order.
        same = Corpus(words, np.concatenate(([0], np.cumsum(lengths))), self._corpus.vocabulary)
        return Run(sweeps, seconds, likelihood(same, topics, n_topics), peak)


class Topica:
    """topica's SparseLDA on one thread, as a package."""

    def __init__(self, corpus: Corpus, folder: Path, seed: int = SEED, clock: str = "wall") -> None:
        self._topica: Any = rival("topica")
        self._folder, self._seed, self._clock = folder, seed, clock
        self._corpus = replace(with_tokens(corpus), vocabulary=tuple(numbered(corpus.n_words)))
        self._given = self._topica.Corpus.from_documents(list(words_of(self._corpus)))

    def run(self, n_topics: int, sweeps: int) -> Run:
        # Its averages of φ and θ take further sweeps: here a single one, the last.
        model = self._topica.LDA(
            n_topics, alpha_sum=ALPHA * n_topics, beta=BETA, optimize_interval=0, burn_in=0, seed=self._seed,
            num_threads=1,
        )  # fmt: skip
        iters = _all_but_one("topica", sweeps)
        options = {"num_samples": 1, "sample_interval": 1, "keep_theta_draws": False, "check_every": 10**9}
        seconds = timed(lambda: model.fit(self._given, iters=iters, progress=False, **options), self._clock)
        state = self._folder / "state.gz"
        model.save_state(str(state))
        found = read_state(state, self._corpus)
        return Run(sweeps, seconds, likelihood(self._corpus, found.state.z, n_topics), None)


class Pyrmallet:
    """RustMallet, a port of MALLET's SparseLDA, as the package pyrmallet.

    It does not give the topics of tokens. After one sample its probabilities are counts with priors added, so that
    counts by document and by word can be read off them. They are all that log p(w, z | α, β) depends on. Where its
    table of topics and words is too large for the lists of numbers that it gives it in, its own log p(w, z) is taken.
    """

    own_from = 3 * 10**7  # cells of that table

    def __init__(self, corpus: Corpus, folder: Path, seed: int = SEED, clock: str = "wall") -> None:
        del folder  # it needs no files
        rival("pyrmallet")
        self._rust: Any = import_module("pyrmallet._rust_mallet")
        self._corpus, self._seed, self._clock = with_tokens(corpus), seed, clock
        texts = [" ".join(words) for words in words_of(self._corpus)]
        self._given = self._rust.Corpus.from_strings(texts, token_regex=r"\S+", stopwords=[])

    def run(self, n_topics: int, sweeps: int) -> Run:
        found: list[Any] = []
        iterations = _all_but_one("pyrmallet", sweeps)

        def train() -> None:
            found.append(
                self._rust.train(
                    self._given, num_topics=n_topics, iterations=iterations, burn_in=0, optimize_interval=0,
                    num_samples=1, sample_interval=1, alpha_sum=ALPHA * n_topics, beta=BETA, seed=self._seed,
                )
            )  # fmt: skip

        seconds = timed(train, self._clock)
        return Run(sweeps, seconds, self._likelihood(found[0], n_topics), None)

    def _likelihood(self, model: Any, n_topics: int) -> float:
        own = float(model.log_likelihood(self._given)) / self._corpus.n_tokens
        if n_topics * self._given.num_types > self.own_from:
            return own
        lengths = self._corpus.doc_lengths
        docs = [
            sp.csr_matrix(np.rint(np.array(model.get_doc_topics(d)) * (n + ALPHA * n_topics) - ALPHA))
            for d, n in enumerate(lengths)
        ]
        doc_topic: Counts = sp.vstack(docs, format="csr")
        of_topics = np.asarray(doc_topic.sum(axis=0)).ravel()
        size = self._given.num_types
        probabilities = np.array(model.topic_word_matrix())
        topic_word: Counts = sp.csr_matrix(np.rint(probabilities * (of_topics[:, None] + BETA * size) - BETA))
        words = np.asarray(topic_word.sum(axis=0)).ravel()
        if doc_topic.sum() != self._corpus.n_tokens or not np.array_equal(np.sort(words), self._word_counts()):
            raise InputError("pyrmallet's probabilities are not those of the corpus's counts.")
        reached = counts_likelihood(doc_topic, topic_word, size)
        if abs(reached - own) > 1e-3:
            raise InputError(f"pyrmallet says log p(w, z) = {own:.5f} per token; from its counts it is {reached:.5f}.")
        return reached

    def _word_counts(self) -> AnyArray:
        return np.sort(self._corpus.word_counts[self._corpus.word_counts > 0])


PACKAGES: dict[str, Any] = {"topica": Topica, "pyrmallet": Pyrmallet}


def with_tokens(corpus: Corpus) -> Corpus:
    """Without empty documents, which not every tool takes."""
    return corpus.select(np.flatnonzero(corpus.doc_lengths)) if np.any(corpus.doc_lengths == 0) else corpus


def numbered(n_words: int) -> list[str]:
    """Names of words that have no blanks, whatever the corpus calls them."""
    return [f"w{v}" for v in range(n_words)]


def words_of(corpus: Corpus) -> Iterator[list[str]]:
    """The words of each document, by such names."""
    names = np.array(numbered(corpus.n_words), dtype=object)
    for d in range(corpus.n_docs):
        yield names[corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]].tolist()


def _all_but_one(name: str, sweeps: int) -> int:
    if sweeps < 2:
        raise InputError(f"{name} makes at least two sweeps; {sweeps} were asked for.")
    return sweeps - 1


def _assignments(path: Path) -> tuple[AnyArray, list[int], AnyArray]:
    """Words, lengths of documents, and topics from lines of ``n word:topic …``."""
    words, topics, lengths = [], [], []
    with path.open() as file:
        for line in file:
            pairs = np.array(line.replace(":", " ").split()[1:], dtype=np.int64).reshape(-1, 2)
            words.append(pairs[:, 0])
            topics.append(pairs[:, 1])
            lengths.append(len(pairs))
    return np.concatenate(words), lengths, np.concatenate(topics)


def _call(command: Sequence[object], folder: Path, clock: str = "wall") -> tuple[float, int]:
    """Seconds and largest memory of a program's run."""
    with tempfile.TemporaryFile(dir=folder) as output:
        started = time.perf_counter()
        process = subprocess.Popen([str(part) for part in command], cwd=folder, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            said = output.read().decode("utf-8", "replace").strip()[-500:]
            raise InputError(f"{command[0]} failed with code {process.returncode}: {said}")
    return usage.ru_utime + usage.ru_stime if clock == "cpu" else seconds, usage.ru_maxrss * 1024


class Curve(NamedTuple):
    """Sweeps, seconds and likelihood of the runs, as if they were one."""

    points: list[tuple[int, float, float]]
    per_sweep: float
    peak: int | None


def trace(program: Program, n_topics: int, lengths: Sequence[int]) -> Curve:
    """Runs of these lengths. The seconds of the first are those that the second suggests."""
    return joined([program.run(n_topics, sweeps) for sweeps in sorted(set(lengths))])


def joined(runs: Sequence[Run]) -> Curve:
    """Runs of ascending lengths, at least two, as one curve."""
    first, second = runs[0], runs[1]
    rate = max(second.seconds - first.seconds, 0.0) / (second.sweeps - first.sweeps)
    points = [(run.sweeps, max(run.seconds - first.seconds, 0.0) + first.sweeps * rate, run.likelihood) for run in runs]
    last = runs[-1]
    per_sweep = (last.seconds - first.seconds) / (last.sweeps - first.sweeps)
    return Curve(points, per_sweep, max((run.peak for run in runs if run.peak is not None), default=None))
