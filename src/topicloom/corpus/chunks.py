"""Files of texts as corpora of some documents each: what is in memory does not grow with the file."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from topicloom.corpus._checks import check_choice, check_whole
from topicloom.corpus._table_files import (
    Row,
    corpus_of_rows,
    csv_rows,
    jsonl_rows,
    mallet_rows,
    parquet_rows,
    split_roles,
    txt_rows,
)
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.formats import FORMATS, _format_of
from topicloom.errors import InputError
from topicloom.files.arrays import as_path

_TABLES = ("csv", "tsv", "jsonl", "parquet")
IN_CHUNKS = (*_TABLES, "txt", "mallet")


def read_chunks(
    path: Any,
    format: str | None = None,
    *,
    vocabulary: Sequence[str],
    chunk_size: int,
    encoding: str = "utf-8",
    **options: Any,
) -> Iterator[Corpus]:
    """The documents of a file, ``chunk_size`` at a time, read as ``topicloom.read`` reads it with a vocabulary.

    Parameters
    ----------
    path : a file in one of the formats csv, tsv, jsonl, parquet, txt and mallet; all but parquet may be gzipped.
    format : one of these; None goes by the file's name.
    vocabulary : the words that count.
    chunk_size : documents per corpus.
    encoding, options : as of ``topicloom.read``.

    Returns
    -------
    An iterator of corpora. What the options and the first chunk have wrong is raised at once.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "texts.txt"
    ...     _ = path.write_text("river bank\\nmoney bank\\nriver\\n")
    ...     [chunk.n_docs for chunk in read_chunks(path, vocabulary=["bank", "river"], chunk_size=2)]
    [2, 1]
    """
    source = as_path(path)
    check_whole("chunk_size", chunk_size, 1)
    if not source.exists():
        raise InputError(f"there is no file {source}.")
    if format is not None:
        check_choice("format", format, IN_CHUNKS)
    name = _format_of(source, format)
    if name not in IN_CHUNKS or source.is_dir():
        raise InputError(
            f"{source} has the format {name!r}, which is not read in chunks; those are {', '.join(IN_CHUNKS)}. Read it "
            "whole with topicloom.read, and give the corpus to transform."
        )
    for option in options:
        if option not in FORMATS[name].options:
            raise InputError(f"{option!r} is not an option of format {name!r}.")
    rows, text_options = _rows(source, name, encoding, options)
    words = tuple(vocabulary)

    def corpora() -> Iterator[Corpus]:
        while some := list(islice(rows, chunk_size)):
            yield corpus_of_rows(source, some, words, text_options)

    found = corpora()
    first = next(found, None)
    if first is None:
        raise InputError(f"{source} has no documents.")
    return chain([first], found)


def _rows(path: Path, name: str, encoding: str, options: dict[str, Any]) -> tuple[Iterator[Row], dict[str, Any]]:
    """The file's documents, and how their texts are cut."""
    if name in ("txt", "mallet"):
        lines: Callable[[Path, str], Iterator[Row]] = txt_rows if name == "txt" else mallet_rows
        return lines(path, encoding), options
    own = {key: options.pop(key) for key in ("delimiter", "quote") if key in options}
    roles, text_options = split_roles({key: value for key, value in options.items() if value is not None})
    if name == "parquet":
        return parquet_rows(path, roles), text_options
    if name == "jsonl":
        return jsonl_rows(path, roles, encoding), text_options
    delimiter = own.get("delimiter", "\t" if name == "tsv" else ",")
    return csv_rows(path, roles, encoding, delimiter, own.get("quote", '"')), text_options
