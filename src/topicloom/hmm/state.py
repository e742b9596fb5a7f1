"""What is given, learned and counted in a hidden Markov model: priors, parameters, and paths with their counts."""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.numerics.jit import as_input


class HMMPrior(NamedTuple):
    """Dirichlet parameters of every row, in the form that compiled code takes."""

    moves: FloatArray  # [K + 1, K]: of the state after each state; row K, of the first state of a sequence
    emission: FloatArray  # [V, K]

    @property
    def n_states(self) -> int:
        return int(self.moves.shape[1])


class Parameters(NamedTuple):
    """The same shapes, holding probabilities, or counts that are to become some."""

    moves: FloatArray
    emission: FloatArray


class HMMState(NamedTuple):
    """Paths, and counts summed over them. Only z is ever saved."""

    z: AnyArray  # [m, N]
    moves: FloatArray  # [K + 1, K]
    emission: FloatArray  # [V, K]


def make_hmm_prior(initial: FloatArray, transition: FloatArray, emission: FloatArray) -> HMMPrior:
    """From vectors or matrices by state: initial [K], transition [K, K], emission [K, V]."""
    return HMMPrior(as_input(np.vstack((transition, initial))), as_input(np.array(emission).T))


def make_parameters(initial: FloatArray, transition: FloatArray, emission: FloatArray) -> Parameters:
    """Parameters from their usual form: initial [K], transition [K, K], emission [K, V]."""
    given = make_hmm_prior(initial, transition, emission)
    return Parameters(given.moves, given.emission)


def no_counts(like: HMMPrior | HMMState) -> Parameters:
    """Counts of nothing, in the same shapes."""
    return Parameters(np.zeros(like.moves.shape), np.zeros(like.emission.shape))


def normalised(moves: FloatArray, emission: FloatArray) -> Parameters:
    """Rows that sum to one, of counts with the prior added."""
    return Parameters(
        as_input(moves / moves.sum(axis=1, keepdims=True)), as_input(emission / emission.sum(axis=0))
    )  # fmt: skip


def posterior_mean(counts: Parameters, n_samples: int, prior: HMMPrior) -> Parameters:
    """E[φ] given counts summed over samples."""
    return normalised(counts.moves / n_samples + prior.moves, counts.emission / n_samples + prior.emission)
