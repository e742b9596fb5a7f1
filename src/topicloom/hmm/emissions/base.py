"""What an emission is: all that samplers and Baum-Welch ask of it, so that they need not know which one it is.

An emission knows its prior and nothing of the data. The observations come as rows (``state.Observed``), and weights
[U, K] say how often, or how probably, each row has each state. A row that is missing altogether has no part in any sum,
and probability 1 in every state; numbers that are missing in a row are left out of its density (integrated out).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from topicloom._types import AnyArray, FloatArray, UInt64Array
from topicloom.files.checks import Contents, Expected
from topicloom.hmm.emissions.sums import fill_table
from topicloom.hmm.state import Observed, Own
from topicloom.numerics.jit import as_input


class Table(NamedTuple):
    """Room for a table."""

    shares: FloatArray  # [U, K]
    top: FloatArray  # [U]


def room_for_table(seen: Observed, n_states: int) -> Table:
    return Table(np.empty((seen.n_rows, n_states)), np.empty(seen.n_rows))


class Emission(ABC):
    """The prior of a kind of emission, and what follows from it. All sums are over states' rows."""

    name: ClassVar[str]
    n_states: int
    has_zeros: bool = False  # whether something can never be emitted

    @abstractmethod
    def log_densities(self, own: Own, seen: Observed, out: FloatArray | None = None) -> FloatArray:
        """log P(row | state) [U, K], in ``out`` if it is given."""

    @abstractmethod
    def draw(self, weights: FloatArray, seen: Observed, rng: UInt64Array) -> Own:
        """Parameters drawn from their posterior given the weights; with none, from the prior."""

    @abstractmethod
    def mean(self, weights: FloatArray, seen: Observed) -> Own:
        """Their posterior mean."""

    @abstractmethod
    def maximised(self, weights: FloatArray, seen: Observed, old: Own) -> Own:
        """Where their posterior density is highest; of a state without observations the old ones."""

    @abstractmethod
    def log_prior(self, own: Own) -> float:
        """log P(parameters), up to a constant."""

    @abstractmethod
    def log_marginal(self, weights: FloatArray, seen: Observed) -> float:
        """log P(observations | states), parameters integrated out."""

    @abstractmethod
    def predictive(self, weights: FloatArray, seen: Observed) -> Any:
        """What the collapsed sampler needs to keep (``emissions.predictive``)."""

    @abstractmethod
    def first(self, seen: Observed, rng: UInt64Array) -> Own:
        """Parameters to start from, by chance."""

    @abstractmethod
    def expected(self) -> Mapping[str, Expected]:
        """What the parameters must be in a file, K of states, F of features and V of symbols."""

    def by_state(self, own: Own) -> Own:
        """The parameters with the states first, as models show them."""
        return own

    def from_state(self, own: Own) -> Own:
        """The same the other way round."""
        return own

    def check(self, file: Contents) -> None:  # noqa: B027
        """Refuse a file with parameters that are as expected, and yet none."""

    @property
    def n_symbols(self) -> int:
        """Columns of ``emission``, of what has one."""
        return 0

    @property
    def n_features(self) -> int:
        """Numbers of an observation."""
        return 0

    def sample(self, own: Own, states: AnyArray, rng: np.random.Generator) -> AnyArray:
        """Observations [T, F] of some states, of numbers."""
        raise NotImplementedError

    def for_maximum(self, least: float = 1.0) -> Self:
        """The same with a prior under which the density has a maximum inside; Dirichlet parameters from ``least``."""
        return self

    def table(self, own: Own, seen: Observed, room: Table | None = None) -> tuple[FloatArray, FloatArray | None]:
        """P(row | state) [U, K] divided by the row's highest, and the logarithm of that [U]; None where all are 0."""
        room = room_for_table(seen, self.n_states) if room is None else room
        logs = self.log_densities(own, seen, room.shares)
        fill_table(logs, room.top)
        return as_input(logs), room.top

    def log_table(self, own: Own, seen: Observed) -> FloatArray:
        return as_input(self.log_densities(own, seen))
