"""The loop of hidden Markov models: sweeps or iterations, kept samples, trace, callbacks, checkpoints, interrupt.

Everything that a step does follows from the seed, the chain's number, the step's number and the state, so a run that is
stopped and goes on equals one that never stopped.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus.corpus import Corpus
from topicloom.directories import Part, Stored
from topicloom.inference import hmm, hmm_em
from topicloom.inference.chain import Plan, _graceful_interrupt
from topicloom.inference.checkpoints import check_hmm
from topicloom.inference.hmm import HMMPrior, HMMState, Parameters
from topicloom.inference.kernel import Key
from topicloom.inference.parallel import run_parallel
from topicloom.kernels._jit import as_input


@dataclass
class HMMTrace:
    """What was recorded along a chain, one entry a recorded step."""

    sweep: list[int] = field(default_factory=list)
    log_joint: list[float] = field(default_factory=list)  # of EM, the log posterior density but for a constant
    changed: list[int] = field(default_factory=list)  # states that the sweep changed, over all paths
    agreement: list[float] = field(default_factory=list)  # share of the symbols on which all paths agree


@dataclass
class HMMChain:
    """A chain, or a run of EM, as it stands: all that a checkpoint saves."""

    index: int
    sweep: int
    state: HMMState | Parameters
    trace: HMMTrace = field(default_factory=HMMTrace)
    kept: Parameters | None = None  # counts summed over the samples kept so far
    n_kept: int = 0
    value: float = -np.inf  # of EM, where the last iteration began
    converged: bool = False


@dataclass(frozen=True)
class HMMPlan(Plan):
    """How long to run and what to do along the way."""

    inference: str = "gibbs"
    sampler: str = "collapsed"
    n_paths: int = 1
    tol: float = 0.0


Callback = Callable[[HMMChain], object]


def start_chain(corpus: Corpus, prior: HMMPrior, plan: HMMPlan, index: int) -> HMMChain:
    """A chain before its first step."""
    key = Key(plan.seed, index, 0)
    if plan.inference == "em":
        return HMMChain(index, 0, hmm.draw_from_prior(prior, key))
    return HMMChain(index, 0, hmm.init(corpus, prior, plan.n_paths, key))


def advance(corpus: Corpus, prior: HMMPrior, chain: HMMChain, plan: HMMPlan, n_jobs: int = 1) -> None:
    """One sweep or iteration, and what the plan asks for after it."""
    if isinstance(chain.state, Parameters):
        _advance_em(corpus, prior, chain, plan)
        return
    number = chain.sweep + 1
    key = Key(plan.seed, chain.index, number)
    state, changed = hmm.sweep(corpus, chain.state, prior, key, plan.sampler, n_jobs)
    if plan.keeps(number):
        sample = hmm.expected_counts(corpus, state, prior, plan.estimator)
        old = chain.kept
        chain.kept = sample if old is None else Parameters(old.moves + sample.moves, old.emission + sample.emission)
        chain.n_kept += 1
    chain.state, chain.sweep = state, number
    if plan.traces(number):
        _record(chain, hmm.log_joint(state, prior), changed, hmm.agreement(state))


def _advance_em(corpus: Corpus, prior: HMMPrior, chain: HMMChain, plan: HMMPlan) -> None:
    assert isinstance(chain.state, Parameters)
    chain.state, value = hmm_em.iterate(corpus, chain.state, prior)
    chain.converged = value - chain.value < plan.tol
    chain.value = value
    chain.sweep += 1
    if plan.traces(chain.sweep):
        _record(chain, value, 0, 1.0)


def _record(chain: HMMChain, value: float, changed: int, agreement: float) -> None:
    trace = chain.trace
    trace.sweep.append(chain.sweep)
    trace.log_joint.append(value)
    trace.changed.append(changed)
    trace.agreement.append(agreement)


def final_value(corpus: Corpus, prior: HMMPrior, chain: HMMChain) -> float:
    """What chains are compared by: the log joint probability; of EM, the log posterior density."""
    if isinstance(chain.state, Parameters):
        return hmm_em.log_posterior(corpus, chain.state, prior)
    return hmm.log_joint(chain.state, prior)


def estimate(corpus: Corpus, prior: HMMPrior, chain: HMMChain, plan: HMMPlan) -> Parameters:
    """The parameters that a chain has arrived at."""
    if isinstance(chain.state, Parameters):
        return chain.state
    if chain.kept is not None:
        return hmm.posterior_mean(chain.kept, chain.n_kept, prior)
    return hmm.posterior_mean(hmm.expected_counts(corpus, chain.state, prior, plan.estimator), 1, prior)


def run_chains(
    corpus: Corpus,
    prior: HMMPrior,
    chains: Sequence[HMMChain],
    plan: HMMPlan,
    *,
    n_jobs: int = 1,
    callbacks: Sequence[Callback] = (),
    checkpoint: Callable[[HMMChain], None] | None = None,
) -> bool:
    """Bring every chain to its end; returns whether Ctrl-C ended the run before that.

    Threads go to whole chains, or, where there is one, to its paths. After Ctrl-C the step under way is finished.
    """
    inner = n_jobs if len(chains) == 1 else 1
    with _graceful_interrupt() as interrupted:
        stop = threading.Event()

        def over(chain: HMMChain) -> bool:
            return chain.sweep >= plan.max_iter or chain.converged

        def run(chain: HMMChain) -> None:
            while not (over(chain) or stop.is_set() or interrupted.is_set()):
                try:
                    advance(corpus, prior, chain, plan, inner)
                    if checkpoint and chain.sweep < plan.max_iter and chain.sweep % plan.checkpoint_every == 0:
                        checkpoint(chain)
                    answers = [callback(chain) for callback in callbacks]  # every one is called
                except BaseException:
                    stop.set()  # the other chains' threads end after their step
                    raise
                if any(answers):
                    break
            if checkpoint:
                checkpoint(chain)

        run_parallel(run, chains, n_jobs)
        return interrupted.is_set() and not all(map(over, chains))


# -- files ---------------------------------------------------------------------------------------------------------


def save_chain(run: Stored, chain: HMMChain) -> None:
    """Write a checkpoint: with the corpus and the seed it is all that is needed to go on exactly."""
    run.save_chain(chain.index, chain_part(chain))


def chain_part(chain: HMMChain) -> Part:
    em = isinstance(chain.state, Parameters)
    arrays: dict[str, AnyArray] = dict(chain.state._asdict()) if em else {"z": chain.state.z}  # type: ignore[union-attr]
    arrays |= {f"trace_{name}": np.asarray(values) for name, values in asdict(chain.trace).items()}
    arrays["value"] = np.array([chain.value])
    if chain.kept is not None:
        arrays |= {"kept_moves": chain.kept.moves, "kept_emission": chain.kept.emission}
    info = {"index": chain.index, "sweep": chain.sweep, "kept": chain.n_kept, "converged": chain.converged}
    return arrays, info


def load_chain(stored: Stored, index: int, corpus: Corpus, n_states: int, n_paths: int | None) -> HMMChain:
    """Read a checkpoint; counts are rebuilt from the paths. ``n_paths`` is None for EM, which has none."""
    path, arrays, info = stored.read_chain(index)
    check_hmm(path, arrays, info, index, corpus, n_states, n_paths)
    state: HMMState | Parameters
    if n_paths is not None:
        state = hmm.restore(corpus, arrays["z"], n_states)
    else:
        state = Parameters(as_input(arrays["moves"]), as_input(arrays["emission"]))
    trace = load_trace({name: arrays[f"trace_{name}"] for name in asdict(HMMTrace())})
    kept = Parameters(arrays["kept_moves"], arrays["kept_emission"]) if info["kept"] else None
    value = float(arrays["value"][0])
    return HMMChain(info["index"], info["sweep"], state, trace, kept, info["kept"], value, info["converged"])


def load_trace(arrays: dict[str, AnyArray]) -> HMMTrace:
    return HMMTrace(**{name: values.tolist() for name, values in arrays.items()})
