"""A hierarchical Dirichlet process by its definition, for tests to compare with: the Chinese restaurant franchise.

Nothing is shared with the package. A state of topics without names is a partition of the tokens, written as topics
that are numbered in the order in which they are met. Tables are summed over: c_k(m), the weight of m tables of topic k
in all documents, is a convolution of S(n_dk, m) α₀^m.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln
from scipy.stats import beta as beta_distribution
from scipy.stats import kstest

from tests.oracles import lda as oracle
from tests.oracles.compound import stirling
from topicloom.corpus import Corpus

DOCS = [[0, 0, 1], [], [1, 0]]
DOC, TOPIC, BETA = 1.4, 2.2, np.array([0.1, 0.3])
EDGES = np.array([0.3, 0.5])  # of the weight of topics without tokens


def partitions(n: int) -> Iterator[tuple[int, ...]]:
    """All partitions of n tokens."""
    if n == 0:
        yield ()
        return
    for first in partitions(n - 1):
        for k in range(max(first, default=-1) + 2):
            yield (*first, k)


def in_order_met(z: np.ndarray) -> tuple[int, ...]:
    """The partition that topics make."""
    number: dict[int, int] = {}
    return tuple(number.setdefault(int(k), len(number)) for k in z)


def table_weights(corpus: Corpus, z: np.ndarray, doc: float) -> list[np.ndarray]:
    """c_k(0), c_k(1), … of each topic."""
    found = []
    for k in range(max(z) + 1):
        own = np.ones(1)
        for d in range(corpus.n_docs):
            n = int(np.sum(z[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]] == k))
            own = np.convolve(own, [number * doc**m for m, number in enumerate(stirling(n))])
        found.append(own)
    return found


def seatings(corpus: Corpus, z: np.ndarray, doc: float, topic: float) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of tables by topic [S, K], and log p(z, tables | α₀, γ)."""
    weights = table_weights(corpus, z, doc)
    lengths = np.diff(corpus.doc_ptr)
    constant = float(np.sum(gammaln(doc) - gammaln(doc + lengths)))
    numbers = np.array(list(product(*(range(1, len(own)) for own in weights))))
    numbers = numbers[[all(own[m] > 0 for own, m in zip(weights, row, strict=True)) for row in numbers]]
    k = len(weights)
    logs = np.array([sum(np.log(own[m]) for own, m in zip(weights, row, strict=True)) for row in numbers])
    logs = (
        logs + k * np.log(topic) + gammaln(numbers).sum(axis=1) + gammaln(topic) - gammaln(topic + numbers.sum(axis=1))
    )
    return numbers, constant + logs


def log_words(corpus: Corpus, z: np.ndarray, beta: np.ndarray) -> float:
    """log p(w | partition)."""
    counts = np.zeros((max(z) + 1, len(beta)))
    np.add.at(counts, (z, corpus.words), 1)
    return sum(oracle._dirichlet_multinomial(row, beta) for row in counts)


class Exact(NamedTuple):
    """The posterior of a tiny corpus: partitions, and for each all numbers of tables."""

    corpus: Corpus
    states: list[tuple[int, ...]]
    p: np.ndarray  # [S]
    tables: list[tuple[np.ndarray, np.ndarray]]  # numbers by topic, and their probabilities given the partition
    cells: np.ndarray  # [S, bins of the rest's weight]


def exact(most: int = 99) -> Exact:
    """With concentrations ``DOC`` and ``TOPIC``, and at most so many topics."""
    corpus = oracle.tiny_corpus(DOCS, 2)
    states = [z for z in partitions(corpus.n_tokens) if max(z) < most]
    logs, tables, inside = [], [], []
    for state in states:
        z = np.array(state)
        numbers, seated = seatings(corpus, z, DOC, TOPIC)
        weight = np.exp(seated - seated.max())
        logs.append(np.log(weight.sum()) + seated.max() + log_words(corpus, z, BETA))
        tables.append((numbers, weight / weight.sum()))
        reached = np.array([beta_distribution.cdf(EDGES, TOPIC, m) for m in numbers.sum(axis=1)])
        parts = np.diff(np.column_stack((np.zeros(len(reached)), reached, np.ones(len(reached)))))
        inside.append(tables[-1][1] @ parts)
    p = np.exp(np.array(logs) - max(logs))
    p /= p.sum()
    return Exact(corpus, states, p, tables, p[:, None] * np.array(inside))


Move = Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, float]]


def invariance(case: Exact, move: Move, n: int, seed: int) -> float:
    """p-value that the posterior of topics and weights is invariant under ``move(z, weights, replicate)``.

    ``weights`` are those of the topics and, last, of all others together; the move returns topics and the last one.
    """
    rng = np.random.default_rng(seed)
    starts = rng.choice(len(case.states), size=n, p=case.p)
    number = {state: i for i, state in enumerate(case.states)}

    def draw(replicate: int) -> int | None:
        start = starts[replicate]
        numbers, p = case.tables[start]
        weights = rng.dirichlet(np.append(numbers[rng.choice(len(numbers), p=p)], TOPIC))
        z, rest = move(np.array(case.states[start]), weights, replicate)
        state = number.get(in_order_met(z))
        return None if state is None else state * (len(EDGES) + 1) + int(np.searchsorted(EDGES, rest))

    return oracle.drawn_p_value(draw, case.cells.ravel(), n)


def _pick(rng: np.random.Generator, weight: list[float]) -> int:
    reached = np.cumsum(weight)
    return int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))


def generate(
    rng: np.random.Generator, lengths: list[int], doc: float, topic: float, beta: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Topics and words of documents from the franchise, and the topics' numbers of tables."""
    tables: list[int] = []
    phi: list[np.ndarray] = []
    z, words = [], []
    for length in lengths:
        at: list[int] = []  # the topic of each table
        seated: list[int] = []
        for _ in range(length):
            t = _pick(rng, [*seated, doc])
            if t == len(at):
                k = _pick(rng, [*tables, topic])
                if k == len(tables):
                    tables.append(0)
                    phi.append(rng.dirichlet(beta))
                tables[k] += 1
                at.append(k)
                seated.append(0)
            seated[t] += 1
            z.append(at[t])
            words.append(_pick(rng, phi[at[t]]))
    return np.array(z), np.array(words), tables


def concentration_p_value(draw: Callable[[float, int], float], sizes: list[int], tables: int, n: int) -> float:
    """p-value that a concentration's posterior given numbers of tables is invariant under ``draw(now, replicate)``.

    Its prior is a gamma distribution of shape 2 and rate 1.5, and the posterior is integrated on a grid.
    """
    grid = np.linspace(1e-4, 15, 20_000)
    logs = (1.0 + tables) * np.log(grid) - 1.5 * grid
    for size in sizes:
        logs += gammaln(grid) - gammaln(grid + size)
    reached = np.cumsum(np.exp(logs - logs.max()))
    reached /= reached[-1]
    starts = np.interp(np.random.default_rng(3).random(n), reached, grid)
    last = [draw(float(now), replicate) for replicate, now in enumerate(starts)]
    return float(kstest(np.interp(last, grid, reached), "uniform").pvalue)
