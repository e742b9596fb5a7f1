"""Numbers of tables against Stirling numbers, and wrong draws of them, which must be rejected."""

import numpy as np
import pytest
from scipy.stats import binom

from tests.helpers.mutating import REJECT, mutate
from tests.oracles import compound
from tests.oracles import lda as oracle
from topicloom.engine import tables
from topicloom.engine.documents_by_count import DocumentsByCount
from topicloom.numerics.rng import stream


def by_count_of(counts: np.ndarray) -> DocumentsByCount:
    """Documents × cells."""
    parts = [
        np.array([(counts[:, c] >= n).sum() for n in range(1, counts[:, c].max() + 1)]) for c in range(counts.shape[1])
    ]
    return DocumentsByCount(
        np.concatenate(([0], np.cumsum([len(part) for part in parts]))), np.concatenate(parts).astype(np.int64)
    )


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (7, 0.02), (30, 0.6), (30, 0.04), (400, 0.01), (9, 1e-3)])
def test_binomial_draws(n: int, p: float) -> None:
    rng = stream(1, n)
    drawn = np.bincount([tables.binomial(rng, n, p) for _ in range(20_000)], minlength=n + 1)
    assert oracle.chi_square(drawn, binom.pmf(np.arange(n + 1), n, p)) > oracle.FALSE_ALARM


def test_binomial_limits() -> None:
    rng = stream(2)
    assert [tables.binomial(rng, 50, p) for p in (0.0, 5e-324, 1.0, 2.0)] == [0, 0, 50, 50]
    assert tables.binomial(rng, 0, 0.4) == 0


def draw_tables(found: DocumentsByCount, base: np.ndarray, n: int, seed: int) -> np.ndarray:
    out = np.empty((n, len(base)))
    rng = stream(seed)
    for i in range(n):
        tables.draw_tables(found, base, rng, out[i])
    return out.astype(int)


@pytest.mark.parametrize(("n", "a"), [(2, 0.4), (5, 0.7), (12, 2.5), (12, 0.05), (60, 3.0), (150, 0.3)])
def test_tables_of_one_document_have_stirling_numbers(n: int, a: float) -> None:
    drawn = draw_tables(by_count_of(np.array([[n]])), np.array([a]), 20_000, seed=3)[:, 0]
    assert oracle.chi_square(np.bincount(drawn, minlength=n + 1), compound.table_probability(n, a)) > oracle.FALSE_ALARM


@pytest.mark.parametrize("a", [0.02, 0.8, 6.0])
def test_tables_of_many_documents_are_sums(a: float) -> None:
    counts = np.array([1] * 5 + [2] * 4 + [3] * 12 + [7] * 2)
    exact = np.ones(1)
    for n in counts:
        exact = np.convolve(exact, compound.table_probability(n, a))
    drawn = draw_tables(by_count_of(counts[:, None]), np.array([a]), 20_000, seed=4)[:, 0]
    assert oracle.chi_square(np.bincount(drawn, minlength=len(exact)), np.maximum(exact, 0)) > oracle.FALSE_ALARM


@pytest.mark.parametrize("a", [0.0, 5e-324, 1e-200])
def test_tables_where_the_concentration_underflows(a: float) -> None:
    found = by_count_of(np.array([[3, 0], [1, 0], [900, 2]]))
    np.testing.assert_array_equal(draw_tables(found, np.array([a, a]), 3, seed=5), [[3, 1]] * 3)


def test_large_counts_are_quick() -> None:
    """A topic that a thousand documents have a thousand tokens of: the cost is that of the largest count."""
    found = DocumentsByCount(np.array([0, 1000]), np.full(1000, 1000))
    drawn = draw_tables(found, np.array([0.5]), 200, seed=6)[:, 0]
    p = 0.5 / (0.5 + np.arange(1000))
    mean, sd = 1000 * p.sum(), np.sqrt(1000 * np.sum(p * (1 - p)))
    assert abs(drawn.mean() - mean) < 5.5 * sd / np.sqrt(200)


OFTEN = {
    "one chance for all tokens of a document": [("p = a / (a + i)\n", "p = a / (a + stop - 1)\n")],
    "chances shifted by one token": [("p = a / (a + i)\n", "p = a / (a + i + 1)\n")],
    "first token opens no table for certain": [
        ("tables = own[0] if", "tables = binomial(stream, own[0], a / (a + 1)) if"),
    ],
}
RARE = {
    "candidates all taken": [("uniform(stream) * (a + i) < a + first", "True")],
    "candidates of the block's first token alone": [("    for i in range(first, stop):\n        n += n_docs[i]\n",
                                                     "    n = n_docs[first]\n")],
    "candidates one too far": [("at, tables = -1.0, 0", "at, tables = 0.0, 0")],
    "blocks that overlap": [("                i = end\n", "                i = (i + end + 1) // 2\n")],
}  # fmt: skip


def table_p_value(draw_tables, n: int = 40, a: float = 0.4) -> float:
    """p-value of numbers of tables in a document of n tokens, most of which open one rarely."""
    rng, out, drawn = stream(3), np.empty(1), np.zeros(n + 1)
    for _ in range(4000):
        draw_tables(DocumentsByCount(np.array([0, n]), np.ones(n, np.int64)), np.array([a]), rng, out)
        drawn[int(out[0])] += 1
    return oracle.chi_square(drawn, compound.table_probability(n, a))


def test_unchanged_rare_tables_pass() -> None:
    assert table_p_value(mutate("engine.tables").draw_tables) > oracle.FALSE_ALARM


@pytest.mark.parametrize("name", RARE)
def test_wrong_rare_tables_are_rejected(name: str) -> None:
    assert table_p_value(mutate("engine.tables", *RARE[name]).draw_tables) < REJECT


@pytest.mark.parametrize("name", OFTEN)
def test_wrong_tables_are_rejected(name: str) -> None:
    assert table_p_value(mutate("engine.tables", *OFTEN[name]).draw_tables, 12, 2.5) < REJECT
