"""Sequences of symbols as a corpus that keeps its order, one document per sequence. Everything is checked first."""

from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray, Int32Array
from topicloom.corpus._checks import shown
from topicloom.corpus._given import column_entries
from topicloom.corpus.corpus import Corpus
from topicloom.errors import InputError, counted

Alphabet = tuple[Hashable, ...]
_NOTHING = "all symbols are missing: there is no symbol to learn from."
_MOST = 1 << 24  # symbols that whole numbers may stand for


class Given(NamedTuple):
    """Sequences as they came, told apart."""

    sequences: list[Any]  # each a vector or a list
    single: bool  # one sequence was given, so one answer is expected


def as_given(X: Any, lengths: Any = None) -> Given:
    """One sequence, or a list of them: what holds lists, tuples or vectors holds sequences.

    With ``lengths`` X is all sequences end to end, in a vector, a list or a column.
    """
    return _told_apart(X) if lengths is None else Given(_cut(_flat(X), lengths), False)


def _flat(X: Any) -> Any:
    """All symbols, of a vector, a list or a column."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    elif isinstance(X, list | tuple) and X and all(isinstance(x, list | tuple | np.ndarray) and len(x) == 1 for x in X):
        X = [x[0] for x in X]
    given = _told_apart(X)
    if not given.single:
        raise InputError(
            "lengths cuts one long sequence, and X is a list of sequences; leave lengths out, or join them."
        )
    return given.sequences[0]


def _cut(symbols: Any, lengths: Any) -> list[Any]:
    if isinstance(lengths, str | bytes) or not hasattr(lengths, "__iter__"):
        raise InputError(f"lengths={shown(lengths)} must be a list of whole numbers, the length of each sequence in X.")
    sizes = list(lengths)
    for s, size in enumerate(sizes):
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise InputError(f"lengths[{s}]={shown(size)} must be a whole number of at least 0: a sequence's length.")
    ends = np.cumsum([0, *sizes]).tolist()
    if len(sizes) == 0 or ends[-1] != len(symbols):
        raise InputError(f"lengths sum to {ends[-1]} but X has {len(symbols)} symbols; give each sequence's length.")
    return [symbols[start:stop] for start, stop in pairwise(ends)]


def _told_apart(X: Any) -> Given:
    X = _in_order(X)
    if _has_no_order(X):
        remedy = "for the characters of a text give list(text)"
        if hasattr(X, "columns"):  # a frame, which gives its names
            remedy = "give a column as a vector, frame[name].to_numpy()"
        raise InputError(
            f"sequences must be a list of lists of symbols, or one list, not {type(X).__name__}; {remedy}."
        )
    if isinstance(X, np.ndarray):
        if X.ndim != 1:
            raise InputError(
                f"sequences came as an array with {X.ndim} dimensions. Give one vector, or a list of vectors: "
                "list(X) if each row is a sequence, X.ravel() or lengths= if it is a column."
            )
        X = _unmasked(X)
        if isinstance(X, list) or X.dtype != object:
            return Given([X], True)
    items = list(X)
    if not items:
        raise InputError("there are no sequences; give at least one.")
    nested = [isinstance(item, list | tuple | np.ndarray) and item is not np.ma.masked for item in items]
    if not any(nested):
        return Given([items], True)
    if not all(nested):
        raise InputError(
            f"item {nested.index(False)} is a symbol and item {nested.index(True)} a sequence; give a list of "
            "sequences, or one sequence of symbols."
        )
    for s, item in enumerate(items):
        if item is not np.ma.masked and isinstance(item, np.ndarray) and item.ndim != 1:
            raise InputError(f"sequence {s} has {item.ndim} dimensions; each must be a vector or a list of symbols.")
    return Given([_unmasked(item) for item in items], False)


def _in_order(X: Any) -> Any:
    """A column of a frame, and an iterator of sequences, as a list; anything else as it is."""
    if (entries := column_entries(X)) is not None:
        return entries
    if isinstance(X, Iterator):
        first = next(X, None)
        if not isinstance(first, list | tuple | np.ndarray):
            raise InputError(f"sequences came as an iterator that holds {shown(first)}; give a list, such as list(X).")
        X = [first, *X]
    one = X[0] if isinstance(X, list | tuple) and X else X
    if type(one).__module__.startswith("spacy."):
        raise InputError(
            "spaCy Docs have several kinds of symbols; choose one: [[token.pos_ for token in doc] for doc in docs]."
        )
    return X


def _has_no_order(X: Any) -> bool:
    if isinstance(X, str | bytes | Mapping | Set) or hasattr(X, "columns") or sp.issparse(X):
        return True
    return not hasattr(X, "__len__") or not hasattr(X, "__iter__")


def _unmasked(X: Any) -> Any:
    """A masked vector as a list with None where something is masked; anything else as it is."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    return X.tolist() if np.ma.is_masked(X) and X.ndim == 1 else X.data


