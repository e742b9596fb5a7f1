"""Which documents are in a page, and what it has of them: shares, words, texts with the topic of every token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus, TextOptions
from topicloom.errors import InputError, counted
from topicloom.explore.source import Source
from topicloom.explore.tokens import SHADES, clean, coloured, token_topics
from topicloom.explore.words import WordTable

N_TOP = 30  # documents listed per topic
PER_BLOCK = 50  # documents whose texts are unpacked together
_LEAST_SHARE = 0.01
_TITLE = 80  # characters
_MOST_TOKENS = 5000  # of a document without its text
_LEAST_PLACED = 0.5  # share of tokens that must be found in the texts, if they were cut in a known way


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents of a page, and how much of their texts is shown."""

    rows: Int64Array
    of: int  # in the corpus
    texts: Sequence[str] | None  # of all documents of the corpus
    cut: int  # characters
    how: str  # "whole", "cut" or "none"

    @property
    def sampled(self) -> bool:
        return len(self.rows) < self.of

    def about(self) -> dict[str, Any]:
        return {
            "n": len(self.rows), "of": self.of, "sampled": self.sampled, "texts": self.how, "per_block": PER_BLOCK,
            "cut": self.cut,
        }  # fmt: skip


def choose(source: Source, n: int, texts: Sequence[str] | None, cut: int) -> Documents:
    """All documents or, if there are more than ``n``, each topic's best and a sample of the others.

    Up to a half are documents with the largest share of some topic, the same number for each topic. The others are
    every m-th of the rest, sorted by group, time and largest topic, so that each of these has its share of the page.
    """
    corpus, theta = source.corpus, source.theta
    if corpus is None or theta is None:
        return Documents(np.zeros(0, np.int64), 0, None, cut, "none")
    rows = np.arange(corpus.n_docs) if corpus.n_docs <= n else _sample(corpus, theta, n)
    if texts is None:
        return Documents(rows, corpus.n_docs, None, cut, "none")
    longest = max((len(texts[int(d)]) for d in rows), default=0)
    return Documents(rows, corpus.n_docs, texts, cut, "cut" if longest > cut else "whole")


