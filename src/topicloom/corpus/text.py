"""Texts to words to a corpus: one pass over any iterator."""

import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import ceil, floor
from typing import Any

import numpy as np

from topicloom._types import AnyArray, BoolArray, Int32Array, Int64Array
from topicloom.corpus._checks import items, read_only, shown
from topicloom.corpus._checks import texts as checked_texts
from topicloom.corpus._given import Missing, doc_words, documents_of
from topicloom.corpus._stop_words import ENGLISH_STOP_WORDS
from topicloom.corpus._streams import BLOCK_TOKENS, GrowingArray, block_pairs, compacted, count_words, document_blocks
from topicloom.corpus._texts import KeptTexts
from topicloom.corpus.corpus import Corpus, TextOptions, with_reading
from topicloom.errors import InputError, counted

Tokenizer = Callable[[str], Iterable[str]]

# Python's \w leaves out combining marks, which would cut Hindi, Thai, pointed Hebrew and decomposed accents
# into pieces. These are the marks of living scripts, with the two joiners that Persian and Indic words hold.
_MARKS = (
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
    rf"[^\W_](?:[^\W_]|[{_MARKS}])[^\W_]*+(?:[{_MARKS}]++[^\W_]*+)*+"
)


def from_texts(
    texts: Iterable[Any],
    *,
    tokenizer: Tokenizer | None = None,
    token_pattern: str = DEFAULT_PATTERN,
    lowercase: bool = True,
    stop_words: str | Collection[str] | None = None,
    min_df: int | float = 1,
    max_df: int | float = 1.0,
    max_words: int | None = None,
    vocabulary: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    labels: Sequence[Sequence[str]] | None = None,
    groups: Sequence[Hashable] | None = None,
    responses: Sequence[float] | AnyArray | None = None,
    times: Sequence[Any] | AnyArray | None = None,
    keep_texts: bool | None = None,
    missing: Missing = "error",
) -> Corpus:
    """Corpus from texts, read once: a generator will do.

    ``texts`` are strings: a list, a column of pandas, polars or pyarrow, an array, or anything else that gives one
    after the other. They may also be lists of words, which are taken as they are, or spaCy ``Doc`` objects, whose words
    are their tokens that have a letter, in lower case; of these a ``tokenizer`` is given the ``Doc``.

    Words are runs of two or more letters, marks and digits of any script, unless ``token_pattern`` (with one
    group at most) or ``tokenizer``, a callable from a text to its words, says otherwise; languages written
    without blanks need a tokenizer that knows their words. ``stop_words`` is ``"english"`` or a collection.
    ``min_df`` and ``max_df`` bound the number (an int) or the share (a float) of documents with a word, and
    ``max_words`` keeps the most frequent words. With a ``vocabulary`` nothing is pruned, and each document's
    tokens outside it are counted in ``Corpus.unknown``.

    ``Corpus.texts`` has the texts as they are if all of them together have at most 50 million characters.
    ``keep_texts=True`` keeps texts of any size, False keeps none.

    A missing text (None, NaN) is an error, or with ``missing="empty"`` an empty document; a warning has their number.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> from_texts(["The river floods.", "Rivers flow."], stop_words="english").vocabulary
    ('floods', 'flow', 'river', 'rivers')
    >>> from_texts([["river", "flood"], ["river", "flow"]]).vocabulary
    ('flood', 'flow', 'river')
    """
    if not isinstance(lowercase, bool | np.bool_ | int):
        raise InputError(f"lowercase={_short(lowercase)} must be True or False.")
    given = documents_of(texts, missing)
    stop = _stop_set(stop_words, lowercase and given.kind != "words")
    options = None
    if tokenizer is None and given.kind == "texts":
        options = TextOptions(token_pattern, bool(lowercase), tuple(sorted(stop)))
        _compile(token_pattern)
    _check_pruning(min_df, max_df, max_words, vocabulary)
    cut = _cutter(options) if options is not None else _other_cutter(given.kind, tokenizer, lowercase, stop)
    kept_texts = KeptTexts(False if given.kind == "words" else keep_texts)
    documents = _cut_all(given.entries, cut, kept_texts)
    if vocabulary is not None:
        kept = checked_texts("vocabulary", items("vocabulary", vocabulary))
        words, ptr, unknown = _lookup(documents, kept)
    else:
        unknown = None
        words, ptr, names = _number(documents)
        if not names:
            raise InputError(_nothing_left(len(ptr) - 1, stop, options is None))
        words, ptr, kept = _prune(words, ptr, names, min_df, max_df, max_words)
    corpus = Corpus(words=words, doc_ptr=ptr, vocabulary=kept, ordered=True, unknown=unknown, text_options=options)
    known: dict[str, Any] = {"ids": ids, "labels": labels, "groups": groups, "responses": responses, "times": times}
    corpus = corpus.with_metadata(**known, texts=kept_texts.found)
    return with_reading(corpus, **_how_read(given.kind, tokenizer, lowercase, stop, missing))


