"""Results as tables: data frames of pandas, polars or pyarrow, or plain rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus._checks import check_whole
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.frames import to_frame
from topicloom.engine.estimator.names import Names


def top_word_numbers(topics: FloatArray, n_words: int) -> Int64Array:
    """Numbers of the likeliest words of each topic [K, n]; ties go to the smaller number."""
    check_whole("n_words", n_words, 1)
    return np.argsort(-topics, axis=1, kind="stable")[:, :n_words]


def top_words(topics: FloatArray, vocabulary: Sequence[str], n_words: int) -> list[list[str]]:
    return [[vocabulary[v] for v in row] for row in top_word_numbers(topics, n_words).tolist()]


def word_counts(corpus: Corpus | None, by_word: FloatArray) -> FloatArray:
    """How often each word occurs, or its weight; without a corpus, the sum of expected counts plus β [V, K]."""
    if corpus is None:
        return np.asarray(by_word.sum(axis=1))
    if corpus.weights is None:
        return corpus.word_counts.astype(np.float64)
    return np.bincount(corpus.words, corpus.weights, minlength=corpus.n_words).astype(np.float64, copy=False)


def relevant_words(
    topics: FloatArray, counts: FloatArray, vocabulary: Sequence[str], n_words: int, weight: float = 0.6
) -> list[list[str]]:
    """The most relevant words of each topic; ``topics`` [K, V], and how often each word occurs [V]."""
    from topicloom.evaluation.word_scores import log_shares, relevance  # a fit needs none of it

    marginal, found = log_shares(counts), []
    for row in topics:
        scores = relevance(np.ascontiguousarray(row)[None], marginal, weight)
        found += top_words(scores, vocabulary, n_words)
    return found


def topics_frame(
    topics: FloatArray, vocabulary: Sequence[str], n_words: int, frame: Any, names: Names | None = None
) -> Any:
    """One row for each topic and rank, as a frame."""
    return to_frame(word_columns(topics, vocabulary, n_words, names), frame)


def word_columns(
    topics: FloatArray, vocabulary: Sequence[str], n_words: int, names: Names | None = None
) -> dict[str, Any]:
    """Columns of topics' words: topic, its name if any topic has one, rank (from 1), word, probability."""
    numbers = top_word_numbers(topics, n_words)
    n_topics, n = numbers.shape
    columns = {
        "topic": np.repeat(np.arange(n_topics), n),
        "rank": np.tile(np.arange(1, n + 1), n_topics),
        "word": [vocabulary[v] for v in numbers.ravel().tolist()],
        "probability": np.take_along_axis(topics, numbers, axis=1).ravel(),
    }
    return with_names(columns, names)


def with_names(columns: dict[str, Any], names: Names | None) -> dict[str, Any]:
    """The columns with topics' names behind their numbers, "" for those without, if any topic has a name."""
    if not names or not any(names):
        return columns
    own = {"name": [names[k] or "" for k in columns["topic"]]}
    place = list(columns).index("topic") + 1
    items = list(columns.items())
    return dict([*items[:place], *own.items(), *items[place:]])


def topic_columns(n_topics: int, names: Names | None, taken: Iterable[str] = ()) -> list[str]:
    """What columns of topics are called: a topic's name, or ``topic_3`` if it has none or the name is taken."""
    return named_columns([f"topic_{k}" for k in range(n_topics)], names, taken)


def named_columns(plain: Sequence[str], names: Names | None, taken: Iterable[str] = ()) -> list[str]:
    """Topics' names, or plain ones of those that have none or whose name is taken. No two are the same."""
    reserved = {*taken, *plain}
    given = names or (None,) * len(plain)
    return [own if name is None or name in reserved else name for own, name in zip(plain, given, strict=True)]


def doc_topics_frame(corpus: Corpus, theta: FloatArray, frame: Any, names: Names | None = None) -> Any:
    """One row per document: id, number of tokens, share of unknown words if known, and a column per topic."""
    columns: dict[str, Any] = {"id": _ids(corpus), "tokens": corpus.doc_lengths}
    if corpus.unknown is not None:
        columns["unknown_share"] = corpus.unknown / np.maximum(corpus.unknown + corpus.doc_lengths, 1)
    own = topic_columns(theta.shape[1], names, ("id", "tokens", "unknown_share"))
    columns |= {name: theta[:, k] for k, name in enumerate(own)}
    return to_frame(columns, frame)


def top_docs(
    corpus: Corpus, theta: FloatArray, topic: int, n_docs: int, frame: Any, *, text_length: int | None = None
) -> Any:
    """Documents with the largest share of a topic, as a frame."""
    return to_frame(best_docs(corpus, theta, topic, n_docs, text_length=text_length), frame)


def best_docs(
    corpus: Corpus, theta: FloatArray, topic: int, n_docs: int, *, text_length: int | None = None
) -> dict[str, Any]:
    """Documents with the largest share of a topic: document (row), id, share, tokens, and text if it is kept."""
    check_whole("n_docs", n_docs, 1)
    if text_length is not None:
        check_whole("text_length", text_length, 0)
    best = np.argsort(-theta[:, topic], kind="stable")[:n_docs]
    ids = _ids(corpus)
    return {
        "document": best,
        "id": [ids[d] for d in best],
        "share": theta[best, topic],
        "tokens": corpus.doc_lengths[best],
        **_texts(corpus, best, text_length),
    }


def _texts(corpus: Corpus, documents: Int64Array, length: int | None) -> dict[str, list[str]]:
    if corpus.texts is None or length == 0:
        return {}
    return {"text": [cut(corpus.texts[d], length) for d in documents.tolist()]}


def cut(text: str, length: int | None) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if length is None or len(text) <= length else text[: length - 1].rstrip() + "…"


def _ids(corpus: Corpus) -> Sequence[str]:
    return corpus.ids if corpus.ids is not None else [str(d) for d in range(corpus.n_docs)]