def _sample(corpus: Corpus, theta: FloatArray, n: int) -> Int64Array:
    filled = np.flatnonzero(~corpus.empty_docs)
    chosen = np.zeros(corpus.n_docs, bool)
    each = min(N_TOP, n // (2 * theta.shape[1]))
    if each:
        for k in range(theta.shape[1]):
            chosen[filled[_largest(theta[filled, k], each)]] = True
    rest = filled[~chosen[filled]]
    wanted = min(n - int(chosen.sum()), len(rest))
    if wanted > 0:
        order = np.lexsort((rest, theta[rest].argmax(axis=1), _ranks(corpus.times, rest), _ranks(corpus.groups, rest)))
        middle = (np.arange(wanted) + 0.5) * len(rest) / wanted
        chosen[rest[order[middle.astype(np.int64)]]] = True
    return np.flatnonzero(chosen)


def _ranks(values: Any, rows: Int64Array) -> Int64Array:
    """Numbers that sort documents by a value of theirs."""
    if values is None:
        return np.zeros(len(rows), np.int64)
    if isinstance(values, np.ndarray):
        return np.asarray(np.unique(values[rows], return_inverse=True)[1], np.int64)
    names = sorted({str(values[d]) for d in rows})
    number = {name: i for i, name in enumerate(names)}
    return np.array([number[str(values[d])] for d in rows], np.int64)


def _largest(values: FloatArray, n: int) -> Int64Array:
    """Numbers of the ``n`` largest, largest first; of equals, the lower number first."""
    return np.argsort(-values, kind="stable")[:n]


# -- the table -------------------------------------------------------------------------------------------------------


def top_docs(source: Source, docs: Documents, k: int) -> list[list[Any]]:
    """Documents of the page with the largest share of a topic, as [number, share], without empty ones."""
    if source.theta is None or source.corpus is None or not len(docs.rows):
        return []
    rows = docs.rows[source.corpus.doc_lengths[docs.rows] > 0]
    shares = source.theta[rows, k]
    return [[int(rows[i]), round(float(shares[i]), 4)] for i in _largest(shares, N_TOP) if shares[i] >= _LEAST_SHARE]


def table(source: Source, docs: Documents, words: WordTable) -> dict[str, Any]:
    """A row per document of the page, column by column."""
    corpus, theta = source.corpus, source.theta
    if corpus is None or theta is None:
        return {"row": [], "id": [], "title": [], "topics": [], "tokens": [], "words": None, "vocabulary": []}
    n_core = len(words)
    rows = [int(d) for d in docs.rows]
    ids = [clean(corpus.ids[d]) if corpus.ids is not None else str(d) for d in rows]
    named = not all(name.isdigit() for name in ids)
    found: dict[str, Any] = {
        "row": rows,
        "id": ids,
        "title": [_title(docs, d, name, named) for d, name in zip(rows, ids, strict=True)],
        "topics": [_topics(theta[d]) for d in rows],
        "tokens": corpus.doc_lengths[docs.rows].tolist(),
        **_known(corpus, rows),
        "words": [_word_counts(corpus, d, words) for d in rows],
    }
    more = [v for v, number in words.numbers.items() if number >= n_core]
    return {**found, "vocabulary": [clean(source.vocabulary[v]) for v in more]}


def _title(docs: Documents, d: int, name: str, named: bool) -> str:
    """A document's id, unless it is a number, and the first words of its text."""
    if docs.texts is None:
        return name
    start = " ".join(clean(docs.texts[d][: 8 * _TITLE]).split())
    first = start if len(start) <= _TITLE else start[:_TITLE].rsplit(" ", 1)[0] + " …"
    return ": ".join(part for part in (name if named else "", first) if part) or name


def _topics(row: FloatArray) -> list[list[Any]]:
    large = np.flatnonzero(row >= _LEAST_SHARE)
    return [[int(k), round(float(row[k]), 3)] for k in large[np.argsort(-row[large], kind="stable")]]


def _known(corpus: Corpus, rows: list[int]) -> dict[str, list[Any]]:
    """What a corpus knows of its documents, if it does."""
    found: dict[str, list[Any]] = {}
    if corpus.times is not None:
        found["time"] = [plain(corpus.times[d]) for d in rows]
    if corpus.groups is not None:
        found["group"] = [plain(corpus.groups[d]) for d in rows]
    if corpus.labels is not None:
        found["labels"] = [[clean(label) for label in corpus.labels[d]] for d in rows]
    if corpus.responses is not None:
        found["response"] = [float(f"{corpus.responses[d]:.6g}") for d in rows]
    return found


def plain(value: Any) -> Any:
    """A time or a group as JSON knows it."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else clean(str(value))


def _word_counts(corpus: Corpus, d: int, words: WordTable) -> list[list[int]]:
    """[word, count] by rising numbers in the page, each as the difference from the one before."""
    own, counts = np.unique(corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]], return_counts=True)
    numbers = sorted((words[int(v)], int(n)) for v, n in zip(own, counts, strict=True))
    before, found = 0, []
    for number, n in numbers:
        found.append([number - before, n])
        before = number
    return found


# -- texts -----------------------------------------------------------------------------------------------------------


def text_blocks(source: Source, docs: Documents) -> list[dict[str, Any]]:
    """Texts and tokens of the page's documents, ``PER_BLOCK`` of them together."""
    corpus = source.corpus
    if corpus is None or not len(docs.rows):
        return []
    of_tokens = token_topics(source)
    vocabulary = source.vocabulary if docs.texts is not None else [clean(word) for word in source.vocabulary]
    placed, tokens = 0, 0
    found: list[dict[str, Any]] = []
    for d in map(int, docs.rows):
        words = [vocabulary[v] for v in corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]].tolist()]
        topics = of_tokens(d)
        if docs.texts is None:
            shades = np.clip(np.rint(topics.share * SHADES), 0, SHADES).astype(int)
            shown = zip(words[:_MOST_TOKENS], topics.topic.tolist(), shades.tolist(), strict=False)
            found.append({"text": None, "cut": len(words) > _MOST_TOKENS, "tokens": list(map(list, shown))})
            continue
        text = clean(docs.texts[d])
        cut = len(text) > docs.cut
        places, n = coloured(text[: docs.cut], words, topics, corpus.text_options)
        if not cut:
            placed, tokens = placed + n, tokens + len(words)
        found.append({"text": text[: docs.cut], "cut": cut, "tokens": places})
    if _are_places_known(corpus.text_options) and placed < _LEAST_PLACED * tokens:
        raise InputError(
            f"the texts are not those of the model: of {counted(tokens, 'tokens')} of its documents {placed:,} are in "
            "them. Give the text of each document of the fit, in the same order."
        )
    return [{"docs": found[i : i + PER_BLOCK]} for i in range(0, len(found), PER_BLOCK)]


def _are_places_known(options: TextOptions | None) -> bool:
    """Whether each token is found in its text: what is stripped, or made by other functions, need not be."""
    return options is not None and options == options._replace(strip=(), tokenizer=None, normalizer=None, ngrams=(1, 1))
