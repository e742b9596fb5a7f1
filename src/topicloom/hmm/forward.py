"""A hidden Markov model given its parameters: likelihood, expected counts, posterior, best path, simulation.

``moves`` has K + 1 rows: row k is the distribution of the state that follows k, row K that of a sequence's first
state. ``emission`` is by symbol, [V, K], so that loops over states read neighbours.

Forward values are scaled by powers of two, which is exact, and only when they have become small: Σ_k alpha[t, k] is
P(w_1 … w_t) times 2^(STEP · number of scalings so far).
"""

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import uniform
from topicloom.numerics.search import search
from topicloom.numerics.sums import sum_of

STEP = 100
_UP, _SMALL = 2.0**STEP, 2.0**-STEP
_STEP_LOG = STEP * float(np.log(2.0))
_NOTHING = 1e-280  # a state this improbable, next to the others' 2⁻¹⁰⁰ and more, takes no part in the backward pass


@kernel
def times(vector: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """out = vector · matrix (its first rows, as many as the vector is long), four rows at a time: one pass over ``out``
    after the other waits for the last."""
    n = vector.shape[0]
    size = out.shape[0]
    for j in range(size):
        out[j] = 0.0
    i = 0
    while i + 4 <= n:
        a, b, c, d = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        for j in range(size):
            out[j] += (a * matrix[i, j] + b * matrix[i + 1, j]) + (c * matrix[i + 2, j] + d * matrix[i + 3, j])
        i += 4
    while i + 2 <= n:
        a, b = vector[i], vector[i + 1]
        for j in range(size):
            out[j] += a * matrix[i, j] + b * matrix[i + 1, j]
        i += 2
    if i < n:
        a = vector[i]
        for j in range(size):
            out[j] += a * matrix[i, j]


@kernel
def _forward_two(
    start: int, stop: int, symbols: Int32Array, moves: FloatArray, emission: FloatArray, alpha: FloatArray,
    factor: FloatArray,
) -> float:  # fmt: skip
    """``forward`` for two states, with everything in registers."""
    a00, a01, a10, a11 = moves[0, 0], moves[0, 1], moves[1, 0], moves[1, 1]
    x, y = moves[2, 0] * emission[symbols[start], 0], moves[2, 1] * emission[symbols[start], 1]
    scalings = 0
    for t in range(start, stop):
        v = symbols[t]
        if t > start:
            x, y = (x * a00 + y * a10) * emission[v, 0], (x * a01 + y * a11) * emission[v, 1]
        f = 1.0
        if x + y < _SMALL:
            if x + y == 0.0:
                return -np.inf
            while x + y < _SMALL:
                x, y, f = x * _UP, y * _UP, f * _UP
                scalings += 1
        alpha[t - start, 0] = x
        alpha[t - start, 1] = y
        factor[t - start] = f
    return float(np.log(x + y) - scalings * _STEP_LOG)


@kernel
def forward(
    start: int, stop: int, symbols: Int32Array, moves: FloatArray, emission: FloatArray, alpha: FloatArray,
    factor: FloatArray,
) -> float:  # fmt: skip
    """Fill ``alpha`` and the factors by which its rows were scaled; returns log P(w) of the stretch."""
    if start == stop:
        return 0.0
    n_states = emission.shape[1]
    if n_states == 2:
        return _forward_two(start, stop, symbols, moves, emission, alpha, factor)
    scalings = 0
    total = 0.0
    for t in range(start, stop):
        row = alpha[t - start]
        if t == start:
            row[:] = moves[n_states]
        else:
            times(alpha[t - start - 1], moves, row)
        v = symbols[t]
        for k in range(n_states):
            row[k] *= emission[v, k]
        total = sum_of(row)
        f = 1.0
        if total < _SMALL:
            if total == 0.0:
                return -np.inf
            while total < _SMALL:
                total, f = total * _UP, f * _UP
                scalings += 1
            for k in range(n_states):
                row[k] *= f
        factor[t - start] = f
    return float(np.log(total) - scalings * _STEP_LOG)


@kernel
def log_likelihoods(
    symbols: Int32Array, ptr: Int64Array, moves: FloatArray, emission: FloatArray, alpha: FloatArray,
    factor: FloatArray, out: FloatArray,
) -> None:  # fmt: skip
    """log P(w) of every sequence; the scratch is as long as the longest."""
    for s in range(out.shape[0]):
        out[s] = forward(ptr[s], ptr[s + 1], symbols, moves, emission, alpha, factor)


@kernel
def _backward_two(
    start: int, stop: int, symbols: Int32Array, backward: FloatArray, emission: FloatArray, alpha: FloatArray,
    factor: FloatArray, n_moves: FloatArray, n_emission: FloatArray,
) -> None:  # fmt: skip
    """``_backward`` for two states."""
    a00, a01, a10, a11 = backward[0, 0], backward[1, 0], backward[0, 1], backward[1, 1]
    last = stop - start - 1
    x = 1.0 / (alpha[last, 0] + alpha[last, 1])
    y = x
    n00 = n01 = n10 = n11 = 0.0
    for t in range(last, 0, -1):
        v = symbols[start + t]
        n_emission[v, 0] += alpha[t, 0] * x
        n_emission[v, 1] += alpha[t, 1] * y
        h = emission[v, 0] * x * factor[t] if alpha[t, 0] > _NOTHING else 0.0
        g = emission[v, 1] * y * factor[t] if alpha[t, 1] > _NOTHING else 0.0
        p, q = alpha[t - 1, 0], alpha[t - 1, 1]
        n00 += p * h
        n01 += p * g
        n10 += q * h
        n11 += q * g
        x, y = a00 * h + a01 * g, a10 * h + a11 * g
    v = symbols[start]
    first, second = alpha[0, 0] * x, alpha[0, 1] * y
    n_emission[v, 0] += first
    n_emission[v, 1] += second
    n_moves[2, 0] += first
    n_moves[2, 1] += second
    n_moves[0, 0] += n00
    n_moves[0, 1] += n01
    n_moves[1, 0] += n10
    n_moves[1, 1] += n11


@kernel
def _backward(
    start: int, stop: int, symbols: Int32Array, backward: FloatArray, emission: FloatArray, alpha: FloatArray,
    factor: FloatArray, n_moves: FloatArray, n_emission: FloatArray, beta: FloatArray, ahead: FloatArray,
) -> None:  # fmt: skip
    """Add a sequence's expected counts; those of moves between states still lack the factor of the move itself."""
    n_states = emission.shape[1]
    last = stop - start - 1
    beta[:] = 1.0 / sum_of(alpha[last])
    for t in range(last, -1, -1):
        v = symbols[start + t]
        for k in range(n_states):
            share = alpha[t, k] * beta[k]
            n_emission[v, k] += share
            ahead[k] = emission[v, k] * beta[k] * factor[t] if alpha[t, k] > _NOTHING else 0.0
        if t == 0:
            for k in range(n_states):
                n_moves[n_states, k] += alpha[0, k] * beta[k]
        else:
            for i in range(n_states):
                a = alpha[t - 1, i]
                for j in range(n_states):
                    n_moves[i, j] += a * ahead[j]
            times(ahead, backward, beta)


@kernel
def expect(
    symbols: Int32Array, ptr: Int64Array, moves: FloatArray, emission: FloatArray, alpha: FloatArray,
    factor: FloatArray, n_moves: FloatArray, n_emission: FloatArray,
) -> float:  # fmt: skip
    """Expected counts given all sequences into ``n_moves`` and ``n_emission``; returns log P(w).

    Where a sequence is impossible the answer is −∞ and the counts mean nothing.
    """
    n_states = emission.shape[1]
    backward = np.ascontiguousarray(moves[:n_states].T)
    beta, ahead = np.empty(n_states), np.empty(n_states)
    n_moves[:] = 0.0
    n_emission[:] = 0.0
    total = 0.0
    for s in range(ptr.shape[0] - 1):
        start, stop = ptr[s], ptr[s + 1]
        if start == stop:
            continue
        total += forward(start, stop, symbols, moves, emission, alpha, factor)
        if total == -np.inf:
            return total
        if n_states == 2:
            _backward_two(start, stop, symbols, backward, emission, alpha, factor, n_moves, n_emission)
        else:
            _backward(
                start, stop, symbols, backward, emission, alpha, factor, n_moves, n_emission, beta, ahead
            )  # fmt: skip
    n_moves[:n_states] *= moves[:n_states]
    return total


@kernel
def posterior(
    start: int, stop: int, symbols: Int32Array, moves: FloatArray, emission: FloatArray, alpha: FloatArray,
    factor: FloatArray, out: FloatArray,
) -> float:  # fmt: skip
    """P(state at t | the whole stretch) into ``out``; returns log P(w)."""
    n_states = emission.shape[1]
    value = forward(start, stop, symbols, moves, emission, alpha, factor)
    if start == stop or value == -np.inf:
        return value
    backward = np.ascontiguousarray(moves[:n_states].T)
    beta, ahead = np.empty(n_states), np.empty(n_states)
    beta[:] = 1.0
    for t in range(stop - start - 1, -1, -1):
        v = symbols[start + t]
        row = out[t]
        for k in range(n_states):
            row[k] = alpha[t, k] * beta[k]
            ahead[k] = emission[v, k] * beta[k] * factor[t] if alpha[t, k] > _NOTHING else 0.0
        total = sum_of(row)
        for k in range(n_states):
            row[k] /= total
        times(ahead, backward, beta)
    return value


@kernel
def _viterbi_two(
    start: int, stop: int, symbols: Int32Array, log_moves: FloatArray, log_emission: FloatArray, states: AnyArray
) -> float:  # fmt: skip
    """``viterbi`` for two states. Until the way back ``states`` holds two bits: whence the best paths to 0, 1 came."""
    l00, l01, l10, l11 = log_moves[0, 0], log_moves[0, 1], log_moves[1, 0], log_moves[1, 1]
    v = symbols[start]
    x, y = log_moves[2, 0] + log_emission[v, 0], log_moves[2, 1] + log_emission[v, 1]
    for t in range(1, stop - start):
        v = symbols[start + t]
        to_0, from_1 = x + l00, y + l10
        to_1, stays = x + l01, y + l11
        states[t] = int(from_1 > to_0) + 2 * int(stays > to_1)
        x = (from_1 if from_1 > to_0 else to_0) + log_emission[v, 0]
        y = (stays if stays > to_1 else to_1) + log_emission[v, 1]
    state = int(y > x)
    for t in range(stop - start - 1, 0, -1):
        before = (int(states[t]) >> state) & 1
        states[t] = state
        state = before
    states[0] = state
    return float(y if y > x else x)


@kernel
def viterbi(
    start: int, stop: int, symbols: Int32Array, log_moves: FloatArray, log_emission: FloatArray, best: FloatArray,
    states: AnyArray,
) -> float:  # fmt: skip
    """The most probable path of a stretch into ``states``; returns log P(path, w). Of equal ones the lowest states.

    No pointers back are stored: on the way back the same sums are taken again for the one state that was reached.
    """
    n_states = log_emission.shape[1]
    length = stop - start
    if length == 0:
        return 0.0
    if n_states == 2:
        return _viterbi_two(start, stop, symbols, log_moves, log_emission, states)
    for k in range(n_states):
        best[0, k] = log_moves[n_states, k] + log_emission[symbols[start], k]
    for t in range(1, length):
        row, before = best[t], best[t - 1]
        for k in range(n_states):
            row[k] = before[0] + log_moves[0, k]
        for i in range(1, n_states):
            b = before[i]
            for k in range(n_states):
                x = b + log_moves[i, k]
                row[k] = x if x > row[k] else row[k]
        v = symbols[start + t]
        for k in range(n_states):
            row[k] += log_emission[v, k]
    state = int(np.argmax(best[length - 1]))
    value = float(best[length - 1, state])
    states[length - 1] = state
    for t in range(length - 2, -1, -1):
        after = state
        state = 0
        top = best[t, 0] + log_moves[0, after]
        for i in range(1, n_states):
            x = best[t, i] + log_moves[i, after]
            if x > top:
                state, top = i, x
        states[t] = state
    return value


@kernel
def simulate(
    ptr: Int64Array, moves: FloatArray, by_state: FloatArray, rng: AnyArray, states: AnyArray, symbols: Int32Array
) -> None:
    """Draw sequences of given lengths; ``by_state`` is the emission matrix [K, V]."""
    n_states = moves.shape[1]
    for s in range(ptr.shape[0] - 1):
        before = n_states
        for t in range(ptr[s], ptr[s + 1]):
            before = search(moves[before], uniform(rng))
            states[t] = before
            symbols[t] = search(by_state[before], uniform(rng))
