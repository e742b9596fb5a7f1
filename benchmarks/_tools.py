"""Samplers of LDA behind one door: start, sweep, and the topic of every token of the corpus."""

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

import topicloom
from benchmarks._common import forget_peak, resident, rival, timed
from benchmarks._corpora import occurring
from topicloom._types import AnyArray
from topicloom.corpus import Corpus
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.sampler import Key, Sampler, Schedule, ShardProgress
from topicloom.engine.state import AnyState, rebuild_counts, rebuild_lists
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.gibbs.growing_start import Part, grow, with_growing_start
from topicloom.lda.gibbs.joint import log_joint

ALPHA, BETA, SEED = 0.1, 0.01, 1
LONGEST = 100  # tokens of each document of a first sweep
DENSE_CELLS = 5 * 10**7  # of words and topics, up to which counts are put into a dense matrix
TOMOTOPY = "tomotopy"


Counts: TypeAlias = sp.csr_matrix


class Tool(Protocol):
    """A chain of some program. Making one draws the first topics."""

    def sweep(self, n_sweeps: int = 1) -> object:
        """One sweep, or several at a time, as a user would have them."""

    def topics(self) -> AnyArray:
        """The topic of each token, in the order of the corpus."""


class Ours:
    """A chain of one of our samplers."""

    def __init__(
        self,
        sampler: str,
        corpus: Corpus,
        n_topics: int,
        schedule: Schedule | None = None,
        alpha: float = ALPHA,
        seed: int = SEED,
    ) -> None:
        self._schedule, self._sweep, self._seed = schedule or Schedule(), 0, seed
        self._kernel, self._corpus = as_models_start(sampler, self._schedule), corpus
        self.prior = fixed_prior(corpus, n_topics, alpha)
        self.state = self._kernel.init(corpus, self.prior, Key(seed, 0, 0))
        self._progress: ShardProgress | None = None

    def sweep(self, n_sweeps: int = 1) -> None:
        key = Key(self._seed, 0, self._sweep + 1)
        self._sweep += n_sweeps
        self.state, _, self._progress = self._kernel.run(
            self._corpus, self.state, self.prior, key, self._schedule, n_sweeps, self._progress
        )

    def topics(self) -> AnyArray:
        return self.state.z


