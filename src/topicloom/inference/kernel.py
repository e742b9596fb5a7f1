"""What a sampler is: a way to start, a sweep, its joint probability, and whether it is exact.

Four kinds of data are kept apart. The *Corpus* never changes. The *Prior* is chosen or learned. The *State* is latent
and is what a checkpoint saves; its counts always equal what its kernel's ``restore`` makes of z. *Scratch* lives
inside a sweep and is never saved.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.errors import InputError
from topicloom.inference.state import AnyState


class Prior(NamedTuple):
    """Dirichlet parameters, in the one form that every kernel takes.

    Document d has α = ``alpha[alpha_row[d]]``: one row for LDA, one a collection for models with groups. Word v has
    β = ``beta[v]`` in every topic, plus ``boost[boost_row[v]]`` by topic if it is a seed word (row −1: it is not).
    """

    alpha: FloatArray  # [rows, K]
    alpha_row: Int32Array  # [D]
    beta: FloatArray  # [V]
    beta_sum: FloatArray  # [K], over words, boosts included
    boost_row: Int32Array  # [V]
    boost: FloatArray  # [seeded words, K]

    @property
    def n_topics(self) -> int:
        return int(self.alpha.shape[1])

    @property
    def by_lists(self) -> tuple[FloatArray, Int32Array, FloatArray, Int32Array, FloatArray]:
        """What kernels that work by lists take of it: Σβ is with what they keep of the topics."""
        return self.alpha, self.alpha_row, self.beta, self.boost_row, self.boost


class Key(NamedTuple):
    """Where in a run a sweep stands: with the seed, all its random numbers follow from this."""

    seed: int
    chain: int
    sweep: int


class Schedule(NamedTuple):
    """How a sweep is made: all of it is part of the model, but for the number of threads, which changes nothing."""

    n_shards: int = 1
    n_jobs: int = 1
    n_mh: int = 2  # steps a token, of samplers that propose and accept


class Info(NamedTuple):
    """What a sweep reports."""

    changed: int  # tokens whose topic changed
    work: int  # weights that were computed, the measure of a sweep's cost


class Course(NamedTuple):
    """How sweeps go on that follow one another: in which blocks, and what parts of the words lag behind each other.

    ``inference.blocks`` says how. It is latent as the state is: a chain that has one and goes on needs it.
    """

    way: Int64Array  # [1] which one, of a sampler that has several
    docs: Int64Array  # [shards, pieces, 2] from, to
    words: Int64Array  # [parts, 2]
    unseen: Int64Array  # [parts, lag, K] what totals have moved by in a part's last steps, which others have not seen


# What a stream is for; part of its path, so that no two uses share one.
INIT, SWEEP = 1, 2


@dataclass(frozen=True)
class Kernel:
    """A sampler. ``sweep`` consumes the state it is given (its arrays are reused) and returns the next one.

    With several shards a ``sweep`` stands by itself; a chain's sweeps are those of ``run``.

    ``restore`` makes a state of assignments from a checkpoint or another program. ``exact`` says whether the posterior
    is invariant under ``sweep`` with one shard; the tests that apply follow from it. ``conditional`` gives one token's
    weights as ``sweep`` would use them, for those tests.
    """

    name: str
    init: Callable[[Corpus, Prior, Key], AnyState]
    restore: Callable[..., AnyState]  # (corpus, z, n_topics), and by name what else was saved
    sweep: Callable[[Corpus, AnyState, Prior, Key, Schedule], tuple[AnyState, Info]]
    log_joint: Callable[..., float]  # (corpus, state, prior, n_jobs), the last if there are threads to spare
    conditional: Callable[[Corpus, AnyState, Prior, int], FloatArray]
    exact: bool
    n_latent: int | None = None  # entries of z; None: one a token
    sweeps: Callable[..., tuple[AnyState, Info, Course | None]] | None = None  # as ``run``, without threads' meeting

    def run(
        self, corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule,
        n_sweeps: int = 1, course: Course | None = None,
    ) -> tuple[AnyState, Info, Course | None]:  # fmt: skip
        """Sweeps from that of the key on. In how many calls they are made changes nothing, if each is given the course
        that the one before has returned; the report is that of the last sweep.
        """
        if self.sweeps is not None:
            return self.sweeps(corpus, state, prior, key, schedule, n_sweeps, course)
        for sweep in range(key.sweep, key.sweep + n_sweeps):
            state, info = self.sweep(corpus, state, prior, key._replace(sweep=sweep), schedule)
        return state, info, None


_KERNELS: dict[str, Kernel] = {}


def register(kernel: Kernel) -> Kernel:
    """Make a kernel available by name; every contract test then runs on it."""
    _KERNELS[kernel.name] = kernel
    return kernel


def get_kernel(name: str) -> Kernel:
    _load()
    if name not in _KERNELS:
        raise InputError(f"sampler={name!r} is not known; choose one of {', '.join(map(repr, kernel_names()))}.")
    return _KERNELS[name]


def kernel_names() -> list[str]:
    _load()
    return sorted(_KERNELS)


def _load() -> None:
    """The package's own kernels register themselves when their module is imported."""
    import topicloom.inference.mh
    import topicloom.inference.partial
    import topicloom.inference.samplers
    import topicloom.inference.warp  # noqa: F401


def make_prior(
    alpha: FloatArray,
    beta: FloatArray,
    n_docs: int,
    boosts: dict[int, FloatArray] | None = None,
    alpha_row: Int32Array | None = None,
) -> Prior:
    """Prior from α (K or rows × K), β (V) and, for seed words, what is added to β by topic."""
    alpha = np.ascontiguousarray(np.atleast_2d(alpha), np.float64)
    beta = np.ascontiguousarray(beta, np.float64)
    n_topics = alpha.shape[1]
    boost_row = np.full(len(beta), -1, np.int32)
    boost = np.zeros((len(boosts or {}), n_topics))
    for row, (word, by_topic) in enumerate((boosts or {}).items()):
        boost_row[word] = row
        boost[row] = by_topic
    return Prior(
        alpha=alpha,
        alpha_row=np.zeros(n_docs, np.int32) if alpha_row is None else np.ascontiguousarray(alpha_row, np.int32),
        beta=beta,
        beta_sum=beta.sum() + boost.sum(axis=0),
        boost_row=boost_row,
        boost=boost,
    )
