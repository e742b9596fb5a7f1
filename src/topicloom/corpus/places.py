"""Where the words of a text are in it."""

import re
import unicodedata
from dataclasses import dataclass

import numpy as np

from topicloom._types import Int64Array
from topicloom.corpus.corpus import TextOptions
from topicloom.corpus.text import DEFAULT_PATTERN

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
    """
    how = options or TextOptions(DEFAULT_PATTERN, True)
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
