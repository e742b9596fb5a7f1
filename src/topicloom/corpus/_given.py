"""What documents are given as: told apart by type and first entry, then handed on one by one, each checked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import chain, islice
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from topicloom.corpus._checks import NOT_ENCODABLE, check_choice, is_encodable, shown
from topicloom.corpus._columns import is_missing
from topicloom.corpus._matrices import has_array
from topicloom.corpus.corpus import Corpus
from topicloom.errors import InputError, MissingTextsWarning, counted, warn

if TYPE_CHECKING:  # at run time where there is a frame: a fit of anything else needs none of it
    import narwhals as nw

Kind = Literal["corpus", "texts", "words", "docs", "bags", "frame", "cells", "matrix"]
Missing = Literal["error", "empty"]

KINDS: Mapping[Kind, str] = {  # X …
    "corpus": "is a Corpus",
    "texts": "holds texts",
    "words": "holds lists of words",
    "docs": "holds spaCy Docs",
    "bags": "holds bags of words",
    "frame": "is a data frame",
    "cells": "is AnnData",
    "matrix": "is a matrix of counts",
}
EXPECTED = (
    "expected texts, lists of words, spaCy Docs, bags of words, a data frame with text=, AnnData, "
    "a documents × words matrix of counts, or a Corpus"
)
_OF_ROWS = 'give the texts alone, [row["text"] for row in X], or a data frame of the rows with text='
_FRAMES = {"pandas", "polars", "pyarrow", "narwhals", "modin", "cudf", "dask", "duckdb", "ibis", "pyspark", "sqlframe"}
_ROWS_AT_ONCE = 4096
_UNDECIDED = 1000  # entries of an iterator that may be missing or empty before one that tells what it holds


class Given(NamedTuple):
    """Data and what they are. Of an iterator, ``data`` begins again with the entries that were looked at."""

    kind: Kind
    data: Any


class Documents(NamedTuple):
    """Documents to be cut into words. Each of ``entries`` is checked when it is asked for."""

    kind: Literal["texts", "words", "docs"]
    entries: Iterator[Any]
    numbered: Callable[[Any, Any], Any] | None = None  # of texts that are cut where they are read: see ``_file_tasks``


# -- telling apart -------------------------------------------------------------------------------------------------


def told_apart(X: Any, name: str = "X") -> Given:
    """What X is. Of a list or an iterator, no more is looked at than what comes before the first telling entry."""
    if isinstance(X, Corpus):
        return Given("corpus", X)
    if isinstance(X, np.ndarray):
        return Given(_kind_of_array(X), X)
    if isinstance(X, list | tuple):
        if X and isinstance(X[0], Mapping):
            raise InputError(f"entry 0 of {name} is {shown(X[0])}; {_OF_ROWS}.")
        return Given(_first_kind(iter(X))[0] or "matrix", X)
    if sp.issparse(X) or isinstance(X, np.generic | int | float):
        return Given("matrix", X)
    if isinstance(X, str | bytes | Mapping | Set | PathLike):
        raise InputError(_no_documents(X, name))
    if (found := _by_library(X, name)) is not None:
        return found
    if has_array(X) or (hasattr(X, "X") and hasattr(X, "var_names")):  # like AnnData: refused as a matrix, with advice
        return Given("matrix", X)
    if not isinstance(X, Iterable) or _is_doc(X):
        raise InputError(f"{name} is of the type {type(X).__name__}; {EXPECTED}.")
    return _of_iterable(X, name)


def _no_texts(X: Any, name: str) -> str:
    return f"{name} must be a list or another iterable of strings, one per document, not {type(X).__name__}"


def _no_documents(X: Any, name: str) -> str:
    expected = _no_texts(X, name)
    if isinstance(X, str | bytes):
        return f"{expected}; for one document give [text], for a file topicloom.read(path)."
    if isinstance(X, PathLike):
        return f"{expected}; read the file with topicloom.read(path)."
    if "datasets" in _libraries(X):
        return f"{expected}; choose one of its parts, such as {name}[{next(iter(X), 'train')!r}]."
    return f"{expected}, which has no order of documents; give a list, such as list({name}.values()) of a dict."


def _libraries(X: Any) -> set[str]:
    return {cls.__module__.partition(".")[0] for cls in type(X).__mro__}


def _by_library(X: Any, name: str) -> Given | None:
    """Objects of other libraries, known by where their classes are defined: nothing is imported to look."""
    libraries = _libraries(X)
    if "anndata" in libraries and any(cls.__name__ == "AnnData" for cls in type(X).__mro__):
        return Given("cells", X)
    if "datasets" in libraries and hasattr(X, "features"):
        if hasattr(X, "with_format") and hasattr(X, "__len__"):
            return Given("frame", X)
        if not hasattr(X, "__len__"):
            raise InputError(
                f"{name} is a stream of rows ({type(X).__name__}); give its texts, such as "
                f'(row["text"] for row in {name}).'
            )
    if not libraries & _FRAMES:
        return None
    if type(X).__name__ == "RecordBatch" and "pyarrow" in libraries:
        return Given("frame", X)
    if (series := as_series(X)) is not None:
        kind = _first_kind(value for _, value in cells(series))[0]
        return Given(kind or ("matrix" if series.dtype.is_numeric() else "texts"), X)
    if type(_narwhals(X)).__name__ == "LazyFrame":
        raise InputError(f"{name} is a lazy frame; call its collect() first.")
    return Given("frame", X) if hasattr(X, "columns") or hasattr(X, "column_names") else None


def as_series(X: Any) -> "nw.Series[Any] | None":
    """A column of pandas, polars or pyarrow as narwhals has it; None if X is none."""
    import narwhals as nw

    if type(X).__module__.startswith("pyarrow") and type(X).__name__.endswith("Array"):
        import pyarrow as pa

        X = X if isinstance(X, pa.ChunkedArray) else pa.chunked_array([X])
    if type(X).__module__.startswith("pandas") and getattr(X, "ndim", 0) == 1 and hasattr(X, "dtype"):
        import pandas as pd

        X = X if isinstance(X, pd.Series) else pd.Series(X)  # an index, or the array of a column
    found = _narwhals(X)
    return found if isinstance(found, nw.Series) else None


def _narwhals(X: Any) -> Any:
    """A frame or a column as narwhals has it, or X itself."""
    import narwhals as nw

    try:
        return nw.from_native(X, allow_series=True, pass_through=True)
    except Exception:  # narwhals' own errors, for instance for two columns of one name
        return X


def column_entries(X: Any) -> list[Any] | None:
    """The entries of a column of pandas, polars or pyarrow, None for null; None if X is no such column."""
    series = as_series(X) if _libraries(X) & _FRAMES else None
    return None if series is None else [value for _, value in cells(series)]


def cells(series: "nw.Series[Any]") -> Iterator[tuple[int, Any]]:
    """Rows and values, None for null whatever the library's mark of it, some thousand at a time."""
    for start in range(0, len(series), _ROWS_AT_ONCE):
        part = series[start : start + _ROWS_AT_ONCE]
        nulls = part.is_null().to_list()
        for i, (value, null) in enumerate(zip(part.to_list(), nulls, strict=True)):
            yield start + i, None if null else value


