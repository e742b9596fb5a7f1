"""How texts were turned into words: kept with corpora and models, so that new texts are treated alike."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from topicloom.corpus._checks import shown
from topicloom.errors import InputError

Pairs = tuple[tuple[str, str], ...]
WORD_LISTS = "lists of words"  # in place of a tokenizer's name: the documents came in words
NO_NGRAMS = (1, 1)
STRIPPED = ("html", "urls")
_MOST_NGRAM = 10


class TextOptions(NamedTuple):
    """How texts were turned into words. The names are those of the options of ``from_texts``, which takes the values.

    Parameters
    ----------
    token_pattern : str
        Regular expression of a word; not used if there is a tokenizer.
    lowercase : bool
        Whether words are in lower case.
    stop_words : tuple of str, default=()
        Words that are left out. They do not count as unknown words of new texts.
    strip : tuple of str, default=()
        What is removed from texts before they are cut: "html", "urls".
    tokenizer : str or None, default=None
        Name of a registered tokenizer that is used instead of the pattern.
    normalizer : str or None, default=None
        Name of a registered normalizer of words.
    phrases : tuple, default=()
        Pairs of words that are joined, for each pass.
    ngrams : tuple of int, default=(1, 1)
        Shortest and longest run of words that is counted.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> corpus = from_texts(["The river", "a bank"], stop_words={"the"}, ngrams=(1, 2))
    >>> corpus.text_options.stop_words, corpus.text_options.ngrams
    (('the',), (1, 2))
    """

    token_pattern: str
    lowercase: bool
    stop_words: tuple[str, ...] = ()
    strip: tuple[str, ...] = ()
    tokenizer: str | None = None
    normalizer: str | None = None
    phrases: tuple[Pairs, ...] = ()
    ngrams: tuple[int, int] = NO_NGRAMS

    def of_words(self) -> dict[str, Any]:
        """The options that apply to lists of words: those of ``from_words``."""
        names = ("lowercase", "stop_words", "normalizer", "phrases", "ngrams")
        return {name: getattr(self, name) for name in names}

    def saved(self) -> list[Any]:
        """Plain data for JSON: three values, and an object of the others that are not as by default."""
        first, others = list(self[:3]), self._asdict()
        changed = {name: others[name] for name, value in self._field_defaults.items() if others[name] != value}
        changed.pop("stop_words", None)
        return [*first, changed] if changed else first


def restored(saved: Any) -> TextOptions | None:
    """Text options as JSON gives them back, checked."""
    if saved is None:
        return None
    if not isinstance(saved, list | tuple) or len(saved) not in (3, 4):
        raise InputError(f"the text options are {shown(saved)}, expected a list of three or four values.")
    token_pattern, lowercase, stop_words, *others = saved
    right = isinstance(token_pattern, str) and isinstance(lowercase, bool) and _are_strings(stop_words)
    if not right or not all(isinstance(other, Mapping) for other in others):
        raise InputError(f"the text options {shown(saved)} are not a pattern, true or false, and a list of words.")
    try:
        re.compile(token_pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"the text options have a pattern that is no regular expression ({error}).") from None
    found = {name: _restored(name, value) for other in others for name, value in other.items()}
    return TextOptions(token_pattern, lowercase, tuple(stop_words), **found)


def _restored(name: str, value: Any) -> Any:
    """One of the further options, in the types that it has in memory."""
    if name in ("tokenizer", "normalizer") and isinstance(value, str) and value:
        return value
    if name == "strip" and _are_strings(value) and set(value) <= set(STRIPPED):
        return tuple(value)
    if name == "ngrams" and isinstance(value, list | tuple) and is_range(tuple(value)):
        return tuple(value)
    if name == "phrases" and are_phrases(value):
        return as_phrases(value)
    raise InputError(f"the text options have {name}={shown(value)}, which is not known or not of its form.")


def is_range(value: Any) -> bool:
    """Whether these are a shortest and a longest run of words."""
    whole = isinstance(value, tuple) and all(type(n) is int for n in value)
    return whole and len(value) == 2 and 1 <= value[0] <= value[1] <= _MOST_NGRAM


def are_phrases(value: Any) -> bool:
    """Whether these are pairs of words for each of some passes."""
    if not isinstance(value, list | tuple) or not all(isinstance(pairs, list | tuple) for pairs in value):
        return False
    return all(_are_strings(pair) and len(pair) == 2 for pairs in value for pair in pairs)


def as_phrases(value: Any) -> tuple[Pairs, ...]:
    return tuple(tuple((str(first), str(second)) for first, second in pairs) for pairs in value)


def _are_strings(values: Any) -> bool:
    return isinstance(values, list | tuple) and all(isinstance(value, str) for value in values)
