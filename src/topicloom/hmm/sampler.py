"""Hidden Markov models in the form of samplers, so that the one loop runs them: Gibbs sampling, and Baum-Welch."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine import draws, probes
from topicloom.engine.checks import ROUNDING, STATES, stored_topics
from topicloom.engine.estimates import Estimator
from topicloom.engine.run import Chain, Plan
from topicloom.engine.sampler import Info, Key, Restored, Sampler, Schedule
from topicloom.files.checks import Contents, Expected
from topicloom.hmm import em, gibbs
from topicloom.hmm.state import HMMPrior, HMMState, Parameters, posterior_mean
from topicloom.numerics.jit import as_input


@dataclass
class HMMCounts:
    """Counts of moves and symbols, summed over samples."""

    moves: FloatArray
    emission: FloatArray
    n_samples: int = 1

    def __add__(self, other: "HMMCounts") -> "HMMCounts":
        n_samples = self.n_samples + other.n_samples
        return HMMCounts(self.moves + other.moves, self.emission + other.emission, n_samples)

    def to_arrays(self) -> dict[str, AnyArray]:
        return {"moves": self.moves, "emission": self.emission}


def gibbs_sampler(method: str, n_paths: int, prior: HMMPrior) -> Sampler:
    """One of the samplers ``gibbs.SAMPLERS`` over coupled gibbs. The prior is given and not learned."""

    def init(corpus: Corpus, prior: HMMPrior, key: Key) -> HMMState:
        return gibbs.init(corpus, prior, n_paths, key)

    def sweep(corpus: Corpus, state: HMMState, prior: HMMPrior, key: Key, schedule: Schedule) -> tuple[HMMState, Info]:
        state, changed = gibbs.sweep(corpus, state, prior, key, method, schedule.n_jobs)
        return state, Info(changed, 0)

    def log_joint(corpus: Corpus, state: HMMState, prior: HMMPrior, n_jobs: int = 1) -> float:
        return gibbs.log_joint(state, prior)

    def counts(corpus: Corpus, state: HMMState, prior: HMMPrior, estimator: Estimator, *, n_jobs: int) -> HMMCounts:
        return _counted(gibbs.expected_counts(corpus, state, prior, estimator))

    def from_arrays(sampler: Sampler, corpus: Corpus, arrays: dict[str, AnyArray]) -> Restored:
        return Restored(gibbs.restore(corpus, arrays["z"], prior.n_states), prior, -np.inf)

    def check(file: Contents, corpus: Corpus, index: int) -> None:
        k = prior.n_states
        file.expect({"value": Expected("f8", (1,), finite=False)})
        z = file.arrays.get("z")
        if z is not None and z.ndim == 2 and z.shape[1] != corpus.n_tokens:
            file.fail(f"it belongs to other sequences, with {z.shape[1]} symbols and not {corpus.n_tokens}")
        file.expect({"z": Expected(stored_topics(k), (n_paths, "N"), low=0, high=k - 1)})
        n_kept = file.whole("kept", high=file.whole("sweep"))
        if n_kept:
            file.expect(_parameters(k), "kept_")
            for name in ("kept_moves", "kept_emission"):
                file.sums_to(name, file.arrays[name].sum(), float(n_kept * n_paths * corpus.n_tokens), ROUNDING)

    return Sampler(
        method, init, gibbs.restore, sweep, log_joint, _no_conditional, exact=True, topic_counts=counts,
        after_sweep=_nothing, record=_record, recorded=STATES, final_value=_joint, from_arrays=from_arrays,
        check=check, by_token=False, to_arrays=lambda chain: {"z": chain.state.z, "value": np.array([-np.inf])},
        first_extra=lambda: -np.inf, n_topics=lambda state: prior.n_states, draw=_draw, draw_shapes=_draw_shapes,
        kept_from=lambda arrays, n_samples: HMMCounts(arrays["moves"], arrays["emission"], n_samples),
    )  # fmt: skip


def em_sampler(tol: float, prior: HMMPrior) -> Sampler:
    """Baum-Welch. A chain's ``extra`` is the log posterior density at which its last iteration began."""

    def init(corpus: Corpus, prior: HMMPrior, key: Key) -> Parameters:
        return gibbs.draw_from_prior(prior, key)

    def sweep(
        corpus: Corpus, state: Parameters, prior: HMMPrior, key: Key, schedule: Schedule
    ) -> tuple[Parameters, Info]:
        state, value = em.iterate(corpus, state, prior)
        return state, Info(0, 0, value)

    def after_sweep(corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> None:
        chain.converged = info.detail - chain.extra < tol
        chain.extra = info.detail

    def record(sampler: Sampler, corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> dict[str, float]:
        return {"log_joint": chain.extra, "changed": 0, "agreement": 1.0}

    def log_posterior(corpus: Corpus, state: Parameters, prior: HMMPrior, n_jobs: int = 1) -> float:
        return em.log_posterior(corpus, state, prior)

    def from_arrays(sampler: Sampler, corpus: Corpus, arrays: dict[str, AnyArray]) -> Restored:
        state = Parameters(as_input(arrays["moves"]), as_input(arrays["emission"]))
        return Restored(state, prior, float(arrays["value"][0]))

    def check(file: Contents, corpus: Corpus, index: int) -> None:
        file.expect({"value": Expected("f8", (1,), finite=False)})
        file.whole("kept", high=0)  # it keeps no samples
        file.expect(_parameters(prior.n_states))
        file.sums_to("moves", file.arrays["moves"].sum(axis=1), 1.0)
        file.sums_to("emission", file.arrays["emission"].sum(axis=0), 1.0)

    return Sampler(
        "em", init, _no_conditional, sweep, log_posterior, _no_conditional, exact=False, after_sweep=after_sweep,
        every_sweep=True, converges=True, record=record, recorded=STATES, final_value=_joint, from_arrays=from_arrays,
        to_arrays=lambda chain: {**chain.state._asdict(), "value": np.array([chain.extra])}, check=check,
        by_token=False, first_extra=lambda: -np.inf,
    )  # fmt: skip


def _no_conditional(*args: Any) -> Any:
    raise NotImplementedError("hidden Markov models are tested by their paths")


def _nothing(corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> None:
    """Nothing is learned between sweeps."""


def _joint(sampler: Sampler, corpus: Corpus, chain: Chain, plan: Plan) -> float:
    """What chains are compared by: the log joint probability; of EM, the log posterior density."""
    return sampler.log_joint(corpus, chain.state, chain.prior)


def _record(sampler: Sampler, corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> dict[str, Any]:
    joint, z = sampler.log_joint(corpus, chain.state, chain.prior), chain.state.z
    return {
        "log_joint": joint,
        "changed": info.changed,
        "agreement": gibbs.agreement(chain.state),
        "probes": probes.measure(corpus, z[0], np.bincount(z[0], minlength=chain.prior.n_states)),
        "topic_sizes": np.bincount(z.ravel(), minlength=chain.prior.n_states),
    }


def _counted(counts: Parameters) -> HMMCounts:
    return HMMCounts(counts.moves, counts.emission)


def _draw(corpus: Corpus, counts: HMMCounts, prior: HMMPrior, n_paths: int) -> draws.Drawn:
    """The parameters' mean given one sample."""
    k, found = prior.n_states, posterior_mean(Parameters(counts.moves, counts.emission), counts.n_samples, prior)
    own = {"initial": found.moves[k], "transition": found.moves[:k], "emission": found.emission.T}
    return draws.Drawn(own, {})


def _draw_shapes(corpus: Corpus, prior: HMMPrior, n_paths: int) -> draws.Shapes:
    k, n_symbols = prior.n_states, len(prior.emission)
    return {"initial": (k,), "transition": (k, k), "emission": (k, n_symbols)}


def _parameters(n_states: int) -> dict[str, Expected]:
    moves = Expected("f8", (n_states + 1, n_states), low=0)
    return {"moves": moves, "emission": Expected("f8", ("V", n_states), low=0)}


def estimate(corpus: Corpus, chain: Chain, estimator: Estimator) -> Parameters:
    """The parameters that a chain has arrived at."""
    if isinstance(chain.state, Parameters):
        return chain.state
    kept = chain.kept or _counted(gibbs.expected_counts(corpus, chain.state, chain.prior, estimator))
    return posterior_mean(Parameters(kept.moves, kept.emission), kept.n_samples, chain.prior)