def _kind_of_array(X: Any) -> Kind:
    if X.ndim != 1 or X.dtype.kind not in "OUST":
        return "matrix"
    return _first_kind(iter(X))[0] or "matrix"


def _of_iterable(X: Any, name: str) -> Given:
    entries = iter(X)
    kind, seen = _first_kind(entries, _UNDECIDED)
    if kind is None and len(seen) < _UNDECIDED:
        kind = "words" if seen and not any(map(is_missing, seen)) else "texts"
    if kind in (None, "matrix"):
        first = shown(seen[-1]) if seen else "nothing"
        remedy = "give a list of strings, or a matrix such as numpy.array(list(X))"
        if seen and isinstance(seen[-1], Mapping):
            remedy = _OF_ROWS
        raise InputError(f"{name} is of the type {type(X).__name__} and holds {first}; {remedy}.")
    assert kind is not None
    return Given(kind, chain(seen, entries) if entries is X else X)  # what is no iterator can be read once more


def _first_kind(entries: Iterator[Any], most: int | None = None) -> tuple[Kind | None, list[Any]]:
    """What the first entry that is neither missing nor empty says, and all entries up to it (of an iterator)."""
    seen: list[Any] = []
    for entry in islice(entries, most):
        if most is not None:
            seen.append(entry)
        if (kind := _kind_of_entry(entry)) is not None:
            return kind, seen
    return None, seen


def _kind_of_entry(entry: Any) -> Kind | None:
    """What one entry says of all; None if it is missing or empty."""
    if isinstance(entry, str | bytes):
        return "texts"
    if is_missing(entry):
        return None
    if _is_doc(entry):
        return "docs"
    if not isinstance(entry, list | tuple | np.ndarray) or getattr(entry, "ndim", 1) != 1:
        return "matrix"
    if len(entry) == 0:
        return None
    if isinstance(entry[0], str):
        return "words"
    return "bags" if _is_pair(entry[0]) else "matrix"


def _is_pair(value: Any) -> bool:
    """Whether it is a word's number and its count."""
    number = isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[0], int | np.integer)
    return number and not isinstance(value[0], bool) and isinstance(value[1], int | float | np.number)


def _is_doc(value: Any) -> bool:
    cls = type(value)
    return cls.__module__.startswith("spacy.tokens") and cls.__name__ == "Doc"


# -- one by one ----------------------------------------------------------------------------------------------------


class _Source(NamedTuple):
    """Where entries come from."""

    values: Iterable[tuple[int, Any]]
    unit: str  # what an entry is called
    column: str  # the name of its column, as a message has it; nothing if it has none
    size: int | None
    n_missing: Callable[[], int]

    def place(self, d: int) -> str:
        return f"{self.unit} {d}" + (f" of the column {self.column}" if self.column else "")


