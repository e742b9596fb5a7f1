"""Small fitted models for plots, and figures that are closed after each test: fixtures that ``conftest`` takes."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from topicloom import HMM, LDA, CompoundLDA, MedLDAClassifier, from_texts
from topicloom.corpus import Corpus

THEMES = ("goal match team coach", "vote law party court", "atom quark field energy")


def texts(n_docs: int = 48) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice([*THEMES[d % 3].split(), "year"], 12)) for d in range(n_docs)]


@pytest.fixture(scope="session")
def dated() -> Corpus:
    days = np.datetime64("2020-01-15") + 31 * (np.arange(48) // 4)
    groups = ["a", "b", "b", "c"] * 12
    return from_texts(texts(), times=days, groups=groups, ids=[f"text{d}" for d in range(48)])


@pytest.fixture(scope="session")
def lda(dated: Corpus) -> LDA:
    return LDA(3, max_iter=40, n_chains=2, trace_every=1, random_state=0).fit(dated)


@pytest.fixture(scope="session")
def compound(dated: Corpus) -> CompoundLDA:
    years = [2001 + d // 12 for d in range(48)]
    return CompoundLDA(3, max_iter=60, burn_in=30, thin=1, random_state=0).fit(dated, groups=years)


@pytest.fixture(scope="session")
def medlda(dated: Corpus) -> MedLDAClassifier:
    return MedLDAClassifier(3, max_iter=20, burn_in=10, random_state=0).fit(dated, ["sport", "state", "nature"] * 16)


@pytest.fixture(scope="session")
def hmm() -> HMM:
    return HMM(2, max_iter=30, random_state=0).fit([list("abababccab"), list("ccabab")] * 4)


@pytest.fixture
def plt() -> Iterator[Any]:
    pytest.importorskip("matplotlib", reason="plots need matplotlib, the extra plot").use("Agg")
    import matplotlib.pyplot as found

    before = dict(found.rcParams)
    yield found
    found.close("all")
    assert dict(found.rcParams) == before
