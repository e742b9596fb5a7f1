"""Sampling the state paths of a hidden Markov model: single-site collapsed, single-site given parameters, blocked.

A state's ``moves`` [K + 1, K] counts which state followed which (row K: which state sequences began with), ``emission``
[V, K] which symbol came from which state, both **summed over the m paths**; a path is a row of z. Counts are whole
numbers kept as float64, so that loops over states vectorise.
"""

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.hmm.forward import forward
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import uniform
from topicloom.numerics.search import search


@kernel
def count(symbols: Int32Array, ptr: Int64Array, z: AnyArray, moves: FloatArray, emission: FloatArray) -> None:
    """Add the counts of all paths."""
    n_states = moves.shape[1]
    for j in range(z.shape[0]):
        path = z[j]
        for s in range(ptr.shape[0] - 1):
            before = n_states
            for t in range(ptr[s], ptr[s + 1]):
                state = int(path[t])
                moves[before, state] += 1.0
                emission[symbols[t], state] += 1.0
                before = state


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
def start(
    symbols: Int32Array, ptr: Int64Array, moves: FloatArray, emission: FloatArray, rng: AnyArray, path: AnyArray
) -> None:
    """A first path: each state given the one before it and the symbol, under drawn parameters."""
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
    symbols: Int32Array, ptr: Int64Array, z: AnyArray, moves: FloatArray, emission: FloatArray, a: FloatArray,
    b: FloatArray, rng: AnyArray, soft_moves: FloatArray, soft_emission: FloatArray, soft: bool,
) -> int:  # fmt: skip
    """Every state of every path once, given all others, parameters integrated out; returns how many changed.

    A place's own symbol and moves are taken out of the counts, its weights computed, and a state drawn and counted. Of
    the weight of state k between p and q, the move p → k is made before k → q: if p = k it is one more move out of k,
    and if q = k too it is one more of the very kind that follows, so both factors of k → q have seen it. The total of
    row p does not depend on k. State number K stands for what is not there: the state before the first, after the last.

    With ``soft`` no state changes, and the weights, normalised, are added to ``soft_moves`` and ``soft_emission``:
    expected counts (CGS_p, for an HMM). A move has two ends; half of it is counted with its second state spread out,
    half with its first. All of this is one function because calls with so many arrays cost more than the work.
    """
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
def sweep_single(
    symbols: Int32Array, ptr: Int64Array, path: AnyArray, moves: FloatArray, emission: FloatArray, rng: AnyArray,
    n_moves: FloatArray, n_emission: FloatArray,
) -> int:  # fmt: skip
    """Every state of one path once, given its neighbours and the parameters; adds the new path's counts."""
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
    symbols: Int32Array, ptr: Int64Array, path: AnyArray, moves: FloatArray, emission: FloatArray, rng: AnyArray,
    n_moves: FloatArray, n_emission: FloatArray, alpha: FloatArray, factor: FloatArray,
) -> int:  # fmt: skip
    """Every sequence's states at once given the parameters: forward filtering, backward sampling."""
    n_states = moves.shape[1]
    weight = np.empty(n_states)
    changed = 0
    for s in range(ptr.shape[0] - 1):
        first, stop = ptr[s], ptr[s + 1]
        if first == stop:
            continue
        forward(first, stop, symbols, moves, emission, alpha, factor)
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
