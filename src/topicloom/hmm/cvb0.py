"""CVB0 for symbols: collapsed expected counts, zero order, with each sequence's states tied by the forward pass.

The parameters are integrated out, and the posterior of all states is approximated by one chain per sequence. An
iteration gives every place predictive probabilities from the expected counts of all others, as the collapsed sampler
does from drawn counts (and as CVB0 of topics does, Teh, Newman and Welling 2006, section 5 names these models):

    P(v | k)  ∝ (C_kv − γ_t(k) + b_kv) / (C_k − γ_t(k) + Σ_v b_kv)
    P(k | p)  ∝ (N_pk − ξ_t(p, k) + a_pk) / (N_p − Σ_k ξ_t(p, k) + Σ_k a_pk)

where γ and ξ are what the place itself contributes. A forward and a backward pass then give the new ones. The counts
are those of the iteration before, so the order of sequences changes nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._limits import available_memory
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Tokens
from topicloom.errors import MemoryLimitError
from topicloom.hmm import em
from topicloom.hmm.emissions.categorical import Categorical
from topicloom.hmm.state import HMMPrior, Known, Observed, Parameters, as_observed, no_counts, posterior_mean
from topicloom.numerics.jit import as_input, kernel


class Beliefs(NamedTuple):
    """What is believed of the states: all that a checkpoint saves."""

    pairs: FloatArray  # [N, K, K] P(state before, state) at each place; of a first place row 0 has its states


@kernel
def add_up(tokens: Tokens, pairs: FloatArray, counts: Parameters) -> None:
    """Expected counts of moves and symbols."""
    symbols, ptr, moves, emission = tokens.words, tokens.doc_ptr, counts.moves, counts.emission
    n_states = moves.shape[1]
    for s in range(ptr.shape[0] - 1):
        for t in range(ptr[s], ptr[s + 1]):
            v, row = symbols[t], pairs[t]
            if t == ptr[s]:
                for k in range(n_states):
                    moves[n_states, k] += row[0, k]
                    emission[v, k] += row[0, k]
            else:
                for p in range(n_states):
                    for k in range(n_states):
                        moves[p, k] += row[p, k]
                        emission[v, k] += row[p, k]


class Room(NamedTuple):
    """What an iteration needs beside the beliefs."""

    left: FloatArray  # [K] how often each state is left, with the prior
    shown: FloatArray  # [K] how often each state shows a symbol, with the prior
    alpha: FloatArray  # [T, K] forward values, which sum to one at each place
    before: FloatArray  # [T, K] P(state) before the iteration
    beta: FloatArray  # [K] and the same at the next place
    ahead: FloatArray  # [K]


def room_for(seen: Observed, n_states: int) -> Room:
    sizes, rows = np.zeros((4, n_states)), np.empty((2, seen.longest, n_states))
    return Room(sizes[0], sizes[1], rows[0], rows[1], sizes[2], sizes[3])


@kernel
def forward(tokens: Tokens, s: int, pairs: FloatArray, counts: Parameters, prior: Parameters, room: Room) -> None:
    """A sequence's weights, each move's times the symbol's, in the place of its beliefs; and its forward values."""
    symbols, moves, emission = tokens.words, prior.moves, prior.emission
    n_moves, n_emission, left, shown = counts.moves, counts.emission, room.left, room.shown
    n_states, first = moves.shape[1], tokens.doc_ptr[s]
    for t in range(first, tokens.doc_ptr[s + 1]):
        v, row, now, own = symbols[t], pairs[t], room.alpha[t - first], room.before[t - first]
        n_rows = 1 if t == first else n_states
        for k in range(n_states):
            now[k] = 0.0
            own[k] = 0.0
            for p in range(n_rows):
                own[k] += row[p, k]
        for p in range(n_rows):
            i, total, weight = n_states, 1.0, 1.0
            if t > first:
                i, total, weight = p, left[p], room.alpha[t - first - 1, p]
                for k in range(n_states):
                    total -= row[p, k]
            for k in range(n_states):
                w = (max(n_moves[i, k] - row[p, k], 0.0) + moves[i, k]) / total
                if v < emission.shape[0]:
                    w *= (max(n_emission[v, k] - own[k], 0.0) + emission[v, k]) / (shown[k] - own[k])
                row[p, k] = w
                now[k] += weight * w
        total = 0.0
        for k in range(n_states):
            total += now[k]
        if total == 0.0:  # parameters to start from, drawn from a sparse prior, may forbid everything
            row[:n_rows] = 1.0
            now[:] = 1.0
            total = float(n_states)
        for k in range(n_states):
            now[k] /= total


