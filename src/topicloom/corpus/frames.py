"""Data frames of pandas, polars or pyarrow to a corpus, and results back in the caller's own kind."""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray
from topicloom.corpus._checks import shown
from topicloom.corpus._columns import (
    joined_groups,
    joined_times,
    time_kind,
    to_group,
    to_id,
    to_response,
    to_time,
)
from topicloom.corpus._given import cells
from topicloom.corpus._labels import LabelCells
from topicloom.corpus.corpus import Corpus, with_reading
from topicloom.corpus.matrices import from_matrix
from topicloom.corpus.pruning import Pruning
from topicloom.corpus.rows import Rows
from topicloom.corpus.text import from_texts
from topicloom.errors import InputError, MissingExtraError

if TYPE_CHECKING:  # at run time where there is a frame: a fit of anything else needs none of it
    import narwhals as nw

_LOOKED_AT = 20  # cells of a column, to see whether it holds texts
_NUMBER = re.compile(r"[-+.\d][-+.,\deE]*")


def from_frame(
    frame: Any,
    *,
    text: str | None = None,
    id: str | None = None,
    label: str | None = None,
    group: str | None = None,
    response: str | None = None,
    time: str | None = None,
    label_separator: str | None = None,
    **text_options: Any,
) -> Corpus:
    """Corpus from a pandas, polars or pyarrow table, or a Dataset of Hugging Face, with one document per row.

    With ``text`` that column holds the texts. Without it, every column that is not named for something else holds the
    counts of one word, and the column's name is the word. The corpus remembers the columns (``Corpus.reading``), and a
    fitted model finds them in new frames.

    Parameters
    ----------
    frame : data frame
    text : str, default=None
        Column of the texts.
    id : str, default=None
        Column of the documents' names.
    label : str, default=None
        Column of labels. A cell is a list, a JSON list or one label; null is no label.
    group : str, default=None
        Column of groups, such as collections.
    response : str, default=None
        Column of numbers to predict.
    time : str, default=None
        Column of times.
    label_separator : str, default=None
        Character between the labels of a cell, such as ``","``.
    **text_options
        Options of :func:`from_texts`. For counts only ``min_df``, ``max_df`` and ``max_words`` apply.

    Returns
    -------
    Corpus

    Examples
    --------
    >>> import pandas as pd
    >>> from topicloom import from_frame
    >>> frame = pd.DataFrame({"review": ["good tea", "bad tea"], "year": [2023, 2024]})
    >>> from_frame(frame, text="review", group="year")
    Corpus(2 documents, 3 words, 4 tokens, with groups, texts)
    """
    labels = LabelCells(label_separator)
    roles = {"text": text, "id": id, "label": label, "group": group, "response": response, "time": time}
    named = {role: column for role, column in roles.items() if column is not None}
    table = _as_table(frame, named)
    for role, column in named.items():
        if not isinstance(column, Hashable) or column not in table.columns:
            raise InputError(f"{role}={shown(column)}: the frame has no such column; it has {listed(table.columns)}.")
    converters: dict[str, Callable[[Any], Any]] = {
        "ids": to_id,
        "labels": labels,
        "groups": to_group,
        "responses": to_response,
    }
    metadata: dict[str, Any] = {
        field: _converted(table, named[field.removesuffix("s")], convert)
        for field, convert in converters.items()
        if field.removesuffix("s") in named
    }
    labels.warn(f"column {label!r}")
    if group is not None:
        metadata["groups"] = joined_groups(metadata["groups"])
    if time is not None:
        metadata["times"] = _times(table, time)
    remembered = {f"{role}_column": column for role, column in named.items() if isinstance(column, str | int)}
    if text is not None:
        return with_reading(from_texts(table.get_column(text), **text_options, **metadata), **remembered)
    pruning = {name: text_options.pop(name) for name in Pruning._fields if name in text_options}
    if text_options:
        raise InputError(f"{listed(text_options)} apply to texts; name their column with {_candidates(table)}.")
    words = [column for column in table.columns if column not in named.values()]
    counts = from_matrix(_counts(table, words), [str(word) for word in words], **metadata, **pruning)
    return with_reading(counts, **remembered)


def text_columns(frame: Any) -> list[Any]:
    """Columns of a frame that may be its texts, the longest first: they begin with strings that are no numbers."""
    try:
        table = _as_table(frame, {})
    except InputError:  # two columns of one name, say
        return []
    found = {}
    for column in table.columns:
        texts = [value for _, value in islice(cells(table.get_column(column)), _LOOKED_AT) if value is not None]
        if texts and all(isinstance(value, str) for value in texts) and not _NUMBER.fullmatch(texts[0].strip()):
            found[column] = sum(map(len, texts)) / len(texts)
    return sorted(found, key=lambda column: -found[column])


def _candidates(table: Any) -> str:
    return " or ".join(f"text={column!r}" for column in text_columns(table)[:3]) or "text="


