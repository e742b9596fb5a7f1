"""A corpus as one file of ours, read into memory or used where it lies.

What has an entry for each token is large; a *mapped* corpus leaves it in the file. A file that was written for that,
by ``convert_corpus`` or from a mapped corpus, says so, and is mapped again whenever it is read.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus._columns import restored_groups, saved_groups
from topicloom.corpus._streams import growing_in
from topicloom.corpus._texts import StoredTexts, packed
from topicloom.corpus.corpus import Corpus, TextOptions
from topicloom.corpus.formats import read
from topicloom.corpus.text_options import restored
from topicloom.errors import InputError
from topicloom.files.arrays import check_digest, file_of, from_bytes, read_arrays, read_info, to_bytes, write_arrays
from topicloom.files.checks import check_corpus, refusing

PathLike = str | os.PathLike[str]
_LARGE = ("words", "weights")  # an entry for each token
_TEXTS = "texts"  # stay in the file until they are asked for, whatever is done with the rest


def convert_corpus(
    source: PathLike | Sequence[PathLike], path: PathLike, format: str | None = None, **options: Any
) -> Corpus:
    r"""Convert files of other tools to one corpus file, also if they are larger than memory.

    Formats that are read as one matrix (mtx, npz and folder) must fit into memory. Of all others only the vocabulary
    and the metadata of the documents must. Within ``topicloom.scale.ray`` files of texts are read by workers, which
    changes no byte of the corpus file.

    Parameters
    ----------
    source : path, or sequence of paths
        Files to read, as in ``topicloom.read``.
    path : path
        File to write. Its folder must exist.
    format : str, default=None
        Format of the files; None decides by their names.
    **options
        Options of ``topicloom.read``.

    Returns
    -------
    Corpus
        The corpus with its tokens mapped: they stay in the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from topicloom.corpus.stored import convert_corpus
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "texts.txt").write_text("river water\nmoney bank\n")
    >>> convert_corpus(folder / "texts.txt", folder / "texts.corpus")
    Corpus(2 documents, 4 words, 4 tokens, with texts)
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent} to put {target.name} into; make it first.")
    with growing_in(target.parent):
        save_corpus(read(source, format, **options), target, mapped=True)
    return load_corpus(target, verify=False)


def save_corpus(corpus: Corpus, path: Path, *, mapped: bool | None = None) -> str:
    """Write a corpus to one file.

    Parameters
    ----------
    corpus : Corpus
    path : Path
        File to write.
    mapped : bool, default=None
        Whether ``load_corpus`` leaves the tokens in the file. None: as with this corpus.

    Returns
    -------
    str
        Digest of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from topicloom import from_texts
    >>> from topicloom.corpus.stored import load_corpus, save_corpus
    >>> corpus = from_texts(["river water", "money bank"])
    >>> digest = save_corpus(corpus, Path(mkdtemp()) / "texts.corpus")
    >>> len(digest)
    32
    """
    return write_arrays(path, *corpus_part(corpus, mapped))


def corpus_part(corpus: Corpus, mapped: bool | None = None) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Arrays and info of a corpus's file."""
    arrays: dict[str, AnyArray] = {
        "words": corpus.words,
        "doc_ptr": corpus.doc_ptr,
        "vocabulary": to_bytes(corpus.vocabulary),
    }
    info: dict[str, Any] = {"ordered": corpus.ordered, "text_options": saved_options(corpus.text_options)}
    if is_mapped(corpus) if mapped is None else mapped:
        info["mapped"] = True
    for name in ("weights", "responses", "unknown"):
        if getattr(corpus, name) is not None:
            arrays[name] = getattr(corpus, name)
    if corpus.reading is not None:
        info["reading"] = dict(corpus.reading)
    for name in ("ids", "labels"):
        if getattr(corpus, name) is not None:
            arrays[name] = to_bytes(check_plain(name, getattr(corpus, name)))
    if corpus.groups is not None:
        arrays["groups"] = to_bytes(saved_groups(check_plain("groups", corpus.groups)))
    if corpus.times is not None:
        if corpus.times.dtype.kind == "M":
            info["times"] = corpus.times.dtype.str
            arrays["times"] = corpus.times.view(np.int64)
        elif corpus.times.dtype.kind in "iuf":
            arrays["times"] = corpus.times
        else:
            arrays["times_text"] = to_bytes(check_plain("times", corpus.times.tolist()))
    if corpus.texts is not None:
        arrays["texts"], arrays["texts_ptr"] = packed(corpus.texts)
    return arrays, info


