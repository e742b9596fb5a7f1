"""Measures of the search written again, plainly: one pair, one document, one word at a time."""

import itertools
import math

import numpy as np


def harmonic_mean(logs):
    """By sums of fractions with as many digits as it takes."""
    from fractions import Fraction

    middle = sorted(logs)[len(logs) // 2]
    total = sum(Fraction(math.exp(middle - x)) for x in logs)
    return middle - math.log(float(total / len(logs)))


def log_words(words, z, n_topics, n_words, beta):
    """p(w | z) token by token: each by the counts of those before it."""
    counts, total = np.zeros((n_topics, n_words)), 0.0
    for v, k in zip(words, z, strict=True):
        total += math.log((counts[k, v] + beta[v]) / (counts[k].sum() + sum(beta)))
        counts[k, v] += 1
    return total


def mean_cosine(phi):
    def cosine(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))

    pairs = list(itertools.combinations(phi, 2))
    return sum(cosine(a, b) for a, b in pairs) / len(pairs)


def mean_divergence(phi):
    """As ldatuning: over unordered pairs, divided by K (K − 1)."""
    total = 0.0
    for a, b in itertools.combinations(phi, 2):
        total += 0.5 * sum(x * math.log(x / y) for x, y in zip(a, b, strict=True))
        total += 0.5 * sum(y * math.log(y / x) for x, y in zip(a, b, strict=True))
    return total / (len(phi) * (len(phi) - 1))


def singular_divergence(phi, theta, lengths):
    first = sorted(np.sqrt(np.linalg.eigvalsh(phi @ phi.T)), reverse=True)
    sizes = [sum(n * row[k] for n, row in zip(lengths, theta, strict=True)) for k in range(len(phi))]
    second = sorted(sizes, reverse=True)
    p, q = np.array(first) / sum(first), np.array(second) / sum(second)
    forth = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    return forth + sum(b * math.log(b / a) for a, b in zip(p, q, strict=True))


def dispersion(phi, theta, documents, tol=0.01):
    """As stm's checkResiduals; documents are lists of word numbers."""
    n_topics, n_words = phi.shape
    squares, cells = 0.0, 0
    for words, shares in zip(documents, theta, strict=True):
        m = len(words)
        for v in range(n_words):
            q = sum(shares[k] * phi[k, v] for k in range(n_topics))
            x = words.count(v)
            squares += (x * x - 2 * x * q * m) / (m * q * (1 - q)) + m * q / (1 - q)
            cells += q * m > tol
    freedom = cells - n_words - (len(documents) * (n_topics - 1) + n_topics * (n_words - 1))
    return squares / freedom


def two_way(values, tokens):
    """Mean, error over documents, error of chains: the classical decomposition, for documents of one length."""
    n_chains, n_docs = values.shape
    per_token = values / tokens
    mean = per_token.mean()
    of_docs, of_chains = per_token.mean(axis=0), per_token.mean(axis=1)
    documents = of_docs.var(ddof=1) / n_docs
    rest = per_token - of_docs - of_chains[:, None] + mean
    rest_variance = (rest**2).sum() / ((n_chains - 1) * (n_docs - 1))
    chains = max(of_chains.var(ddof=1) - rest_variance / n_docs, 0) / n_chains
    return mean, math.sqrt(documents), math.sqrt(chains)
