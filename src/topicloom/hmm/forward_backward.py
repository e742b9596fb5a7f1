"""A hidden Markov model given its parameters: likelihood, expected counts, posterior, best paths, simulation.

``moves`` has K + 1 rows: row k is the distribution of the state that follows k, row K that of a sequence's first
state. ``emission`` is by row of the observations, [U, K], so that loops over states read neighbours: symbols have a row
each, and other observations too (``state.Observed``). A missing one has 1 in every state.

Forward values are scaled by powers of two, which is exact, and only when they have become small: Σ_k alpha[t, k] is
P(w_1 … w_t) times 2^(STEP · number of scalings so far).
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Tokens
from topicloom.hmm.state import Observed, Parameters, as_observed
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import Purpose, stream, uniform
from topicloom.numerics.search import search
from topicloom.numerics.sums import sum_of

STEP = 100
_UP, _SMALL = 2.0**STEP, 2.0**-STEP
_STEP_LOG = STEP * float(np.log(2.0))
_NOTHING = 1e-280  # a state this improbable, next to the others' 2⁻¹⁰⁰ and more, takes no part in the backward pass


class ForwardValues(NamedTuple):
    """What ``forward`` leaves of a sequence."""

    alpha: FloatArray  # [T, K]
    factor: FloatArray  # [T] the power of two by which each row was scaled


def room_for_forward(data: Corpus | Observed, n_states: int) -> ForwardValues:
    """Room for the longest sequence."""
    longest = as_observed(data).longest
    return ForwardValues(np.empty((longest, n_states)), np.empty(longest))


# -- compiled ----------------------------------------------------------------------------------------------------------


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
def _forward_two(start: int, stop: int, symbols: Int32Array, given: Parameters, out: ForwardValues) -> float:
    """``forward`` for two states, with everything in registers."""
    moves, emission, alpha, factor = given.moves, given.emission, out.alpha, out.factor
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
def forward(start: int, stop: int, symbols: Int32Array, given: Parameters, out: ForwardValues) -> float:
    """Forward values of the symbols from ``start`` to ``stop``; returns log P(w) of these."""
    if start == stop:
        return 0.0
    moves, emission, alpha, factor = given.moves, given.emission, out.alpha, out.factor
    n_states = emission.shape[1]
    if n_states == 2:
        return _forward_two(start, stop, symbols, given, out)
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
def fill_log_likelihoods(tokens: Tokens, given: Parameters, values: ForwardValues, out: FloatArray) -> None:
    """log P(w) of every sequence."""
    symbols, ptr = tokens.words, tokens.doc_ptr
    for s in range(out.shape[0]):
        out[s] = forward(ptr[s], ptr[s + 1], symbols, given, values)


@kernel
def _backward_two(
    start: int, stop: int, symbols: Int32Array, backward: FloatArray, emission: FloatArray, values: ForwardValues,
    counts: Parameters,
) -> None:  # fmt: skip
    """``_backward`` for two states."""
    alpha, factor, n_moves, n_emission = values.alpha, values.factor, counts.moves, counts.emission
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
    start: int, stop: int, symbols: Int32Array, backward: FloatArray, emission: FloatArray, values: ForwardValues,
    counts: Parameters, beta: FloatArray, ahead: FloatArray,
) -> None:  # fmt: skip
    """Add a sequence's expected counts; those of moves between states still lack the factor of the move itself."""
    alpha, factor, n_moves, n_emission = values.alpha, values.factor, counts.moves, counts.emission
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
def expect(tokens: Tokens, given: Parameters, values: ForwardValues, counts: Parameters) -> float:
    """Expected counts given all sequences into ``counts``; returns log P(w).

    Where a sequence is impossible the answer is −∞ and the counts mean nothing.
    """
    symbols, ptr, moves, emission = tokens.words, tokens.doc_ptr, given.moves, given.emission
    n_moves, n_emission = counts.moves, counts.emission
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
        total += forward(start, stop, symbols, given, values)
        if total == -np.inf:
            return total
        if n_states == 2:
            _backward_two(start, stop, symbols, backward, emission, values, counts)
        else:
            _backward(start, stop, symbols, backward, emission, values, counts, beta, ahead)
    n_moves[:n_states] *= moves[:n_states]
    return total


