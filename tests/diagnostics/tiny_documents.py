"""Documents so short that their probability can be summed over all topics of all tokens."""

from typing import NamedTuple

import numpy as np

from tests.evaluation.test_particles import Case, exact_probability
from topicloom.corpus import Corpus


class Tiny(NamedTuple):
    corpus: Corpus
    topics: np.ndarray
    alpha: np.ndarray
    log_p: np.ndarray  # exact, of each document


def corpus_of(documents: list[list[int]], n_words: int) -> Corpus:
    ptr = np.cumsum([0, *map(len, documents)])
    return Corpus([w for words in documents for w in words], ptr, tuple(f"word{v}" for v in range(n_words)))


def tiny_documents(n_words: int = 8, n_topics: int = 3, seed: int = 5) -> Tiny:
    """Some 30 different documents of 3 to 6 tokens, whose topics are far from alike."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.2), n_topics) + 1e-3
    topics /= topics.sum(axis=1, keepdims=True)
    alpha = np.array([0.1, 0.4, 1.0])
    drawn = [sorted(rng.choice(n_words, rng.integers(3, 7), p=topics[rng.integers(n_topics)])) for _ in range(32)]
    documents = [[int(w) for w in words] for words in sorted({tuple(words) for words in drawn})]
    exact = [np.log(exact_probability(Case(words, topics.tolist(), alpha.tolist()))) for words in documents]
    return Tiny(corpus_of(documents, n_words), topics, alpha, np.array(exact))
