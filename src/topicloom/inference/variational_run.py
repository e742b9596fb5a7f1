"""The loop of variational inference: iterations, learned priors, convergence, trace, callbacks, checkpoints, interrupt.

Everything that an iteration does follows from the seed, the chain's number, the iteration's number and the state, so a
run that is stopped and goes on equals one that never stopped.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.directories import Part, Stored
from topicloom.errors import InputError
from topicloom.inference import stochastic
from topicloom.inference.chain import Trace, _graceful_interrupt
from topicloom.inference.checkpoints import Belonging, check_variational
from topicloom.inference.kernel import Prior
from topicloom.inference.parallel import run_parallel
from topicloom.inference.stochastic import STREAM_MODES, Steps, StreamMode, StreamState
from topicloom.inference.variational import (
    MODES,
    Mode,
    PairIndex,
    VariationalState,
    Work,
    bound,
    bytes_needed,
    iterate,
    pair_index,
    start,
    word_prior,
)
from topicloom.inference.variational_collections import bound_with_collections, fit_collections, start_collections
from topicloom.inference.variational_priors import learn_priors
from topicloom.inference.vem import Settings
from topicloom.kernels.rng import stream

ALL_MODES: tuple[str, ...] = (*MODES, *STREAM_MODES)
VEM = "vem"
_ORDER = 5  # what the streams are for; samplers have 1 to 3, starts 4
_FRESH = 20  # iterations in which documents of VB start afresh: later they stay near where they were
_SETTLED = 1e-2  # relative change of a learned prior below which it does not hold up convergence


@dataclass
class VariationalTrace(Trace):
    """As a sampler's, with the bound in place of the joint probability, and the share of tokens that moved."""

    change: list[float] = field(default_factory=list)


@dataclass
class VariationalChain:
    """A run as it stands: all that a checkpoint saves."""

    index: int
    sweep: int
    state: VariationalState | StreamState
    prior: Prior
    trace: VariationalTrace = field(default_factory=VariationalTrace)
    change: float = np.inf  # share of tokens that moved in the last iteration
    prior_change: float = np.inf  # relative, of the priors when they were last learned
    value: float = np.nan  # of a stream, the documents' part of the bound in the last pass
    converged: bool = False


@dataclass(frozen=True)
class VariationalPlan:
    """How long to run and what to do along the way."""

    mode: str
    seed: int
    max_iter: int
    tol: float
    work: Work
    steps: Steps
    learn_alpha: bool = False
    learn_beta: bool = False
    learn_from: int = 5
    learn_every: int = 5
    trace_every: int = 10
    checkpoint_every: int = 50
    collections: Settings | None = None  # of vem

    @property
    def learns_any(self) -> bool:
        own = self.collections
        return self.learn_alpha or self.learn_beta or (own is not None and (own.learn_gamma or bool(own.alpha_prior)))

    @property
    def learns_alpha(self) -> bool:
        return self.learn_alpha or (self.collections is not None and self.collections.learn_gamma)

    @property
    def settled(self) -> float:
        """Relative change of a learned prior that does not hold up convergence."""
        return max(_SETTLED, 10 * self.tol)

    def learns(self, iteration: int) -> bool:
        wanted = self.learns_any
        return wanted and iteration >= self.learn_from and (iteration - self.learn_from) % self.learn_every == 0


def base_mode(mode: str) -> Mode:
    """What documents and topics are fitted by: variational EM for collections has variational Bayes."""
    return "vb" if mode == VEM else cast(Mode, mode)


# -- memory --------------------------------------------------------------------------------------------------------


