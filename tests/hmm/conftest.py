"""Sequences of the small model."""

import numpy as np
import pytest

from tests.hmm.ways import EMISSION, INITIAL, LENGTHS, TRANSITION
from topicloom.hmm.forward_backward import simulate
from topicloom.hmm.state import make_parameters


@pytest.fixture(scope="module")
def drawn() -> tuple[list[np.ndarray], list[np.ndarray]]:
    given = make_parameters(INITIAL, TRANSITION, EMISSION)
    return simulate(given, np.array(LENGTHS), seed=3)


@pytest.fixture(scope="module")
def sequences(drawn) -> list[np.ndarray]:
    return drawn[1]
