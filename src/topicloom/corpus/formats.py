"""Files of other tools to a corpus, and back."""

import errno
import inspect
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from traceback import clear_frames
from types import MappingProxyType
from typing import IO, Any, NamedTuple

from topicloom.corpus._archives import is_archive
from topicloom.corpus._bow_files import read_folder, read_ldac, read_uci
from topicloom.corpus._cell_files import H5AD_OPTIONS, TENX_OPTIONS, read_10x, read_h5ad
from topicloom.corpus._checks import items, shown
from topicloom.corpus._csv_files import read_csv, read_tsv
from topicloom.corpus._lines import replacing, word_list
from topicloom.corpus._matrix_files import read_mtx, read_npz
from topicloom.corpus._separators import delimiter_of, label_separator_of
from topicloom.corpus._sources import Files, found_paths
from topicloom.corpus._svmlight import read_svmlight
from topicloom.corpus._table_files import (
    COLUMN_OPTIONS,
    Documents,
    read_files,
    read_jsonl,
    read_mallet,
    read_parquet,
    read_txt,
)
from topicloom.corpus._writers import (
    check_writable,
    label_names,
    write_jsonl,
    write_ldac,
    write_mallet,
    write_mtx,
    write_npz,
    write_svmlight,
    write_txt,
    write_uci,
)
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.pruning import Pruning
from topicloom.corpus.text import from_texts
from topicloom.errors import InputError, StorageError
from topicloom.files.arrays import as_path

PathLike = str | os.PathLike[str]

_GIVEN = ("texts", "vocabulary", "ids", "labels", "groups", "responses", "times", "missing")  # by the reader
_PRUNING = Pruning._fields  # options of every format
_OF_ONE_READING = ("max_size", "min_cells", "max_cells")  # say nothing about other files
TEXT_OPTIONS = tuple(name for name in inspect.signature(from_texts).parameters if name not in _GIVEN)


class _Format(NamedTuple):
    suffixes: tuple[str, ...]
    read: Callable[..., Any]  # gives ``Documents`` if it takes several files, otherwise a Corpus
    options: tuple[str, ...] = ()
    write: Callable[[Corpus, IO[bytes]], None] | None = None
    encoded: bool = True  # the reader decodes text
    words_beside: bool = False  # the file holds word numbers; their names are in a file beside it
    weights: bool = False
    several: bool = False  # the reader takes any number of files, and members of archives
    marks: tuple[str, ...] = ()  # a folder with one of these files is in this format

    def takes(self, *, folder: bool) -> bool:
        """Whether one folder, or one file, is read in this format."""
        return bool(self.marks) if folder else bool(self.suffixes) or not self.marks


_TABLE = (*COLUMN_OPTIONS, "label_separator", *TEXT_OPTIONS)
_CSV = (*COLUMN_OPTIONS, "delimiter", "quote", "header", "label_separator", *TEXT_OPTIONS)
FORMATS: dict[str, _Format] = {
    "uci": _Format((".uci",), read_uci, ("max_size",), write_uci, encoded=False, words_beside=True),
    "ldac": _Format((".ldac", ".lda-c"), read_ldac, ("max_size",), write_ldac, encoded=False, words_beside=True),
    "svmlight": _Format(
        (".svmlight", ".svm", ".libsvm"),
        read_svmlight,
        ("zero_based", "target", "max_size"),
        write_svmlight,
        words_beside=True,
        weights=True,
    ),
    "mtx": _Format(
        (".mtx",), read_mtx, ("transpose", "max_size"), write_mtx, encoded=False, words_beside=True, weights=True
    ),
    "npz": _Format(
        (".npz",), read_npz, ("transpose", "max_size"), write_npz, encoded=False, words_beside=True, weights=True
    ),
    "mallet": _Format((".mallet",), read_mallet, TEXT_OPTIONS, write_mallet, several=True),
    "csv": _Format((".csv",), read_csv, _CSV, several=True),
    "tsv": _Format((".tsv", ".tab"), read_tsv, _CSV, several=True),
    "jsonl": _Format((".jsonl", ".ndjson"), read_jsonl, _TABLE, write_jsonl, several=True),
    "parquet": _Format((".parquet", ".pq"), read_parquet, _TABLE, encoded=False, several=True),
    "txt": _Format((".txt",), read_txt, TEXT_OPTIONS, write_txt, several=True),
    "files": _Format((), read_files, ("folder_labels", "suffix", *TEXT_OPTIONS), several=True),
    "folder": _Format((), read_folder, ("max_size",), encoded=False, marks=("docword.npz",)),
    "h5ad": _Format((".h5ad",), read_h5ad, H5AD_OPTIONS, encoded=False),
    "10x": _Format((".h5",), read_10x, TENX_OPTIONS, encoded=False, marks=("matrix.mtx.gz", "matrix.mtx")),
}