def load_corpus(
    path: PathLike, *, mapped: bool | None = None, verify: bool = True, digest: str | None = None
) -> Corpus:
    """Read a corpus file.

    Texts stay in the file in any case, and are read one by one when they are needed.

    Parameters
    ----------
    path : path
        A file that ``save_corpus`` or ``convert_corpus`` wrote.
    mapped : bool, default=None
        True leaves the tokens in the file, False reads them into memory. None: as the file says. A model that is fitted
        to a mapped corpus keeps the topics of its tokens in a file beside it, too.
    verify : bool, default=True
        Whether to compare the content with its digest.
    digest : str, default=None
        If given, a file with another digest is refused.

    Returns
    -------
    Corpus

    Raises
    ------
    StorageError
        If the file is damaged, foreign or of an unknown version.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from topicloom import from_texts
    >>> from topicloom.corpus.stored import load_corpus, save_corpus
    >>> path = Path(mkdtemp()) / "texts.corpus"
    >>> _ = save_corpus(from_texts(["river water", "money bank"]), path)
    >>> load_corpus(path)
    Corpus(2 documents, 4 words, 4 tokens, with texts)
    """
    path = Path(path)
    if mapped is None:
        about = read_info(path)
        mapped = isinstance(about, dict) and bool(about.get("mapped"))
    arrays, info, found = read_arrays(path, mapped=(*_LARGE, _TEXTS) if mapped else (_TEXTS,), verify=verify)
    check_digest(path, found, digest)
    check_corpus(path, arrays, info)
    with refusing(path):
        texts = StoredTexts(arrays["texts"], arrays["texts_ptr"], path) if "texts" in arrays else None
        if texts is not None and verify:
            texts.check()
        return replace(_corpus_of(arrays, info), texts=texts)


def stored_tokens(path: PathLike, docs: tuple[int, int], n_words: int, digest: str) -> tuple[AnyArray, AnyArray]:
    """The words of some documents of a corpus file, which stay in it, and where the documents start.

    The file is refused if it has another digest, as a copy on another machine may.
    """
    arrays, _, found = read_arrays(Path(path), mapped=("words", "doc_ptr"), verify=False, only=("words", "doc_ptr"))
    check_digest(Path(path), found, digest)
    start, stop = docs
    doc_ptr = np.array(arrays["doc_ptr"][start : stop + 1])
    with refusing(Path(path)):
        if len(doc_ptr) != stop + 1 - start or np.any(np.diff(doc_ptr) < 0) or doc_ptr[-1] > len(arrays["words"]):
            raise InputError(f"its documents {start} to {stop} do not have tokens that follow each other.")
        words = arrays["words"][int(doc_ptr[0]) : int(doc_ptr[-1])]
        if len(words) and (words.min() < 0 or words.max() >= n_words):
            raise InputError(f"documents {start} to {stop} have words beyond the vocabulary of {n_words}.")
    return words, doc_ptr


def _corpus_of(arrays: dict[str, AnyArray], info: Any) -> Corpus:
    fields: dict[str, Any] = {name: arrays[name] for name in ("words", "doc_ptr")}
    for name in ("weights", "responses", "unknown"):
        fields[name] = arrays.get(name)
    for name in ("vocabulary", "ids", "labels"):
        fields[name] = _listed(name, arrays[name]) if name in arrays or name == "vocabulary" else None
    fields["groups"] = restored_groups(_listed("groups", arrays["groups"])) if "groups" in arrays else None
    fields["reading"] = info.get("reading")
    times = arrays.get("times")
    if times is not None and "times" in info:
        kind = np.dtype(info["times"])
        if kind.kind != "M" or times.dtype != np.int64:
            raise InputError(f"its times are {times.dtype} values as {kind}.")
        times = times.view(kind)
    if "times_text" in arrays:
        times = np.array(from_bytes(arrays["times_text"]))
    return Corpus(**fields, times=times, ordered=info["ordered"], text_options=restored(info["text_options"]))


def _listed(name: str, array: AnyArray) -> tuple[Any, ...]:
    found = from_bytes(array)
    if not isinstance(found, list):
        raise InputError(f"its {name} are not a list.")
    return tuple(found)


def is_mapped(corpus: Corpus) -> bool:
    """Whether the tokens are in a file."""
    return file_of(corpus.words) is not None


def saved_options(options: TextOptions | None) -> list[Any] | None:
    """How texts were cut, as plain data."""
    return None if options is None else options.saved()


def check_plain(name: str, values: Any) -> Any:
    """The values, if JSON gives them back as they are."""
    for d, value in enumerate(values):
        parts = value if isinstance(value, tuple) and name == "labels" else (value,)
        if isinstance(value, date) and name in ("groups", "collections"):  # ``saved_groups`` has a form for it
            continue
        if not all(part is None or isinstance(part, str | bool | int | float) for part in parts):
            raise InputError(
                f"document {d}: the {name} entry {value!r} is a {type(value).__name__}, which cannot be saved; "
                "use text, numbers or dates (for instance str(value))."
            )
    return values
