"""What is given, learned and counted in a hidden Markov model: priors, parameters, observations, paths with counts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Tokens
from topicloom.numerics.jit import as_input

if TYPE_CHECKING:
    from topicloom.hmm.emissions.base import Emission

Own = Mapping[str, FloatArray]  # parameters of an emission, by name


class Observed(NamedTuple):
    """Sequences as the samplers see them: every place has the number of a row, and places with one row are alike.

    Rows of symbols are the symbols, and one row more stands for a symbol that is missing. Rows of numbers are the
    distinct observations, or all of them; NaN is missing.
    """

    rows: Int32Array  # [N]
    doc_ptr: Int64Array  # [D + 1] where each sequence starts
    values: FloatArray  # [U, F] the observations; of symbols [0, 0]
    n_rows: int  # U

    @property
    def tokens(self) -> Tokens:
        return Tokens(as_input(self.rows), as_input(self.doc_ptr))

    @property
    def longest(self) -> int:
        return int(np.diff(self.doc_ptr).max(initial=0))

    def row_counts(self) -> FloatArray:
        """How many places have each row."""
        return np.bincount(self.rows, minlength=self.n_rows).astype(np.float64)


class HMMPrior(NamedTuple):
    """Dirichlet parameters of every row of moves, the emission with its prior, and parameters that stay as they are."""

    moves: FloatArray  # [K + 1, K]: of the state after each state; row K, of the first state of a sequence
    emission: "Emission"
    fixed: Mapping[str, FloatArray] = {}  # "initial", "transition", and the emission's by their names

    @property
    def n_states(self) -> int:
        return int(self.moves.shape[1])

    @property
    def has_zeros(self) -> bool:
        """Whether some moves or symbols can never be."""
        return bool(np.any(self.moves == 0)) or self.emission.has_zeros


class Parameters(NamedTuple):
    """What compiled code takes: probabilities of moves [K + 1, K], and of each row of the observations in each state.

    Or the same shapes holding counts, or logarithms.
    """

    moves: FloatArray
    emission: FloatArray  # [U, K]


class Known(NamedTuple):
    """Parameters of a model: probabilities of moves, and the emission's own."""

    moves: FloatArray  # [K + 1, K]
    own: Own

    @property
    def emission(self) -> FloatArray:
        """Of symbols: probabilities [V, K]."""
        return self.own["emission"]


class HMMState(NamedTuple):
    """Paths, and counts summed over them. Only z is ever saved."""

    z: AnyArray  # [m, N]
    moves: FloatArray  # [K + 1, K]
    emission: FloatArray  # [U, K] how often each row of the observations has each state


def observed_symbols(corpus: Corpus) -> Observed:
    """Documents of a corpus as sequences of symbols."""
    return Observed(corpus.words, corpus.doc_ptr, np.zeros((0, 0)), corpus.n_words)


def as_observed(data: Corpus | Observed) -> Observed:
    """Either as the latter."""
    return data if isinstance(data, Observed) else observed_symbols(data)


def stacked(initial: FloatArray, transition: FloatArray) -> FloatArray:
    """Rows of moves, of which the last is of first states."""
    return as_input(np.vstack((transition, initial)))


def make_hmm_prior(initial: FloatArray, transition: FloatArray, emission: FloatArray) -> HMMPrior:
    """Of symbols, from vectors or matrices by state: initial [K], transition [K, K], emission [K, V]."""
    from topicloom.hmm.emissions.categorical import Categorical

    return HMMPrior(stacked(initial, transition), Categorical(as_input(np.array(emission).T)))


def make_parameters(initial: FloatArray, transition: FloatArray, emission: FloatArray) -> Parameters:
    """Parameters from their usual form: initial [K], transition [K, K], emission [K, V]."""
    return Parameters(stacked(initial, transition), as_input(np.array(emission).T))


def make_known(initial: FloatArray, transition: FloatArray, emission: FloatArray) -> Known:
    """The same, of a model of symbols."""
    given = make_parameters(initial, transition, emission)
    return Known(given.moves, {"emission": given.emission})


def no_counts(prior: HMMPrior, n_rows: int) -> Parameters:
    """Counts of nothing."""
    return Parameters(np.zeros(prior.moves.shape), np.zeros((n_rows, prior.n_states)))


def held(known: Known, prior: HMMPrior) -> Known:
    """The parameters, with those that are fixed in their places."""
    if not prior.fixed:
        return known
    moves, fixed = np.array(known.moves), prior.fixed
    if "transition" in fixed:
        moves[:-1] = fixed["transition"]
    if "initial" in fixed:
        moves[-1] = fixed["initial"]
    return Known(as_input(moves), {name: fixed.get(name, value) for name, value in known.own.items()})


def posterior_mean(counts: Parameters, n_samples: int, prior: HMMPrior, seen: Observed) -> Known:
    """E[φ] given counts summed over samples."""
    moves = counts.moves / n_samples + prior.moves
    mean = Known(
        as_input(moves / moves.sum(axis=1, keepdims=True)), prior.emission.mean(counts.emission / n_samples, seen)
    )
    return held(mean, prior)