def tokenize(text: str, options: TextOptions) -> list[str]:
    """The words of a text, cut as the corpus with these options was cut."""
    if not isinstance(text, str):
        raise InputError(f"a text must be a string, not {_short(text)}.")
    return _cutter(options)(text)


# -- cutting one text --------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _cutter(options: TextOptions) -> Callable[[str], list[str]]:
    find_all = _compile(options.token_pattern).findall
    stop = frozenset(options.stop_words)

    def cut(text: str) -> list[str]:
        # One spelling of "é": composed, whichever way the text writes it.
        text = _one_form(text, options.lowercase)
        words: list[str] = find_all(text)
        return [word for word in words if word not in stop] if stop else words

    return cut


def _how_read(kind: str, tokenizer: Any, lowercase: bool, stop: frozenset[str], missing: Missing) -> dict[str, Any]:
    """What is to be known of the reading, beside ``TextOptions``, so that new documents are read alike."""
    found: dict[str, Any] = {} if missing == "error" else {"missing": missing}
    if kind == "words" or (kind == "docs" and tokenizer is None):
        found[kind] = {"lowercase": bool(lowercase), "stop_words": sorted(stop)}
    return found


def _other_cutter(
    kind: str, tokenizer: Tokenizer | None, lowercase: bool, stop: frozenset[str]
) -> Callable[[Any], list[str]]:
    """For what no pattern cuts."""
    if tokenizer is not None and kind != "words":
        return _foreign_cutter(tokenizer, lowercase, stop)
    if tokenizer is not None:
        raise InputError("the documents are lists of words, which are taken as they are; leave out tokenizer=.")

    def words(given: Any) -> list[str]:
        found = given if kind == "words" else doc_words(given, lowercase)
        return [word for word in found if word not in stop] if stop else found

    return words


def _foreign_cutter(tokenizer: Tokenizer | None, lowercase: bool, stop: frozenset[str]) -> Callable[[str], list[str]]:
    """The caller's tokenizer sees the text as it is; then case and stop words are dealt with."""
    if not callable(tokenizer):
        raise InputError(f"tokenizer must be a callable from a text to its words, not {_short(tokenizer)}.")

    def cut(text: str) -> list[str]:
        words = tokenizer(text)
        if isinstance(words, str | bytes) or not isinstance(words, Iterable):
            raise InputError(f"the tokenizer returned {_short(words)}; it must return the text's words.")
        found = list(words)
        for word in found:
            if not isinstance(word, str):
                raise InputError(f"the tokenizer returned {_short(word)}; every word must be a string.")
        if lowercase:
            found = [word.lower() for word in found]
        return [word for word in found if word not in stop] if stop else found

    return cut


def _one_form(text: str, lowercase: bool) -> str:
    text = text.lower() if lowercase else text
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise InputError(f"token_pattern {pattern!r} is not a regular expression: {error}.") from None
    if compiled.groups > 1:
        raise InputError(
            f"token_pattern {pattern!r} has {compiled.groups} groups; at most one may mark the word. "
            "Write the others as (?:...)."
        )
    return compiled


def _stop_set(stop_words: str | Collection[str] | None, lowercase: bool) -> frozenset[str]:
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise InputError(
                f"stop_words={stop_words!r}: the only list known by name is 'english'; "
                "give a collection of words for any other."
            )
        return ENGLISH_STOP_WORDS
    if isinstance(stop_words, bytes) or not isinstance(stop_words, Iterable):
        raise InputError(f"stop_words must be None, 'english' or a collection of words, not {_short(stop_words)}.")
    words = tuple(stop_words)
    for word in words:
        if not isinstance(word, str):
            raise InputError(f"stop_words holds {_short(word)}; every stop word must be a string.")
    return frozenset(_one_form(word, lowercase) for word in words)


# -- all texts ---------------------------------------------------------------------------------------------


def _cut_all(documents: Iterable[Any], cut: Callable[[Any], list[str]], kept: KeptTexts) -> Iterator[list[str]]:
    for d, document in enumerate(documents):
        try:
            words = cut(document)
        except InputError as error:
            raise InputError(f"document {d}: {error}") from None
        kept.note(getattr(document, "text", document))
        yield words


def _short(value: object) -> str:
    return f"{shown(value)} ({type(value).__name__})"


def _number(documents: Iterator[list[str]]) -> tuple[Int32Array, Int64Array, list[str]]:
    """Word numbers in order of first sight, document pointers, and the words."""
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    stream, ends = GrowingArray(), array("q", [0])
    for found in documents:
        stream.extend(map(number.__getitem__, found))
        ends.append(len(stream))
    _check_any(ends)
    return stream.finish(writable=True), np.frombuffer(ends, np.int64), list(number)


