"""Writers of a corpus to the files of other tools. Each takes the corpus and an open binary file."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import IO, Any

import numpy as np
import scipy  # its parts are loaded when they are used
import scipy.sparse as sp

from topicloom.corpus._streams import block_pairs, document_blocks
from topicloom.corpus.corpus import Corpus
from topicloom.errors import InputError

# -- counts ---------------------------------------------------------------------------------------------------


def write_uci(corpus: Corpus, file: IO[bytes]) -> None:
    blocks = list(document_blocks(corpus.doc_ptr))
    n_entries = sum(len(_pairs(corpus, block)[0]) for block in blocks)
    file.write(f"{corpus.n_docs}\n{corpus.n_words}\n{n_entries}\n".encode())
    for block in blocks:
        docs, words, counts = _pairs(corpus, block)
        rows = zip((docs + 1).tolist(), (words + 1).tolist(), counts.tolist(), strict=True)
        file.write("".join(map("%d %d %d\n".__mod__, rows)).encode())


def write_ldac(corpus: Corpus, file: IO[bytes]) -> None:
    for _, entries in _documents(corpus, first_word=0):
        file.write(" ".join([str(len(entries)), *entries]).encode() + b"\n")


def write_svmlight(corpus: Corpus, file: IO[bytes]) -> None:
    """Targets are the responses, else the labels by their numbers from 1, else 0; words from 1."""
    names = {label: str(i) for i, label in enumerate(label_names(corpus), 1)}
    for d, entries in _documents(corpus, first_word=1):
        if corpus.responses is not None:
            target = repr(float(corpus.responses[d]))
        else:
            target = "0" if corpus.labels is None else ",".join(names[label] for label in corpus.labels[d])
        # Other readers skip blank lines, so a document without label and words gets a zero to be seen by.
        shown = entries or ([] if target else ["1:0"])
        file.write(" ".join([target, *shown]).encode() + b"\n")


def label_names(corpus: Corpus) -> list[str]:
    return sorted({label for labels in corpus.labels or () for label in labels})


def write_mtx(corpus: Corpus, file: IO[bytes]) -> None:
    scipy.io.mmwrite(file, corpus.to_matrix(), field="integer" if corpus.weights is None else "real")


def write_npz(corpus: Corpus, file: IO[bytes]) -> None:
    matrix = corpus.to_matrix()
    if corpus.weights is None:
        matrix = matrix.astype(np.int32)
    sp.save_npz(file, matrix)


def _pairs(corpus: Corpus, block: tuple[int, int]) -> tuple[Any, Any, Any]:
    return block_pairs(corpus.words, corpus.doc_ptr, corpus.n_words, block, corpus.weights)


def _documents(corpus: Corpus, first_word: int) -> Iterator[tuple[int, list[str]]]:
    """Each document's number and its ``word:count`` entries."""
    for first, last in document_blocks(corpus.doc_ptr):
        docs, words, counts = _pairs(corpus, (first, last))
        entries = list(map("%d:%r".__mod__, zip((words + first_word).tolist(), counts.tolist(), strict=True)))
        bounds = np.searchsorted(docs, np.arange(first, last + 1)).tolist()
        for d in range(first, last):
            yield d, entries[bounds[d - first] : bounds[d - first + 1]]


# -- words ----------------------------------------------------------------------------------------------------


def write_txt(corpus: Corpus, file: IO[bytes]) -> None:
    for text in _texts(corpus):
        file.write(text.encode() + b"\n")


def write_mallet(corpus: Corpus, file: IO[bytes]) -> None:
    """Name, labels and words between tabs; ``-`` where there is no label, a number where there is no id."""
    for d, text in enumerate(_texts(corpus)):
        name = str(d) if corpus.ids is None else corpus.ids[d]
        labels = ("-",) if corpus.labels is None or not corpus.labels[d] else corpus.labels[d]
        file.write(f"{name}\t{' '.join(labels)}\t{text}\n".encode())


def write_jsonl(corpus: Corpus, file: IO[bytes]) -> None:
    """``text`` with the words between blanks; ``id``, ``labels``, ``group``, ``response``, ``time`` where known."""
    for d, text in enumerate(_texts(corpus)):
        record: dict[str, Any] = {}
        if corpus.ids is not None:
            record["id"] = corpus.ids[d]
        if corpus.labels is not None:
            record["labels"] = corpus.labels[d]
        if corpus.groups is not None:
            record["group"] = _plain(corpus.groups[d])
        if corpus.responses is not None:
            record["response"] = float(corpus.responses[d])
        if corpus.times is not None:
            record["time"] = _plain(corpus.times[d])
        record["text"] = text
        file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def _texts(corpus: Corpus) -> Iterator[str]:
    name = corpus.vocabulary.__getitem__
    for first, last in document_blocks(corpus.doc_ptr):
        ends = corpus.doc_ptr[first : last + 1].tolist()
        for start, end in pairwise(ends):
            yield " ".join(map(name, corpus.words[start:end].tolist()))


def _plain(value: Any) -> str | int | float | bool:
    """A value that JSON holds; dates as ISO strings, anything else as its string."""
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[us]"))
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool) else str(value)


# -- what a format cannot hold --------------------------------------------------------------------------------


def check_writable(corpus: Corpus, format: str, *, weights: bool, texts: bool) -> None:
    """Refuse, before anything is written, what would not come back as it is."""
    if corpus.weights is not None and not weights:
        raise InputError(
            f"the corpus has weights, and format {format!r} holds whole counts; "
            "write 'mtx', 'npz' or 'svmlight' instead."
        )
    for word in corpus.vocabulary:
        if not word.strip() or "\n" in word or "\r" in word or (texts and word.split() != [word]):
            raise InputError(
                f"the word {word!r} is empty or holds a blank or a line break, which format {format!r} cannot "
                "tell from what separates words." + " Write 'npz' or 'mtx' instead." * texts
            )
    _check_no_mark(corpus, format)
    if format == "mallet":
        names = {"an id": corpus.ids or (), "a label": label_names(corpus)}
        for what, values in names.items():
            for value in values:
                if value.split() != [value] or value == "-":
                    raise InputError(f"{value!r} cannot be {what} in a MALLET file: it must be one word, not '-'.")
    if format == "svmlight" and corpus.responses is None:
        for label in label_names(corpus):
            if not label.strip() or "\n" in label or "\r" in label:
                raise InputError(f"the label {label!r} is empty or holds a line break and cannot be written.")


def _check_no_mark(corpus: Corpus, format: str) -> None:
    """Refuse what a reader would take for the byte order mark of a file."""
    if format == "jsonl":
        return
    metadata = [*(corpus.ids or ()), *label_names(corpus)] if format in ("mallet", "svmlight") else []
    for value in [*corpus.vocabulary, *metadata]:
        if value.startswith("\ufeff"):
            raise InputError(
                f"{value!r} begins with a byte order mark (U+FEFF), which readers drop or refuse; remove it, for "
                "instance word.lstrip('\\ufeff')."
            )
