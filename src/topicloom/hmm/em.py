"""Baum-Welch: expectation-maximisation for hidden Markov models, with conjugate priors (flat, maximum likelihood)."""

from typing import NamedTuple

import numpy as np

from topicloom.corpus.corpus import Corpus
from topicloom.hmm.emissions.base import Table, room_for_table
from topicloom.hmm.emissions.categorical import log_dirichlet, normalised
from topicloom.hmm.forward_backward import ForwardValues, expect, log_likelihoods, room_for_forward
from topicloom.hmm.gibbs import on_rows
from topicloom.hmm.state import HMMPrior, Known, Observed, Parameters, as_observed, held, no_counts
from topicloom.numerics.jit import as_input


def log_prior(known: Known, prior: HMMPrior) -> float:
    """log P(φ), up to a constant."""
    return log_dirichlet(known.moves, prior.moves) + prior.emission.log_prior(known.own)


def log_likelihood(data: Corpus | Observed, known: Known, prior: HMMPrior) -> float:
    """log P(w | φ) of all sequences."""
    seen = as_observed(data)
    return float(log_likelihoods(seen, *on_rows(known, seen, prior)).sum())


def log_posterior(data: Corpus | Observed, known: Known, prior: HMMPrior) -> float:
    """log P(w | φ) + log P(φ), up to a constant: what an iteration never lowers."""
    return log_likelihood(data, known, prior) + log_prior(known, prior)


class Room(NamedTuple):
    """What an iteration fills: arrays as long as the data, which would cost as much to make as to fill."""

    forward: ForwardValues
    table: Table
    counts: Parameters


def room_for(data: Corpus | Observed, prior: HMMPrior) -> Room:
    seen, k = as_observed(data), prior.n_states
    return Room(room_for_forward(seen, k), room_for_table(seen, k), no_counts(prior, seen.n_rows))


def iterate(data: Corpus | Observed, known: Known, prior: HMMPrior, room: Room | None = None) -> tuple[Known, float]:
    """One iteration; returns the new parameters and ``log_posterior`` of the old ones."""
    seen = as_observed(data)
    room = room_for(seen, prior) if room is None else room
    given, top = on_rows(known, seen, prior, room.table)
    counts = room.counts
    value = float(expect(seen.tokens, given, room.forward, counts)) + (
        0.0 if top is None else float(np.sum(top[seen.rows]))
    )
    moves = np.where(prior.moves > 0, counts.moves + (prior.moves - 1), 0.0)
    after = Known(as_input(normalised(moves, known.moves)), prior.emission.maximised(counts.emission, seen, known.own))
    return held(after, prior), value + log_prior(known, prior)


def improved(data: Corpus | Observed, known: Known, prior: HMMPrior, n_iter: int) -> Known:
    """After some iterations."""
    return climbed(data, known, prior, n_iter, -np.inf, room_for(data, prior))


def climbed(data: Corpus | Observed, known: Known, prior: HMMPrior, n_iter: int, rise: float, room: Room) -> Known:
    """After some iterations, or once one raises ``log_posterior`` by less than ``rise``."""
    before = -np.inf
    for _ in range(n_iter):
        known, value = iterate(data, known, prior, room)
        if value - before < rise:
            break
        before = value
    return known
