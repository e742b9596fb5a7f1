"""Baum-Welch: expectation-maximisation for hidden Markov models, with Dirichlet priors (at 1, maximum likelihood)."""

import numpy as np

from topicloom._types import FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import tokens_of
from topicloom.hmm.forward_backward import expect, log_likelihoods, room_for_forward
from topicloom.hmm.state import HMMPrior, Parameters, no_counts
from topicloom.numerics.jit import as_input


def log_prior(given: Parameters, prior: HMMPrior) -> float:
    """Σ (a − 1) log φ: the log density up to a constant."""
    total = 0.0
    for values, a in ((given.moves, prior.moves), (given.emission, prior.emission)):
        extra = a > 1
        with np.errstate(divide="ignore"):
            total += float(np.sum((a[extra] - 1) * np.log(values[extra])))
    return total


def log_posterior(corpus: Corpus, given: Parameters, prior: HMMPrior) -> float:
    """log P(w | φ) + log P(φ), up to a constant: what an iteration never lowers."""
    return float(log_likelihoods(corpus, given).sum()) + log_prior(given, prior)


def iterate(corpus: Corpus, given: Parameters, prior: HMMPrior) -> tuple[Parameters, float]:
    """One iteration; returns the new parameters and ``log_posterior`` of the old ones."""
    counts = no_counts(prior)
    value = expect(tokens_of(corpus), given, room_for_forward(corpus, prior.n_states), counts)
    moves = _rows(counts.moves + (prior.moves - 1), given.moves)
    by_state = _rows((counts.emission + (prior.emission - 1)).T, given.emission.T)
    return Parameters(as_input(moves), as_input(by_state.T)), float(value) + log_prior(given, prior)


def _rows(counts: FloatArray, old: FloatArray) -> FloatArray:
    """Rows of counts normalised; where nothing was counted the old row stays."""
    totals = counts.sum(axis=1, keepdims=True)
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1), old)
