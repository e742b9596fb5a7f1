"""Files of texts as corpora of some documents each: what is in memory does not grow with the file."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from topicloom.corpus._archives import is_archive
from topicloom.corpus._checks import check_whole
from topicloom.corpus._sources import Files
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.formats import FORMATS, asked, check_options, documents_of, failures_of
from topicloom.errors import InputError

IN_CHUNKS = tuple(name for name, spec in FORMATS.items() if spec.several)


def read_chunks(
    path: Any,
    format: str | None = None,
    *,
    vocabulary: Sequence[str],
    chunk_size: int,
    encoding: str = "utf-8",
    **options: Any,
) -> Iterator[Corpus]:
    """The documents of files, ``chunk_size`` at a time, read as ``topicloom.read`` reads them with a vocabulary.

    Parameters
    ----------
    path : path, pattern, or list of them
        As of ``topicloom.read``, in one of the formats of texts: csv, tsv, jsonl, parquet, txt, mallet and files.
        Archives are read whole alone.
    format : str, optional
        One of these. None goes by the files' names.
    vocabulary : sequence of str
        The words that count.
    chunk_size : int
        Documents per corpus.
    encoding, **options
        As of ``topicloom.read``.

    Returns
    -------
    iterator of Corpus
        What the options and the first chunk have wrong is raised at once.

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
    check_whole("chunk_size", chunk_size, 1)
    files, name = asked(path, format, options)
    if not in_chunks(files, name):
        what = f"has the format {name!r}" if name not in IN_CHUNKS else "is or has an archive"
        raise InputError(
            f"{files.described} {what}, which is not read in chunks; those are {', '.join(IN_CHUNKS)}, outside of "
            "archives. Read it whole with topicloom.read, and give the corpus to transform."
        )
    check_options(name, options)
    if FORMATS[name].encoded:
        options["encoding"] = encoding
    found = _corpora(files, name, tuple(vocabulary), chunk_size, options)
    first = next(found, None)
    if first is None:
        raise InputError(f"{files.described} has no documents.")
    return chain([first], found)


def in_chunks(files: Files, name: str) -> bool:
    """Whether files are read in chunks. Archives are not, since their order is not that of the names."""
    return name in IN_CHUNKS and not any(is_archive(path) for path in files.paths)


def _corpora(
    files: Files, name: str, vocabulary: tuple[str, ...], chunk_size: int, options: dict[str, Any]
) -> Iterator[Corpus]:
    with failures_of(files):
        yield from documents_of(files, name, options).chunks(vocabulary, chunk_size)
