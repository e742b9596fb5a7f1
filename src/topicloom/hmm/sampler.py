"""Hidden Markov models in the form of samplers, so that the one loop runs them: Gibbs sampling, and Baum-Welch."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine import draws, probes
from topicloom.engine.checks import ROUNDING, STATES, stored_topics
from topicloom.engine.estimates import Estimator
from topicloom.engine.run import Chain, Plan
from topicloom.engine.sampler import Info, Key, Restored, Sampler, Schedule
from topicloom.files.checks import Contents, Expected
from topicloom.hmm import cvb0, em, gibbs
from topicloom.hmm.starts import best_start
from topicloom.hmm.state import HMMPrior, HMMState, Known, Observed, Parameters, as_observed, posterior_mean
from topicloom.numerics.jit import as_input


class Start(NamedTuple):
    """How chains begin: by how many short runs, of how many iterations to the first look, and with which values."""

    n_runs: int = 1
    n_iter: int = 0
    values: Mapping[str, FloatArray] = {}


ONE_START = Start()


@dataclass
class HMMCounts:
    """Counts of moves and of rows of the observations, summed over samples."""

    moves: FloatArray
    emission: FloatArray
    n_samples: int = 1

    def __add__(self, other: "HMMCounts") -> "HMMCounts":
        n_samples = self.n_samples + other.n_samples
        return HMMCounts(self.moves + other.moves, self.emission + other.emission, n_samples)

    def to_arrays(self) -> dict[str, AnyArray]:
        return {"moves": self.moves, "emission": self.emission}


def gibbs_sampler(
    method: str, n_paths: int, prior: HMMPrior, start: Start = ONE_START, observed: Observed | None = None
) -> Sampler:
    """One of the samplers ``gibbs.SAMPLERS`` over coupled gibbs. The prior is given and not learned.

    The corpus has the sequences' lengths; ``observed`` has what is observed, if that is not the corpus's symbols.
    """

    def seen(corpus: Corpus) -> Observed:
        return as_observed(corpus) if observed is None else observed

    def init(corpus: Corpus, prior: HMMPrior, key: Key) -> HMMState:
        known = None
        if start != ONE_START or prior.has_zeros:
            known = best_start(seen(corpus), prior, key, *start)
        return gibbs.init(seen(corpus), prior, n_paths, key, known)

    def sweep(corpus: Corpus, state: HMMState, prior: HMMPrior, key: Key, schedule: Schedule) -> tuple[HMMState, Info]:
        state, changed = gibbs.sweep(seen(corpus), state, prior, key, method, schedule.n_jobs)
        return state, Info(changed, 0)

    def log_joint(corpus: Corpus, state: HMMState, prior: HMMPrior, n_jobs: int = 1) -> float:
        return gibbs.log_joint(seen(corpus), state, prior)

    def counts(corpus: Corpus, state: HMMState, prior: HMMPrior, estimator: Estimator, *, n_jobs: int) -> HMMCounts:
        return _counted(gibbs.expected_counts(seen(corpus), state, prior, estimator))

    def restore(corpus: Corpus, z: AnyArray, n_states: int) -> HMMState:
        return gibbs.restore(seen(corpus), z, n_states)

    def from_arrays(sampler: Sampler, corpus: Corpus, arrays: dict[str, AnyArray]) -> Restored:
        return Restored(restore(corpus, arrays["z"], prior.n_states), prior, -np.inf)

    def check(file: Contents, corpus: Corpus, index: int) -> None:
        k = prior.n_states
        file.expect({"value": Expected("f8", (1,), finite=False)})
        z = file.arrays.get("z")
        if z is not None and z.ndim == 2 and z.shape[1] != corpus.n_tokens:
            file.fail(f"it belongs to other sequences, with {z.shape[1]} symbols and not {corpus.n_tokens}")
        file.expect({"z": Expected(stored_topics(k), (n_paths, "N"), low=0, high=k - 1)})
        n_kept = file.whole("kept", high=file.whole("sweep"))
        if n_kept:
            shapes = {
                "moves": Expected("f8", (k + 1, k), low=0), "emission": Expected("f8", (seen(corpus).n_rows, k), low=0)
            }  # fmt: skip
            file.expect(shapes, "kept_")
            for name in ("kept_moves", "kept_emission"):
                file.sums_to(name, file.arrays[name].sum(), float(n_kept * n_paths * corpus.n_tokens), ROUNDING)

    def record(sampler: Sampler, corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> dict[str, Any]:
        own, prior = seen(corpus), chain.prior
        known = posterior_mean(Parameters(chain.state.moves, chain.state.emission), 1, prior, own)
        return _record(sampler, corpus, chain, info, plan) | {"log_likelihood": em.log_likelihood(own, known, prior)}

    def draw(corpus: Corpus, counts: HMMCounts, prior: HMMPrior, n_paths: int) -> draws.Drawn:
        """The parameters' mean given one sample."""
        k = prior.n_states
        found = posterior_mean(Parameters(counts.moves, counts.emission), counts.n_samples, prior, seen(corpus))
        own = {"initial": found.moves[k], "transition": found.moves[:k]}
        return draws.Drawn(own | ({"emission": usual(prior, found)["emission"]} if "emission" in found.own else {}), {})

    return Sampler(
        method, init, restore, sweep, log_joint, _no_conditional, exact=True, topic_counts=counts,
        after_sweep=_nothing, record=record, recorded=STATES, final_value=_joint, from_arrays=from_arrays,
        check=check, by_token=False, to_arrays=lambda chain: {"z": chain.state.z, "value": np.array([-np.inf])},
        first_extra=lambda: -np.inf, n_topics=lambda state: prior.n_states, draw=draw, draw_shapes=_draw_shapes,
        kept_from=lambda arrays, n_samples: HMMCounts(arrays["moves"], arrays["emission"], n_samples),
    )  # fmt: skip


