"""MALLET's twelve measures of a topic, from the counts of two passes over the tokens."""

from typing import Any, NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.diagnostics.topic_statistics import (
    Assigned,
    WordPass,
    co_document_scores,
    pass_by_document,
    pass_by_word,
    tokens_of_topics,
)
from topicloom.engine.prior import Prior

MEASURES = (
    "tokens", "document_entropy", "word_length", "coherence", "uniform_dist", "corpus_dist", "eff_num_words",
    "token_doc_diff", "rank_1_docs", "allocation_ratio", "allocation_count", "exclusivity",
)  # fmt: skip


class TopWords(NamedTuple):
    """Values of each topic's top words, best first, arrays [K, M]; behind a topic's last word ``word`` is −1, others 0.

    A word is in a topic's list if at least one of its tokens has the topic. Words are ranked by ``count``; of equals,
    the higher number comes first, as in MALLET.
    """

    word: Int64Array  # its number in the vocabulary
    count: Int64Array  # type: ignore[assignment]  # tokens of the word in the topic; hides tuple.count
    prob: FloatArray  # share of the topic's tokens
    cumulative: FloatArray  # Σ prob up to this word
    docs: Int64Array  # documents in which the word has the topic
    word_length: FloatArray  # characters
    coherence: FloatArray  # lowest pair value with any better word, at most 0
    uniform_dist: FloatArray  # this word's part of the topic's value
    corpus_dist: FloatArray  # this word's part of the topic's value
    token_doc_diff: FloatArray  # this word's part of the topic's value
    exclusivity: FloatArray  # φ_kv / Σ_l φ_lv


def measure(assigned: Assigned, n_top_words: int) -> tuple[dict[str, Any], TopWords]:
    """Arrays [K] by the names in ``MEASURES``, and the values of top words."""
    corpus, prior = assigned.corpus, assigned.prior
    tokens = tokens_of_topics(assigned)
    weight = 1.0 / (prior.beta_sum + tokens)
    by_word = pass_by_word(assigned, tokens, weight, min(n_top_words, corpus.n_words))
    by_doc = pass_by_document(assigned, by_word.word)
    there = by_word.word >= 0
    docs = np.diagonal(by_doc.together, axis1=1, axis2=2).astype(np.int64)
    coherence, word_coherence = np.zeros(len(tokens)), np.zeros(there.shape)
    n_words = there.sum(axis=1)
    co_document_scores(
        by_doc.together, n_words, n_top_words - n_words, float(prior.beta.mean()), coherence, word_coherence
    )
    prob = by_word.count / np.maximum(tokens, 1)[:, None]
    in_corpus = corpus.word_counts[by_word.word] / corpus.n_tokens
    lengths = _lengths(assigned, by_word)
    own = _exclusivity(by_word, prior, weight)
    moved = _divergence(by_word.count, docs)
    values = TopWords(
        word=by_word.word.astype(np.int64),
        count=by_word.count,
        prob=prob,
        cumulative=np.where(there, np.cumsum(prob, axis=1), 0.0),
        docs=docs,
        word_length=lengths,
        coherence=word_coherence,
        uniform_dist=_weighted_log(prob, prob * corpus.n_words),
        corpus_dist=_weighted_log(prob, _ratio(prob, in_corpus)),
        token_doc_diff=moved,
        exclusivity=own,
    )
    entropy = np.log(np.maximum(tokens, 1)) - _ratio(by_doc.count_logs, tokens)
    low, middle, high = by_doc.documents_from.T
    return {
        "tokens": tokens,
        "document_entropy": np.maximum(entropy, 0.0),
        "word_length": lengths.sum(axis=1) / n_top_words,
        "coherence": coherence,
        "uniform_dist": by_word.from_uniform,
        "corpus_dist": by_word.from_corpus,
        "eff_num_words": _ratio(np.ones(len(tokens)), by_word.squares),
        "token_doc_diff": moved.sum(axis=1),
        "rank_1_docs": _ratio(by_doc.first_in, by_doc.documents),
        "allocation_ratio": _ratio(high, low),
        "allocation_count": _ratio(middle, by_doc.documents),
        "exclusivity": own.sum(axis=1) / n_top_words,
    }, values


def _lengths(assigned: Assigned, by_word: WordPass) -> FloatArray:
    """Characters of each top word, as Java counts them: a character beyond U+FFFF is two."""
    words, place = np.unique(by_word.word, return_inverse=True)
    vocabulary = assigned.corpus.vocabulary
    each = np.array([len(vocabulary[v].encode("utf-16-le")) // 2 if v >= 0 else 0 for v in words.tolist()], np.float64)
    return each[place].reshape(by_word.word.shape)


def _exclusivity(by_word: WordPass, prior: Prior, weight: FloatArray) -> FloatArray:
    """φ_kv / Σ_l φ_lv of each top word; ``weight`` is 1 / (n_k + Σ_v β)."""
    word, there = by_word.word, by_word.word >= 0
    own = by_word.count + prior.beta[word]
    everyone = by_word.spread[word] + prior.beta[word] * weight.sum()
    row = prior.boost_row[word]
    if len(prior.boost):
        own += np.where(row >= 0, prior.boost[row, np.arange(len(word))[:, None]], 0.0)
        everyone += np.where(row >= 0, np.einsum("sk,k->s", prior.boost, weight)[row], 0.0)
    return np.where(there, own * weight[:, None] / everyone, 0.0)


def _divergence(count: Int64Array, docs: Int64Array) -> FloatArray:
    """Parts of the Jensen-Shannon divergence between shares of tokens and of documents, [K, M]."""
    p, q = (_ratio(a, a.sum(axis=1, keepdims=True)) for a in (count, docs))
    middle = 0.5 * (p + q)
    return 0.5 * _weighted_log(p, _ratio(p, middle)) + 0.5 * _weighted_log(q, _ratio(q, middle))


def _weighted_log(weight: FloatArray, values: FloatArray) -> FloatArray:
    """weight · log value, 0 where the weight is 0."""
    return weight * np.log(values, out=np.zeros_like(values), where=weight > 0)


def _ratio(above: Any, below: Any) -> FloatArray:
    """above / below, 0 where below is 0."""
    shape = np.broadcast_shapes(np.shape(above), np.shape(below))
    return np.asarray(np.divide(above, below, out=np.zeros(shape), where=np.asarray(below) != 0))
