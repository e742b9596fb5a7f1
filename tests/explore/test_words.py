"""Which words a page has."""

from dataclasses import replace

import numpy as np

from topicloom.explore.source import Source
from topicloom.explore.words import WordTable, best_words, words_for_every_lambda


def test_words_for_every_lambda_are_those_of_a_plain_search(source: Source) -> None:
    rng = np.random.default_rng(4)
    phi = rng.dirichlet(np.full(400, 0.05), 3) + 1e-9
    phi /= phi.sum(axis=1, keepdims=True)
    share = rng.dirichlet(np.full(400, 0.3))
    share[:10] = 0.0  # words that never occur
    made = replace(source, phi=phi, word_share=share / share.sum(), corpus=None, vocabulary=tuple(map(str, range(400))))
    for row, found in zip(phi, words_for_every_lambda(made, 5), strict=True):
        expected = set()
        seen = np.flatnonzero(made.word_share > 0)
        for weight in np.linspace(0, 1, 101):
            score = weight * np.log(row[seen]) + (1 - weight) * np.log(row[seen] / made.word_share[seen])
            expected |= set(seen[np.argsort(-score, kind="stable")[:5]].tolist())
        assert set(found.tolist()) == expected
        assert len(expected) < 60


def test_a_word_has_one_number() -> None:
    words = WordTable()
    assert [words[v] for v in (7, 3, 7, 9)] == [0, 1, 0, 2]
    assert len(words) == 3


def test_lists_leave_out_words_that_never_occur(source: Source) -> None:
    share = source.word_share.copy()
    share[:5] = 0.0
    for by in ("relevance", "frex", "lift"):
        found = best_words(replace(source, word_share=share, corpus=None), by)
        assert all(v >= 5 for own in found for v in own)
        assert all(found)