def to_frame(columns: Mapping[str, Sequence[Any] | AnyArray], like: Any = None) -> Any:
    """A table of these columns, as a data frame or as plain rows.

    Parameters
    ----------
    columns : mapping of str to sequence
        All equally long.
    like : {"pandas", "polars", "pyarrow", "rows"} or a table of theirs, default=None
        Which kind of table. None: pandas if it is installed, otherwise polars, otherwise ``Rows``, which needs nothing.

    Returns
    -------
    DataFrame, pyarrow.Table or Rows

    Examples
    --------
    >>> to_frame({"topic": [0, 1], "word": ["river", "money"]}, "rows")
    topic  word
        0  river
        1  money
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"columns of one frame must be equally long; these have {lengths}.")
    library = _library(like)
    if library is None:
        return Rows(columns)
    make = library.table if library.__name__ == "pyarrow" else library.DataFrame
    return make({name: np.asarray(v) if isinstance(v, np.ndarray) else list(v) for name, v in columns.items()})


# -- reading --------------------------------------------------------------------------------------------------


def _as_table(frame: Any, named: Mapping[str, Any]) -> "nw.DataFrame[Any]":
    import narwhals as nw

    if hasattr(frame, "features") and hasattr(frame, "with_format"):
        frame = _arrow_table(frame, named)
    elif type(frame).__name__ == "RecordBatch" and type(frame).__module__.startswith("pyarrow"):
        frame = import_module("pyarrow").Table.from_batches([frame])
    try:
        table = nw.from_native(frame)
    except TypeError:
        raise InputError(
            f"from_frame takes a pandas, polars or pyarrow table, not {type(frame).__name__}. "
            "For a count matrix use from_matrix, for texts from_texts."
        ) from None
    except Exception as error:  # narwhals' own errors, for instance for two columns of one name
        raise InputError(f"the frame cannot be used: {error}") from None
    if isinstance(table, nw.LazyFrame):
        raise InputError("the frame is lazy; call its collect() first.")
    if not isinstance(table, nw.DataFrame):
        raise InputError(f"from_frame takes a table, not {type(frame).__name__}.")
    if len(table) == 0:
        raise InputError("the frame has no rows; a corpus needs at least one document.")
    return table


def _arrow_table(dataset: Any, named: Mapping[str, Any]) -> Any:
    """A Dataset of Hugging Face, whose data stay where they are; in named columns classes have their names."""
    import pyarrow as pa

    table = dataset.with_format("arrow")[:]
    for column in set(named.values()) & set(table.column_names):
        feature = dataset.features[column]
        of_lists = getattr(feature, "feature", None)
        names = getattr(feature if of_lists is None else of_lists, "names", None)
        if not names:
            continue
        known = [None if n is None else [names[k] for k in n] if of_lists else names[n] if n >= 0 else None
                 for n in table[column].to_pylist()]  # fmt: skip
        table = table.set_column(table.column_names.index(column), column, pa.array(known))
    return table


def column_names(frame: Any) -> list[Any]:
    """Names of a frame's columns."""
    names = getattr(frame, "column_names", None)  # of pyarrow and of a Dataset; their ``columns`` are something else
    if names is None:
        names = frame.schema.names if type(frame).__name__ == "RecordBatch" else frame.columns
    return list(names)


def listed(names: Any) -> str:
    shown = [repr(name) for name in names]
    return ", ".join(shown[:20]) + (f" and {len(shown) - 20} more" if len(shown) > 20 else "")


def _converted(table: "nw.DataFrame[Any]", column: str, convert: Callable[[Any], Any]) -> list[Any]:
    values = []
    for row, value in cells(table.get_column(column)):
        try:
            values.append(convert(value))
        except ValueError as error:
            found = "the cell is empty" if value is None else f"found {shown(value)}"
            raise InputError(f"row {row}, column {column!r}: {found}, expected {error}.") from None
    return values


def _times(table: "nw.DataFrame[Any]", column: str) -> AnyArray:
    values = _converted(table, column, to_time)
    for row, value in enumerate(values):
        if time_kind(value) != time_kind(values[0]):
            raise InputError(
                f"row {row}, column {column!r}: found {value!r}, expected a {time_kind(values[0])} as before it."
            )
    return joined_times(values)


def _counts(table: "nw.DataFrame[Any]", words: list[str]) -> Any:
    """The word columns as a sparse matrix, one column at a time."""
    if not words:
        raise InputError("no column is left for word counts; name the column of texts with text=.")
    data, rows, ends = [], [], [0]
    for word in words:
        series = table.get_column(word)
        nulls = series.is_null().to_numpy()
        if nulls.any():
            raise InputError(f"row {int(np.argmax(nulls))}, column {word!r}: the count is null; fill it with 0.")
        values = np.asarray(series.to_numpy())
        if values.dtype.kind not in "buif":
            raise InputError(
                f"column {word!r} holds {series.dtype}, not counts. Name the column of texts with {_candidates(table)} "
                "or give this one a role (id=, label=, group=, response=, time=) or drop it."
            )
        filled = np.flatnonzero(values)
        rows.append(filled)
        data.append(values[filled])
        ends.append(ends[-1] + len(filled))
    entries = (np.concatenate(data), np.concatenate(rows), np.array(ends))
    return sp.csc_array(entries, shape=(len(table), len(words)))


# -- writing --------------------------------------------------------------------------------------------------

_LIBRARIES = ("pandas", "polars", "pyarrow")
_KINDS = (*_LIBRARIES, "rows")


def _library(like: Any) -> Any:
    """The library that makes a table of this kind; None for plain rows."""
    if like is None:
        installed = next((name for name in ("pandas", "polars") if find_spec(name) is not None), None)
        return None if installed is None else import_module(installed)
    if isinstance(like, Rows):
        return None
    if isinstance(like, str):
        if like not in _KINDS:
            raise InputError(f"frame={like!r} is not known; choose one of {', '.join(_KINDS)}.")
        if like == "rows":
            return None
        if find_spec(like) is None:
            raise MissingExtraError(f'{like} is not installed; pip install {like}, or take frame="rows".')
        return import_module(like)
    import narwhals as nw

    try:
        return nw.get_native_namespace(nw.from_native(like))
    except TypeError:
        raise InputError(
            f"frame must be one of {', '.join(_KINDS)} or a frame of theirs, not {type(like).__name__}."
        ) from None