def _lookup(documents: Iterator[list[str]], vocabulary: tuple[str, ...]) -> tuple[Int32Array, Int64Array, Int64Array]:
    """Numbers of the known words, document pointers, and how many words of each document are not known."""
    number = {word: v for v, word in enumerate(vocabulary)}
    stream, ends, unknown = GrowingArray(), array("q", [0]), array("q")
    for found in documents:
        known = [number[word] for word in found if word in number]
        stream.extend(known)
        ends.append(len(stream))
        unknown.append(len(found) - len(known))
    _check_any(ends)
    return stream.finish(), np.frombuffer(ends, np.int64), np.frombuffer(unknown, np.int64)


def _check_any(ends: "array[int]") -> None:
    if len(ends) == 1:
        raise InputError("texts is empty; a corpus needs at least one document.")


# -- choosing the vocabulary -------------------------------------------------------------------------------


def _check_pruning(
    min_df: int | float, max_df: int | float, max_words: int | None, vocabulary: Sequence[str] | None
) -> None:
    for name, bound in (("min_df", min_df), ("max_df", max_df)):
        whole = isinstance(bound, int | np.integer) and not isinstance(bound, bool)
        share = isinstance(bound, float | np.floating) and 0 <= bound <= 1
        if not share and not (whole and bound >= (name == "max_df")):
            raise InputError(
                f"{name}={bound!r} must be a number of documents (a whole number) or a share of them "
                "(a float from 0.0 to 1.0)."
            )
    if max_words is not None and (not isinstance(max_words, int | np.integer) or max_words < 1):
        raise InputError(f"max_words={max_words!r} must be None or a whole number of 1 or more.")
    pruning = max_words is not None or not _keeps_all(min_df, max_df)
    if vocabulary is not None and pruning:
        raise InputError("min_df, max_df and max_words choose a vocabulary; leave them out when you give one.")


def _keeps_all(min_df: int | float, max_df: int | float) -> bool:
    return (min_df == 0 or (min_df == 1 and not isinstance(min_df, float))) and (
        isinstance(max_df, float) and max_df == 1
    )


def _prune(
    stream: Int32Array,
    ptr: Int64Array,
    names: list[str],
    min_df: int | float,
    max_df: int | float,
    max_words: int | None,
) -> tuple[Int32Array, Int64Array, tuple[str, ...]]:
    """Choose the words, number them in alphabetical order, and cut the others from the stream."""
    keep = np.ones(len(names), bool)
    if not _keeps_all(min_df, max_df):
        keep = _within(_document_frequency(stream, ptr, len(names)), len(ptr) - 1, min_df, max_df)
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    if max_words is not None and max_words < np.count_nonzero(keep):
        # The sort is stable, so that ties fall alphabetically and not by document order.
        counts = count_words(stream, len(names))
        ranked = order[keep[order]]
        ranked = ranked[np.argsort(-counts[ranked], kind="stable")]
        keep[ranked[max_words:]] = False
    order = order[keep[order]]
    new_number = np.full(len(names), -1, np.int32)
    new_number[order] = np.arange(len(order), dtype=np.int32)
    # In place, block by block: the stream is the one large thing here.
    for start in range(0, len(stream), BLOCK_TOKENS):
        stream[start : start + BLOCK_TOKENS] = new_number[stream[start : start + BLOCK_TOKENS]]
    if len(order) < len(names):
        stream, ptr = compacted(stream, ptr)
    return read_only(stream), ptr, tuple(names[v] for v in order)


def _within(frequency: Int64Array, n_docs: int, min_df: int | float, max_df: int | float) -> BoolArray:
    # 0.07 * 100 is a little above 7 in floating point; a word in 7 of 100 documents is still to be kept.
    slack = 1e-9
    low = ceil(min_df * n_docs - slack) if isinstance(min_df, float | np.floating) else min_df
    high = floor(max_df * n_docs + slack) if isinstance(max_df, float | np.floating) else max_df
    keep: BoolArray = (frequency >= low) & (frequency <= high)
    if not keep.any():
        raise InputError(
            f"the vocabulary is empty: of {counted(len(frequency), 'words')} none is in at least {low} "
            f"(min_df={min_df}) and at most {high} (max_df={max_df}) of {counted(n_docs, 'documents')}. "
            "Lower min_df or raise max_df."
        )
    return keep


def _document_frequency(stream: Int32Array, ptr: Int64Array, n_words: int) -> Int64Array:
    frequency = np.zeros(n_words, np.int64)
    for block in document_blocks(ptr):
        frequency += np.bincount(block_pairs(stream, ptr, n_words, block)[1], minlength=n_words)
    return frequency


def _nothing_left(n_docs: int, stop: frozenset[str], own_tokenizer: bool) -> str:
    source = "the tokenizer" if own_tokenizer else "token_pattern"
    return (
        f"the vocabulary is empty: in {counted(n_docs, 'documents')} {source} found no word"
        + (f" other than the {len(stop)} stop words" if stop else "")
        + f". Check the texts, {source}"
        + (" and stop_words." if stop else ".")
    )