@kernel
def posterior(
    start: int, stop: int, symbols: Int32Array, given: Parameters, values: ForwardValues, out: FloatArray
) -> float:
    """P(state at t | all symbols from ``start`` to ``stop``) into ``out``; returns log P(w)."""
    moves, emission, alpha, factor = given.moves, given.emission, values.alpha, values.factor
    n_states = emission.shape[1]
    value = forward(start, stop, symbols, given, values)
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
def _viterbi_two(start: int, stop: int, symbols: Int32Array, logs: Parameters, states: AnyArray) -> float:
    """``viterbi`` for two states. Until the way back ``states`` holds two bits: whence the best paths to 0, 1 came."""
    log_moves, log_emission = logs.moves, logs.emission
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
def viterbi(start: int, stop: int, symbols: Int32Array, logs: Parameters, best: FloatArray, states: AnyArray) -> float:
    """The most probable path into ``states``; returns log P(path, w). Of equal ones the lowest states.

    ``logs`` are logarithms of the parameters, and ``best`` is scratch. No pointers back are stored: on the way back the
    same sums are taken again for the one state that was reached.
    """
    log_moves, log_emission = logs.moves, logs.emission
    n_states = log_emission.shape[1]
    length = stop - start
    if length == 0:
        return 0.0
    if n_states == 2:
        return _viterbi_two(start, stop, symbols, logs, states)
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
def draw_sequences(
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


# -- of sequences ------------------------------------------------------------------------------------------------------


def fixed_parts(data: Corpus | Observed, top: FloatArray | None) -> FloatArray:
    """What was taken out of each sequence's rows, as ``Emission.table`` gives it, in sum."""
    seen = as_observed(data)
    if top is None:
        return np.zeros(len(seen.doc_ptr) - 1)
    sums = np.concatenate(([0.0], np.cumsum(top[seen.rows])))
    return np.asarray(sums[seen.doc_ptr[1:]] - sums[seen.doc_ptr[:-1]])


def log_likelihoods(data: Corpus | Observed, given: Parameters, top: FloatArray | None = None) -> FloatArray:
    """log P(w) of every sequence, exactly, by the forward pass."""
    seen = as_observed(data)
    out = np.empty(len(seen.doc_ptr) - 1)
    fill_log_likelihoods(seen.tokens, given, room_for_forward(seen, given.moves.shape[1]), out)
    return out + fixed_parts(seen, top) if top is not None else out


def best_paths(
    data: Corpus | Observed, given: Parameters, log_table: FloatArray | None = None
) -> tuple[FloatArray, list[AnyArray]]:
    """Viterbi: log P(path, w) and the path of every sequence."""
    seen, n_states = as_observed(data), given.moves.shape[1]
    with np.errstate(divide="ignore"):
        logs = Parameters(np.log(given.moves), np.log(given.emission) if log_table is None else log_table)
    best = np.empty((seen.longest if n_states != 2 else 0, n_states))  # two states need none
    cuts = _ranges(seen.doc_ptr)
    values, paths = np.empty(len(cuts)), []
    for s, (start, stop) in enumerate(cuts):
        path = np.empty(stop - start, np.int64)
        values[s] = viterbi(start, stop, seen.rows, logs, best, path)
        paths.append(path)
    return values, paths


def posteriors(
    data: Corpus | Observed, given: Parameters, top: FloatArray | None = None
) -> tuple[FloatArray, list[FloatArray]]:
    """log P(w) and P(state at t | w) [T, K] of every sequence."""
    seen, n_states = as_observed(data), given.moves.shape[1]
    room, cuts = room_for_forward(seen, n_states), _ranges(seen.doc_ptr)
    values, shares = np.empty(len(cuts)), []
    for s, (start, stop) in enumerate(cuts):
        share = np.empty((stop - start, n_states))
        values[s] = posterior(start, stop, seen.rows, given, room, share)
        shares.append(share)
    return values + fixed_parts(seen, top) if top is not None else values, shares


def simulate(given: Parameters, lengths: Int64Array, seed: int) -> tuple[list[AnyArray], list[AnyArray]]:
    """States and symbols of sequences drawn from the model."""
    ptr = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    states, symbols = np.empty(ptr[-1], np.int64), np.empty(ptr[-1], np.int32)
    by_state = np.ascontiguousarray(given.emission.T)
    draw_sequences(ptr, given.moves, by_state, stream(seed, Purpose.SIMULATION), states, symbols)
    cuts = _ranges(ptr)
    return [states[a:b] for a, b in cuts], [symbols[a:b] for a, b in cuts]


def _ranges(ptr: Int64Array) -> list[tuple[int, int]]:
    return list(zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True))
