"""Where the tokens of a document are in its text, and how sure their topics are.

The shade of a token is p(its topic | all other tokens), the dense distribution that CGS_p averages. Counts of words and
topics are those of one state, and the token itself is taken out of them.
"""

import re
import unicodedata
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus, TextOptions
from topicloom.corpus.phrases import JOINT
from topicloom.corpus.registry import normalizer_of, tokenizer_of
from topicloom.corpus.text import DEFAULT_PATTERN
from topicloom.errors import InputError, MissingExtraError
from topicloom.explore.source import Source

SHADES = 15
_BAD = re.compile("[\x00\ud800-\udfff]")
_NO_START = ("Mn", "Mc")  # marks belong to the letter before them


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
    """Words of a text and where they are, cut as the corpus's texts were.

    Words are cut from the text in lower case and composed form, which may be longer or shorter than the text itself.
    Words of a tokenizer are looked for in the text, and those of a normalizer are at the words that it was given, if it
    returns one for each. Of n-grams there are the single words.
    """
    how = options or TextOptions(DEFAULT_PATTERN, True)
    try:
        return _word_places(text, how)
    except (InputError, MissingExtraError):  # a function that is not registered here
        return _cut_places(text, TextOptions(DEFAULT_PATTERN, how.lowercase))


def _word_places(text: str, how: TextOptions) -> list[Place]:
    """Words as they are after each step, and where they are."""
    found = _cut_places(text, how) if how.tokenizer is None else _searched(text, how)
    if how.normalizer is None and not how.phrases:
        return found
    stop = set(how.stop_words)
    found = [place for place in found if place.word not in stop]
    if how.normalizer is not None:
        words = list(normalizer_of(how.normalizer)[0]([place.word for place in found]))
        if len(words) != len(found):
            return []
        found = [place._replace(word=word) for place, word in zip(found, words, strict=True)]
    for pairs in how.phrases:
        found = _joined(found, set(pairs))
    return found


def _searched(text: str, how: TextOptions) -> list[Place]:
    """Words of a tokenizer, each looked for behind the one before."""
    assert how.tokenizer is not None
    units, found, at = _utf16(text), [], 0
    for word in tokenizer_of(how.tokenizer)[0](text):
        start = text.find(word, at)
        if start >= 0 and word:
            at = start + len(word)
            first, last = (start, at) if units is None else (int(units[start]), int(units[at]))
            found.append(Place(first, last - first, word.lower() if how.lowercase else word))
    return found


def _joined(places: list[Place], pairs: set[tuple[str, str]]) -> list[Place]:
    """Phrases as one place each, from left to right."""
    found: list[Place] = []
    joint = False  # whether the last one is a phrase of this pass
    for place in places:
        if found and not joint and (found[-1].word, place.word) in pairs:
            start = found[-1].start
            found[-1] = Place(start, place.start + place.length - start, f"{found[-1].word}{JOINT}{place.word}")
            joint = True
        else:
            found.append(place)
            joint = False
    return found


def _cut_places(text: str, how: TextOptions) -> list[Place]:
    """What the pattern finds in a text."""
    cut = re.compile(how.token_pattern)
    group = 1 if cut.groups else 0
    plain, starts, ends = _one_form(text, how.lowercase)
    units = _utf16(text)
    found = []
    for match in cut.finditer(plain):
        first, last = match.span(group)
        if last <= first:
            continue
        start, end = (first, last) if starts is None or ends is None else (int(starts[first]), int(ends[last - 1]))
        if units is not None:
            start, end = int(units[start]), int(units[end])
        found.append(Place(start, end - start, match.group(group)))
    return found


def _one_form(text: str, lowercase: bool) -> tuple[str, Int64Array | None, Int64Array | None]:
    """The text that words are cut from and, if it is not as long as the text, where each character comes from."""
    whole = text.lower() if lowercase else text
    whole = whole if whole.isascii() else unicodedata.normalize("NFC", whole)
    if text.isascii():
        return whole, None, None
    lowered = [character.lower() for character in text] if lowercase else list(text)
    parts: list[str] = []
    begins: list[int] = []
    for i, character in enumerate(lowered):
        if begins and not _starts(text[i]):
            parts[-1] += character
        else:
            parts.append(character)
            begins.append(i)
    formed = [part if part.isascii() else unicodedata.normalize("NFC", part) for part in parts]
    if sum(map(len, formed)) != len(whole):  # no rule of ours: then places are those of the text as it is
        return (text.lower() if lowercase and len(text.lower()) == len(text) else text), None, None
    sizes = [len(part) for part in formed]
    starts = np.repeat(begins, sizes)
    ends = np.repeat([*begins[1:], len(text)], sizes)
    return whole, starts, ends


def _starts(character: str) -> bool:
    """Whether a character can stand alone, so that composing does not reach across it."""
    if character.isascii():
        return True
    jamo = "\u1160" <= character <= "\u11ff"
    return not jamo and unicodedata.combining(character) == 0 and unicodedata.category(character) not in _NO_START


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
