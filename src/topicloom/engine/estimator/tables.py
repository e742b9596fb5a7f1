"""Results as data frames, of pandas or polars."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus._checks import check_whole, shown
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.frames import to_frame
from topicloom.errors import InputError


def top_word_numbers(topics: FloatArray, n_words: int) -> Int64Array:
    """Numbers of the likeliest words of each topic [K, n]; ties go to the smaller number."""
    check_whole("n_words", n_words, 1)
    return np.argsort(-topics, axis=1, kind="stable")[:, :n_words]


def top_words(topics: FloatArray, vocabulary: Sequence[str], n_words: int) -> list[list[str]]:
    return [[vocabulary[v] for v in row] for row in top_word_numbers(topics, n_words).tolist()]


def topics_frame(topics: FloatArray, vocabulary: Sequence[str], n_words: int, frame: Any) -> Any:
    """One row for each topic and rank: topic, rank (from 1), word, probability."""
    numbers = top_word_numbers(topics, n_words)
    n_topics, n = numbers.shape
    return to_frame(
        {
            "topic": np.repeat(np.arange(n_topics), n),
            "rank": np.tile(np.arange(1, n + 1), n_topics),
            "word": [vocabulary[v] for v in numbers.ravel().tolist()],
            "probability": np.take_along_axis(topics, numbers, axis=1).ravel(),
        },
        frame,
    )


def doc_topics_frame(corpus: Corpus, theta: FloatArray, frame: Any) -> Any:
    """One row per document: id, number of tokens, share of unknown words if known, and ``topic_0`` … ``topic_K−1``."""
    columns: dict[str, Any] = {"id": _ids(corpus), "tokens": corpus.doc_lengths}
    if corpus.unknown is not None:
        columns["unknown_share"] = corpus.unknown / np.maximum(corpus.unknown + corpus.doc_lengths, 1)
    columns |= {f"topic_{k}": theta[:, k] for k in range(theta.shape[1])}
    return to_frame(columns, frame)


def top_docs(corpus: Corpus, theta: FloatArray, topic: int, n_docs: int, frame: Any) -> Any:
    """Documents with the largest share of a topic: document (row), id, share, tokens."""
    if not isinstance(topic, int | np.integer) or not 0 <= topic < theta.shape[1]:
        raise InputError(f"topic {shown(topic)} does not exist; topics are numbered 0 to {theta.shape[1] - 1}.")
    check_whole("n_docs", n_docs, 1)
    best = np.argsort(-theta[:, topic], kind="stable")[:n_docs]
    ids = _ids(corpus)
    return to_frame(
        {
            "document": best,
            "id": [ids[d] for d in best],
            "share": theta[best, topic],
            "tokens": corpus.doc_lengths[best],
        },
        frame,
    )


def _ids(corpus: Corpus) -> Sequence[str]:
    return corpus.ids if corpus.ids is not None else [str(d) for d in range(corpus.n_docs)]
