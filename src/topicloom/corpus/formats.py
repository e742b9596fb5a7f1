"""Files of other tools to a corpus, and back."""

import errno
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from topicloom.corpus._bow_files import read_folder, read_ldac, read_uci
from topicloom.corpus._cell_files import H5AD_OPTIONS, TENX_OPTIONS, is_10x, read_10x, read_h5ad
from topicloom.corpus._checks import items
from topicloom.corpus._lines import replacing, word_list
from topicloom.corpus._matrix_files import read_mtx, read_npz
from topicloom.corpus._svmlight import read_svmlight
from topicloom.corpus._table_files import (
    COLUMN_OPTIONS,
    read_csv,
    read_jsonl,
    read_mallet,
    read_parquet,
    read_tsv,
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
from topicloom.errors import InputError, StorageError
from topicloom.files.arrays import as_path

PathLike = str | os.PathLike[str]

_PRUNING = Pruning._fields  # options of every format
TEXT_OPTIONS = (
    *("strip", "tokenizer", "token_pattern", "lowercase", "stop_words", "normalizer", "phrases", "ngrams"),
    *("keep_texts", "n_jobs"),
    *_PRUNING,
)


class _Format(NamedTuple):
    suffixes: tuple[str, ...]
    read: Callable[..., Corpus]
    options: tuple[str, ...] = ()
    write: Callable[[Corpus, IO[bytes]], None] | None = None
    encoded: bool = True  # the reader decodes text
    words_beside: bool = False  # the file holds word numbers; their names are in a file beside it
    weights: bool = False


_CSV_OPTIONS = (*COLUMN_OPTIONS, "delimiter", "quote", *TEXT_OPTIONS)
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
    "mallet": _Format((".mallet",), read_mallet, TEXT_OPTIONS, write_mallet),
    "csv": _Format((".csv",), read_csv, _CSV_OPTIONS),
    "tsv": _Format((".tsv", ".tab"), read_tsv, _CSV_OPTIONS),
    "jsonl": _Format((".jsonl", ".ndjson"), read_jsonl, (*COLUMN_OPTIONS, *TEXT_OPTIONS), write_jsonl),
    "parquet": _Format((".parquet", ".pq"), read_parquet, (*COLUMN_OPTIONS, *TEXT_OPTIONS), encoded=False),
    "txt": _Format((".txt",), read_txt, TEXT_OPTIONS, write_txt),
    "folder": _Format((), read_folder, ("max_size",), encoded=False),
    "h5ad": _Format((".h5ad",), read_h5ad, H5AD_OPTIONS, encoded=False),
    "10x": _Format((".h5",), read_10x, TENX_OPTIONS, encoded=False),
}
_FOLDERS = {"folder": (True,), "10x": (True, False)}  # whether a format is a folder


def read(
    path: PathLike,
    format: str | None = None,
    *,
    vocabulary: PathLike | Sequence[str] | None = None,
    encoding: str = "utf-8",
    **options: Any,
) -> Corpus:
    """Corpus from a file, plain or gzipped; the format is known by the name unless it is given.

    ============ ======================================================== =====================================
    format       content                                                  options
    ============ ======================================================== =====================================
    ``uci``      UCI bag-of-words, ``docword.*.txt``
    ``ldac``     LDA-C, ``n word:count …``
    ``svmlight`` ``target index:value …``                                 ``zero_based``, ``target``
    ``mtx``      Matrix Market, documents × words                         ``transpose``
    ``npz``      ``scipy.sparse.save_npz``                                ``transpose``
    ``folder``   ``docword.npz``, ``vocab.txt``, ``labels.txt``, …
    ``txt``      a document a line                                        those of ``from_texts``
    ``mallet``   ``name label text`` lines                                those of ``from_texts``
    ``csv``      a table with a header line, or ``tsv``                   and ``text_column``, ``id_column``,
                                                                          ``label_column``, ``group_column``,
                                                                          ``response_column``, ``time_column``,
                                                                          ``delimiter``, ``quote``
    ``jsonl``    a JSON object a line, or ``parquet``                     and the columns as above
    ``h5ad``     cells × features of anndata                              ``binarize``, ``min_cells``,
                                                                          ``max_cells``, ``layer``, columns as
                                                                          above but ``id_column``
    ``10x``      matrix, features, barcodes: a folder, or ``.h5``         ``binarize``, ``min_cells``,
                                                                          ``max_cells``, ``feature_type``
    ============ ======================================================== =====================================

    ``min_df``, ``max_df`` and ``max_words`` leave words out, in every format.

    ``vocabulary`` is a sequence of words or a file with one word a line. For word numbers it names the words; by
    default it is looked for in ``<path>.vocab``, or ``vocab.*.txt`` beside ``docword.*.txt``. For texts it is the
    vocabulary to use. Several labels are separated by blanks, or a list.

    A file of word numbers may claim 2**20 documents or words, or 1,000 per entry if those are more, and 10,000 tokens
    per entry. ``max_size`` (an option of these formats) allows as many as it says instead. Words that a vocabulary
    names are not limited.
    """
    source = as_path(path)
    if not source.exists():
        raise InputError(f"there is no file {source}.")
    name = _format_of(source, format)
    if source.is_dir() not in _FOLDERS.get(name, (False,)):
        kind = "a directory" if source.is_dir() else "a file"
        raise InputError(f"{source} is {kind}, which format {name!r} cannot read.")
    chosen = FORMATS[name]
    for option in options:
        if option not in (*chosen.options, *_PRUNING):
            known = ", ".join(dict.fromkeys((*chosen.options, *_PRUNING)))
            raise InputError(f"{option!r} is not an option of format {name!r}; its options are: {known}.")
    if chosen.encoded:
        options["encoding"] = encoding
    of_counts = "token_pattern" not in chosen.options
    pruning = {name: options.pop(name) for name in _PRUNING if of_counts and name in options}
    bounds = Pruning(**pruning).check()
    try:
        corpus = chosen.read(source, _words(source, chosen, vocabulary, encoding), **options)
        return corpus.prune(**bounds._asdict())
    except MemoryError:
        raise InputError(f"{source}: memory does not suffice for what this file holds.") from None
    except OSError as error:
        if error.errno == errno.ENOSPC:  # where the corpus grows in a file
            raise StorageError(f"{source}: the disk is full; make room for the corpus.") from None
        raise InputError(f"{source} cannot be read: {error.strerror or error}.") from None


def write(
    corpus: Corpus, path: PathLike, format: str | None = None, *, vocabulary: PathLike | None = None
) -> list[Path]:
    """Write the corpus in another tool's format and return the files written; ``.gz`` names are gzipped.

    Formats that hold word numbers (uci, ldac, svmlight, mtx, npz) get their words in ``<path>.vocab`` or in the
    file ``vocabulary``, and svmlight the names of labels in ``<path>.labels``. mallet keeps ids and labels, jsonl
    all metadata, svmlight responses or else labels, the others none.
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
    if format is not None:
        if format not in FORMATS:
            raise InputError(f"format={format!r} is not known; choose one of {', '.join(FORMATS)}.")
        return format
    if path.is_dir():
        return "10x" if is_10x(path) else "folder"
    name = path.name.lower().removesuffix(".gz")
    if re.fullmatch(r"docword\..*txt", name):
        return "uci"
    for known, spec in FORMATS.items():
        if name.endswith(spec.suffixes or ("/",)):
            return known
    raise InputError(f"the name of {path} does not tell its format; give format= one of {', '.join(FORMATS)}.")


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
