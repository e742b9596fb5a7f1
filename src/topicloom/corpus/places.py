"""Where the words of a text are in it."""

import re
import unicodedata
from dataclasses import dataclass, replace

import numpy as np

from topicloom._types import Int64Array
from topicloom.corpus.corpus import TextOptions
from topicloom.corpus.phrases import JOINT
from topicloom.corpus.registry import normalizer_of, tokenizer_of
from topicloom.corpus.text import DEFAULT_PATTERN
from topicloom.errors import InputError, MissingExtraError

_NO_START = ("Mn", "Mc")  # marks belong to the letter before them


@dataclass(frozen=True, slots=True)
class Place:
    """A word, and the characters of the text that it was cut from."""

    start: int
    end: int
    word: str


def places(text: str, options: TextOptions | None) -> list[Place]:
    """Words of a text and where they are, cut as a corpus's texts were.

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
        found = [replace(place, word=word) for place, word in zip(found, words, strict=True)]
    for pairs in how.phrases:
        found = _joined(found, set(pairs))
    return found


def _searched(text: str, how: TextOptions) -> list[Place]:
    """Words of a tokenizer, each looked for behind the one before."""
    assert how.tokenizer is not None
    found, at = [], 0
    for word in tokenizer_of(how.tokenizer)[0](text):
        start = text.find(word, at)
        if start >= 0 and word:
            at = start + len(word)
            found.append(Place(start, at, word.lower() if how.lowercase else word))
    return found


def _joined(places: list[Place], pairs: set[tuple[str, str]]) -> list[Place]:
    """Phrases as one place each, from left to right."""
    found: list[Place] = []
    joint = False  # whether the last one is a phrase of this pass
    for place in places:
        if found and not joint and (found[-1].word, place.word) in pairs:
            found[-1] = Place(found[-1].start, place.end, f"{found[-1].word}{JOINT}{place.word}")
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
    found = []
    for match in cut.finditer(plain):
        first, last = match.span(group)
        if last <= first:
            continue
        start, end = (first, last) if starts is None or ends is None else (int(starts[first]), int(ends[last - 1]))
        found.append(Place(start, end, match.group(group)))
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
