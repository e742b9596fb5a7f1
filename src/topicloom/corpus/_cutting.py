"""One text to its words: what is stripped, the pattern or tokenizer, case, stop words, normalizer."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from topicloom.corpus._checks import shown
from topicloom.corpus._markup import strippers
from topicloom.corpus.registry import Normalizer, Tokenizer, normalizer_of, tokenizer_of
from topicloom.corpus.text_options import TextOptions
from topicloom.errors import InputError

# Python's \w leaves out combining marks, which would cut Hindi, Thai, pointed Hebrew and decomposed accents
# into pieces. These are the marks of living scripts, with the two joiners that Persian and Indic words hold.
MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711-\u07f3\u08e3-\u0963\u0981-\u09e3\u09fe-\u0a75\u0a81-\u0ae3"
    r"\u0afa-\u0b63\u0b82-\u0bd7\u0c00-\u0c63\u0c81-\u0c83\u0cbc-\u0d4d\u0d57-\u0d63\u0d81-\u0df3\u0e31-\u0e3a"
    r"\u0e47-\u0e4e\u0eb1-\u0ecd\u0f71-\u0f84\u0f90-\u0fbc\u102b-\u103e\u1056-\u109d\u135d-\u135f\u1712-\u1734"
    r"\u1752-\u17d3\u17dd\u180b-\u180d\u1ab0-\u1b44\u1dc0-\u1dff\u200c\u200d\u20d0-\u20f0\u3099\u309a"
    r"\ufe00-\ufe0f\ufe20-\ufe2f"
)
# A run of two or more letters, marks and digits that is not a bare number. It starts where no such run is
# under way, and the possessive quantifiers keep the search linear on any input.
DEFAULT_PATTERN = (
    r"(?<![^\W_])(?=\d*+[^\W\d_])"
    rf"[^\W_](?:[^\W_]|[{MARKS}])[^\W_]*+(?:[{MARKS}]++[^\W_]*+)*+"
)
# The same for plain ASCII, several times as fast: all but letters and digits becomes blank.
_ASCII = [chr(c) if chr(c).isalnum() else " " for c in range(128)]
_PLAIN = "".join(_ASCII).encode() + b" " * 128
_LOWER = "".join(_ASCII).lower().encode() + b" " * 128


class Cutter(NamedTuple):
    """How texts become words before phrases are joined. Workers get it with its functions, not their names."""

    pattern: str
    lowercase: bool
    stop_words: frozenset[str]
    strip: tuple[str, ...] = ()
    tokenizer: Tokenizer | None = None
    normalizer: Normalizer | None = None

    @property
    def by_default(self) -> bool:
        """Whether the default pattern cuts words."""
        return self.pattern == DEFAULT_PATTERN and self.tokenizer is None

    @property
    def compiled(self) -> bool:
        """Whether compiled code cuts all words, without functions that run in Python for each text."""
        return self.by_default and self.normalizer is None and not self.strip

    def function(self) -> Callable[[str], list[str]]:
        """From a text to its words."""
        runs, leaves_out, normalizer = self.runs(), self.leaves_out, self.normalizer

        def cut(text: str) -> list[str]:
            words = [word for word in runs(text) if not leaves_out(word)]
            return words if normalizer is None else strings(normalizer(words), "normalizer")

        return cut

    def leaves_out(self, run: str) -> bool:
        """Whether a run of letters is a stop word, or no word at all."""
        return run in self.stop_words or (self.by_default and (len(run) < 2 or (run.isascii() and run.isdigit())))

    def runs(self) -> Callable[[str], list[str]]:
        """From a text to what the pattern or the tokenizer finds in it; what ``leaves_out`` tells is still there."""
        cut, steps = self._cut(), strippers(self.strip)
        if not steps:
            return cut

        def stripped(text: str) -> list[str]:
            for step in steps:
                text = step(text)
            return cut(text)

        return stripped

    def _cut(self) -> Callable[[str], list[str]]:
        lowercase, tokenizer = self.lowercase, self.tokenizer
        if tokenizer is not None:  # it sees the text as it is; then case is dealt with
            return lambda text: lowered(strings(tokenizer(text), "tokenizer"), lowercase)
        find_all: Callable[[str], list[str]] = compiled(self.pattern).findall
        if self.pattern != DEFAULT_PATTERN:
            return lambda text: find_all(one_form(text, lowercase))
        table = _LOWER if lowercase else _PLAIN

        def cut(text: str) -> list[str]:
            if text.isascii():
                return text.encode().translate(table).decode().split()
            return find_all(one_form(text, lowercase))

        return cut


@lru_cache(maxsize=16)
def _function_of(cutter: Cutter) -> Callable[[str], list[str]]:
    return cutter.function()


def cutter_of(options: TextOptions) -> Cutter:
    """The cutter that these options describe; what they name must be registered."""
    return Cutter(
        options.token_pattern,
        options.lowercase,
        frozenset(options.stop_words),
        options.strip,
        None if options.tokenizer is None else tokenizer_of(options.tokenizer)[0],
        None if options.normalizer is None else normalizer_of(options.normalizer)[0],
    )


def words_of(text: str, options: TextOptions) -> list[str]:
    """The words of one text, before phrases are joined."""
    return _function_of(cutter_of(options))(text)


def one_form(text: str, lowercase: bool) -> str:
    """One spelling of "é": composed, whichever way the text writes it."""
    text = text.lower() if lowercase else text
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def lowered(words: list[str], lowercase: bool) -> list[str]:
    return [word.lower() for word in words] if lowercase else words


def strings(found: Any, source: str) -> list[str]:
    """A list of words, as a function of the caller's must return it."""
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise InputError(f"the {source} returned {typed(found)}; it must return the text's words.")
    words = list(found)
    for word in words:
        if not isinstance(word, str):
            raise InputError(f"the {source} returned {typed(word)}; every word must be a string.")
    return words


def compiled(pattern: str) -> re.Pattern[str]:
    try:
        made = re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise InputError(f"token_pattern {pattern!r} is not a regular expression: {error}.") from None
    if made.groups > 1:
        raise InputError(
            f"token_pattern {pattern!r} has {made.groups} groups; at most one may mark the word. "
            "Write the others as (?:...)."
        )
    return made


def typed(value: object) -> str:
    return f"{shown(value)} ({type(value).__name__})"
