"""Sampling the state paths of a hidden Markov model: single-site collapsed, single-site given parameters, blocked.

The target of all samplers, with m paths p¹ … pᵐ over the same symbols w (multipath paper, eq. 5):

    f(φ, p¹, …, pᵐ) = P(φ) ∏_j P(pʲ, w | φ)

so that φ has the density P(φ) P(w | φ)ᵐ (lemma 3.1), and, φ integrated out, the paths have a Dirichlet-multinomial
joint with counts summed over paths.

A state's ``moves`` [K + 1, K] counts which state followed which (row K: which state sequences began with), ``emission``
[V, K] which symbol came from which state, both **summed over the m paths**; a path is a row of z. Counts are whole
numbers kept as float64, so that loops over states vectorise.
"""

import numpy as np
from scipy.special import gammaln

from topicloom._types import AnyArray, FloatArray, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Tokens, tokens_of
from topicloom.engine.estimates import Estimator
from topicloom.engine.sampler import Key
from topicloom.engine.state import topic_dtype
from topicloom.engine.threads import run_parallel
from topicloom.hmm.forward_backward import ForwardValues, forward, room_for_forward
from topicloom.hmm.state import HMMPrior, HMMState, Parameters, no_counts
from topicloom.numerics.jit import as_input, kernel
from topicloom.numerics.rng import Purpose, stream, uniform
from topicloom.numerics.search import search
from topicloom.numerics.variates import dirichlets

SAMPLERS = ("collapsed", "partial", "blocked")
_NONE = Parameters(np.zeros((0, 0)), np.zeros((0, 0)))


@kernel
def count(tokens: Tokens, state: HMMState) -> None:
    """Add the counts of all paths."""
    symbols, ptr, z, moves, emission = tokens.words, tokens.doc_ptr, state.z, state.moves, state.emission
    n_states = moves.shape[1]
    for j in range(z.shape[0]):
        path = z[j]
        for s in range(ptr.shape[0] - 1):
            before = n_states
            for t in range(ptr[s], ptr[s + 1]):
                now = int(path[t])
                moves[before, now] += 1.0
                emission[symbols[t], now] += 1.0
                before = now


@kernel
def agreeing(z: AnyArray) -> int:
    """At how many places all paths have the same state."""
    found = 0
    for t in range(z.shape[1]):
        same = 1
        for j in range(1, z.shape[0]):
            if z[j, t] != z[0, t]:
                same = 0
        found += same
    return found


@kernel
def draw_first(tokens: Tokens, given: Parameters, rng: AnyArray, path: AnyArray) -> None:
    """A first path: each state given the one before it and the symbol, under drawn parameters."""
    symbols, ptr, moves, emission = tokens.words, tokens.doc_ptr, given.moves, given.emission
    n_states = moves.shape[1]
    weight = np.empty(n_states)
    for s in range(ptr.shape[0] - 1):
        before = n_states
        for t in range(ptr[s], ptr[s + 1]):
            v = symbols[t]
            for k in range(n_states):
                weight[k] = moves[before, k] * emission[v, k]
            total = weight.sum()
            if not total > 0.0:  # drawn from a sparse prior, all may be 0
                weight[:] = 1.0
                total = float(n_states)
            before = search(weight, uniform(rng) * total)
            path[t] = before


# -- collapsed -----------------------------------------------------------------------------------------------------


