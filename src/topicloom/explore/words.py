"""Which words a page has: those that some list names, by numbers of the page's own."""

from collections.abc import Iterator, Sequence

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.diagnostics.word_lists import topic_word_scores, topic_words
from topicloom.explore.source import Source

N_BEST = 30  # words per list
LAMBDA = 0.6  # where the slider starts, and what labels are made with
_STEPS = 101  # values of λ from 0 to 1
_PRUNED_BY = (0.0, 0.25, 0.5, 0.75, 1.0)
_VALUES = 1 << 22  # probabilities looked at together
_LEAST_SHARE, _MOST_TOPICS = 0.01, 10  # of p(topic | word)


class WordTable:
    """Numbers of words in the page, in the order in which they are asked for."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}

    def __getitem__(self, word: int) -> int:
        return self.numbers.setdefault(word, len(self.numbers))

    def __len__(self) -> int:
        return len(self.numbers)


def best_words(source: Source, by: str) -> list[list[int]]:
    """Numbers of the words with the highest scores in each topic, without those that never occur."""
    number = {word: v for v, word in enumerate(source.vocabulary)}
    found = topic_words(
        source.phi, min(N_BEST, len(source.vocabulary)), by,  # type: ignore[arg-type]
        relevance_lambda=LAMBDA, vocabulary=source.vocabulary, word_counts=_counts(source),
    )  # fmt: skip
    possible = source.word_share > 0
    return [
        [v for word in words if possible[v := number[word]] and source.phi[k, v] > 0] for k, words in enumerate(found)
    ]


def _counts(source: Source) -> FloatArray:
    counts = source.word_counts
    return source.word_share if counts is None or not counts.any() else counts


def words_for_every_lambda(source: Source, n: int = N_BEST) -> Iterator[Int64Array]:
    """For each topic, words that are among its ``n`` most relevant ones for some λ = 0, 0.01, …, 1.

    Relevance is λ log φ + (1 − λ) log lift (``topic_word_scores``). The ``n`` best words for one λ have a least φ and a
    least lift: a word below both is worse than all of them for every λ, and is left out before the search.
    """
    step = max(1, _VALUES // source.phi.shape[1])
    for start in range(0, source.n_topics, step):
        rows = source.phi[start : start + step]
        lifts = topic_word_scores(rows, "lift", word_counts=_counts(source))
        for row, lift in zip(rows, lifts, strict=True):
            yield _ever_best(row, lift, n)


def _ever_best(phi: FloatArray, lift: FloatArray, n: int) -> Int64Array:
    words = np.flatnonzero((phi > 0) & (lift > 0))
    log_phi, log_lift = np.log(phi[words]), np.log(lift[words])
    for weight in _PRUNED_BY:
        if len(words) <= n:
            return words
        best = _top(weight * log_phi + (1.0 - weight) * log_lift, n)
        keep = (log_phi >= log_phi[best].min()) | (log_lift >= log_lift[best].min())
        words, log_phi, log_lift = words[keep], log_phi[keep], log_lift[keep]
    chosen = np.zeros(len(words), bool)
    for weight in np.linspace(0.0, 1.0, _STEPS):
        chosen[_top(weight * log_phi + (1.0 - weight) * log_lift, n)] = True
    return words[chosen]


def _top(scores: FloatArray, n: int) -> Int64Array:
    """Numbers of the ``n`` highest scores; of equals, the lower number first."""
    if len(scores) <= n:
        return np.arange(len(scores))
    last = np.partition(scores, len(scores) - n)[len(scores) - n]
    above = np.flatnonzero(scores > last)
    return np.concatenate((above, np.flatnonzero(scores == last)[: n - len(above)]))


def topics_of_words(source: Source, words: Sequence[int]) -> list[list[tuple[int, float]]]:
    """p(topic | word) of each word, largest first."""
    if not len(words):
        return []
    joint = source.phi[:, np.asarray(words)] * source.share[:, None]
    total = joint.sum(axis=0)
    given = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0).T
    order = np.argsort(-given, axis=1, kind="stable")[:, :_MOST_TOPICS]
    return [
        [(int(k), float(row[k])) for k in best if row[k] >= _LEAST_SHARE]
        for row, best in zip(given, order, strict=True)
    ]