class Tomotopy:
    """A chain of tomotopy's, its priors fixed. It keeps the order of the words, but takes no empty document."""

    def __init__(self, corpus: Corpus, n_topics: int, workers: int = 1, seed: int = SEED) -> None:
        self._model: Any = rival(TOMOTOPY).LDAModel(k=n_topics, alpha=ALPHA, eta=BETA, seed=seed)
        self._model.optim_interval = 0
        self._workers = workers
        names = np.array(corpus.vocabulary, dtype=object)
        for d in np.flatnonzero(corpus.doc_lengths):
            self._model.add_doc(names[corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]].tolist())
        self._train(0)

    def _train(self, sweeps: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that more workers than one give other results each time
            self._model.train(sweeps, workers=self._workers)

    def sweep(self, n_sweeps: int = 1) -> None:
        self._train(n_sweeps)

    def topics(self) -> AnyArray:
        return np.concatenate([np.asarray(doc.topics) for doc in self._model.docs])

    def words(self, corpus: Corpus) -> AnyArray:
        """Its tokens in our numbers, to show that the order is kept."""
        number = {word: v for v, word in enumerate(corpus.vocabulary)}
        ours = np.array([number[word] for word in self._model.vocabs])
        theirs = np.concatenate([np.asarray(doc.words) for doc in self._model.docs])
        return np.asarray(ours[theirs])


def as_models_start(name: str, schedule: Schedule) -> Sampler:
    """One of our samplers, started as the models of the package start it."""
    sampler = get_sampler(name)
    return with_growing_start(sampler, schedule) if name == "auto" else sampler


def fixed_prior(corpus: Corpus, n_topics: int, alpha: float = ALPHA) -> Prior:
    return make_prior(np.full(n_topics, alpha), np.full(corpus.n_words, BETA), corpus.n_docs)


def start(name: str, corpus: Corpus, n_topics: int, n_shards: int = 1, n_threads: int = 1, *, seed: int = SEED) -> Tool:
    """The chain of a tool: tomotopy, or one of our samplers."""
    if name == TOMOTOPY:
        return Tomotopy(corpus, n_topics, n_threads, seed)
    return Ours(name, corpus, n_topics, Schedule(n_shards=n_shards, n_jobs=n_threads), seed=seed)


def likelihood(corpus: Corpus, topics: AnyArray, n_topics: int) -> float:
    """log p(w, z | α, β) a token: one program for all tools."""
    small = corpus.n_words * n_topics <= DENSE_CELLS
    state: AnyState = (rebuild_counts if small else rebuild_lists)(corpus, topics, n_topics)
    return log_joint(corpus, state, fixed_prior(corpus, n_topics)) / max(corpus.n_tokens, 1)


def warm_up(name: str, corpus: Corpus, n_topics: int, n_shards: int = 1) -> float:
    """Seconds of a first sweep over a few documents: compiling, or loading what an earlier run compiled.

    Over a few documents auto takes one of the ways that it may take over many, so all of them are gone.
    """
    few = corpus.select(range(min(20, corpus.n_docs)))
    few = occurring(few.keep_tokens(np.arange(few.n_tokens) - few.doc_ptr[few.token_docs] < LONGEST))

    def first() -> None:
        start(name, few, n_topics, n_shards).sweep()
        if name == "auto":
            for way in ("dense", "sparse", "words"):
                start(way, few, n_topics, n_shards).sweep()
            half = Part(few.n_docs, np.full(few.n_docs, 32))
            grow(get_sampler(name), [half, half], few, fixed_prior(few, n_topics), Key(SEED, 0, 0), Schedule())
            dense = rebuild_counts(few, np.zeros(few.n_tokens, np.int64), n_topics)
            dense.as_lists(few).as_dense().list_sizes(few.words)

    return timed(first)


def read(data: Path, name: str) -> Corpus:
    return topicloom.read(data / name, format="folder")


def shuffled(corpus: Corpus) -> Corpus:
    """The tokens of each document in a random order: a matrix has them sorted by words, which texts have not."""
    order = np.lexsort((np.random.default_rng(SEED).random(corpus.n_tokens), corpus.token_docs))
    return replace(corpus, words=corpus.words[order])


def own_peak(name: str, load: Callable[[], Corpus], n_topics: int) -> int:
    """Bytes that this process needs for a chain and its corpus beyond what it has before it reads the corpus.

    To be called in a process of its own. Reading the corpus and handing it over are not counted; two sweeps are.
    """
    some = topicloom.datasets.bars(n_docs=30).corpus
    warm_up(name, some, n_topics)
    before = resident()
    corpus: Corpus | None = load()
    assert corpus is not None
    tool = start(name, corpus, n_topics)
    if name == TOMOTOPY:
        corpus = None  # it has a copy
    forget_peak()
    tool.sweep()
    tool.sweep()
    return resident("VmHWM") - before


def counts_likelihood(doc_topic: Counts, topic_word: Counts, n_words: int) -> float:
    """The same log p(w, z | α, β) a token from counts alone, of a tool that does not give the topics of its tokens."""
    n_topics = doc_topic.shape[1]
    total = 0.0
    for matrix, prior, size in ((doc_topic, ALPHA, n_topics), (topic_word, BETA, n_words)):
        of_rows = np.asarray(matrix.sum(axis=1)).ravel()
        total += float((gammaln(matrix.data + prior) - gammaln(prior)).sum())
        total -= float((gammaln(of_rows + prior * size) - gammaln(prior * size)).sum())
    return total / max(int(doc_topic.sum()), 1)


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
