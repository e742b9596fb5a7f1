"""Phrases and n-grams, on streams of word numbers.

Phrases are pairs of words that are joined wherever they follow each other, from left to right; a second pass joins
pairs of what the first has made. Scores are those of gensim's ``Phrases``, and so are the phrases.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus._checks import check_choice, check_number, check_whole, plain, shown
from topicloom.corpus._numbering import Stream
from topicloom.corpus._streams import GrowingArray, count_words, document_blocks, pointers
from topicloom.corpus.text_options import NO_NGRAMS, Pairs, are_phrases, as_phrases, is_range
from topicloom.errors import InputError

JOINT = "_"
SCORES = {"npmi": 0.5, "gensim": 10.0}  # and the threshold if none is given
_MOST_PASSES = 10


class PhraseSearch(NamedTuple):
    """How phrases are found: pairs that occur often, and score above the threshold."""

    score: str = "npmi"
    min_count: int = 5
    threshold: float = SCORES["npmi"]
    passes: int = 1


def given_phrases(given: Any) -> PhraseSearch | tuple[Pairs, ...]:
    """What the option ``phrases`` means: phrases that are known, or how to find them."""
    if given is None:
        return ()
    if isinstance(given, list | tuple):
        if not are_phrases(given):
            raise InputError(
                f"phrases={shown(given)}: known phrases are a list of pairs of words for each pass, such as "
                "[[('new', 'york')]]."
            )
        return as_phrases(given)
    asked = {"score": given} if isinstance(given, str) else given
    if not isinstance(asked, Mapping) or set(asked) - set(PhraseSearch._fields):
        raise InputError(
            f"phrases={shown(given)} must be 'npmi', 'gensim', or a dict with keys among {list(PhraseSearch._fields)}."
        )
    score = check_choice("phrases['score']", asked.get("score", "npmi"), tuple(SCORES))
    low, high = (-1.0, 1.0) if score == "npmi" else (0.0, np.inf)
    return PhraseSearch(
        score,
        check_whole("phrases['min_count']", asked.get("min_count", 5), 1),
        check_number("phrases['threshold']", asked.get("threshold", SCORES[score]), low, high),
        min(check_whole("phrases['passes']", asked.get("passes", 1), 1), _MOST_PASSES),
    )


def given_ngrams(given: Any) -> tuple[int, int]:
    """The shortest and the longest run of words that is counted."""
    if given is None:
        return NO_NGRAMS
    found = tuple(map(plain, given)) if isinstance(given, list | tuple) else ()
    if not is_range(found):
        raise InputError(
            f"ngrams={shown(given)} must be the shortest and the longest run of words, from 1 to 10, such as (1, 2)."
        )
    return found[0], found[1]


# -- phrases -----------------------------------------------------------------------------------------------------------


def with_phrases(stream: Stream, phrases: PhraseSearch | tuple[Pairs, ...]) -> tuple[Stream, tuple[Pairs, ...]]:
    """The stream with phrases as words, and the phrases of each pass."""
    if not isinstance(phrases, PhraseSearch):
        for pairs in phrases:
            stream = joined(stream, pairs)
        return stream, phrases
    found: list[Pairs] = []
    for _ in range(phrases.passes):
        pairs = learned(stream, phrases)
        if not pairs:
            break
        stream = joined(stream, pairs)
        found.append(pairs)
    return stream, tuple(found)


def learned(stream: Stream, search: PhraseSearch) -> Pairs:
    """Pairs of words that score above the threshold, in alphabetical order."""
    n_words = len(stream.names)
    keys, counts = _pair_counts(stream)
    words = count_words(stream.words, n_words)
    first, second = keys // n_words, keys % n_words
    both = words[first].astype(np.float64), words[second].astype(np.float64)
    if search.score == "npmi":
        score = _npmi(*both, counts, len(stream.words))
        score[counts < search.min_count] = -np.inf
    else:  # Mikolov et al. 2013, equation 6, times the number of distinct words and pairs, as gensim has it
        score = (counts - search.min_count) / (both[0] * both[1]) * (np.count_nonzero(words) + len(keys))
    chosen = np.flatnonzero(score > search.threshold)
    names = stream.names
    return tuple(
        sorted((names[a], names[b]) for a, b in zip(first[chosen].tolist(), second[chosen].tolist(), strict=True))
    )


def _npmi(first: FloatArray, second: FloatArray, pair: Int64Array, total: int) -> FloatArray:
    """log(p(a, b) / (p(a) p(b))) / −log p(a, b): Bouma 2009."""
    p = pair / total
    score: FloatArray = np.log(p / (first / total * (second / total))) / -np.log(p)
    return score


def _pair_counts(stream: Stream) -> tuple[Int64Array, Int64Array]:
    """Numbers of the pairs that follow each other within a document, and how often each does."""
    keys, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for words, inner in _blocks(stream):
        own, n = np.unique((words[:-1].astype(np.int64) * len(stream.names) + words[1:])[inner], return_counts=True)
        keys, which = np.unique(np.concatenate((keys, own)), return_inverse=True)
        counts = np.bincount(which, np.concatenate((counts, n)), len(keys)).astype(np.int64)
    return keys, counts


def _blocks(stream: Stream) -> Iterator[tuple[Int32Array, BoolArray]]:
    """Words of some documents, and which of them are followed by one of the same document."""
    for first, last in document_blocks(stream.ptr):
        start, end = int(stream.ptr[first]), int(stream.ptr[last])
        inner = np.ones(max(end - start - 1, 0), bool)
        ends = np.unique(stream.ptr[first + 1 : last] - start - 1)
        inner[ends[(ends >= 0) & (ends < len(inner))]] = False
        yield stream.words[start:end], inner


def joined(stream: Stream, pairs: Pairs) -> Stream:
    """The stream with these pairs as one word each, joined from left to right."""
    names = list(stream.names)
    number = {name: i for i, name in enumerate(names)}
    n_words, known = len(names), {}
    for first, second in pairs:
        if first in number and second in number:
            known[number[first] * n_words + number[second]] = f"{first}{JOINT}{second}"
    if not known:
        return stream
    keys = np.array(sorted(known), np.int64)
    new = np.array([number.setdefault(known[key], len(number)) for key in keys.tolist()], np.int32)
    grown, lengths = GrowingArray(), GrowingArray(np.int64)
    blocks = zip(document_blocks(stream.ptr), _blocks(stream), strict=True)
    for (begin, end), (words, inner) in blocks:
        pair = words[:-1].astype(np.int64) * n_words + words[1:]
        at = np.minimum(np.searchsorted(keys, pair), len(keys) - 1)
        join = _every_other((keys[at] == pair) & inner)
        put, keep = words.copy(), np.ones(len(words), bool)
        put[:-1][join] = new[at[join]]
        keep[1:][join] = False
        before = np.concatenate(([0], np.cumsum(keep)))
        grown.append(put[keep])
        lengths.append(np.diff(before[stream.ptr[begin : end + 1] - stream.ptr[begin]]))
    return Stream(grown.finish(writable=True), pointers(lengths.finish()), list(number))


def _every_other(mark: BoolArray) -> BoolArray:
    """Of each run of marks the first, the third and so on: a word is joined once."""
    where = np.arange(len(mark))
    begins = mark & ~np.concatenate(([False], mark[:-1]))
    start = np.maximum.accumulate(np.where(begins, where, 0)) if len(mark) else where
    chosen: BoolArray = mark & ((where - start) % 2 == 0)
    return chosen


# -- n-grams -----------------------------------------------------------------------------------------------------------


def with_ngrams(stream: Stream, ngrams: tuple[int, int]) -> Stream:
    """The stream with all runs of so many words, at each word the shorter ones first."""
    if ngrams == NO_NGRAMS:
        return stream
    number: dict[str, int] = {}
    grown, lengths = GrowingArray(), GrowingArray(np.int64)
    for first, last in document_blocks(stream.ptr):
        ptr = stream.ptr[first : last + 1] - stream.ptr[first]
        words = stream.words[stream.ptr[first] : stream.ptr[last]]
        table = _runs(words, np.repeat(ptr[1:], np.diff(ptr)), stream.names, ngrams, number)
        keep = table >= 0
        grown.append(table[keep])
        before = np.concatenate(([0], np.cumsum(keep.sum(axis=1))))
        lengths.append(np.diff(before[ptr]))
    return Stream(grown.finish(writable=True), pointers(lengths.finish()), list(number))


def _runs(
    words: Int32Array, ends: Int64Array, names: list[str], ngrams: tuple[int, int], number: dict[str, int]
) -> AnyArray:
    """Numbers [token, length] of the runs that begin at each token; -1 where the document ends before the run."""
    low, high = ngrams
    table = np.full((len(words), high - low + 1), -1, np.int32)
    distinct, own = np.unique(words, return_inverse=True)
    singles = [names[v] for v in distinct.tolist()]
    texts, at, run = singles, np.arange(len(words)), own
    for n in range(1, high + 1):
        if n > 1:
            inside = at + n <= ends[at]
            at = at[inside]
            pairs, run = np.unique(run[inside] * len(singles) + own[at + n - 1], return_inverse=True)
            texts = [f"{texts[key // len(singles)]}{JOINT}{singles[key % len(singles)]}" for key in pairs.tolist()]
        if n >= low:
            given = np.fromiter((number.setdefault(text, len(number)) for text in texts), np.int32, len(texts))
            table[at, n - low] = given[run]
    return table
