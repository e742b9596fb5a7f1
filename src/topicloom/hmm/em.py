"""Baum-Welch: expectation-maximisation for hidden Markov models, with conjugate priors (flat, maximum likelihood)."""

import numpy as np

from topicloom.corpus.corpus import Corpus
from topicloom.hmm.emissions.categorical import log_dirichlet, normalised
from topicloom.hmm.forward_backward import expect, log_likelihoods, room_for_forward
from topicloom.hmm.gibbs import on_rows
from topicloom.hmm.state import HMMPrior, Known, Observed, as_observed, held, no_counts
from topicloom.numerics.jit import as_input


def log_prior(known: Known, prior: HMMPrior) -> float:
    """log P(φ), up to a constant."""
    return log_dirichlet(known.moves, prior.moves) + prior.emission.log_prior(known.own)


def log_posterior(data: Corpus | Observed, known: Known, prior: HMMPrior) -> float:
    """log P(w | φ) + log P(φ), up to a constant: what an iteration never lowers."""
    seen = as_observed(data)
    return float(log_likelihoods(seen, *on_rows(known, seen, prior)).sum()) + log_prior(known, prior)


def iterate(data: Corpus | Observed, known: Known, prior: HMMPrior) -> tuple[Known, float]:
    """One iteration; returns the new parameters and ``log_posterior`` of the old ones."""
    seen = as_observed(data)
    given, top = on_rows(known, seen, prior)
    counts = no_counts(prior, seen.n_rows)
    value = expect(seen.tokens, given, room_for_forward(seen, prior.n_states), counts)
    moves = np.where(prior.moves > 0, counts.moves + (prior.moves - 1), 0.0)
    after = Known(as_input(normalised(moves, known.moves)), prior.emission.maximised(counts.emission, seen, known.own))
    return held(after, prior), float(value) + (0.0 if top is None else float(top[seen.rows].sum())) + log_prior(
        known, prior
    )
