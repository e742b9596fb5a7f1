"""Where the tokens of a document are in its text, and how sure their topics are.

The shade of a token is p(its topic | all other tokens), the dense distribution that CGS_p averages. Counts of words and
topics are those of one state, and the token itself is taken out of them.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus import places as in_text
from topicloom.corpus.corpus import Corpus, TextOptions
from topicloom.explore.source import Source

SHADES = 15
_BAD = re.compile("[\x00\ud800-\udfff]")


# -- how sure a topic is -------------------------------------------------------------------------------------------


class TokenTopics(NamedTuple):
    """Topic of each token of a document, and its probability."""

    topic: Int64Array
    share: FloatArray


def token_topics(source: Source) -> Callable[[int], TokenTopics]:
    """A function from a document's number to the topics of its tokens.

    With a state that has a topic per token these are its topics, each with its full conditional given all others. A
    model that draws none has the likeliest topic given θ and φ, and a hidden Markov model the likeliest state.
    """
    corpus = source.corpus
    assert corpus is not None
    if source.posterior is not None:
        posterior = source.posterior
        return lambda d: _likeliest(posterior(d))
    z = _topics_by_token(source, corpus)
    if z is None:
        return lambda d: _soft(source, corpus, d)
    conditional = _conditional(source, corpus)

    def given_all_others(d: int) -> TokenTopics:
        own = z[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]].astype(np.int64)
        if len(own) == 0:
            return TokenTopics(own, np.zeros(0))
        weights = conditional(d, own)
        return TokenTopics(own, np.take_along_axis(weights, own[:, None], axis=1)[:, 0] / weights.sum(axis=1))

    return given_all_others


def _topics_by_token(source: Source, corpus: Corpus) -> AnyArray | None:
    """z of all tokens, of the first path; None if there is none."""
    z = getattr(source.state, "z", None)
    if z is None or np.asarray(z).dtype.kind not in "iu" or corpus.weights is not None:
        return None
    return np.asarray(z)[: corpus.n_tokens] if len(z) >= corpus.n_tokens else None


def _conditional(source: Source, corpus: Corpus) -> Callable[[int, Int64Array], FloatArray]:
    """Weights [n, K] of the topics of a document's tokens, each without the token itself."""
    state, prior = source.state, source.prior
    counts = state.as_dense()
    alpha, alpha_row, n_topics = prior.alpha, prior.alpha_row, prior.n_topics
    label_ptr = getattr(state, "label_ptr", None)
    losses = _losses(state) if hasattr(state, "eta") else None

    def weigh(d: int, own: Int64Array) -> FloatArray:
        words = corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]
        each = np.arange(len(own))
        by_word = counts.word_topic[words] + prior.beta[words][:, None]
        boosted = np.flatnonzero(prior.boost_row[words] >= 0)
        by_word[boosted] += prior.boost[prior.boost_row[words[boosted]]]
        by_word[each, own] -= 1.0
        in_doc = np.tile(np.bincount(own, minlength=n_topics) + alpha[alpha_row[d]], (len(own), 1))
        in_doc[each, own] -= 1.0
        total = np.tile(counts.topic + prior.beta_sum, (len(own), 1))
        total[each, own] -= 1.0
        weights: FloatArray = by_word * in_doc / total
        if label_ptr is not None:
            allowed = np.zeros(n_topics)
            allowed[state.labels[label_ptr[d] : label_ptr[d + 1]]] = 1.0
            weights *= allowed
        if losses is not None:
            weights *= losses(d, own)
        return weights

    return weigh


def _losses(state: Any) -> Callable[[int, Int64Array], FloatArray]:
    """What the labels of a supervised model add to a token's weights."""
    from topicloom.medlda.soft_counts import weigh_losses

    def factors(d: int, own: Int64Array) -> FloatArray:
        out = np.empty((len(own), len(state.topic)))
        sums = np.ascontiguousarray(state.eta[own].sum(axis=0))
        for topic in np.unique(own):
            row = np.empty(len(state.topic))
            weigh_losses(int(topic), d, len(own), sums, state, row)
            out[own == topic] = row
        return out

    return factors


def _soft(source: Source, corpus: Corpus, d: int) -> TokenTopics:
    """The likeliest topics given θ and φ."""
    assert source.theta is not None
    words = corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]
    return _likeliest(source.phi[:, words].T * source.theta[d])


def _likeliest(weights: FloatArray) -> TokenTopics:
    if len(weights) == 0:
        return TokenTopics(np.zeros(0, np.int64), np.zeros(0))
    total = weights.sum(axis=1)
    return TokenTopics(
        weights.argmax(axis=1), np.divide(weights.max(axis=1), total, out=np.zeros(len(total)), where=total > 0)
    )


# -- where tokens are ----------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A word in a text, in UTF-16 units."""

    start: int
    length: int
    word: str


def clean(text: str) -> str:
    """The text as a page can hold it: no NUL and no half of a character."""
    if text.isascii() and "\0" not in text:
        return text
    return _BAD.sub("\ufffd", text)


def places(text: str, options: TextOptions | None) -> list[Place]:
    """Words of a text and where they are, cut as the corpus's texts were."""
    found, units = in_text.places(text, options), _utf16(text)
    if units is None:
        return [Place(one.start, one.end - one.start, one.word) for one in found]
    return [Place(int(units[one.start]), int(units[one.end] - units[one.start]), one.word) for one in found]


def _utf16(text: str) -> Int64Array | None:
    """Where each character begins in UTF-16 units, and the end; None if that is its own number."""
    if text.isascii() or max(text) <= "\uffff":
        return None
    wide = np.frombuffer(text.encode("utf-32-le"), np.uint32) > 0xFFFF
    return np.concatenate(([0], np.cumsum(1 + wide.astype(np.int64))))


def coloured(
    text: str, words: list[str], topics: TokenTopics, options: TextOptions | None
) -> tuple[list[list[int]], int]:
    """Tokens of a text as the page has them, and how many of the document's tokens were found in it.

    Occurrences of a word take the topics of its tokens in their order. Where the corpus keeps the order of the text
    this is token by token; where it does not, which occurrence has which topic is not known, and the first come first.
    """
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for i, word in enumerate(words):
        waiting[word].append(i)
    shades = np.clip(np.rint(topics.share * SHADES), 0, SHADES).astype(int)
    found: list[list[int]] = []
    end = 0
    for place in places(text, options):
        own = waiting.get(place.word)
        if own:
            i = own.popleft()
            found.append([place.start - end, place.length, int(topics.topic[i]), int(shades[i])])
            end = place.start + place.length
    return found, len(found)