def is_missing(value: Any) -> bool:
    """Whether it is None, a masked entry, NaN, NaT or pandas.NA."""
    return value is None or value is np.ma.masked or _is_nan(value)


def is_counted(alphabet: Alphabet) -> bool:
    """Whether symbols are the whole numbers 0 … V − 1 themselves, and not others that equal them (1.0, True)."""
    return all(type(symbol) is int for symbol in alphabet) and alphabet == tuple(range(len(alphabet)))


def read_alphabet(alphabet: Any) -> Alphabet | None:
    """The parameter of that name: None, a number V for 0 … V − 1, or the symbols themselves."""
    if alphabet is None:
        return None
    if isinstance(alphabet, int | np.integer) and not isinstance(alphabet, bool):
        if not 1 <= alphabet <= _MOST:
            raise InputError(f"alphabet={shown(alphabet)} must be from 1 to {_MOST:,}, or a list of symbols.")
        return tuple(range(int(alphabet)))
    if isinstance(alphabet, str) or not isinstance(alphabet, Sequence | np.ndarray) or len(alphabet) == 0:
        raise InputError(f"alphabet={shown(alphabet)} must be a number of symbols, or a list of at least one.")
    symbols = tuple(_plain(symbol, "alphabet") for symbol in alphabet)
    if len(set(symbols)) != len(symbols):
        twice = next(symbol for i, symbol in enumerate(symbols) if symbol in symbols[:i])
        raise InputError(f"alphabet has {shown(twice)} twice; symbols must be distinct.")
    return symbols


def training_corpus(X: Any, alphabet: Alphabet | None, lengths: Any = None) -> tuple[Corpus, Alphabet]:
    """The sequences to learn from, and their alphabet."""
    if isinstance(X, Corpus):
        _check_ordered(X, lengths)
        corpus = X if alphabet is None else X.with_vocabulary([str(symbol) for symbol in alphabet])
        _check_known(corpus)
        found: Alphabet = corpus.vocabulary
    else:
        given = as_given(X, lengths)
        found = alphabet if alphabet is not None else _alphabet_of(given)
        corpus = _encode(given, found)
    if corpus.n_tokens == 0:
        raise InputError(f"all {corpus.n_docs} sequences are empty: there is no symbol to learn from.")
    if np.all(corpus.words == len(found)):
        raise InputError(_NOTHING)
    return corpus, found


def new_corpus(X: Any, alphabet: Alphabet, lengths: Any = None) -> tuple[Corpus, bool]:
    """Sequences over a known alphabet, and whether it was one alone."""
    if isinstance(X, Corpus):
        _check_ordered(X, lengths)
        corpus = X.with_vocabulary([str(symbol) for symbol in alphabet])
        _check_known(corpus)
        return corpus, False
    given = as_given(X, lengths)
    return _encode(given, alphabet), given.single


def _check_ordered(corpus: Corpus, lengths: Any) -> None:
    if lengths is not None:
        raise InputError("lengths cuts one long sequence, and a Corpus has its documents; leave lengths out.")
    if not corpus.ordered or corpus.weights is not None:
        raise InputError(
            "this corpus does not keep the order of its words, and an HMM is about order; make it with from_texts, or "
            "give lists of symbols."
        )


def _check_known(corpus: Corpus) -> None:
    if corpus.unknown is not None and corpus.unknown.any():
        doc = int(np.argmax(corpus.unknown > 0))
        raise InputError(
            f"document {doc} has {counted(int(corpus.unknown[doc]), 'words')} not in the alphabet; "
            "an HMM needs every symbol. Name all of them in alphabet= when fitting."
        )


class _Whole(NamedTuple):
    """Whole numbers, 0 where one is missing; and where that is, if anywhere."""

    values: AnyArray
    missing: AnyArray | None


