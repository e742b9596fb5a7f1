"""Compiled functions take whole tuples of arrays, and write into these arrays: no write is lost."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import topicloom
from topicloom._types import FloatArray, Int32Array
from topicloom.numerics.jit import bare_kernel, kernel
from topicloom.numerics.simd import LANES, weigh, weigh_boosted

COMPILED = re.compile(r"^@(?:kernel|bare_kernel|reducing_kernel|step)\n(def .*?)(?=^[@\w])", re.MULTILINE | re.DOTALL)


class Counts(NamedTuple):
    rows: Int32Array
    total: Int32Array
    weight: FloatArray
    n: int


def _weigh_without(counts: Counts, k: int, coef: FloatArray, lane_sums: FloatArray) -> float:
    """The sum of the weights without a token of topic k, which is put back at the end: nothing reads it after that."""
    rows, total, weight, n = counts.rows, counts.total, counts.weight, counts.n
    rows[1, k] -= 1
    total[0] -= 1
    if total[0] > n:
        found = weigh(rows[1], 0.5, coef, weight, lane_sums)
    else:
        found = weigh_boosted(rows[1], 0.5, coef, coef, weight, lane_sums)
    rows[1, k] += 1
    total[0] += 1
    return found


@pytest.mark.parametrize("compile_by", [kernel, bare_kernel])
def test_writes_that_nothing_reads_again_are_made(compile_by) -> None:
    counts = Counts(np.arange(1, 41, dtype=np.int32).reshape(2, 20), np.array([210], np.int32), np.zeros(20), 1)
    found = compile_by(_weigh_without)(counts, 3, np.ones(20), np.zeros(LANES + 1))
    assert found == 610 - 1 + 20 * 0.5
    np.testing.assert_array_equal(counts.rows.ravel(), np.arange(1, 41))
    assert counts.total[0] == 210
    assert counts.weight[3] == 23.5


def test_nothing_is_compiled_so_that_writes_could_be_lost() -> None:
    """Numba drops writes as dead code only after it has inlined an overload: ours, or its own of ``bool``."""
    for path in Path(topicloom.__file__).parent.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"@overload\w*\([^)]*inline=", source), path
        for function in re.findall(
            r"^@(?:kernel|bare_kernel|reducing_kernel|step)\n(def .*?)(?=^[@\w])", source, re.M | re.S
        ):
            assert "bool(" not in function, (path, function[:60])
