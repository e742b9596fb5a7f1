"""Files of topic shares, written some documents at a time: CSV, JSON lines, Parquet and NumPy's own."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus._lines import replacing
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimator.tables import topic_columns
from topicloom.errors import InputError, MissingExtraError

Dtype: TypeAlias = Literal["float64", "float32"]
_ABOUT = ("id", "tokens", "unknown")  # columns before the shares


class Shares(NamedTuple):
    """Topic shares of some documents: of all topics, or of each document's ``topics``, largest share first."""

    ids: Sequence[str]
    tokens: AnyArray  # [D] known tokens
    unknown: AnyArray  # [D] tokens that the model does not know
    theta: AnyArray  # [D, K], or [D, top_n]
    topics: AnyArray | None  # [D, top_n]


class Layout(NamedTuple):
    """What a file of shares holds."""

    n_topics: int
    names: tuple[str | None, ...]
    top_n: int | None = None
    dtype: Dtype = "float64"


Write: TypeAlias = Callable[[Shares], None]


def shares_of(corpus: Corpus, theta: AnyArray, first: int, layout: Layout) -> Shares:
    """The rows of some documents, of which the first is number ``first`` of all."""
    ids = [str(first + d) for d in range(corpus.n_docs)] if corpus.ids is None else list(corpus.ids)
    unknown = np.zeros(corpus.n_docs, np.int64) if corpus.unknown is None else corpus.unknown
    topics = None
    if layout.top_n is not None:
        topics = np.argsort(-theta, axis=1, kind="stable")[:, : layout.top_n]  # of equal shares the first topic's
        theta = np.take_along_axis(theta, topics, axis=1)
    return Shares(ids, corpus.doc_lengths, unknown, theta.astype(layout.dtype, copy=False), topics)


def suffix_of(path: Path) -> str:
    """What the name says is to be written, if that can be written."""
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    zipped = path.suffix == ".gz"
    if suffix not in _WRITERS or (zipped and suffix not in (".csv", ".jsonl")):
        raise InputError(
            f"{path}: the name must end in .csv, .jsonl, .parquet or .npy, which says what to write; .csv and .jsonl "
            "may be followed by .gz."
        )
    return suffix


def check_target(path: Path, layout: Layout) -> str:
    """What is to be written, if it can be."""
    suffix = suffix_of(path)
    if suffix == ".npy" and layout.top_n is not None:
        raise InputError(f"{path}: .npy holds the shares of all topics; leave out top_n, or write .parquet or .jsonl.")
    if suffix == ".parquet":
        _pyarrow()
    return suffix


@contextmanager
def writing(path: Path, layout: Layout) -> Iterator[Write]:
    """A function that writes rows to a file, which takes the path's place when all are written."""
    suffix = check_target(path, layout)
    with replacing(path) as file, _WRITERS[suffix](file, layout) as write:
        yield write


def records(shares: Shares) -> Iterator[dict[str, Any]]:
    """Each document's row as JSON has it."""
    theta = _numbers(shares.theta)
    for d, name in enumerate(shares.ids):
        about = {"id": name, "tokens": int(shares.tokens[d]), "unknown": int(shares.unknown[d])}
        if shares.topics is None:
            yield {**about, "topics": theta[d]}
        else:
            yield {**about, "topics": shares.topics[d].tolist(), "shares": theta[d]}


def header(layout: Layout) -> list[str]:
    """Columns of a table; ``top_1`` and ``share_1`` are a document's largest topic and its share."""
    if layout.top_n is None:
        return [*_ABOUT, *topic_columns(layout.n_topics, layout.names, _ABOUT)]
    pairs = ((f"top_{i}", f"share_{i}") for i in range(1, min(layout.top_n, layout.n_topics) + 1))
    return [*_ABOUT, *(column for pair in pairs for column in pair)]


def rows(shares: Shares) -> Iterator[list[Any]]:
    """Each document's row of a table."""
    for record in records(shares):
        about = [record[name] for name in _ABOUT]
        if shares.topics is None:
            yield [*about, *record["topics"]]
        else:
            pairs = zip(record["topics"], record["shares"], strict=True)
            yield [*about, *(value for pair in pairs for value in pair)]


def _numbers(theta: AnyArray) -> list[list[float]]:
    """As numbers of Python's, with as few digits as tell them apart."""
    if theta.dtype == np.float64:
        found: list[list[float]] = theta.tolist()
        return found
    return [[float(str(x)) for x in row] for row in theta]


# -- formats -------------------------------------------------------------------------------------------------------


@contextmanager
def csv_writer(file: IO[bytes], layout: Layout) -> Iterator[Write]:
    """A table with a header line."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    try:
        writer.writerow(header(layout))
        yield lambda shares: writer.writerows(rows(shares))
    finally:
        text.detach()


@contextmanager
def _jsonl_writer(file: IO[bytes], layout: Layout) -> Iterator[Write]:
    def write(shares: Shares) -> None:
        for record in records(shares):
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")

    yield write


@contextmanager
def _npy_writer(file: IO[bytes], layout: Layout) -> Iterator[Write]:
    """Rows follow each other; NumPy leaves room in the header for their number, which is known at the end."""
    done = 0

    def head() -> None:
        shape = (done, layout.n_topics)
        about = {"descr": np.lib.format.dtype_to_descr(np.dtype(layout.dtype)), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, about)

    def write(shares: Shares) -> None:
        nonlocal done
        done += len(shares.theta)
        file.write(np.ascontiguousarray(shares.theta).data)

    head()
    begins = file.tell()
    yield write
    file.seek(0)
    head()
    assert file.tell() == begins


@contextmanager
def _parquet_writer(file: IO[bytes], layout: Layout) -> Iterator[Write]:
    pyarrow, parquet = _pyarrow()
    number = pyarrow.float64() if layout.dtype == "float64" else pyarrow.float32()
    fields = [("id", pyarrow.string()), ("tokens", pyarrow.int64()), ("unknown", pyarrow.int64())]
    if layout.top_n is None:
        fields += [(name, number) for name in header(layout)[len(_ABOUT) :]]
    else:
        fields += [("topics", pyarrow.list_(pyarrow.int32())), ("shares", pyarrow.list_(number))]
    schema = pyarrow.schema(fields)

    def write(shares: Shares) -> None:
        own: list[Any] = [np.ascontiguousarray(column) for column in shares.theta.T]
        if shares.topics is not None:
            own = [list(shares.topics.astype(np.int32)), list(shares.theta)]
        columns = [list(shares.ids), shares.tokens, shares.unknown, *own]
        arrays = [pyarrow.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
        writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))

    with parquet.ParquetWriter(file, schema) as writer:
        yield write


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError(
            "writing Parquet needs pyarrow; install it with pip install 'topicloom[parquet]'."
        ) from None
    return pyarrow, parquet


_WRITERS: dict[str, Callable[[IO[bytes], Layout], Any]] = {
    ".csv": csv_writer,
    ".jsonl": _jsonl_writer,
    ".parquet": _parquet_writer,
    ".npy": _npy_writer,
}
