"""Sampling the state paths of a hidden Markov model: single-site collapsed, single-site given parameters, blocked.

The target of all samplers, with m paths p¹ … pᵐ over the same symbols w (multipath paper, eq. 5):

    f(φ, p¹, …, pᵐ) = P(φ) ∏_j P(pʲ, w | φ)

so that φ has the density P(φ) P(w | φ)ᵐ (lemma 3.1), and, φ integrated out, the paths have a Dirichlet-multinomial
joint with counts summed over paths.

A state's ``moves`` [K + 1, K] counts which state followed which (row K: which state sequences began with), ``emission``
[U, K] which row of the observations came from which state, both **summed over the m paths**; a path is a row of z.
Counts are whole numbers kept as float64, so that loops over states vectorise. What states emit is asked of the prior's
``emission`` (``emissions.base``); nothing here knows its kind.
"""

import numpy as np

from topicloom._types import AnyArray, FloatArray, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Tokens
from topicloom.engine.estimates import Estimator
from topicloom.engine.sampler import Key
from topicloom.engine.state import topic_dtype
from topicloom.engine.threads import run_parallel
from topicloom.hmm.collapsed import visit_collapsed
from topicloom.hmm.emissions.base import Table
from topicloom.hmm.emissions.categorical import dirichlet_multinomials
from topicloom.hmm.forward_backward import ForwardValues, forward, room_for_forward
from topicloom.hmm.state import HMMPrior, HMMState, Known, Observed, Parameters, as_observed, held, no_counts
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


def restore(data: Corpus | Observed, z: AnyArray, n_states: int) -> HMMState:
    """The state that paths imply."""
    seen = as_observed(data)
    z = np.array(z, topic_dtype(n_states), order="C")
    state = HMMState(z, np.zeros((n_states + 1, n_states)), np.zeros((seen.n_rows, n_states)))
    count(seen.tokens, state)
    return state


def draw_known(counts: Parameters | HMMState, seen: Observed, prior: HMMPrior, rng: UInt64Array) -> Known:
    """A draw of all parameters given these counts; those that are fixed are as they are."""
    moves = np.empty_like(prior.moves)
    dirichlets(rng, prior.moves + counts.moves, moves)
    return held(Known(as_input(moves), prior.emission.draw(counts.emission, seen, rng)), prior)


def on_rows(
    known: Known, seen: Observed, prior: HMMPrior, room: Table | None = None
) -> tuple[Parameters, FloatArray | None]:
    """Parameters as compiled code takes them, and what was taken out of the rows (``Emission.table``)."""
    table, top = prior.emission.table(known.own, seen, room)
    return Parameters(known.moves, table), top


def draw_from_prior(data: Corpus | Observed, prior: HMMPrior, key: Key, number: int = 0) -> Known:
    """Parameters to start from: moves from the prior, and what the emission begins with."""
    seen = as_observed(data)
    rng = stream(key.seed, Purpose.START, key.chain, *([number] if number == 0 else [0, number]))
    moves = np.empty_like(prior.moves)
    dirichlets(rng, prior.moves, moves)
    return held(Known(as_input(moves), prior.emission.first(seen, rng)), prior)


def init(data: Corpus | Observed, prior: HMMPrior, n_paths: int, key: Key, known: Known | None = None) -> HMMState:
    """First paths: all under one set of parameters, so that they begin with one numbering of the states.

    They are drawn from the start's own parameters, state after state. If some are given (or some moves can never be),
    whole paths are drawn.
    """
    seen = as_observed(data)
    whole = known is not None or prior.has_zeros
    given, _ = on_rows(draw_from_prior(seen, prior, key) if known is None else known, seen, prior)
    z = np.zeros((n_paths, len(seen.rows)), topic_dtype(prior.n_states))
    unused = no_counts(prior, seen.n_rows)
    for j in range(n_paths):
        rng = stream(key.seed, Purpose.START, key.chain, 1 + j)
        if whole:
            sweep_blocked(seen.tokens, z[j], given, rng, unused, room_for_forward(seen, prior.n_states))
        else:
            draw_first(seen.tokens, given, rng, z[j])
    return restore(seen, z, prior.n_states)


def sweep(
    data: Corpus | Observed, state: HMMState, prior: HMMPrior, key: Key, sampler: str, n_jobs: int = 1
) -> tuple[HMMState, int]:
    """One sweep over all paths; the state is consumed. Returns the next one and how many states changed."""
    seen = as_observed(data)
    if sampler == "collapsed":
        rng = stream(key.seed, Purpose.SWEEP, key.chain, key.sweep)
        kept = prior.emission.predictive(state.emission, seen)
        return state, int(visit_collapsed(seen.tokens, state, prior.moves, kept, rng, False, _NONE))
    known = draw_known(state, seen, prior, stream(key.seed, Purpose.SWEEP, key.chain, key.sweep, 0))
    given, _ = on_rows(known, seen, prior)

    def run(j: int) -> tuple[Parameters, int]:
        rng = stream(key.seed, Purpose.SWEEP, key.chain, key.sweep, 1 + j)
        path, counts = state.z[j], no_counts(prior, seen.n_rows)
        if sampler == "partial":
            changed = sweep_single(seen.tokens, path, given, rng, counts)
        else:
            room = room_for_forward(seen, prior.n_states)
            changed = sweep_blocked(seen.tokens, path, given, rng, counts, room)
        return counts, int(changed)

    # Given the parameters the paths are independent, and each has its own stream: threads change nothing.
    done = run_parallel(run, range(len(state.z)), n_jobs)
    moves = np.sum([counts.moves for counts, _ in done], axis=0)
    emission = np.sum([counts.emission for counts, _ in done], axis=0)
    return HMMState(state.z, moves, emission), sum(changed for _, changed in done)


def log_joint(data: Corpus | Observed, state: HMMState, prior: HMMPrior) -> float:
    """log ∫ P(φ) ∏_j P(pʲ, w | φ) dφ, over what is not fixed."""
    seen, fixed, k = as_observed(data), prior.fixed, prior.n_states
    total = 0.0
    for name, rows in (("transition", slice(0, k)), ("initial", slice(k, k + 1))):
        n = state.moves[rows]
        if name in fixed:
            total += float(np.sum(n[n > 0] * np.log(fixed[name].reshape(n.shape)[n > 0])))
    learned = [i for i in range(k + 1) if ("initial" if i == k else "transition") not in fixed]
    if learned:
        total += dirichlet_multinomials(state.moves[learned], prior.moves[learned])
    own = {name: value for name, value in fixed.items() if name not in ("initial", "transition")}
    if own:
        logs = prior.emission.log_densities(own, seen)
        return total + float(np.sum(state.emission[state.emission > 0] * logs[state.emission > 0]))
    return total + prior.emission.log_marginal(state.emission, seen)


def agreement(state: HMMState) -> float:
    """Share of the places to which all paths give the same state."""
    return float(agreeing(state.z)) / max(int(state.z.shape[1]), 1)


def expected_counts(data: Corpus | Observed, state: HMMState, prior: HMMPrior, estimator: Estimator) -> Parameters:
    """Counts of moves and rows, summed over paths: as drawn, or with each state's full conditional in its place.

    With fixed parameters they are as drawn: the conditional is then not that of integrated parameters.
    """
    if estimator == "standard" or prior.fixed:
        return Parameters(state.moves.copy(), state.emission.copy())
    seen = as_observed(data)
    soft, unused = no_counts(prior, seen.n_rows), stream(0)
    kept = prior.emission.predictive(state.emission, seen)
    visit_collapsed(seen.tokens, state, prior.moves, kept, unused, True, soft)
    return soft
