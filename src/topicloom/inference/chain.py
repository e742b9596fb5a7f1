"""The one loop: sweeps, learned priors, kept samples, trace, callbacks, checkpoints, interrupt.

Everything a chain does at sweep t depends only on the seed, the chain's number, t and the state, so a chain that is
stopped and goes on equals one that never stopped.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType

from topicloom.corpus.corpus import Corpus
from topicloom.estimates import Counts, Estimator, topic_counts
from topicloom.inference.hyper import learn_alpha, learn_beta
from topicloom.inference.kernel import Course, Info, Kernel, Key, Prior, Schedule
from topicloom.inference.mixtures import Mixing, Mixtures
from topicloom.inference.mixtures import step as mix
from topicloom.inference.parallel import run_parallel
from topicloom.inference.paths import agreement
from topicloom.inference.state import AnyState


@dataclass
class Trace:
    """What was recorded along a chain, one entry a recorded sweep."""

    sweep: list[int] = field(default_factory=list)
    log_joint: list[float] = field(default_factory=list)  # of all paths together, divided by their number
    changed: list[int] = field(default_factory=list)  # over all paths
    alpha_sum: list[float] = field(default_factory=list)
    beta_mean: list[float] = field(default_factory=list)
    agreement: list[float] = field(default_factory=list)  # between paths; empty where there is one
    acceptance: list[float] = field(default_factory=list)  # of Langevin steps, over collections; empty without them


@dataclass
class Chain:
    """A chain as it stands: all that a checkpoint saves."""

    index: int
    sweep: int
    state: AnyState
    prior: Prior
    trace: Trace = field(default_factory=Trace)
    kept: Counts | None = None  # summed over the samples kept so far
    mixtures: Mixtures | None = None  # of collections, where the model has them
    course: Course | None = None  # that sweeps on several shards are on


@dataclass(frozen=True)
class Plan:
    """How long to run and what to do along the way."""

    seed: int
    max_iter: int
    burn_in: int | None  # None: the last state is the one sample
    lag: int
    estimator: Estimator
    learn_alpha: bool = False
    learn_beta: bool = False
    learn_from: int = 20
    learn_every: int = 10
    trace_every: int = 10
    checkpoint_every: int = 50
    schedule: Schedule = Schedule()  # noqa: RUF009 (it cannot change)
    n_paths: int = 1  # how often the corpus that is sampled repeats the one that was given
    mixing: Mixing | None = None  # how mixtures of collections are drawn

    def keeps(self, sweep: int) -> bool:
        """Whether the state after this sweep is a sample to keep."""
        return self.burn_in is not None and sweep >= self.burn_in and (sweep - self.burn_in) % self.lag == 0

    def learns(self, sweep: int) -> bool:
        wanted = self.learn_alpha or self.learn_beta or (self.mixing is not None and self.mixing.learn_gamma)
        return wanted and sweep >= self.learn_from and (sweep - self.learn_from) % self.learn_every == 0

    def traces(self, sweep: int) -> bool:
        return sweep % self.trace_every == 0

    def next_stop(self, sweep: int) -> int:
        """The first sweep after this one at which there is more to do than to sweep, or the last one."""
        sweep += 1
        while sweep < self.max_iter and not (
            self.mixing is not None
            or self.keeps(sweep)
            or self.learns(sweep)
            or self.traces(sweep)
            or sweep % self.checkpoint_every == 0
        ):
            sweep += 1
        return sweep


_SECONDS = 1.0  # of sweeps, at most, between looks at whether to stop


Callback = Callable[[Chain], object]
"""Called after each sweep; a true answer stops the chain there."""


def start_chain(
    kernel: Kernel, corpus: Corpus, prior: Prior, seed: int, index: int, mixtures: Mixtures | None = None
) -> Chain:
    """A chain before its first sweep."""
    return Chain(index, 0, kernel.init(corpus, prior, Key(seed, index, 0)), prior, mixtures=mixtures)


def advance(kernel: Kernel, corpus: Corpus, chain: Chain, plan: Plan, n_sweeps: int = 1) -> None:
    """Sweeps, and what the plan asks for after the last: keep a sample, draw mixtures of collections, learn priors.

    It must ask for nothing between them.
    """
    first, sweep = Key(plan.seed, chain.index, chain.sweep + 1), chain.sweep + n_sweeps
    state, info, chain.course = kernel.run(
        corpus, chain.state, chain.prior, first, plan.schedule, n_sweeps, chain.course
    )  # fmt: skip
    key = first._replace(sweep=sweep)
    prior, n_jobs = chain.prior, plan.schedule.n_jobs
    if plan.keeps(sweep):
        # Estimated under the prior that the sample was drawn with, before it is learned anew.
        sample = topic_counts(corpus, state, prior, plan.estimator, n_jobs=n_jobs)
        chain.kept = sample if chain.kept is None else chain.kept + sample
    if plan.mixing is not None:
        assert chain.mixtures is not None
        if plan.keeps(sweep):
            chain.mixtures.keep(prior.alpha)
        prior = mix(corpus, state.z, prior, chain.mixtures, plan.mixing, key, plan.learns(sweep), n_jobs)
    if plan.learns(sweep):
        prior = learn_alpha(corpus, state, prior, n_jobs) if plan.learn_alpha else prior
        prior = learn_beta(state, prior) if plan.learn_beta else prior
    chain.sweep, chain.state, chain.prior = sweep, state, prior
    if plan.traces(sweep):
        _record(kernel, corpus, chain, info, plan)


def run_chains(
    kernel: Kernel,
    corpus: Corpus,
    chains: Sequence[Chain],
    plan: Plan,
    *,
    n_jobs: int = 1,
    callbacks: Sequence[Callback] = (),
    checkpoint: Callable[[Chain], None] | None = None,
    watch: Sequence[Callback] = (),
) -> bool:
    """Bring every chain to ``plan.max_iter``; returns whether Ctrl-C ended the run before that.

    After Ctrl-C the sweeps under way are finished, so that every chain is left in a valid state and, where there is a
    ``checkpoint``, saved. A second Ctrl-C stops at once. Where chains share the threads, each has one.

    Callbacks see every sweep. Those that ``watch`` are called about once a second: threads that need not meet after
    each sweep wait less. In how many parts sweeps are made changes nothing.
    """
    if min(n_jobs, len(chains)) > 1:
        plan = replace(plan, schedule=plan.schedule._replace(n_jobs=1))
    with _graceful_interrupt() as interrupted:
        stop = threading.Event()

        def stops(chain: Chain) -> bool:
            answers = [callback(chain) for callback in callbacks]  # every one is called, whatever the others say
            return any(answers)

        def run(chain: Chain) -> None:
            try:
                run_one(chain)
            except BaseException:
                stop.set()  # the other chains' threads end after their sweep
                raise

        def run_one(chain: Chain) -> None:
            n_sweeps = 1
            while chain.sweep < plan.max_iter and not (stop.is_set() or interrupted.is_set()):
                n_sweeps = min(n_sweeps, plan.next_stop(chain.sweep) - chain.sweep)
                begun = time.perf_counter()
                advance(kernel, corpus, chain, plan, n_sweeps)
                taken = (time.perf_counter() - begun) / n_sweeps
                n_sweeps = 1 if callbacks else max(1, int(_SECONDS / max(taken, 1e-6)))
                for look in watch:
                    look(chain)
                if checkpoint and chain.sweep < plan.max_iter and chain.sweep % plan.checkpoint_every == 0:
                    checkpoint(chain)
                if stops(chain):
                    break
            if checkpoint:
                checkpoint(chain)

        run_parallel(run, chains, n_jobs)
        return interrupted.is_set()


def _record(kernel: Kernel, corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> None:
    trace, n_paths = chain.trace, plan.n_paths
    trace.sweep.append(chain.sweep)
    log_joint = kernel.log_joint(corpus, chain.state, chain.prior, plan.schedule.n_jobs)
    trace.log_joint.append(log_joint / n_paths)
    trace.changed.append(info.changed)
    trace.alpha_sum.append(float(chain.prior.alpha.sum(axis=1).mean()))
    trace.beta_mean.append(float(chain.prior.beta.mean()))
    if n_paths > 1:
        trace.agreement.append(agreement(chain.state.z, n_paths))
    if plan.mixing is not None and plan.mixing.method == "mgs" and chain.mixtures is not None:
        trace.acceptance.append(float(chain.mixtures.acceptance.mean()))


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
