"""Hidden Markov models over a corpus that keeps its order: priors, states of m paths, sweeps, estimates, decoding.

The target of all samplers, with m paths p¹ … pᵐ over the same symbols w (multipath paper, eq. 5):

    f(φ, p¹, …, pᵐ) = P(φ) ∏_j P(pʲ, w | φ)

so that φ has the density P(φ) P(w | φ)ᵐ (lemma 3.1), and, φ integrated out, the paths have a Dirichlet-multinomial
joint with counts summed over paths.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from topicloom._types import AnyArray, FloatArray, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimates import Estimator
from topicloom.engine.sampler import Key
from topicloom.engine.state import topic_dtype
from topicloom.engine.threads import run_parallel
from topicloom.hmm import forward as hmm
from topicloom.hmm import gibbs as hmm_gibbs
from topicloom.numerics.jit import as_input
from topicloom.numerics.rng import Purpose, stream
from topicloom.numerics.variates import dirichlets

SAMPLERS = ("collapsed", "partial", "blocked")


class HMMPrior(NamedTuple):
    """Dirichlet parameters of every row, as the kernels take them."""

    moves: FloatArray  # [K + 1, K]: of the state after each state; row K, of the first state of a sequence
    emission: FloatArray  # [V, K]

    @property
    def n_states(self) -> int:
        return int(self.moves.shape[1])


class Parameters(NamedTuple):
    """The same shapes, holding probabilities, or counts that are to become some."""

    moves: FloatArray
    emission: FloatArray


class HMMState(NamedTuple):
    """Paths, and counts summed over them. Only z is ever saved."""

    z: AnyArray  # [m, N]
    moves: FloatArray  # [K + 1, K]
    emission: FloatArray  # [V, K]


def make_hmm_prior(initial: FloatArray, transition: FloatArray, emission: FloatArray) -> HMMPrior:
    """From vectors or matrices by state: initial [K], transition [K, K], emission [K, V]."""
    return HMMPrior(as_input(np.vstack((transition, initial))), as_input(np.array(emission).T))


def make_parameters(initial: FloatArray, transition: FloatArray, emission: FloatArray) -> Parameters:
    """Parameters from their usual form: initial [K], transition [K, K], emission [K, V]."""
    return Parameters(*make_hmm_prior(initial, transition, emission))


def restore(corpus: Corpus, z: AnyArray, n_states: int) -> HMMState:
    """The state that paths imply."""
    z = np.array(z, topic_dtype(n_states), order="C")
    state = HMMState(z, np.zeros((n_states + 1, n_states)), np.zeros((corpus.n_words, n_states)))
    hmm_gibbs.count(corpus.words, corpus.doc_ptr, *state)
    return state


def draw_parameters(counts: Parameters | HMMState, prior: HMMPrior, rng: UInt64Array) -> Parameters:
    """A draw from the Dirichlet distributions with the prior plus these counts."""
    moves, by_state = np.empty_like(prior.moves), np.empty(prior.emission.T.shape)
    dirichlets(rng, prior.moves + counts.moves, moves)
    dirichlets(rng, np.ascontiguousarray((prior.emission + counts.emission).T), by_state)
    return Parameters(as_input(moves), as_input(by_state.T))


def draw_from_prior(prior: HMMPrior, key: Key) -> Parameters:
    none = Parameters(np.zeros(prior.moves.shape), np.zeros(prior.emission.shape))
    return draw_parameters(none, prior, stream(key.seed, Purpose.START, key.chain, 0))


def init(corpus: Corpus, prior: HMMPrior, n_paths: int, key: Key) -> HMMState:
    """First paths: all from one draw of the parameters, so that they begin with one numbering of the states."""
    moves, emission = draw_from_prior(prior, key)
    z = np.empty((n_paths, corpus.n_tokens), topic_dtype(prior.n_states))
    for j in range(n_paths):
        rng = stream(key.seed, Purpose.START, key.chain, 1 + j)
        hmm_gibbs.start(corpus.words, corpus.doc_ptr, moves, emission, rng, z[j])
    return restore(corpus, z, prior.n_states)


# -- sweeps --------------------------------------------------------------------------------------------------------

_NONE = np.zeros((0, 0))


def sweep(
    corpus: Corpus, state: HMMState, prior: HMMPrior, key: Key, sampler: str, n_jobs: int = 1
) -> tuple[HMMState, int]:
    """One sweep over all paths; the state is consumed. Returns the next one and how many states changed."""
    if sampler == "collapsed":
        rng = stream(key.seed, Purpose.SWEEP, key.chain, key.sweep)
        changed = hmm_gibbs.visit_collapsed(
            corpus.words, corpus.doc_ptr, *state, *prior, rng, _NONE, _NONE, False
        )  # fmt: skip
        return state, int(changed)
    given = draw_parameters(state, prior, stream(key.seed, Purpose.SWEEP, key.chain, key.sweep, 0))
    longest = int(corpus.doc_lengths.max())

    def run(j: int) -> tuple[FloatArray, FloatArray, int]:
        rng = stream(key.seed, Purpose.SWEEP, key.chain, key.sweep, 1 + j)
        moves, emission = np.zeros(state.moves.shape), np.zeros(state.emission.shape)
        args = (corpus.words, corpus.doc_ptr, state.z[j], *given, rng, moves, emission)
        if sampler == "partial":
            changed = hmm_gibbs.sweep_single(*args)
        else:
            changed = hmm_gibbs.sweep_blocked(*args, np.empty((longest, prior.n_states)), np.empty(longest))
        return moves, emission, int(changed)

    # Given the parameters the paths are independent, and each has its own stream: threads change nothing.
    done = run_parallel(run, range(len(state.z)), n_jobs)
    moves = np.sum([moves for moves, _, _ in done], axis=0)
    emission = np.sum([emission for _, emission, _ in done], axis=0)
    return HMMState(state.z, moves, emission), sum(changed for _, _, changed in done)


def log_joint(state: HMMState, prior: HMMPrior) -> float:
    """log ∫ P(φ) ∏_j P(pʲ, w | φ) dφ."""
    return _dirichlet_multinomials(state.moves, prior.moves) + _dirichlet_multinomials(
        state.emission.T, prior.emission.T
    )


def _dirichlet_multinomials(n: FloatArray, a: FloatArray) -> float:
    """Σ over rows of log Γ(Σa)/Γ(Σa + Σn) ∏ Γ(a + n)/Γ(a)."""
    cells = float(np.sum(gammaln(n + a) - gammaln(a)))
    totals = float(np.sum(gammaln(a.sum(axis=1)) - gammaln((n + a).sum(axis=1))))
    return cells + totals


def agreement(state: HMMState) -> float:
    """Share of the symbols to which all paths give the same state."""
    return float(hmm_gibbs.agreeing(state.z)) / max(int(state.z.shape[1]), 1)


# -- estimates -----------------------------------------------------------------------------------------------------


def expected_counts(corpus: Corpus, state: HMMState, prior: HMMPrior, estimator: Estimator) -> Parameters:
    """Counts of moves and symbols, summed over paths: as drawn, or with each state's full conditional in its place."""
    if estimator == "standard":
        return Parameters(state.moves.copy(), state.emission.copy())
    soft = Parameters(np.zeros(state.moves.shape), np.zeros(state.emission.shape))
    unused = stream(0)
    hmm_gibbs.visit_collapsed(corpus.words, corpus.doc_ptr, *state, *prior, unused, *soft, True)
    return soft