def _whole(sequence: Any) -> _Whole | None:
    """The sequence as a vector, if all of it that is not missing is whole numbers."""
    if isinstance(sequence, np.ndarray) and sequence.dtype.kind in "iu":
        return _Whole(sequence, None)
    if isinstance(sequence, np.ndarray) and sequence.dtype != object:
        return None
    values, missing = [], []
    for x in sequence:
        number = isinstance(x, int | np.integer) and not isinstance(x, bool | np.bool_)
        if not number and not is_missing(x):
            return None
        values.append(int(x) if number else 0)
        missing.append(not number)
    if not values:
        return _Whole(np.empty(0, np.int64), None)
    return _Whole(np.array(values, object), np.array(missing) if any(missing) else None)


def _alphabet_of(given: Given) -> Alphabet:
    """0 … largest, of whole numbers; otherwise what occurs, sorted if it can be."""
    whole = [_whole(sequence) for sequence in given.sequences]
    if all(values is not None for values in whole):
        most = -1
        for s, own in enumerate(whole):
            assert own is not None
            values = own.values
            if len(values) and values.min() < 0:
                raise InputError(f"sequence {s} has the symbol {values.min()}; whole numbers count symbols from 0.")
            most = max(most, int(values.max()) if len(values) else -1)
        if most >= _MOST:
            raise InputError(
                f"the symbol {most} would make an alphabet of {most + 1:,}; whole numbers count symbols from 0. Give "
                "alphabet= with the symbols that occur."
            )
        return tuple(range(max(most + 1, 1)))
    found: dict[Hashable, None] = {}
    for s, sequence in enumerate(given.sequences):
        for t, symbol in enumerate(sequence):
            if not is_missing(symbol):
                found.setdefault(_plain(symbol, f"sequence {s}, place {t}"))
    if not found:
        raise InputError(_NOTHING)
    try:
        return tuple(sorted(found))  # type: ignore[type-var]
    except TypeError:
        return tuple(found)


def _plain(symbol: Any, where: str) -> Hashable:
    value = symbol.item() if isinstance(symbol, np.generic) else symbol
    if is_missing(value):
        raise InputError(f"{where} has {shown(symbol)}, which stands for a missing symbol; leave it out.")
    try:
        hash(value)
    except TypeError as error:
        raise InputError(f"{where}: the symbol {shown(symbol)} cannot be hashed; use strings or numbers.") from error
    return value  # type: ignore[no-any-return]


def _is_nan(value: Any) -> bool:
    """Whether it is NaN, NaT or pandas.NA, none of which equals itself."""
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


def _encode(given: Given, alphabet: Alphabet) -> Corpus:
    n = len(alphabet)
    counted = is_counted(alphabet)
    number = {symbol: v for v, symbol in enumerate(alphabet)}
    parts: list[Int32Array] = []
    for s, sequence in enumerate(given.sequences):
        whole = _whole(sequence) if counted else None
        if whole is not None:
            parts.append(_numbers(s, whole.values, n))
            if whole.missing is not None:
                parts[-1][whole.missing] = n
            continue
        symbols = [None if is_missing(x) else (_plain(x, f"sequence {s}, place {t}"),) for t, x in enumerate(sequence)]
        for t, symbol in enumerate(symbols):
            if symbol is not None and symbol[0] not in number:
                raise InputError(_unknown(s, t, symbol[0], n))
        parts.append(np.array([n if symbol is None else number[symbol[0]] for symbol in symbols], np.int32))
    ptr = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64)))
    names = tuple(map(str, alphabet))
    if len(set(names)) < n:  # 1 and "1"
        names = tuple(map(repr, alphabet))
    words = np.concatenate(parts)
    return Corpus(words, ptr, with_missing(names) if np.any(words == n) else names, ordered=True)


def with_missing(names: tuple[str, ...]) -> tuple[str, ...]:
    """The alphabet's names and one more, which stands for a symbol that is missing."""
    name = "(missing)"
    while name in names:
        name = f"({name})"
    return (*names, name)


def _numbers(s: int, whole: AnyArray, n: int) -> Int32Array:
    outside = (whole < 0) | (whole >= n)
    if np.any(outside):
        t = int(np.argmax(outside))
        raise InputError(_unknown(s, t, whole[t], n))
    return whole.astype(np.int32)


def _unknown(s: int, t: int, symbol: object, n: int) -> str:
    return (
        f"sequence {s}, place {t}: the symbol {shown(symbol)} is not one of the alphabet's {n}. Name all symbols in "
        "alphabet= when fitting, or give None there, which is a missing symbol."
    )