@kernel
def visit_collapsed(
    tokens: Tokens, state: HMMState, prior: HMMPrior, rng: AnyArray, soft: bool, out: Parameters
) -> int:
    """Every state of every path once, given all others, parameters integrated out; returns how many changed.

    A place's own symbol and moves are taken out of the counts, its weights computed, and a state drawn and counted. Of
    the weight of state k between p and q, the move p → k is made before k → q: if p = k it is one more move out of k,
    and if q = k too it is one more of the very kind that follows, so both factors of k → q have seen it. The total of
    row p does not depend on k. State number K stands for what is not there: the state before the first, after the last.

    With ``soft`` no state changes, and the weights, normalised, are added to ``out``: expected counts (CGS_p, for an
    HMM). A move has two ends; half of it is counted with its second state spread out, half with its first. All of this
    is one function because calls with so many arrays cost more than the work.
    """
    symbols, ptr, z, moves, emission = tokens.words, tokens.doc_ptr, state.z, state.moves, state.emission
    a, b, soft_moves, soft_emission = prior.moves, prior.emission, out.moves, out.emission
    n_states = moves.shape[1]
    left, a_left, held, b_held = np.zeros(n_states), np.zeros(n_states), np.zeros(n_states), np.zeros(n_states)
    for k in range(n_states):
        for v in range(emission.shape[0]):
            held[k] += emission[v, k]
            b_held[k] += b[v, k]
        for q in range(n_states):
            left[k] += moves[k, q]
            a_left[k] += a[k, q]
    weight = np.empty(n_states)
    changed = 0
    for j in range(z.shape[0]):
        path = z[j]
        for s in range(ptr.shape[0] - 1):
            p = n_states
            stop = ptr[s + 1]
            for t in range(ptr[s], stop):
                v, old = symbols[t], int(path[t])
                inner = t + 1 < stop
                q = int(path[t + 1]) if inner else n_states
                emission[v, old] -= 1.0
                held[old] -= 1.0
                moves[p, old] -= 1.0
                if p < n_states:
                    left[p] -= 1.0
                if inner:
                    moves[old, q] -= 1.0
                    left[old] -= 1.0
                total = 0.0
                for k in range(n_states):
                    w = (emission[v, k] + b[v, k]) * (moves[p, k] + a[p, k])
                    d = held[k] + b_held[k]
                    if inner:
                        own = 1.0 if k == p else 0.0
                        again = own if k == q else 0.0
                        w *= moves[k, q] + a[k, q] + again
                        d *= left[k] + a_left[k] + own
                    w /= d
                    weight[k] = w
                    total += w
                new = old
                if soft:
                    part = 1.0 if p == n_states else 0.5
                    for k in range(n_states):
                        share = weight[k] / total
                        soft_emission[v, k] += share
                        soft_moves[p, k] += part * share
                        if inner:
                            soft_moves[k, q] += 0.5 * share
                else:
                    u = uniform(rng) * total
                    new = int(u >= weight[0])  # no branch, where there are two states
                    if n_states != 2:
                        new = 0
                        while new < n_states - 1 and u >= weight[new]:
                            u -= weight[new]
                            new += 1
                    path[t] = new
                    changed += new != old
                emission[v, new] += 1.0
                held[new] += 1.0
                moves[p, new] += 1.0
                if p < n_states:
                    left[p] += 1.0
                if inner:
                    moves[new, q] += 1.0
                    left[new] += 1.0
                p = new
    return changed


# -- given parameters ----------------------------------------------------------------------------------------------


@kernel
def sweep_single(tokens: Tokens, path: AnyArray, given: Parameters, rng: AnyArray, counts: Parameters) -> int:
    """Every state of one path once, given its neighbours and the parameters; adds the new path's counts."""
    symbols, ptr, moves, emission = tokens.words, tokens.doc_ptr, given.moves, given.emission
    n_moves, n_emission = counts.moves, counts.emission
    n_states = moves.shape[1]
    weight = np.empty(n_states)
    changed = 0
    for s in range(ptr.shape[0] - 1):
        p = n_states
        stop = ptr[s + 1]
        for t in range(ptr[s], stop):
            v, old = symbols[t], int(path[t])
            inner = t + 1 < stop
            q = int(path[t + 1]) if inner else n_states
            total = 0.0
            for k in range(n_states):
                w = moves[p, k] * emission[v, k]
                if inner:
                    w *= moves[k, q]
                weight[k] = w
                total += w
            u = uniform(rng) * total
            new = int(u >= weight[0])  # no branch, where there are two states
            if n_states != 2:
                new = 0
                while new < n_states - 1 and u >= weight[new]:
                    u -= weight[new]
                    new += 1
            changed += new != old
            path[t] = new
            n_moves[p, new] += 1.0
            n_emission[v, new] += 1.0
            p = new
    return changed