def read(
    path: PathLike | Sequence[PathLike],
    format: str | None = None,
    *,
    vocabulary: PathLike | Sequence[str] | None = None,
    encoding: str = "utf-8",
    **options: Any,
) -> Corpus:
    """Corpus from a file, a folder, an archive, or several of them. By default their names decide the format.

    ============ ======================================================== =====================================
    format       content                                                  options
    ============ ======================================================== =====================================
    ``uci``      UCI bag-of-words, ``docword.*.txt``
    ``ldac``     LDA-C, ``n word:count …``
    ``svmlight`` ``target index:value …``                                 ``zero_based``, ``target``
    ``mtx``      Matrix Market, documents × words                         ``transpose``
    ``npz``      ``scipy.sparse.save_npz``                                ``transpose``
    ``folder``   ``docword.npz``, ``vocab.txt``, ``labels.txt``, …
    ``files``    a folder, an archive or a list of ``.txt`` files, with   those of ``from_texts`` and
                 one document per file                                    ``folder_labels``, ``suffix``
    ``txt``      one document per line                                    those of ``from_texts``
    ``mallet``   ``name label text`` lines                                those of ``from_texts``
    ``csv``      a table with a header line, or ``tsv``                   and ``text_column``, ``id_column``,
                                                                          ``label_column``, ``group_column``,
                                                                          ``response_column``, ``time_column``,
                                                                          ``label_separator``, ``delimiter``,
                                                                          ``quote``, ``header``
    ``jsonl``    one JSON object per line, or ``parquet``; texts may be   and the columns as above
                 lists of words
    ``h5ad``     cells × features of anndata                              ``binarize``, ``min_cells``,
                                                                          ``max_cells``, ``layer``, columns as
                                                                          above but ``id_column``
    ``10x``      matrix, features, barcodes: a folder, or ``.h5``         ``binarize``, ``min_cells``,
                                                                          ``max_cells``, ``feature_type``
    ============ ======================================================== =====================================

    ``min_df``, ``max_df`` and ``max_words`` leave words out, in every format.

    Parameters
    ----------
    path : str or path, or a sequence of them
        A file, plain or gzipped; a folder; an archive (``.zip``, ``.tar``, ``.tar.gz``, ``.tgz``), of which nothing is
        unpacked to disk; or a pattern such as ``"speeches/*.txt"``. Formats of texts are read from any number of files.
    format : str, default=None
        One of the formats above. A folder is ``folder`` if it has a ``docword.npz``, otherwise what its files are. One
        ``.txt`` file has one document per line; of several, of a folder and of an archive, each file is a document.
    vocabulary : path or sequence of str, default=None
        Words, or a file with one word per line. For word numbers it names the words; by default it is looked for in
        ``<path>.vocab``, or ``vocab.*.txt`` beside ``docword.*.txt``. For texts it is the vocabulary to use.
    encoding : str, default="utf-8"
        Encoding of texts.
    **options
        Options of the format. ``max_size`` is the limit on documents, words and tokens of a file of word numbers, in
        place of 2**20 documents or words (or 1,000 per entry) and 10,000 tokens per entry; or on the bytes of an
        archive, in place of 64 MB (or 100 per byte of its own). Columns of a table without a header line
        (``header=False``) are numbers, from 0. A cell is one label, unless it is a list, a JSON list, or
        ``label_separator`` is given.

    Returns
    -------
    Corpus
        Its ``reading`` says how it was read, so that a fitted model reads new files in the same way.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from topicloom import read
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, text in {"geo/a.txt": "The river floods.", "geo/b.txt": "A river bank.", "c.txt": "Banks."}.items():
    ...     (folder / name).parent.mkdir(exist_ok=True)
    ...     _ = (folder / name).write_text(text)
    >>> corpus = read(folder)
    >>> corpus.ids, corpus.labels
    (('c.txt', 'geo/a.txt', 'geo/b.txt'), ((), ('geo',), ('geo',)))
    """
    files, name = asked(path, format, options)
    check_options(name, options)
    chosen = FORMATS[name]
    if chosen.encoded:
        options["encoding"] = encoding
    reading = _reading(name, chosen, files, vocabulary is not None, options)
    of_counts = "token_pattern" not in chosen.options
    bounds = Pruning(**{name: options.pop(name) for name in _PRUNING if of_counts and name in options}).check()
    with failures_of(files):
        words = _words(files.paths[0], chosen, vocabulary, encoding)
        if chosen.several:
            return _known(documents_of(files, name, options).corpus(words), reading)
        return _known(chosen.read(files.paths[0], words, **options), reading).prune(**bounds._asdict())