def documents_of(X: Any, missing: Missing = "error", name: str = "texts") -> Documents:
    """Texts, lists of words or spaCy Docs, one by one. A missing one is an error, or an empty document."""
    check_choice("missing", missing, ("error", "empty"))
    if not isinstance(X, Iterable):
        raise InputError(f"{_no_texts(X, name)}.")
    kind, data = told_apart(X, name)
    if kind in ("corpus", "frame", "cells", "bags"):
        remedy = {
            "corpus": "models take it as it is",
            "frame": f"name the column of texts, topicloom.from_frame({name}, text=…)",
        }.get(kind, f"topicloom.as_corpus({name}, …) makes a corpus of it")
        raise InputError(f"{name} {KINDS[kind]}, and no texts; {remedy}.")
    kept: Any = kind if kind in ("words", "docs") else "texts"
    return Documents(kept, _checked(kept, _source(data), missing))


def _source(data: Any) -> _Source:
    if not isinstance(data, list | tuple | np.ndarray | Iterator) and _libraries(data) & _FRAMES:
        series = as_series(data)
        if series is not None:
            column = "" if series.name in (None, "") else repr(series.name)
            return _Source(cells(series), "row", column, len(series), lambda: int(series.is_null().sum()))
    if isinstance(data, np.ndarray) and data.ndim == 1:  # strings of Python's own, some thousand at a time
        blocks = (data[start : start + _ROWS_AT_ONCE].tolist() for start in range(0, len(data), _ROWS_AT_ONCE))
        return _Source(enumerate(chain.from_iterable(blocks)), "document", "", len(data), lambda: _missing(data))
    if isinstance(data, list | tuple):
        return _Source(enumerate(data), "document", "", len(data), lambda: _missing(data))
    return _Source(enumerate(data), "document", "", None, lambda: 0)


def _missing(values: Iterable[Any]) -> int:
    return sum(is_missing(value) or value is np.ma.masked for value in values)


def _checked(kind: str, source: _Source, missing: Missing) -> Iterator[Any]:
    check: Callable[[Any], Any] = {"texts": _text, "words": _words, "docs": _doc}[kind]
    n_missing, d = 0, -1
    for d, value in source.values:
        if value is None or (type(value) is not str and is_missing(value)):
            if missing == "error":
                raise InputError(_is_missing(value, d, source))
            n_missing += 1
            value = "" if kind == "texts" else []
        else:
            try:
                value = check(value)
            except _NumberError as error:
                is_it = f"is {source.column} the column of texts?" if source.column else "every text must be a string."
                raise InputError(f"{source.place(d)} {error}; {is_it}") from None
            except ValueError as error:
                raise InputError(f"{source.place(d)} {error}") from None
        yield value
    warn_of_missing(n_missing, d + 1)


def warn_of_missing(n_missing: int, n_docs: int) -> None:
    """One warning of all documents that were missing, if any was."""
    if n_missing:
        are = "is missing and is read as an empty document" if n_missing == 1 else "are missing and are read as empty"
        warn(f"{n_missing:,} of {counted(n_docs, 'documents')} {are}.", MissingTextsWarning)


def _is_missing(value: Any, d: int, source: _Source) -> str:
    many = ""
    if source.size is not None and (n := source.n_missing()) > 1:
        many = f"; {n:,} of {source.size:,} are"
    return (
        f'{source.place(d)} is missing ({shown(value)}){many}. Give missing="empty" to read what is missing as '
        "documents without words, or leave it out."
    )


class _NumberError(ValueError):
    """There is a number in place of a text."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        if isinstance(value, int | float | np.number) and not isinstance(value, bool):
            raise _NumberError(f"holds the number {shown(value)}, not a text")
        raise ValueError(
            f"is {shown(value)} ({type(value).__name__}); every text must be a string. "
            "Use '' for a document without text, and decode bytes first."
        )
    if not is_encodable(value):
        raise ValueError(f"is {shown(value)} (str), {NOT_ENCODABLE}")
    return value


def _words(value: Any) -> list[str]:
    if isinstance(value, str | bytes) or not isinstance(value, list | tuple | np.ndarray):
        what = f"{shown(value)} ({type(value).__name__})"
        raise ValueError(f"is {what}; every document must be a list of words, as the first is.")
    words = value.tolist() if isinstance(value, np.ndarray) else value
    if all(type(word) is str for word in words):
        return list(words)
    for i, word in enumerate(words):
        if not isinstance(word, str):
            raise ValueError(f"has {shown(word)} as word {i}; every word must be a string.")
    return list(map(str, words))


def _doc(value: Any) -> Any:
    if not _is_doc(value):
        what = f"{shown(value)} ({type(value).__name__})"
        raise ValueError(f"is {what}; every document must be a spaCy Doc, as the first is.")
    return value


def doc_words(doc: Any, lowercase: bool) -> list[str]:
    """The words of a spaCy Doc: its tokens that have a letter."""
    texts = (token.lower_ if lowercase else token.text for token in doc)
    return [text for text in texts if any(map(str.isalpha, text))]
