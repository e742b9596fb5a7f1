"""Tokenizers and normalizers by name: files hold names, never code."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from topicloom.corpus._checks import shown
from topicloom.corpus.text_options import WORD_LISTS
from topicloom.errors import InputError, MissingExtraError

Tokenizer = Callable[[str], Iterable[str]]
Normalizer = Callable[[list[str]], Iterable[str]]

_TOKENIZERS: dict[str, Tokenizer] = {}
_NORMALIZERS: dict[str, Normalizer] = {}
_SNOWBALL = "snowball:"
_STEMS_KEPT = 1 << 18


def register_tokenizer(name: str, function: Tokenizer) -> None:
    """Give a tokenizer a name, under which corpora and models remember it.

    Files hold the name and no code, so a program that loads a model registers the function again before it cuts new
    texts. Registering a name again replaces the function.

    Parameters
    ----------
    name : str
        The name that is saved.
    function : callable
        From a text to its words.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> from topicloom.corpus import register_tokenizer
    >>> register_tokenizer("commas", lambda text: text.split(","))
    >>> from_texts(["new york,rome"], tokenizer="commas").vocabulary
    ('new york', 'rome')
    """
    _register(_TOKENIZERS, "tokenizer", name, function)


def register_normalizer(name: str, function: Normalizer) -> None:
    """Give a normalizer (of lemmas or stems, say) a name, under which corpora and models remember it.

    Parameters
    ----------
    name : str
        The name that is saved.
    function : callable
        From a document's list of words to the words to use instead.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> from topicloom.corpus import register_normalizer
    >>> register_normalizer("no plural", lambda words: [word.removesuffix("s") for word in words])
    >>> from_texts(["rivers and river"], normalizer="no plural").vocabulary
    ('and', 'river')
    """
    _register(_NORMALIZERS, "normalizer", name, function)


def tokenizer_of(given: Any) -> tuple[Tokenizer, str | None]:
    """The tokenizer that is meant by a name or a callable, and the name that it is registered under, if any."""
    if isinstance(given, str) and given == WORD_LISTS:
        raise InputError(
            "the documents that the options are of came as lists of words, and no tokenizer is known for texts. "
            "Cut the texts as those were and give lists of words."
        )
    return _found(_TOKENIZERS, "tokenizer", given, "a text to its words")


def normalizer_of(given: Any) -> tuple[Normalizer, str | None]:
    """The same for normalizers; ``snowball:german`` and its like are there without registering."""
    if isinstance(given, str) and given.startswith(_SNOWBALL) and given not in _NORMALIZERS:
        return _stemmer(given.removeprefix(_SNOWBALL)), given
    return _found(_NORMALIZERS, "normalizer", given, "a list of words to the words to use instead")


def _register(known: dict[str, Any], kind: str, name: Any, function: Any) -> None:
    if not isinstance(name, str) or not name or name == WORD_LISTS or name.startswith(_SNOWBALL):
        raise InputError(f"{shown(name)} cannot name a {kind}; give a string of your own, such as 'spacy lemmas'.")
    if not callable(function):
        raise InputError(f"the {kind} {name!r} must be a callable, not {shown(function)}.")
    known[name] = function


def _found(known: dict[str, Any], kind: str, given: Any, what: str) -> tuple[Any, str | None]:
    if isinstance(given, str):
        if given not in known:
            names = f" Registered are {', '.join(map(repr, known))}." if known else ""
            raise InputError(
                f"{kind}={given!r}: no {kind} is registered under this name in this program. Register the function "
                f"before texts are cut: topicloom.corpus.register_{kind}({given!r}, function).{names}"
            )
        return known[given], given
    if not callable(given):
        raise InputError(f"{kind} must be a callable from {what}, or a registered name, not {shown(given)}.")
    return given, next((name for name, function in known.items() if function is given), None)


class _Stemmer:
    """Stems of words by the package snowballstemmer; made again where it is unpickled."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._stem = lru_cache(_STEMS_KEPT)(_snowball(language).stemWord)

    def __call__(self, words: list[str]) -> list[str]:
        return list(map(self._stem, words))

    def __reduce__(self) -> tuple[Any, ...]:
        return _stemmer, (self._language,)


@lru_cache
def _stemmer(language: str) -> Normalizer:
    return _Stemmer(language)


def _snowball(language: str) -> Any:
    try:
        import snowballstemmer
    except ImportError:
        raise MissingExtraError(
            "stems need the package snowballstemmer; install it with pip install 'topicloom[languages]'."
        ) from None
    if language not in snowballstemmer.algorithms():
        known = ", ".join(snowballstemmer.algorithms())
        raise InputError(f"normalizer='{_SNOWBALL}{language}': there is no such stemmer; choose one of {known}.")
    return snowballstemmer.stemmer(language)
