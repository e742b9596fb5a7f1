"""Sampling one state at a time with all parameters integrated out, whatever the states emit."""

from typing import Any

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.engine.blocks import Tokens
from topicloom.hmm.emissions.predictive import add, predict, remove
from topicloom.hmm.state import HMMState, Parameters
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import uniform


@kernel
def visit_collapsed(
    tokens: Tokens, state: HMMState, prior_moves: FloatArray, kept: Any, rng: AnyArray, soft: bool, out: Parameters
) -> int:
    """Every state of every path once, given all others, parameters integrated out; returns how many changed.

    ``kept`` is what the emission keeps (``emissions.predictive``). A place's own observation and moves are taken out of
    the counts, its weights computed, and a state drawn and counted. Of the weight of state k between p and q, the move
    p → k is made before k → q: if p = k it is one more move out of k, and if q = k too it is one more of the very kind
    that follows, so both factors of k → q have seen it. The total of row p does not depend on k. State number K stands
    for what is not there: the state before the first, after the last.

    With ``soft`` no state changes, and the weights, normalised, are added to ``out``: expected counts (CGS_p, for an
    HMM). A move has two ends; half of it is counted with its second state spread out, half with its first. All of this
    is one function because calls with so many arrays cost more than the work.
    """
    symbols, ptr, z, moves, emission = tokens.words, tokens.doc_ptr, state.z, state.moves, state.emission
    a, soft_moves, soft_emission = prior_moves, out.moves, out.emission
    n_states = moves.shape[1]
    left, a_left = np.zeros(n_states), np.zeros(n_states)
    for k in range(n_states):
        for q in range(n_states):
            left[k] += moves[k, q]
            a_left[k] += a[k, q]
    above, below = np.empty(n_states), np.empty(n_states)
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
                remove(kept, v, old)
                moves[p, old] -= 1.0
                if p < n_states:
                    left[p] -= 1.0
                if inner:
                    moves[old, q] -= 1.0
                    left[old] -= 1.0
                predict(kept, v, above, below)
                total = 0.0
                for k in range(n_states):
                    w = above[k] * (moves[p, k] + a[p, k])
                    d = below[k]
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
                add(kept, v, new)
                moves[p, new] += 1.0
                if p < n_states:
                    left[p] += 1.0
                if inner:
                    moves[new, q] += 1.0
                    left[new] += 1.0
                p = new
    return changed