class _Rooms:
    """Room for iterations, one per thread; not sent to other processes."""

    def __init__(self) -> None:
        self._own: dict[int, em.Room] = {}

    def of(self, seen: Observed, prior: HMMPrior) -> em.Room:
        thread = threading.get_ident()
        if thread not in self._own:
            self._own[thread] = em.room_for(seen, prior)
        return self._own[thread]

    def __reduce__(self) -> Any:
        return _Rooms, ()


def em_sampler(tol: float, prior: HMMPrior, start: Start = ONE_START, observed: Observed | None = None) -> Sampler:
    """Baum-Welch. A chain's ``extra`` is the log posterior density at which its last iteration began."""
    rooms = _Rooms()

    def seen(corpus: Corpus) -> Observed:
        return as_observed(corpus) if observed is None else observed

    def init(corpus: Corpus, prior: HMMPrior, key: Key) -> Known:
        return best_start(seen(corpus), prior, key, *start)

    def sweep(corpus: Corpus, state: Known, prior: HMMPrior, key: Key, schedule: Schedule) -> tuple[Known, Info]:
        state, value = em.iterate(seen(corpus), state, prior, rooms.of(seen(corpus), prior))
        return state, Info(0, 0, value)

    def after_sweep(corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> None:
        chain.converged = tol > 0 and info.detail - chain.extra < tol  # 0 makes all iterations
        chain.extra = info.detail

    def record(sampler: Sampler, corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> dict[str, float]:
        likelihood = em.log_likelihood(seen(corpus), chain.state, chain.prior)
        return {"log_joint": chain.extra, "changed": 0, "agreement": 1.0, "log_likelihood": likelihood}

    def log_posterior(corpus: Corpus, state: Known, prior: HMMPrior, n_jobs: int = 1) -> float:
        return em.log_posterior(seen(corpus), state, prior)

    def from_arrays(sampler: Sampler, corpus: Corpus, arrays: dict[str, AnyArray]) -> Restored:
        own = {name: as_input(arrays[name]) for name in prior.emission.expected()}
        return Restored(Known(as_input(arrays["moves"]), own), prior, float(arrays["value"][0]))

    def check(file: Contents, corpus: Corpus, index: int) -> None:
        k = prior.n_states
        file.expect({"value": Expected("f8", (1,), finite=False)})
        file.whole("kept", high=0)  # it keeps no samples
        file.sizes.pop("V", None)
        file.expect({"moves": Expected("f8", (k + 1, k), low=0), **prior.emission.expected()})
        file.sums_to("moves", file.arrays["moves"].sum(axis=1), 1.0)
        prior.emission.check(file)

    return Sampler(
        "em", init, _no_conditional, sweep, log_posterior, _no_conditional, exact=False, after_sweep=after_sweep,
        every_sweep=True, converges=True, record=record, recorded=STATES, final_value=_joint, from_arrays=from_arrays,
        to_arrays=lambda chain: {"moves": chain.state.moves, **chain.state.own, "value": np.array([chain.extra])},
        check=check, by_token=False, first_extra=lambda: -np.inf,
    )  # fmt: skip


def cvb0_sampler(tol: float, prior: HMMPrior, start: Start = ONE_START) -> Sampler:
    """Collapsed expected counts. A chain's ``extra`` is how many places its last iteration moved."""

    def init(corpus: Corpus, prior: HMMPrior, key: Key) -> cvb0.Beliefs:
        seen = as_observed(corpus)
        return cvb0.from_known(seen, best_start(seen, prior, key, *start), prior)

    def sweep(
        corpus: Corpus, state: cvb0.Beliefs, prior: HMMPrior, key: Key, schedule: Schedule
    ) -> tuple[cvb0.Beliefs, Info]:
        state, moved = cvb0.iterate(corpus, state, prior)
        return state, Info(0, 0, moved)

    def after_sweep(corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> None:
        chain.converged = info.detail < tol
        chain.extra = info.detail

    def record(sampler: Sampler, corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> dict[str, float]:
        known = cvb0.mean(corpus, chain.state, chain.prior)
        likelihood = em.log_likelihood(corpus, known, chain.prior)
        joint = likelihood + em.log_prior(known, chain.prior)
        return {"log_joint": joint, "changed": 0, "agreement": 1.0, "log_likelihood": likelihood}

    def log_posterior(corpus: Corpus, state: cvb0.Beliefs, prior: HMMPrior, n_jobs: int = 1) -> float:
        return cvb0.log_posterior(corpus, state, prior)

    def from_arrays(sampler: Sampler, corpus: Corpus, arrays: dict[str, AnyArray]) -> Restored:
        return Restored(cvb0.Beliefs(np.array(arrays["pairs"], np.float64)), prior, float(arrays["value"][0]))

    def check(file: Contents, corpus: Corpus, index: int) -> None:
        file.expect({"value": Expected("f8", (1,), finite=False)})
        file.whole("kept", high=0)  # it keeps no samples
        cvb0.check(file, prior.n_states, corpus.n_tokens)

    return Sampler(
        "cvb0", init, _no_conditional, sweep, log_posterior, _no_conditional, exact=False, after_sweep=after_sweep,
        every_sweep=True, converges=True, record=record, recorded=STATES, final_value=_joint, from_arrays=from_arrays,
        to_arrays=lambda chain: {"pairs": chain.state.pairs, "value": np.array([chain.extra])},
        check=check, by_token=False, first_extra=lambda: np.inf,
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


def _draw_shapes(corpus: Corpus, prior: HMMPrior, n_paths: int) -> draws.Shapes:
    k, shapes = prior.n_states, prior.emission.expected()
    found = {"initial": (k,), "transition": (k, k)}
    return found | ({"emission": (k, prior.emission.n_symbols)} if "emission" in shapes else {})


def usual(prior: HMMPrior, known: Known) -> dict[str, FloatArray]:
    """The emission's parameters as a model shows them: a row per state."""
    return {name: np.array(value, order="C") for name, value in prior.emission.by_state(known.own).items()}


def estimate(data: Corpus | Observed, chain: Chain, estimator: Estimator) -> Known:
    """The parameters that a chain has arrived at."""
    if isinstance(chain.state, Known):
        return chain.state
    seen = as_observed(data)
    if isinstance(chain.state, cvb0.Beliefs):
        return cvb0.mean(seen, chain.state, chain.prior)
    kept = chain.kept or _counted(gibbs.expected_counts(seen, chain.state, chain.prior, estimator))
    return posterior_mean(Parameters(kept.moves, kept.emission), kept.n_samples, chain.prior, seen)
