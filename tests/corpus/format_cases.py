"""Corpora and helpers of the tests of file formats."""

from pathlib import Path

import numpy as np
import pytest

from topicloom.corpus.formats import read
from topicloom.corpus.matrices import from_matrix
from topicloom.errors import InputError

VOCABULARY = ("alpha", "beta", "gamma", "naïve", "Ωmega")
COUNTS = np.array([[2, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 3, 0, 0, 1], [0, 0, 0, 1, 0]])
BAG = from_matrix(COUNTS, VOCABULARY)
RICH = BAG.with_metadata(
    ids=["d0", "d1", "d2", "d3"],
    labels=[("x", "y"), (), ("y",), ("z",)],
    groups=["g", "h", "g", "h"],
    times=np.array(["2020-01-01", "2020-02-01", "2021-01-01", "2022-01-01"], "datetime64[D]"),
)
WEIGHTED = from_matrix(COUNTS * 0.37, VOCABULARY)
AS_WORDS = {"tokenizer": str.split, "lowercase": False, "vocabulary": VOCABULARY}


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path, *parts, **options):
    with pytest.raises(InputError) as caught:
        read(path, **options)
    for part in parts:
        assert part in str(caught.value)