@kernel
def sweep_blocked(
    tokens: Tokens, path: AnyArray, given: Parameters, rng: AnyArray, counts: Parameters, values: ForwardValues
) -> int:
    """Every sequence's states at once given the parameters: forward filtering, backward sampling."""
    symbols, ptr, moves, alpha = tokens.words, tokens.doc_ptr, given.moves, values.alpha
    n_moves, n_emission = counts.moves, counts.emission
    n_states = moves.shape[1]
    weight = np.empty(n_states)
    changed = 0
    for s in range(ptr.shape[0] - 1):
        first, stop = ptr[s], ptr[s + 1]
        if first == stop:
            continue
        forward(first, stop, symbols, given, values)
        q = n_states
        for t in range(stop - 1, first - 1, -1):
            total = 0.0
            for k in range(n_states):
                w = alpha[t - first, k]
                if q < n_states:
                    w *= moves[k, q]
                weight[k] = w
                total += w
            u = uniform(rng) * total
            new = int(u >= weight[0])  # no branch, where there are two states
            if n_states != 2:
                new = 0
                while new < n_states - 1 and u >= weight[new]:
                    u -= weight[new]
                    new += 1
            changed += new != int(path[t])
            path[t] = new
            n_emission[symbols[t], new] += 1.0
            if q < n_states:
                n_moves[new, q] += 1.0
            q = new
        n_moves[n_states, q] += 1.0
    return changed


# -- a chain's state and its sweeps ------------------------------------------------------------------------------------


def restore(corpus: Corpus, z: AnyArray, n_states: int) -> HMMState:
    """The state that paths imply."""
    z = np.array(z, topic_dtype(n_states), order="C")
    state = HMMState(z, np.zeros((n_states + 1, n_states)), np.zeros((corpus.n_words, n_states)))
    count(tokens_of(corpus), state)
    return state


def draw_parameters(counts: Parameters | HMMState, prior: HMMPrior, rng: UInt64Array) -> Parameters:
    """A draw from the Dirichlet distributions with the prior plus these counts."""
    moves, by_state = np.empty_like(prior.moves), np.empty(prior.emission.T.shape)
    dirichlets(rng, prior.moves + counts.moves, moves)
    dirichlets(rng, np.ascontiguousarray((prior.emission + counts.emission).T), by_state)
    return Parameters(as_input(moves), as_input(by_state.T))


def draw_from_prior(prior: HMMPrior, key: Key) -> Parameters:
    return draw_parameters(no_counts(prior), prior, stream(key.seed, Purpose.START, key.chain, 0))


def init(corpus: Corpus, prior: HMMPrior, n_paths: int, key: Key) -> HMMState:
    """First paths: all from one draw of the parameters, so that they begin with one numbering of the states."""
    given = draw_from_prior(prior, key)
    z = np.empty((n_paths, corpus.n_tokens), topic_dtype(prior.n_states))
    for j in range(n_paths):
        rng = stream(key.seed, Purpose.START, key.chain, 1 + j)
        draw_first(tokens_of(corpus), given, rng, z[j])
    return restore(corpus, z, prior.n_states)


def sweep(
    corpus: Corpus, state: HMMState, prior: HMMPrior, key: Key, sampler: str, n_jobs: int = 1
) -> tuple[HMMState, int]:
    """One sweep over all paths; the state is consumed. Returns the next one and how many states changed."""
    if sampler == "collapsed":
        rng = stream(key.seed, Purpose.SWEEP, key.chain, key.sweep)
        return state, int(visit_collapsed(tokens_of(corpus), state, prior, rng, False, _NONE))
    given = draw_parameters(state, prior, stream(key.seed, Purpose.SWEEP, key.chain, key.sweep, 0))

    def run(j: int) -> tuple[Parameters, int]:
        rng = stream(key.seed, Purpose.SWEEP, key.chain, key.sweep, 1 + j)
        path, counts = state.z[j], no_counts(prior)
        if sampler == "partial":
            changed = sweep_single(tokens_of(corpus), path, given, rng, counts)
        else:
            room = room_for_forward(corpus, prior.n_states)
            changed = sweep_blocked(tokens_of(corpus), path, given, rng, counts, room)
        return counts, int(changed)

    # Given the parameters the paths are independent, and each has its own stream: threads change nothing.
    done = run_parallel(run, range(len(state.z)), n_jobs)
    moves = np.sum([counts.moves for counts, _ in done], axis=0)
    emission = np.sum([counts.emission for counts, _ in done], axis=0)
    return HMMState(state.z, moves, emission), sum(changed for _, changed in done)


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
    return float(agreeing(state.z)) / max(int(state.z.shape[1]), 1)


def expected_counts(corpus: Corpus, state: HMMState, prior: HMMPrior, estimator: Estimator) -> Parameters:
    """Counts of moves and symbols, summed over paths: as drawn, or with each state's full conditional in its place."""
    if estimator == "standard":
        return Parameters(state.moves.copy(), state.emission.copy())
    soft, unused = no_counts(prior), stream(0)
    visit_collapsed(tokens_of(corpus), state, prior, unused, True, soft)
    return soft
