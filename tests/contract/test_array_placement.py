"""Results follow from the values of arrays, never from where the arrays lie in memory.

LLVM compiles a loop that reads some arrays and writes another twice, and decides at run time by the distance between
them. A sum that may be reordered differs between the two, by a rounding.
"""

import ast
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import topicloom
from topicloom.engine import expected_counts, fold_in
from topicloom.evaluation import particles
from topicloom.lda.variational import bayes as variational_bayes
from topicloom.lda.variational import collapsed as variational_collapsed
from topicloom.medlda import dense as medlda_dense
from topicloom.numerics import exponent

Call = Callable[..., float]
COUNTS = np.arange(100, dtype=np.int32)
CASES: dict[str, tuple[int, Call]] = {
    "foldin": (3, fold_in._weigh),
    "left_to_right": (4, particles._weigh),
    "medlda": (3, lambda coef, lift, w: medlda_dense._weigh(COUNTS[: len(w)], 0.1, coef, lift, w)),
    "exponent": (3, lambda x, w, spare: exponent.exponentials(x, 1.0, w, spare) or 0.0),
    "renew": (4, variational_bayes._renew),
    "cvb0": (5, lambda g, doc, word, topic, w: variational_collapsed.weigh_mean(g / 9, 1.0, doc, word, topic, w)),
    "gaussian": (
        9,
        lambda g, *rest: variational_collapsed.weigh_gaussian(g / 9, 1.0, *rest),
    ),
    "set_gamma": (2, lambda g, w: variational_collapsed._set_gamma(g, w, 0.3, 2.0)),
    "fixed": (5, lambda g, doc, var, phi, w: expected_counts.weigh_fixed(g / 9, 1.0, doc, var, phi, True, w)),
}  # fmt: skip


@pytest.mark.parametrize("n_topics", [3, 4, 7, 20, 33])
@pytest.mark.parametrize("name", CASES)
def test_placement_changes_nothing(name: str, n_topics: int) -> None:
    n_arrays, call = CASES[name]
    rng = np.random.default_rng(n_topics)
    for _ in range(20):
        values = rng.random((n_arrays, n_topics)) + 0.2
        results = set()
        for gap in (0, 1, 2, 8, 64, 400):
            for order in (np.arange(n_arrays), np.arange(n_arrays)[::-1], rng.permutation(n_arrays)):
                memory = np.zeros((n_arrays, n_topics + gap))
                arrays = [memory[row, :n_topics] for row in order]
                for array, value in zip(arrays, values, strict=True):
                    array[:] = value
                returned = call(*arrays)
                results.add((returned, *(array.tobytes() for array in arrays)))
        assert len(results) == 1


def test_sums_that_may_be_reordered_store_nothing() -> None:
    """The rule behind it, held for every kernel there is."""
    seen = 0
    for path in Path(topicloom.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef):
                continue
            if any(isinstance(d, ast.Name) and d.id == "reducing_kernel" for d in node.decorator_list):
                seen += 1
                stores = [n for n in ast.walk(node) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)]
                assert not stores, f"{path.name}: {node.name} writes an array"
    assert seen > 5
