"""Large corpora whose words follow Zipf's law, with known topics."""

import math
from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int32Array, Int64Array
from topicloom.corpus._checks import read_only, shown
from topicloom.corpus.corpus import Corpus
from topicloom.datasets.synthetic import _check_sizes, _dirichlet, _generator, _names
from topicloom.errors import InputError


class SyntheticZipf(NamedTuple):
    """A large corpus and its truth in a form that stays small. ``phi()`` and ``theta()`` give the dense arrays.

    Attributes
    ----------
    corpus : Corpus
    word_share : array of float, shape (n_words,)
        Expected share of each word in the corpus.
    word_topic : array of int, shape (n_words,)
        The topic that each word belongs to.
    doc_topics : array of int, shape (n_docs, topics_per_doc)
        Topics of each document; a topic may occur twice.
    doc_weights : array of float, shape (n_docs, topics_per_doc)
        Their weights.
    background : float
        Share of tokens from all words.

    Examples
    --------
    >>> from topicloom.datasets import zipf
    >>> truth = zipf(1000, 50, 4, doc_length=20)
    >>> truth.phi().shape, truth.theta().shape
    ((4, 50), (50, 4))
    """

    corpus: Corpus
    word_share: FloatArray  # [words] expected share of each word in the corpus
    word_topic: Int32Array  # [words] the topic that each word belongs to
    doc_topics: Int32Array  # [documents, topics_per_doc], a topic may come twice
    doc_weights: FloatArray  # [documents, topics_per_doc]
    background: float

    def phi(self) -> FloatArray:
        """The topics as a dense array.

        Returns
        -------
        array of float, shape (n_topics, n_words)
        """
        words = np.arange(len(self.word_share))
        topics = np.zeros((int(self.word_topic.max()) + 1, len(words)))
        topics[self.word_topic, words] = self.word_share
        topics *= (1 - self.background) / topics.sum(axis=1, keepdims=True)
        topics += self.background * self.word_share
        return topics

    def theta(self) -> FloatArray:
        """The topics of the documents as a dense array.

        Returns
        -------
        array of float, shape (n_docs, n_topics)
        """
        theta = np.zeros((self.corpus.n_docs, int(self.word_topic.max()) + 1))
        np.add.at(theta, (np.arange(len(theta))[:, None], self.doc_topics), self.doc_weights)
        return theta


def zipf(
    n_tokens: int = 1_000_000,
    n_words: int = 50_000,
    n_topics: int = 100,
    *,
    doc_length: float = 200.0,
    exponent: float = 1.0,
    topics_per_doc: int = 5,
    background: float = 0.2,
    seed: int = 0,
) -> SyntheticZipf:
    """A corpus of any size with Zipf's law for its words, made quickly and in little memory.

    Word v has an expected share proportional to (v + 1) to the power of -``exponent``. Each word belongs to one topic.
    Beside 4 bytes per token of the corpus, memory is proportional to the number of documents and words.

    Parameters
    ----------
    n_tokens, n_words, n_topics : int, default=1_000_000, 50_000 and 100
        Numbers of tokens, words and topics.
    doc_length : float, default=200.0
        Mean length of the documents. Lengths vary and add up to exactly ``n_tokens``.
    exponent : float, default=1.0
        Exponent of Zipf's law.
    topics_per_doc : int, default=5
        Topics of each document.
    background : float, default=0.2
        Share of a document's tokens that come from all words.
    seed : int, default=0
        Seed of the random numbers; the same seed gives the same result.

    Returns
    -------
    SyntheticZipf

    Examples
    --------
    >>> from topicloom.datasets import zipf
    >>> zipf(1000, 50, 4, doc_length=20).corpus
    Corpus(50 documents, 50 words, 1,000 tokens)
    """
    _check_sizes(n_tokens=n_tokens, n_words=n_words, n_topics=n_topics, topics_per_doc=topics_per_doc)
    if n_topics > n_words:
        raise InputError(f"n_topics={n_topics} is more than n_words={n_words}; each topic needs a word of its own.")
    if not (math.isfinite(exponent) and exponent >= 0):
        raise InputError(f"exponent={exponent!r} must be 0 or more.")
    if not 0 <= background <= 1:
        raise InputError(f"background={background!r} must lie between 0 and 1.")
    number = isinstance(doc_length, int | float | np.integer | np.floating)
    if not (number and math.isfinite(doc_length) and doc_length > 0):
        raise InputError(f"doc_length={shown(doc_length)} must be a positive number.")
    rng = _generator(seed)
    share = np.arange(1, n_words + 1, dtype=np.float64) ** -exponent
    share /= share.sum()
    # Deal the words to the topics in rounds, a word each, so that every topic has frequent and rare words.
    rounds = -(-n_words // n_topics)
    word_topic = rng.random((rounds, n_topics)).argsort(axis=1).ravel()[:n_words].astype(np.int32)
    topic_share: FloatArray = np.bincount(word_topic, share, minlength=n_topics).astype(np.float64)

    n_docs = max(1, round(n_tokens / doc_length))
    lengths = rng.multinomial(n_tokens, np.full(n_docs, 1 / n_docs))
    # A topic is drawn as often as its words weigh: that makes the words of the corpus follow Zipf's law.
    doc_topics = rng.choice(n_topics, size=(n_docs, topics_per_doc), p=topic_share / topic_share.sum())
    doc_weights = _dirichlet(rng, np.ones((n_docs, topics_per_doc)))
    words = _zipf_stream(rng, share, word_topic, topic_share, lengths, doc_topics, doc_weights, background)
    ptr = np.concatenate(([0], np.cumsum(lengths)))
    corpus = Corpus(read_only(words), ptr, _names("word", n_words))
    return SyntheticZipf(corpus, share, word_topic, doc_topics.astype(np.int32), doc_weights, background)


def _zipf_stream(
    rng: np.random.Generator,
    share: FloatArray,
    word_topic: Int32Array,
    topic_share: FloatArray,
    lengths: Int64Array,
    doc_topics: Int64Array,
    doc_weights: FloatArray,
    background: float,
) -> Int32Array:
    """Words by inverting a distribution function in which each topic's words are neighbours.

    A draw from topic k is then a uniform draw from that topic's interval, and one from the background a
    draw from all.
    """
    by_topic = np.argsort(word_topic, kind="stable").astype(np.int32)
    upper = np.cumsum(share[by_topic])
    upper /= upper[-1]
    start = np.concatenate(([0.0], np.cumsum(topic_share)))[:-1]
    words = np.empty(int(lengths.sum()), np.int32)
    done = 0
    chunk = 4096  # documents at a time: working memory stays at some tens of bytes for each of their tokens
    for first in range(0, len(lengths), chunk):
        part = slice(first, first + chunk)
        topics = doc_topics[part]
        # The background is one more topic of every document, with all words as its interval.
        weights = np.column_stack(((1 - background) * doc_weights[part], np.full(len(topics), background)))
        counts = rng.multinomial(lengths[part], weights).ravel()
        from_ = np.column_stack((start[topics], np.zeros(len(topics)))).ravel()
        width = np.column_stack((topic_share[topics], np.ones(len(topics)))).ravel()
        u = rng.random(int(counts.sum()))
        u *= np.repeat(width, counts)
        u += np.repeat(from_, counts)
        found = np.searchsorted(upper, u, side="right")
        words[done : done + len(u)] = by_topic[np.minimum(found, len(upper) - 1)]
        done += len(u)
    return words
