"""Corpora that are always at hand: real text from this machine, and synthetic corpora with known truth."""

from topicloom.datasets._zipf import SyntheticZipf, zipf
from topicloom.datasets.addresses import addresses
from topicloom.datasets.cells import SyntheticCells, synthetic_cells
from topicloom.datasets.examples import docstrings
from topicloom.datasets.synthetic import (
    Synthetic,
    SyntheticCompound,
    bands,
    bars,
    synthetic_compound,
    synthetic_labeled,
    synthetic_lda,
)

__all__ = [
    "Synthetic",
    "SyntheticCells",
    "SyntheticCompound",
    "SyntheticZipf",
    "addresses",
    "bands",
    "bars",
    "docstrings",
    "synthetic_cells",
    "synthetic_compound",
    "synthetic_labeled",
    "synthetic_lda",
    "zipf",
]
