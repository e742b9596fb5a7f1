"""Data frames of pandas, polars or pyarrow to a corpus, and results back in the caller's own kind."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
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
from topicloom.corpus._labels import LabelCells
from topicloom.corpus.corpus import Corpus, from_matrix
from topicloom.corpus.text import from_texts
from topicloom.errors import InputError, MissingExtraError

if TYPE_CHECKING:  # at run time where there is a frame: a fit of anything else needs none of it
    import narwhals as nw

_ROWS_AT_ONCE = 4096


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
    """Corpus from a pandas, polars or pyarrow table, a document a row.

    ``text`` names the column of texts, and ``text_options`` are those of ``from_texts``. Without ``text`` every
    column that is not named for something else holds the counts of one word, whose name is the column's. A cell
    of the ``label`` column is a list, a JSON list or one label; with a ``label_separator`` such as ``","`` its labels
    are separated by that. Null is no label.
    """
    labels = LabelCells(label_separator)
    table = _as_table(frame)
    roles = {"text": text, "id": id, "label": label, "group": group, "response": response, "time": time}
    named = {role: column for role, column in roles.items() if column is not None}
    for role, column in named.items():
        if not isinstance(column, Hashable) or column not in table.columns:
            raise InputError(f"{role}={shown(column)}: the frame has no such column; it has {_listed(table.columns)}.")
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
    if text is not None:
        return from_texts(_texts(table, text), **text_options, **metadata)
    if text_options:
        raise InputError(f"{_listed(text_options)} apply to texts; name their column with text=.")
    words = [column for column in table.columns if column not in named.values()]
    return from_matrix(_counts(table, words), [str(word) for word in words], **metadata)


def to_frame(columns: Mapping[str, Sequence[Any] | AnyArray], like: Any = None) -> Any:
    """A data frame of these columns: ``like`` is "pandas", "polars", "pyarrow", or a frame whose kind to follow.

    With None it is pandas where that is installed, and polars otherwise.
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"columns of one frame must be equally long; these have {lengths}.")
    library = _library(like)
    make = library.table if library.__name__ == "pyarrow" else library.DataFrame
    return make({name: np.asarray(v) if isinstance(v, np.ndarray) else list(v) for name, v in columns.items()})


# -- reading --------------------------------------------------------------------------------------------------


def _as_table(frame: Any) -> "nw.DataFrame[Any]":
    import narwhals as nw

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


def _listed(names: Any) -> str:
    shown = [repr(name) for name in names]
    return ", ".join(shown[:20]) + (f" and {len(shown) - 20} more" if len(shown) > 20 else "")


def _cells(table: "nw.DataFrame[Any]", column: str) -> Iterator[tuple[int, Any]]:
    """Rows and values, None for null whatever the library's mark of it, some thousand at a time."""
    series = table.get_column(column)
    for start in range(0, len(series), _ROWS_AT_ONCE):
        part = series[start : start + _ROWS_AT_ONCE]
        nulls = part.is_null().to_list()
        for i, (value, null) in enumerate(zip(part.to_list(), nulls, strict=True)):
            yield start + i, None if null else value


def _texts(table: "nw.DataFrame[Any]", column: str) -> Iterator[str]:
    for row, value in _cells(table, column):
        if not isinstance(value, str):
            remedy = f"Fill nulls in {column!r} with '' for a document without text, or drop those rows."
            raise InputError(f"row {row}: the text is {value!r}; every text must be a string. {remedy}")
        yield value


def _converted(table: "nw.DataFrame[Any]", column: str, convert: Callable[[Any], Any]) -> list[Any]:
    values = []
    for row, value in _cells(table, column):
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
                f"column {word!r} holds {series.dtype}, not counts. Name the column of texts with text=, or give "
                "this one a role (id=, label=, group=, response=, time=) or drop it."
            )
        filled = np.flatnonzero(values)
        rows.append(filled)
        data.append(values[filled])
        ends.append(ends[-1] + len(filled))
    entries = (np.concatenate(data), np.concatenate(rows), np.array(ends))
    return sp.csc_array(entries, shape=(len(table), len(words)))


# -- writing --------------------------------------------------------------------------------------------------

_LIBRARIES = ("pandas", "polars", "pyarrow")


def _library(like: Any) -> Any:
    if like is None:
        for name in ("pandas", "polars"):
            if find_spec(name) is not None:
                return import_module(name)
        raise MissingExtraError("a data frame needs pandas or polars; pip install pandas, or pip install polars.")
    if isinstance(like, str):
        if like not in _LIBRARIES:
            raise InputError(f"like={like!r} is not known; choose one of {', '.join(_LIBRARIES)}.")
        if find_spec(like) is None:
            raise MissingExtraError(f"{like} is not installed; pip install {like}.")
        return import_module(like)
    import narwhals as nw

    try:
        return nw.get_native_namespace(nw.from_native(like))
    except TypeError:
        raise InputError(
            f"like must be one of {', '.join(_LIBRARIES)} or a frame of theirs, not {type(like).__name__}."
        ) from None
