"""The one loop: sweeps, kept samples, trace, callbacks, checkpoints, convergence, interrupt.

Everything a chain does at sweep t depends only on the seed, the chain's number, t and the state, so a chain that is
stopped and resumed equals one that was never stopped. What differs between models is answered by the sampler.
"""

import copy
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.draws import DrawPlan, Draws
from topicloom.engine.estimates import Estimator
from topicloom.engine.sampler import Key, Sampler, Schedule, ShardProgress
from topicloom.engine.threads import run_parallel


@dataclass(eq=False)
class Trace:
    """What was recorded along a chain: one entry per recorded sweep, or none of what a model does not have."""

    sweep: list[int] = field(default_factory=list)
    log_joint: list[float] = field(default_factory=list)  # of all paths together, divided by their number; or a bound
    changed: list[int] = field(default_factory=list)  # over all paths
    alpha_sum: list[float] = field(default_factory=list)
    beta_mean: list[float] = field(default_factory=list)
    agreement: list[float] = field(default_factory=list)  # between paths
    acceptance: list[float] = field(default_factory=list)  # of Langevin steps, over collections
    log_likelihood: list[float] = field(
        default_factory=list
    )  # log P(observations | parameters), of hidden Markov models
    change: list[float] = field(default_factory=list)  # share of the tokens that a variational iteration moved
    probes: list[FloatArray] = field(default_factory=list)  # what does not depend on topics' numbers: ``engine.probes``
    topic_sizes: list[Int64Array] = field(default_factory=list)  # tokens of each topic, over all paths
    n_topics: list[int] = field(default_factory=list)  # that have tokens, of a model that learns their number
    n_main: list[int] = field(default_factory=list)  # of these the fewest that have 99% of the tokens
    topic_concentration: list[float] = field(default_factory=list)  # of a hierarchical Dirichlet process
    tokens: list[float] = field(default_factory=list)  # of a minibatch of a stream, 0 of anything else
    words: list[int] = field(default_factory=list)  # that the stream knows after the minibatch
    score: list[float] = field(default_factory=list)  # of the minibatch before it was learned, NaN if it was not asked

    def add(self, sweep: int, values: dict[str, Any]) -> None:
        """One more record. What the records before it lack, as those of an earlier version may, is not begun."""
        for name, value in values.items():
            recorded = getattr(self, name)
            if len(recorded) == len(self.sweep):
                recorded.append(value)
        self.sweep.append(sweep)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return all(np.array_equal(values, vars(other)[name], equal_nan=True) for name, values in vars(self).items())

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Chain:
    """A chain as it stands: all that a checkpoint saves."""

    index: int
    sweep: int
    state: Any
    prior: Any
    trace: Trace = field(default_factory=Trace)
    kept: Any = None  # counts summed over the samples kept so far
    extra: Any = None  # what its sampler needs beside the state to go on
    shard_progress: ShardProgress | None = None  # where sweeps on several shards stand
    converged: bool = False
    draws: Draws | None = None  # θ, φ or functions of them, at each kept sample
    last: Any = None  # counts of the present state by word, where they were made with the chain elsewhere


@dataclass(frozen=True)
class Plan:
    """How long to run and what to do along the way."""

    seed: int
    max_iter: int
    burn_in: int | None  # None: the last state is the one sample
    thin: int
    estimator: Estimator
    learn_alpha: bool = False
    learn_beta: bool = False
    symmetric_alpha: bool = False  # whether a learned α is one number for all topics
    learn_more: bool = False  # whether the sampler learns something beside α and β
    learn_from: int = 20
    learn_every: int = 10
    trace_every: int = 10
    checkpoint_every: int = 50
    schedule: Schedule = Schedule()  # noqa: RUF009 (it cannot change)
    n_paths: int = 1  # how often the corpus that is sampled repeats the one that was given
    until: Any = None  # rule by which ``max_iter`` grows (``engine.stopping``); None if it does not
    draws: DrawPlan | None = None  # what is kept of each sample beside sums of counts

    def keeps(self, sweep: int) -> bool:
        """Whether the state after this sweep is a sample to keep."""
        return self.burn_in is not None and sweep >= self.burn_in and (sweep - self.burn_in) % self.thin == 0

    def learns(self, sweep: int) -> bool:
        wanted = self.learn_alpha or self.learn_beta or self.learn_more
        return wanted and sweep >= self.learn_from and (sweep - self.learn_from) % self.learn_every == 0

    def traces(self, sweep: int) -> bool:
        return sweep % self.trace_every == 0

    def next_stop(self, sweep: int, every_sweep: bool = False) -> int:
        """The first sweep after this one at which there is more to do than to sweep, or the last one."""
        sweep += 1
        while sweep < self.max_iter and not (
            every_sweep
            or self.keeps(sweep)
            or self.learns(sweep)
            or self.traces(sweep)
            or sweep % self.checkpoint_every == 0
        ):
            sweep += 1
        return sweep

    def is_over(self, chain: Chain) -> bool:
        return chain.sweep >= self.max_iter or chain.converged


_SECONDS = 1.0  # of sweeps, at most, between looks at whether to stop


Callback = Callable[[Chain], object]
"""Called after each sweep; a true answer stops the chain there."""


def start_chain(sampler: Sampler, corpus: Corpus, prior: Any, seed: int, index: int) -> Chain:
    """A chain before its first sweep."""
    extra = None if sampler.first_extra is None else sampler.first_extra()
    return Chain(index, 0, sampler.init(corpus, prior, Key(seed, index, 0)), prior, extra=extra)