def normalised(moves: FloatArray, emission: FloatArray) -> Parameters:
    """Rows that sum to one, of counts with the prior added."""
    return Parameters(
        as_input(moves / moves.sum(axis=1, keepdims=True)), as_input(emission / emission.sum(axis=0))
    )  # fmt: skip


def posterior_mean(counts: Parameters, n_samples: int, prior: HMMPrior) -> Parameters:
    """E[φ] given counts summed over samples."""
    return normalised(counts.moves / n_samples + prior.moves, counts.emission / n_samples + prior.emission)


# -- given parameters ----------------------------------------------------------------------------------------------


def log_likelihoods(corpus: Corpus, given: Parameters) -> FloatArray:
    """log P(w) of every sequence, exactly, by the forward pass."""
    longest, n_states = int(corpus.doc_lengths.max()), given.moves.shape[1]
    out = np.empty(corpus.n_docs)
    hmm.log_likelihoods(
        corpus.words, corpus.doc_ptr, *given, np.empty((longest, n_states)), np.empty(longest), out
    )  # fmt: skip
    return out


def best_paths(corpus: Corpus, given: Parameters) -> tuple[FloatArray, list[AnyArray]]:
    """Viterbi: log P(path, w) and the path of every sequence."""
    n_states = given.moves.shape[1]
    with np.errstate(divide="ignore"):
        log_moves, log_emission = np.log(given.moves), np.log(given.emission)
    best = np.empty((int(corpus.doc_lengths.max()) if n_states != 2 else 0, n_states))  # two states need none
    values, paths = np.empty(corpus.n_docs), []
    for s, (start, stop) in enumerate(_stretches(corpus.doc_ptr)):
        path = np.empty(stop - start, np.int64)
        values[s] = hmm.viterbi(start, stop, corpus.words, log_moves, log_emission, best, path)
        paths.append(path)
    return values, paths


def posteriors(corpus: Corpus, given: Parameters) -> tuple[FloatArray, list[FloatArray]]:
    """log P(w) and P(state at t | w) [T, K] of every sequence."""
    longest, n_states = int(corpus.doc_lengths.max()), given.moves.shape[1]
    alpha, factor = np.empty((longest, n_states)), np.empty(longest)
    values, shares = np.empty(corpus.n_docs), []
    for s, (start, stop) in enumerate(_stretches(corpus.doc_ptr)):
        share = np.empty((stop - start, n_states))
        values[s] = hmm.posterior(start, stop, corpus.words, *given, alpha, factor, share)
        shares.append(share)
    return values, shares


def simulate(given: Parameters, lengths: Int64Array, seed: int) -> tuple[list[AnyArray], list[AnyArray]]:
    """States and symbols of sequences drawn from the model."""
    ptr = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    states, symbols = np.empty(ptr[-1], np.int64), np.empty(ptr[-1], np.int32)
    by_state = np.ascontiguousarray(given.emission.T)
    hmm.simulate(ptr, given.moves, by_state, stream(seed, Purpose.SIMULATION), states, symbols)
    cuts = _stretches(ptr)
    return [states[a:b] for a, b in cuts], [symbols[a:b] for a, b in cuts]


def _stretches(ptr: Int64Array) -> list[tuple[int, int]]:
    return list(zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True))
