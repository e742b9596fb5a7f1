"""Where chains begin: several short runs of Baum-Welch from different parameters, of which the best goes on.

The likelihood of a hidden Markov model has poor modes that neither sampling nor Baum-Welch leaves soon. Most runs first
stay near independent symbols, and which mode they leave for shows late. So half of the runs end at each look, and the
others go on for twice as long (successive halving). Before the first look, which only tells runs that have left from
runs that have not, they see a smaller part. Of runs that have come to one mode one goes on: otherwise the mode that is
found most quickly would crowd out better ones that are found more slowly.
"""

from collections.abc import Mapping
from itertools import count, pairwise

import numpy as np

from topicloom._types import FloatArray
from topicloom.engine.sampler import Key
from topicloom.errors import InputError
from topicloom.hmm import em, gibbs
from topicloom.hmm.forward_backward import log_likelihoods
from topicloom.hmm.state import HMMPrior, Known, Observed, stacked
from topicloom.numerics.jit import as_input

MOST_PLACES, FEW_PLACES, BLOCK = 20_000, 5000, 1000  # that short runs see, before the first look, and of one piece
RISE = 0.01  # of the log posterior in an iteration, below which a run waits for the next look
SAME, APART = 1.0, 0.002  # in log posterior, and in a share of the places: two runs that are nearer are in one mode
SPARE = 1e-3  # of an observation of every symbol, for symbols that are not in the part


def for_maximum(prior: HMMPrior, least: float = 1.0) -> HMMPrior:
    """The prior with Dirichlet parameters of at least 1, so that there is a maximum; of symbols of at least ``least``.

    Above 1 it leaves no symbol at probability 0, which a part of the data may lack and the rest may have.
    """
    moves = as_input(np.where(prior.moves > 0, np.maximum(prior.moves, 1.0), 0.0))
    return HMMPrior(moves, prior.emission.for_maximum(least), prior.fixed)


def part_of(seen: Observed, most: int = MOST_PLACES) -> Observed:
    """All sequences, or pieces of them from all over the data."""
    n = len(seen.rows)
    if n <= most:
        return seen
    edges = [
        edge
        for start, stop in pairwise(seen.doc_ptr.tolist())
        for edge in range(start, stop, BLOCK)
    ] + [n]  # fmt: skip
    cuts = list(pairwise(edges))
    wanted = max(1, most * len(cuts) // n)
    chosen = [cuts[i] for i in np.unique(np.linspace(0, len(cuts) - 1, wanted).astype(int))]
    rows = np.concatenate([seen.rows[a:b] for a, b in chosen])
    ptr = np.cumsum([0, *(b - a for a, b in chosen)], dtype=np.int64)
    used, rows = np.unique(rows, return_inverse=True) if len(seen.values) else (np.arange(seen.n_rows), rows)
    values = seen.values[used] if len(seen.values) else seen.values
    return Observed(as_input(rows.astype(np.int32)), ptr, values, len(used))


def with_values(known: Known, values: Mapping[str, FloatArray]) -> Known:
    """Parameters with those that were given in their places."""
    moves = np.array(known.moves)
    if "transition" in values:
        moves[:-1] = values["transition"]
    if "initial" in values:
        moves[-1] = values["initial"]
    return Known(as_input(moves), {name: values.get(name, own) for name, own in known.own.items()})


def check_possible(seen: Observed, known: Known, prior: HMMPrior) -> None:
    """Refuse sequences that no path can have emitted, which zeros in priors or in starting values make possible."""
    nothing = np.isneginf(log_likelihoods(seen, *gibbs.on_rows(known, seen, prior)))
    if nothing.any():
        raise InputError(
            f"sequence {int(np.argmax(nothing))} has no possible path: zeros in the priors or in start forbid its "
            "symbols or moves. Give numbers above 0 for what occurs."
        )


def best_start(
    seen: Observed, prior: HMMPrior, key: Key, n_runs: int, n_iter: int, values: Mapping[str, FloatArray]
) -> Known:
    """The parameters that the best of the short runs has come to; with one run, those that it starts from."""
    known = _best_start(seen, prior, key, n_runs, n_iter, values)
    if prior.has_zeros or values:
        check_possible(seen, known, prior)
    return known


def _best_start(
    seen: Observed, prior: HMMPrior, key: Key, n_runs: int, n_iter: int, values: Mapping[str, FloatArray]
) -> Known:
    if {"initial", "transition", *prior.emission.expected()} <= values.keys():
        return Known(
            stacked(values["initial"], values["transition"]), {n: values[n] for n in prior.emission.expected()}
        )
    part, few = (seen, seen) if prior.has_zeros or n_runs == 1 else (part_of(seen), part_of(seen, FEW_PLACES))
    runs = [with_values(gibbs.draw_from_prior(part, prior, key, run), values) for run in range(n_runs)]
    if n_runs == 1:
        return runs[0]
    flat = for_maximum(prior, 1.0 if few is seen else 1.0 + SPARE)
    for look in count():
        keep = (len(runs) + 1) // 2
        runs = _in_order(part if look else few, runs, flat, n_iter << look)
        if len(runs) == 1 or keep == 1:
            break
        runs = runs[:keep]
    return runs[0]


def _in_order(part: Observed, runs: list[Known], prior: HMMPrior, n_iter: int) -> list[Known]:
    """Runs after more iterations, the best first; of those that have come to the same mode the best alone."""
    room = em.room_for(part, prior)
    reached, shares = [], []
    for known in runs:
        reached.append(em.climbed(part, known, prior, n_iter, RISE, room))
        shares.append(np.array(room.counts.emission))
    values = [em.log_posterior(part, known, prior) for known in reached]
    kept: list[int] = []
    for i in np.argsort([-value for value in values], kind="stable").tolist():
        near = [j for j in kept if values[j] - values[i] < SAME]
        if not any(_apart(shares[i], shares[j]) < APART * len(part.rows) for j in near):
            kept.append(i)
    return [reached[i] for i in kept]


def _apart(one: FloatArray, other: FloatArray) -> float:
    """How many places have another state, whatever the numbers of the states: by expected counts of rows [U, K].

    The states that have most in common are taken to be the same. In one mode that leaves no choice.
    """
    both, shared = np.array([[float(np.minimum(a, b).sum()) for b in other.T] for a in one.T]), 0.0
    for _ in range(len(both)):
        i, j = np.unravel_index(int(np.argmax(both)), both.shape)
        shared += float(both[i, j])
        both[i, :] = both[:, j] = -1.0
    return float(one.sum()) - shared