def asked(path: Any, format: str | None, options: Mapping[str, Any]) -> tuple[Files, str]:
    """The files that are meant, and the name of their format."""
    files = Files(found_paths(path), options.get("max_size"))
    return files, format_of(files, format, options)


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a format does not have."""
    chosen = FORMATS[name]
    for option in options:
        if option not in (*chosen.options, *_PRUNING) and not (option == "max_size" and chosen.several):
            known = ", ".join(dict.fromkeys((*chosen.options, *_PRUNING)))
            more = " For a table, give format='csv' or 'tsv'." if name in ("txt", "files") and option in _CSV else ""
            raise InputError(f"{option!r} is not an option of format {name!r}; its options are: {known}.{more}")


def documents_of(files: Files, name: str, options: Mapping[str, Any]) -> Documents:
    """Texts in a format that takes several files, before they are read."""
    own = {option: value for option, value in options.items() if option not in ("suffix", "max_size")}
    own |= {"max_size": options.get("max_size")} if name == "files" else {}
    documents: Documents = FORMATS[name].read(files.choose(_endings(name, options.get("suffix"))), **own)
    return documents


@contextmanager
def failures_of(files: Files) -> Iterator[None]:
    """Failures of memory and disk while files are read, as errors of ours."""
    try:
        yield
    except InputError as error:
        clear_frames(error.__traceback__)  # so that files are closed at once, and not with the error
        raise
    except MemoryError:
        raise InputError(f"{files.described}: memory does not suffice for what this file holds.") from None
    except OSError as error:
        if error.errno == errno.ENOSPC:  # where the corpus grows in a file
            raise StorageError(f"{files.described}: the disk is full; make room for the corpus.") from None
        raise InputError(f"{files.described} cannot be read: {error.strerror or error}.") from None


def _known(corpus: Corpus, reading: Mapping[str, Any]) -> Corpus:
    return replace(corpus, reading={**(corpus.reading or {}), **reading})


def write(
    corpus: Corpus, path: PathLike, format: str | None = None, *, vocabulary: PathLike | None = None
) -> list[Path]:
    """Write a corpus in another tool's format.

    Formats with word numbers (uci, ldac, svmlight, mtx, npz) have their words in a second file. Of the metadata, mallet
    keeps ids and labels, jsonl keeps all, and svmlight keeps responses or otherwise labels (with their names in
    ``<path>.labels``). The others keep none.

    Parameters
    ----------
    corpus : Corpus
    path : path
        File to write. It is compressed if its name ends in ``.gz``.
    format : str, default=None
        "uci", "ldac", "svmlight", "mtx", "npz", "txt", "mallet" or "jsonl". None decides by the name.
    vocabulary : path, default=None
        File for the words, if they are not in the file itself; ``<path>.vocab`` by default.

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from topicloom import from_texts, read
    >>> from topicloom.corpus.formats import write
    >>> files = write(from_texts(["river water", "money bank"]), Path(mkdtemp()) / "texts.ldac")
    >>> [file.name for file in files]
    ['texts.ldac', 'texts.ldac.vocab']
    >>> read(files[0])
    Corpus(2 documents, 4 words, 4 tokens)
    """
    target = as_path(path)
    name = _format_of(target, format)
    chosen = FORMATS[name]
    if chosen.write is None:
        known = ", ".join(name for name, other in FORMATS.items() if other.write)
        raise InputError(f"format {name!r} is not written; choose one of {known}.")
    if vocabulary is not None and not chosen.words_beside:
        raise InputError(f"format {name!r} holds the words itself; leave out vocabulary.")
    if name == "npz" and target.suffix == ".gz":
        raise InputError("an npz file is compressed already; give it a name without .gz.")
    check_writable(corpus, name, weights=chosen.weights, texts=not chosen.words_beside)
    beside: dict[Path, Sequence[str]] = {}
    if chosen.words_beside:
        words_path = _beside(target, ".vocab") if vocabulary is None else as_path(vocabulary)
        beside[words_path] = corpus.vocabulary
    if name == "svmlight" and corpus.responses is None and corpus.labels is not None:
        beside[_beside(target, ".labels")] = label_names(corpus)
    with replacing(target) as file:
        chosen.write(corpus, file)
    for other, lines in beside.items():
        with replacing(other) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
    return [target, *beside]


def _format_of(path: Path, format: str | None) -> str:
    """The format of one file by its name."""
    if format is not None:
        if not isinstance(format, str) or format not in FORMATS:
            raise InputError(f"format={shown(format)} is not known; choose one of {', '.join(FORMATS)}.")
        return format
    name = path.name.lower().removesuffix(".gz")
    if re.fullmatch(r"docword\..*txt", name):
        return "uci"
    for known, spec in FORMATS.items():
        if name.endswith(spec.suffixes or ("/",)):
            return known
    raise InputError(f"the name of {path} does not tell its format; give format= one of {', '.join(FORMATS)}.")


def format_of(files: Files, format: str | None, options: Mapping[str, Any] = MappingProxyType({})) -> str:
    """The format in which files are read, which is what is given, or what names and contents tell."""
    paths = files.paths
    several = len(paths) > 1 or paths[0].is_dir() or is_archive(paths[0])
    if format is None and ("suffix" in options or "folder_labels" in options):
        name = "files"
    elif format is not None or not several:
        name = _format_of(paths[0], format)
        is_table = name == "txt" and format is None and ("delimiter" in options or "header" in options)
        name = "csv" if is_table else name
    else:
        name = (_by_mark(paths[0]) if len(paths) == 1 else None) or _by_contents(files)
    chosen = FORMATS[name]
    if not chosen.several and len(paths) > 1:
        raise InputError(f"format {name!r} is read from one file, and {len(paths)} are given; give one of them.")
    if not chosen.several and not chosen.takes(folder=paths[0].is_dir()):
        kind = "a directory" if paths[0].is_dir() else "a file"
        raise InputError(f"{paths[0]} is {kind}, which format {name!r} cannot read.")
    return name


def _by_mark(path: Path) -> str | None:
    """The format of a folder that has a file with a name of its own."""
    if path.is_dir() and (path / "manifest.json").is_file():
        raise InputError(f"{path} is a model or a run, not a corpus; topicloom.load reads it.")
    found = (name for name, spec in FORMATS.items() if any((path / mark).is_file() for mark in spec.marks))
    return next(found, None)


def _by_contents(files: Files) -> str:
    """The one format of texts that there are files of."""
    counts = Counter(name for name in map(_by_name, files.names) if name is not None)
    known = {name: n for name, n in counts.items() if FORMATS[name].several}
    if len(known) == 1:
        (name,) = known
        return "files" if name == "txt" else name
    if not known:
        only = f"; files of {' and '.join(counts)} are read one by one" if counts else ""
        raise InputError(
            f"{files.described} holds no corpus: neither docword.npz nor files whose names tell a format of texts, "
            f"such as .txt or .csv{only}. {files.contents()}"
        )
    known = dict(sorted(known.items(), key=lambda found: -found[1]))
    told = ", ".join(f"{n:,} {name}" for name, n in known.items())
    names = " or ".join(f"format={('files' if name == 'txt' else name)!r}" for name in known)
    raise InputError(f"{files.described} holds files of several formats ({told}); say which to read, with {names}.")


def _by_name(name: str) -> str | None:
    try:
        return _format_of(Path(name), None)
    except InputError:
        return None


def _endings(name: str, suffix: object) -> tuple[str, ...]:
    """How the names of the files end that are read of a folder or an archive."""
    if suffix is not None and not isinstance(suffix, str):
        raise InputError(f"suffix={shown(suffix)} must be the end of the files' names, such as '.txt'.")
    plain = ((".txt",) if name == "files" else FORMATS[name].suffixes) if suffix is None else (suffix.lower(),)
    return (*plain, *(ending + ".gz" for ending in plain if ending))


def _reading(name: str, chosen: _Format, files: Files, named: bool, options: Mapping[str, Any]) -> dict[str, Any]:
    """How files are read, as far as it must be known to read others alike; how texts are cut the corpus knows."""
    defaults: dict[str, Any] = {"text_column": "text"} if "text_column" in chosen.options else {}
    readers = (read_csv, read_tsv) if chosen.read is read_tsv else (chosen.read,)  # the second passes on to the first
    for reader in readers:
        parameters = inspect.signature(reader).parameters.values()
        defaults |= {p.name: p.default for p in parameters if p.kind == p.KEYWORD_ONLY}
    how = {
        option: value
        for option, value in {**defaults, **options}.items()
        if option in (*chosen.options, "encoding") and option not in (*TEXT_OPTIONS, *_OF_ONE_READING)
    }
    if how.get("header") is False and "text_column" not in options:
        del how["text_column"]
    if "delimiter" in how:
        how["delimiter"] = delimiter_of(how["delimiter"])
    if "label_separator" in how:
        how["label_separator"] = label_separator_of(how["label_separator"]) or ""
    how = {option: value for option, value in how.items() if value is not None or option in options}
    return {"format": name, "told_by_name": told_by_name(files), **({"vocab": True} if named else {}), **how}


def told_by_name(files: Files) -> str | None:
    """What format the names tell; of a folder's and an archive's files, as of one of them."""
    try:
        name = format_of(files, None)
    except InputError:
        return None
    return "txt" if name == "files" else name


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _words(
    path: Path, format: _Format, vocabulary: PathLike | Sequence[str] | None, encoding: str
) -> tuple[str, ...] | None:
    if isinstance(vocabulary, str | os.PathLike):
        return word_list(as_path(vocabulary), encoding)
    if vocabulary is not None:
        return items("vocabulary", vocabulary)
    if format.words_beside:
        names = [path.name + ".vocab", path.name.removesuffix(".gz") + ".vocab"]
        if path.name.startswith("docword."):
            names.append("vocab" + path.name.removeprefix("docword").removesuffix(".gz"))
        for name in names:
            if path.with_name(name).is_file():
                return word_list(path.with_name(name), encoding)
    return None
