"""Compound LDA by its definition, for tests to compare with: nothing is shared with the package.

With two topics a mixture is one number, which is integrated over by quadrature: points are quantiles of its prior, so
that each has the same prior weight.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln
from scipy.stats import beta as beta_distribution
from scipy.stats import kstest

from tests.oracles import lda as oracle
from topicloom.corpus import Corpus
from topicloom.engine.prior import Prior, make_prior

POINTS = 2000
BINS = np.array([0.3, 0.7])  # of prior quantiles
DOCS = [[0, 0, 1], [1, 0], [], [1]]
ROW = np.array([0, 1, 1, 0])
ALPHA, GAMMA, BETA = 0.7, 4.0, np.array([0.3, 0.8])


def stirling(n: int) -> list[int]:
    """Unsigned Stirling numbers of the first kind, S(n, 0) … S(n, n)."""
    row = [1]
    for m in range(n):
        row = [(row[s - 1] if s > 0 else 0) + m * (row[s] if s < len(row) else 0) for s in range(m + 2)]
    return row


def table_probability(n: int, a: float) -> np.ndarray:
    """p(s | n, a) = S(n, s) a^s Γ(a)/Γ(a + n) (eq. 12)."""
    return np.array([number * a**s for s, number in enumerate(stirling(n))]) * np.exp(gammaln(a) - gammaln(a + n))


def quantiles(alpha: float) -> np.ndarray:
    return beta_distribution.ppf((np.arange(POINTS) + 0.5) / POINTS, alpha, alpha)


class Exact(NamedTuple):
    """The posterior of a tiny corpus in two collections with two topics."""

    corpus: Corpus
    states: np.ndarray  # [S, N]
    p: np.ndarray  # [S] posterior of topics, mixtures integrated out
    given: np.ndarray  # [S, J, POINTS] weights of a mixture's quantiles given the topics

    def prior(self, pi: np.ndarray) -> Prior:
        return make_prior(GAMMA * np.column_stack((pi, 1 - pi)), BETA, self.corpus.n_docs, alpha_row=ROW)


def mixture_log_density(counts: np.ndarray, pi: np.ndarray) -> np.ndarray:
    """log Π_d p(z_d | γ, π) at each value of π (eq. 11 without the prior): counts are documents × 2."""
    total = np.zeros(len(pi))
    for row in counts:
        for k, share in enumerate((pi, 1 - pi)):
            total += gammaln(GAMMA * share + row[k]) - gammaln(GAMMA * share)
        total += gammaln(GAMMA) - gammaln(GAMMA + row.sum())
    return total


@lru_cache(maxsize=1)
def exact() -> Exact:
    corpus = oracle.tiny_corpus(DOCS, 2)
    pi = quantiles(ALPHA)
    states = np.array(list(oracle.all_states(corpus.n_tokens, 2)))
    logs, given = np.empty(len(states)), np.empty((len(states), 2, POINTS))
    for s, z in enumerate(states):
        counts = np.zeros((corpus.n_docs, 2))
        np.add.at(counts, (corpus.token_docs, z), 1)
        words = np.zeros((2, 2))
        np.add.at(words, (z, corpus.words), 1)
        logs[s] = sum(oracle._dirichlet_multinomial(row, BETA) for row in words)
        for j in range(2):
            weight = np.exp(mixture_log_density(counts[j == ROW], pi))
            logs[s] += np.log(weight.mean())
            given[s, j] = weight / weight.sum()
    p = np.exp(logs - logs.max())
    return Exact(corpus, states, p / p.sum(), given)


def invariance(
    move: Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]], n: int, seed: int
) -> float:
    """p-value that the posterior of topics and mixtures together is invariant under ``move(z, π, replicate)``.

    Starts come from the exact posterior. π has the first topic's share in each of the two collections.
    """
    case = exact()
    rng = np.random.default_rng(seed)
    edges = np.concatenate(([0], BINS * POINTS, [POINTS])).astype(int)
    inside = np.stack([case.given[:, :, lo:hi].sum(axis=2) for lo, hi in pairwise(edges)], axis=2)
    cells = case.p[:, None, None] * inside[:, 0, :, None] * inside[:, 1, None, :]
    starts = rng.choice(len(case.states), size=n, p=case.p)
    reached = np.cumsum(case.given, axis=2)
    at = [
        [np.searchsorted(reached[start, j], rng.random() * reached[start, j, -1]) for j in range(2)] for start in starts
    ]
    first = beta_distribution.ppf((np.array(at) + rng.random((n, 2))) / POINTS, ALPHA, ALPHA)
    numbers, last = np.empty(n, int), np.empty((n, 2))
    for replicate, start in enumerate(starts):
        z, last[replicate] = move(case.states[start], first[replicate], replicate)
        numbers[replicate] = oracle.state_number(z, 2)
    bins = np.searchsorted(BINS, beta_distribution.cdf(last, ALPHA, ALPHA))
    observed = np.zeros(cells.shape)
    np.add.at(observed, (numbers, bins[:, 0], bins[:, 1]), 1)
    return oracle.chi_square(observed.ravel(), cells.ravel())


# Topics of seven documents in two collections, by document: mixtures given these are all that is drawn.
TOPICS = [[0, 0, 0, 1], [1, 1], [0, 0, 0, 0, 0], [0, 1, 0], [1], [1, 1, 1, 0, 1, 1, 1, 1], [0, 1, 1]]
TOPIC_ROW = np.array([0, 1, 0, 0, 1, 1, 0])


def mixtures_invariance(move: Callable[[np.ndarray, int], np.ndarray], alpha: float, n: int, seed: int) -> float:
    """The smaller p-value, over two collections, that π given ``TOPICS`` is invariant under ``move(π, replicate)``."""
    rng = np.random.default_rng(seed)
    pi = quantiles(alpha)
    counts = np.array([np.bincount(z, minlength=2) for z in TOPICS])
    reached = []
    for j in range(2):
        logs = mixture_log_density(counts[j == TOPIC_ROW], pi)
        cumulated = np.concatenate(([0], np.cumsum(np.exp(logs - logs.max()))))
        reached.append(cumulated / cumulated[-1])
    grid = np.arange(POINTS + 1) / POINTS
    first = np.column_stack([np.interp(rng.random(n), reached[j], grid) for j in range(2)])
    first = beta_distribution.ppf(first, alpha, alpha)
    last = np.array([move(share, replicate) for replicate, share in enumerate(first)])
    u = beta_distribution.cdf(last, alpha, alpha)
    return min(kstest(np.interp(u[:, j], grid, reached[j]), "uniform").pvalue for j in range(2))


# -- variational EM ------------------------------------------------------------------------------------------------


def vem_bound(
    corpus: Corpus, row: np.ndarray, lam: np.ndarray, rho: np.ndarray, tau: np.ndarray, eta: float, gamma: float,
    alpha: np.ndarray,
) -> float:  # fmt: skip
    """Eqs. 63 and 66, term by term, with the best φ for every token; λ is topics × words.."""
    n_topics, n_words = lam.shape
    log_beta = digamma(lam) - digamma(lam.sum(axis=1))[:, None]
    total = 0.0
    for k in range(n_topics):
        total += gammaln(n_words * eta) - n_words * gammaln(eta) + np.sum((eta - 1) * log_beta[k])
        total -= gammaln(lam[k].sum()) - gammaln(lam[k]).sum() + np.sum((lam[k] - 1) * log_beta[k])
    for own in tau:
        log_pi = digamma(own) - digamma(own.sum())
        total += gammaln(alpha.sum()) - gammaln(alpha).sum() + np.sum((alpha - 1) * log_pi)
        total -= gammaln(own.sum()) - gammaln(own).sum() + np.sum((own - 1) * log_pi)
    for d in range(corpus.n_docs):
        words = corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]
        if len(words) == 0:
            continue
        own, r = tau[row[d]], rho[d]
        a, mean = own.sum(), own / own.sum()
        log_theta = digamma(r) - digamma(r.sum())
        total += gammaln(gamma) - gamma * (n_topics - 1) / a
        total -= (gamma - n_topics) * (np.log(a) - digamma(a) + digamma(r.sum()))
        total -= np.sum(gammaln(gamma * mean) + (1 - gamma * mean) * (np.log(own) - digamma(own) + digamma(r)))
        total -= gammaln(r.sum()) - gammaln(r).sum() + np.sum((r - 1) * log_theta)
        for v in words:
            phi = np.exp(log_theta + log_beta[:, v])
            phi /= phi.sum()
            total += np.sum(phi * (log_theta + log_beta[:, v] - np.log(phi)))
    return float(total)
