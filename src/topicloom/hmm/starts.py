"""Where chains begin: several short runs of Baum-Welch from different parameters, of which the best goes on.

The likelihood of a hidden Markov model has poor modes that neither sampling nor Baum-Welch leaves soon. Short runs on a
part of the data tell the better ones apart for the price of a few sweeps. Half of the runs end at each look.
"""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from topicloom._types import FloatArray
from topicloom.engine.sampler import Key
from topicloom.errors import InputError
from topicloom.hmm import em, gibbs
from topicloom.hmm.forward_backward import log_likelihoods
from topicloom.hmm.state import HMMPrior, Known, Observed, stacked
from topicloom.numerics.jit import as_input

MOST_PLACES, BLOCK = 20_000, 1000  # of the data that short runs see, and of one piece of it


def for_maximum(prior: HMMPrior) -> HMMPrior:
    """The prior with Dirichlet parameters of at least 1, so that there is a maximum."""
    moves = as_input(np.where(prior.moves > 0, np.maximum(prior.moves, 1.0), 0.0))
    return HMMPrior(moves, prior.emission.for_maximum(), prior.fixed)


def part_of(seen: Observed) -> Observed:
    """All sequences, or pieces of them from all over the data."""
    n = len(seen.rows)
    if n <= MOST_PLACES:
        return seen
    edges = [
        edge
        for start, stop in pairwise(seen.doc_ptr.tolist())
        for edge in range(start, stop, BLOCK)
    ] + [n]  # fmt: skip
    cuts = list(pairwise(edges))
    wanted = max(1, MOST_PLACES * len(cuts) // n)
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
    part = seen if prior.has_zeros or n_runs == 1 else part_of(seen)
    runs = [with_values(gibbs.draw_from_prior(part, prior, key, run), values) for run in range(n_runs)]
    if n_runs == 1:
        return runs[0]
    flat = for_maximum(prior)
    while True:
        reached = []
        for known in runs:
            better = em.improved(part, known, flat, n_iter)
            reached.append((em.log_posterior(part, better, flat), better))
        order = np.argsort([-value for value, _ in reached], kind="stable")
        if len(runs) <= 2:
            best: Known = reached[int(order[0])][1]
            return best
        runs = [reached[i][1] for i in order[: (len(runs) + 1) // 2]]
