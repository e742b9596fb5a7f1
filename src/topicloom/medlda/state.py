"""What supervised topics consist of, in the form that compiled code takes."""

from typing import NamedTuple

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.engine.state import State


class Supervision(NamedTuple):
    """What the labels ask of D documents in C tasks, and what it costs to miss it."""

    target: FloatArray  # [D, C] −1 and 1, or numbers
    weight: FloatArray  # [D, C] λ, the weight of the loss
    loss: int  # as in ``medlda.augment``
    epsilon: float


class MedState(NamedTuple):
    """Counts as a dense matrix, the classifier's weights, and what the labels ask for: C tasks share topics."""

    z: AnyArray
    word_topic: Int32Array  # [V, K]
    topic: Int64Array  # [K]
    eta: FloatArray  # [K, C] the classifier's weights, latent as z is
    task: Int64Array  # [C] which of a model's tasks these are
    supervision: Supervision
    nu: float  # prior precision of η

    def as_dense(self) -> State:
        """The counts alone."""
        return State(self.z, self.word_topic, self.topic)


class LabelTerms(NamedTuple):
    """What labels add to the log probability of topics: pull · f − ½ curve · f² per document, f = Σ_k η_k n_dk/N_d.

    ``eta``, ``pull`` and ``curve`` may have more columns than there are tasks, if these are 0: they add nothing.
    """

    eta: FloatArray  # [K, C]
    eta_by_task: FloatArray  # [C, K]
    pull: FloatArray  # [D, C]
    curve: FloatArray  # [D, C]