def advance(sampler: Sampler, corpus: Corpus, chain: Chain, plan: Plan, n_sweeps: int = 1) -> None:
    """Sweeps, and what the plan asks for after the last: keep a sample, what the sampler does then, record.

    The plan must ask for nothing between them.
    """
    first = Key(plan.seed, chain.index, chain.sweep + 1)
    chain.state, info, chain.shard_progress = sampler.run(
        corpus, chain.state, chain.prior, first, plan.schedule, n_sweeps, chain.shard_progress
    )  # fmt: skip
    chain.sweep += n_sweeps
    chain.last = None
    if plan.keeps(chain.sweep):
        # Estimated under the prior that the sample was drawn with, before it is learned anew.
        sample = sampler.topic_counts(corpus, chain.state, chain.prior, plan.estimator, n_jobs=plan.schedule.n_jobs)
        if plan.draws is not None:
            chain.draws = Draws() if chain.draws is None else chain.draws
            chain.draws.add(plan.draws, sampler.draw(corpus, sample, chain.prior, plan.n_paths), chain.sweep)
        chain.kept = sample if chain.kept is None else chain.kept + sample
    sampler.after_sweep(corpus, chain, info, plan)
    if plan.traces(chain.sweep):
        chain.trace.add(chain.sweep, sampler.record(sampler, corpus, chain, info, plan))


def run_chains(
    sampler: Sampler,
    corpus: Corpus,
    chains: Sequence[Chain],
    plan: Plan,
    *,
    n_jobs: int = 1,
    callbacks: Sequence[Callback] = (),
    checkpoint: Callable[[Chain], None] | None = None,
    watch: Sequence[Callback] = (),
    workers: int = 0,
) -> bool:
    """Bring every chain to its end; returns whether Ctrl-C ended the run before that.

    A chain ends at ``plan.max_iter`` or when its sampler says that it has converged. After Ctrl-C the sweeps under way
    are finished, so that every chain is left in a valid state and, where there is a ``checkpoint``, saved. A second
    Ctrl-C stops at once. What a callback raises ends all chains. Where chains share the threads, each has one.

    Callbacks see every sweep. Those that ``watch`` are called about every second: threads that need not meet after
    each sweep wait less. In how many parts sweeps are made changes nothing.

    With two ``workers`` or more, chains run by joblib, on the backend that it was told to use. Callbacks need the
    chains here, so that with them chains stay on threads.
    """
    if min(workers, len(chains)) > 1 and not callbacks:
        _run_by_joblib(sampler, corpus, chains, plan, workers, checkpoint, watch)
        return False
    if min(n_jobs, len(chains)) > 1:
        plan = replace(plan, schedule=plan.schedule._replace(n_jobs=1))
    with _graceful_interrupt() as interrupted:
        stop = threading.Event()

        def run_one(chain: Chain) -> None:
            n_sweeps = 1
            try:
                while not (plan.is_over(chain) or stop.is_set() or interrupted.is_set()):
                    n_sweeps = min(n_sweeps, plan.next_stop(chain.sweep, sampler.every_sweep) - chain.sweep)
                    begun = time.perf_counter()
                    advance(sampler, corpus, chain, plan, n_sweeps)
                    taken = (time.perf_counter() - begun) / n_sweeps
                    n_sweeps = 1 if callbacks else max(1, int(_SECONDS / max(taken, 1e-6)))
                    for look in watch:
                        look(chain)
                    if checkpoint and chain.sweep < plan.max_iter and chain.sweep % plan.checkpoint_every == 0:
                        checkpoint(chain)
                    answers = [callback(chain) for callback in callbacks]  # each is called, whatever the others say
                    if any(answers):
                        break
                if checkpoint:
                    checkpoint(chain)
            except BaseException:
                stop.set()  # the other chains' threads end after their sweep
                raise

        if min(n_jobs, len(chains)) > 1:
            run_parallel(run_one, chains, n_jobs)
        else:
            for chain in chains:
                run_one(chain)
        return interrupted.is_set() and not all(map(plan.is_over, chains))


def _run_by_joblib(
    sampler: Sampler, corpus: Corpus, chains: Sequence[Chain], plan: Plan, workers: int,
    checkpoint: Callable[[Chain], None] | None, watch: Sequence[Callback],
) -> None:  # fmt: skip
    """Each chain in a worker of its own. Ctrl-C ends the run at once: what is kept are its checkpoints."""
    from joblib import Parallel, delayed

    plan = replace(plan, schedule=plan.schedule._replace(n_jobs=1))
    run = Parallel(n_jobs=workers, prefer="threads", max_nbytes=None)
    for chain, found in zip(
        chains, run(delayed(_run_apart)(sampler, corpus, chain, plan, checkpoint) for chain in chains), strict=True
    ):
        vars(chain).update(vars(_own(found)))
        for look in watch:
            look(chain)


def _run_apart(
    sampler: Sampler, corpus: Corpus, chain: Chain, plan: Plan, checkpoint: Callable[[Chain], None] | None
) -> Chain:
    chain = _own(chain)
    run_chains(sampler, corpus, [chain], plan, checkpoint=checkpoint)
    return chain


def _own(chain: Chain) -> Chain:
    """The chain with arrays that may be written: what Ray brings from another process may be read alone."""
    return chain if _writable(chain.state) else copy.deepcopy(chain)


def _writable(state: Any) -> bool:
    if isinstance(state, np.ndarray):
        return state.flags.writeable
    parts = state if isinstance(state, tuple | list) else vars(state).values() if hasattr(state, "__dict__") else ()
    return all(map(_writable, parts))


@contextmanager
def _graceful_interrupt() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into an event, if it would otherwise raise KeyboardInterrupt in this thread."""
    interrupted = threading.Event()
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupted
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    signal.signal(signal.SIGINT, handle)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