@kernel
def backward(tokens: Tokens, s: int, pairs: FloatArray, room: Room) -> float:
    """The sequence's new beliefs in the place of its weights; returns how many places they move."""
    first, alpha, beta, ahead = tokens.doc_ptr[s], room.alpha, room.beta, room.ahead
    n_states = beta.shape[0]
    beta[:] = 1.0
    moved = 0.0
    for t in range(tokens.doc_ptr[s + 1] - 1, first - 1, -1):
        row, own = pairs[t], room.before[t - first]
        n_rows = 1 if t == first else n_states
        total = 0.0
        for p in range(n_rows):
            ahead[p] = 0.0
            weight = 1.0 if t == first else alpha[t - first - 1, p]
            for k in range(n_states):
                share = row[p, k] * beta[k]
                ahead[p] += share
                row[p, k] = weight * share
                total += row[p, k]
        scale = 0.0
        for k in range(n_states):
            share = 0.0
            for p in range(n_rows):
                row[p, k] /= total
                share += row[p, k]
            moved += 0.5 * abs(share - own[k])
        for p in range(n_rows):
            scale += ahead[p]
        for p in range(n_rows):
            beta[p] = ahead[p] / scale
    return moved


@kernel
def update(tokens: Tokens, pairs: FloatArray, counts: Parameters, prior: Parameters, room: Room) -> float:
    """One iteration in place; returns how many places it moves to another state, in expectation.

    Rows of counts from V on are of missing symbols, which tell nothing.
    """
    n_states = prior.moves.shape[1]
    for p in range(n_states):
        room.left[p] = 0.0
        room.shown[p] = 0.0
        for k in range(n_states):
            room.left[p] += counts.moves[p, k] + prior.moves[p, k]
        for v in range(prior.emission.shape[0]):
            room.shown[p] += counts.emission[v, p] + prior.emission[v, p]
    moved = 0.0
    for s in range(tokens.doc_ptr.shape[0] - 1):
        forward(tokens, s, pairs, counts, prior, room)
        moved += backward(tokens, s, pairs, room)
    return moved


def _dirichlet(prior: HMMPrior) -> Parameters:
    assert isinstance(prior.emission, Categorical)
    return Parameters(as_input(prior.moves), as_input(prior.emission.prior))


def expected(data: Corpus | Observed, state: Beliefs, prior: HMMPrior) -> Parameters:
    """Expected counts of moves and symbols."""
    seen = as_observed(data)
    counts = no_counts(prior, seen.n_rows)
    add_up(seen.tokens, state.pairs, counts)
    return counts


def mean(data: Corpus | Observed, state: Beliefs, prior: HMMPrior) -> Known:
    """The parameters' mean, given the expected counts."""
    seen = as_observed(data)
    return posterior_mean(expected(seen, state, prior), 1, prior, seen)


def iterate(data: Corpus | Observed, state: Beliefs, prior: HMMPrior) -> tuple[Beliefs, float]:
    """One iteration, which consumes the state; returns the next and how many places it moved."""
    seen = as_observed(data)
    counts, room = expected(seen, state, prior), room_for(seen, prior.n_states)
    return state, float(update(seen.tokens, state.pairs, counts, _dirichlet(prior), room))


def from_known(data: Corpus | Observed, known: Known, prior: HMMPrior) -> Beliefs:
    """What is believed under known parameters: their weights at every place, by the same two passes.

    An update takes as weights (counts + prior); with the parameters as prior and no counts at all these are theirs.
    """
    seen, k = as_observed(data), prior.n_states
    pairs = np.zeros((len(seen.rows), k, k))
    given = Parameters(as_input(known.moves), as_input(known.emission))
    update(seen.tokens, pairs, no_counts(prior, seen.n_rows), given, room_for(seen, k))
    return Beliefs(pairs)


def log_posterior(data: Corpus | Observed, state: Beliefs, prior: HMMPrior) -> float:
    """log P(w | φ) + log P(φ) at the mean of the parameters, up to a constant: what chains are compared by."""
    return em.log_posterior(data, mean(data, state, prior), prior)


def memory_note(n_places: int, n_states: int, n_chains: int) -> str:
    """What the beliefs of all chains need; refused if it is more than there is."""
    need, left = 8 * n_places * n_states * n_states * n_chains, available_memory()
    if need > left:
        raise MemoryLimitError(
            f'method="cvb0" needs {need / 1e9:.1f} GB for {n_places:,} symbols, {n_states} states and {n_chains} '
            f'chains, and {left / 1e9:.1f} GB are left; use method="em" or "gibbs", or fewer chains.'
        )
    return f"memory: probabilities of all states take {max(need / 1e6, 0.1):,.1f} MB."


def check(file: Any, n_states: int, n_places: int) -> None:
    """Refuse a checkpoint whose places have no probabilities."""
    from topicloom.files.checks import Expected

    file.expect({"pairs": Expected("f8", (n_places, n_states, n_states), low=0, high=1 + 1e-6)})
    found: AnyArray = file.arrays["pairs"].sum(axis=(1, 2))
    file.sums_to("pairs", found, 1.0)