def available_memory() -> int | None:
    """Bytes that can be allocated without swapping, where the system tells."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.2f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.1f} MB"


def memory_note(corpus: Corpus, mode: str, n_topics: int, n_chains: int = 1) -> str:
    """What a run will need, in words; raises if it is more than there is."""
    if mode in STREAM_MODES:
        needed = 2 * 8 * corpus.n_words * n_topics * n_chains
        what = f"{corpus.n_words:,} words × {n_topics:,} topics"
    else:
        needed = bytes_needed(base_mode(mode), corpus, n_topics) * n_chains
        what = f"{len(corpus.pairs.word):,} distinct document/word pairs × {n_topics:,} topics"
    note = f'inference="{mode}" needs {_size(needed)} for {what}'
    free = available_memory()
    if free is not None and needed > free:
        raise InputError(
            f'{note}, and {_size(free)} are free. Use inference="scvb0" or "svb", which need memory for words × '
            "topics alone, or fewer topics."
        )
    return note


# -- chains --------------------------------------------------------------------------------------------------------


def start_chain(index: PairIndex | None, plan: VariationalPlan, prior: Prior, chain: int) -> VariationalChain:
    if plan.mode in STREAM_MODES:
        return VariationalChain(chain, 0, stochastic.start_stream(prior, plan.seed, chain), prior)
    assert index is not None
    state = start(index, base_mode(plan.mode), prior, plan.seed, chain)
    if plan.collections is not None:
        state = start_collections(state, prior, plan.collections)
    return VariationalChain(chain, 0, state, prior)


def copied(chain: VariationalChain) -> VariationalChain:
    """A stream that can go on while this one stays as it is."""
    assert isinstance(chain.state, StreamState)
    own = {name: array.copy() for name, array in chain.state._asdict().items()}
    return replace(chain, state=chain.state._replace(**own))


def word_counts(chain: VariationalChain) -> FloatArray:
    """β + E[n_vk] [V, K]."""
    if isinstance(chain.state, StreamState):
        return stochastic.pseudo_counts(chain.state, chain.prior)
    word = chain.state.word
    return np.where(word > 0, word, word_prior(chain.prior))  # what rounding has taken from a tiny prior


def advance(corpus: Corpus, index: PairIndex | None, chain: VariationalChain, plan: VariationalPlan) -> None:
    """One iteration (for a stream, one pass over the corpus), and what the plan asks for after it."""
    if plan.mode in STREAM_MODES:
        value = _pass(corpus, chain, plan)
    else:
        assert index is not None
        value = _iteration(index, chain, plan)
    if not np.isfinite(chain.change):
        raise InputError(
            f'inference="{plan.mode}" came to numbers that are not finite in iteration {chain.sweep}: priors and '
            "counts are too large or too small for each other. Bring priors nearer to 1, or scale the counts."
        )
    unsettled = plan.learns_any and chain.prior_change > plan.settled
    chain.converged = chain.change < plan.tol and not unsettled
    if value is not None:
        trace = chain.trace
        trace.sweep.append(chain.sweep)
        trace.log_joint.append(value)
        trace.changed.append(round(chain.change * float(corpus.pairs.count.sum())))
        trace.alpha_sum.append(float(chain.prior.alpha.sum(axis=1).mean()))
        trace.beta_mean.append(float(chain.prior.beta.mean()))
        trace.change.append(chain.change)


def _iteration(index: PairIndex, chain: VariationalChain, plan: VariationalPlan) -> float | None:
    mode, state = base_mode(plan.mode), cast(VariationalState, chain.state)
    work = plan.work._replace(fresh=chain.sweep < _FRESH)
    state, change = iterate(index, state, mode, chain.prior, work)
    chain.sweep += 1
    learns, moved = plan.learns(chain.sweep), 0.0
    if plan.collections is not None:
        state, chain.prior, moved = fit_collections(index, state, chain.prior, plan.collections, learns)
    if learns:
        state, chain.prior, chain.prior_change = learn_priors(
            index, state, mode, chain.prior, alpha=plan.learn_alpha, beta=plan.learn_beta
        )
        chain.prior_change = max(chain.prior_change, moved)
    chain.state, chain.change = state, change
    return _value(index, chain, plan) if chain.sweep % plan.trace_every == 0 else None


def _value(index: PairIndex, chain: VariationalChain, plan: VariationalPlan) -> float:
    state = cast(VariationalState, chain.state)
    if plan.collections is not None:
        return bound_with_collections(index, state, chain.prior, plan.collections, plan.work.n_jobs)
    return bound(index, state, base_mode(plan.mode), chain.prior, plan.work.n_jobs)


def _pass(corpus: Corpus, chain: VariationalChain, plan: VariationalPlan) -> float | None:
    """All batches; every pass has its own order of the documents."""
    mode, state = cast(StreamMode, plan.mode), cast(StreamState, chain.state)
    before = state.counts * state.scale[0]
    old = chain.prior
    total = 0.0
    key = stream(plan.seed, _ORDER, chain.index, chain.sweep)
    for docs in stochastic.batches(corpus.n_docs, plan.steps.batch_size, key):
        batch = stochastic.take_batch(corpus, docs)
        chain.prior, value = stochastic.learn_batch(batch, state, mode, chain.prior, plan.steps, plan.work)
        total += value
    chain.sweep += 1
    if plan.learn_beta:
        chain.prior = stochastic.learn_stream_beta(state, mode, chain.prior)
    after = state.counts * state.scale[0]
    chain.change = float(np.abs(after - before).sum() / (2 * max(after.sum(), 1e-300)))
    moves = [
        np.abs(new - was).sum() / was.sum()
        for new, was in ((chain.prior.alpha, old.alpha), (chain.prior.beta, old.beta))
    ]
    chain.prior_change, chain.value = float(max(moves)), total
    return total + stochastic.topics_part(state, mode, chain.prior) if chain.sweep % plan.trace_every == 0 else None


def run_chains(
    corpus: Corpus,
    chains: Sequence[VariationalChain],
    plan: VariationalPlan,
    *,
    n_jobs: int = 1,
    callbacks: Sequence[Callable[..., object]] = (),
    checkpoint: Callable[[VariationalChain], None] | None = None,
    index: PairIndex | None = None,
) -> bool:
    """Bring every chain to convergence or ``plan.max_iter``; returns whether Ctrl-C ended the run before that."""
    if index is None and plan.mode not in STREAM_MODES:
        index = pair_index(corpus)
    with _graceful_interrupt() as interrupted:
        stop = threading.Event()

        def run(chain: VariationalChain) -> None:
            while chain.sweep < plan.max_iter and not (chain.converged or stop.is_set() or interrupted.is_set()):
                try:
                    advance(corpus, index, chain, plan)
                except BaseException:
                    stop.set()  # the other chains' threads end after their iteration
                    raise
                if checkpoint and chain.sweep < plan.max_iter and chain.sweep % plan.checkpoint_every == 0:
                    checkpoint(chain)
                answers = [callback(chain) for callback in callbacks]  # every one is called, whatever the others say
                if any(answers):
                    break
            if checkpoint:
                checkpoint(chain)

        run_parallel(run, chains, n_jobs)
        return interrupted.is_set() and not all(chain.converged or chain.sweep >= plan.max_iter for chain in chains)


def final_value(corpus: Corpus, index: PairIndex | None, chain: VariationalChain, plan: VariationalPlan) -> float:
    """The bound as the chain stands; the documents' part of a stream's is from its last pass."""
    if isinstance(chain.state, StreamState):
        return chain.value + stochastic.topics_part(chain.state, cast(StreamMode, plan.mode), chain.prior)
    assert index is not None
    return _value(index, chain, plan)


# -- files ---------------------------------------------------------------------------------------------------------


def chain_part(chain: VariationalChain) -> Part:
    """What a checkpoint has: with the corpus and the seed it is all that is needed to go on exactly."""
    arrays: dict[str, AnyArray] = {f"state_{name}": a for name, a in chain.state._asdict().items()}
    arrays |= chain.prior._asdict()
    arrays |= {f"trace_{name}": np.asarray(values) for name, values in asdict(chain.trace).items()}
    arrays["changes"] = np.array([chain.change, chain.prior_change, chain.value])
    return arrays, {"index": chain.index, "sweep": chain.sweep, "converged": chain.converged}


def load_chain(
    stored: Stored, index: int, mode: str, corpus: Corpus | None, of: Belonging, n_words: int
) -> VariationalChain:  # fmt: skip
    """Read a checkpoint; a stream needs no corpus."""
    path, arrays, info = stored.read_chain(index)
    check_variational(path, arrays, info, index, mode, corpus, of, n_words)
    kind = StreamState if mode in STREAM_MODES else VariationalState
    # What files of versions that lack it need not have is left out.
    state = kind(**{name: arrays[key] for name in kind._fields if (key := f"state_{name}") in arrays})
    prior = Prior(**{name: arrays[name] for name in Prior._fields})
    trace = load_trace({name: arrays[key] for name in asdict(VariationalTrace()) if (key := f"trace_{name}") in arrays})
    change, prior_change, value = map(float, arrays["changes"])
    return VariationalChain(
        info["index"], info["sweep"], state, prior, trace, change, prior_change, value, info["converged"]
    )


def load_trace(arrays: dict[str, AnyArray]) -> VariationalTrace:
    return VariationalTrace(**{name: values.tolist() for name, values in arrays.items()})
