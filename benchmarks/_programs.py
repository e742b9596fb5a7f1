"""Programs that are run through their files: MALLET and WarpLDA.

A run starts from the beginning each time, so a curve is made of runs of several lengths. What a run takes beyond its
sweeps (start, reading, writing) is the same in all of them and drops out of the difference between two.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from benchmarks._tools import ALPHA, BETA, SEED, likelihood
from topicloom._types import AnyArray
from topicloom.corpus import Corpus
from topicloom.corpus.formats import write
from topicloom.errors import InputError
from topicloom.mallet import read_state


class Run(NamedTuple):
    sweeps: int
    seconds: float  # of the whole process
    likelihood: float  # log p(w, z) a token
    peak: int  # bytes


class Program(Protocol):
    def run(self, n_topics: int, sweeps: int) -> Run: ...


class Mallet:
    """MALLET's SparseLDA on one thread. ``path`` is bin/mallet, or MALLET's folder."""

    def __init__(self, path: Path, corpus: Corpus, folder: Path) -> None:
        found = [p for p in (path, path / "bin" / "mallet") if p.is_file()]
        if not found:
            raise InputError(f"--mallet {path}: there is no such program; give the path of bin/mallet.")
        self._program = found[0].resolve()
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
             "--num-threads", 1, "--random-seed", SEED, "--show-topics-interval", 0, "--output-state", state],
            self._folder,
        )  # fmt: skip
        found = read_state(state, self._corpus)
        return Run(sweeps, seconds, likelihood(self._corpus, found.state.z, n_topics), peak)


class WarpLDA:
    """The C++ program of WarpLDA's authors. ``path`` is the folder with its programs ``format`` and ``warplda``."""

    def __init__(self, path: Path, corpus: Corpus, folder: Path) -> None:
        self._path = (path if path.is_dir() else path.parent).resolve()
        for name in ("format", "warplda"):
            if not (self._path / name).is_file():
                raise InputError(f"--warplda {path}: there is no program {name} in {self._path}.")
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


def _call(command: Sequence[object], folder: Path) -> tuple[float, int]:
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
    return seconds, usage.ru_maxrss * 1024


class Curve(NamedTuple):
    """Sweeps, seconds and likelihood of the runs, as if they were one."""

    points: list[tuple[int, float, float]]
    per_sweep: float
    peak: int


def trace(program: Program, n_topics: int, lengths: Sequence[int]) -> Curve:
    """Runs of these lengths. The seconds of the first are those that the second suggests."""
    runs = [program.run(n_topics, sweeps) for sweeps in sorted(set(lengths))]
    first, second = runs[0], runs[1]
    rate = max(second.seconds - first.seconds, 0.0) / (second.sweeps - first.sweeps)
    points = [(run.sweeps, max(run.seconds - first.seconds, 0.0) + first.sweeps * rate, run.likelihood) for run in runs]
    last = runs[-1]
    per_sweep = (last.seconds - first.seconds) / (last.sweeps - first.sweeps)
    return Curve(points, per_sweep, max(run.peak for run in runs))
