"""Reader of SVMlight files: ``target index:value …``, one document per line."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, Int32Array
from topicloom.corpus._columns import as_number, joined_groups
from topicloom.corpus._limits import Limits
from topicloom.corpus._lines import malformed, text_lines, word_list
from topicloom.corpus._streams import BLOCK_TOKENS, GrowingArray, pointers
from topicloom.corpus.corpus import Corpus, default_vocabulary
from topicloom.errors import InputError

_LINE = "'target index:value … index:value' with whole indices and values of 0 or more"
_LABELS = re.compile(r"[+-]?\d+(,[+-]?\d+)*", re.ASCII)
_INDEX = re.compile(r"\d{1,18}", re.ASCII)
_LARGEST = np.iinfo(np.int32).max


class _Document(NamedTuple):
    line: int
    target: str
    query: str | None
    words: list[int]
    values: list[float]


class _Entries:
    """Words and values as they are read; values are kept as whole numbers while they all are."""

    def __init__(self) -> None:
        self.whole = True
        self._chunks: list[tuple[AnyArray, AnyArray]] = []
        self._words: list[int] = []
        self._values: list[float] = []

    def add(self, document: _Document) -> None:
        self._words += document.words
        self._values += document.values
        if len(self._words) >= BLOCK_TOKENS // 4:
            self._flush()

    def _flush(self) -> None:
        values = np.array(self._values, np.float64)
        whole = bool(np.all(values == np.floor(values)) and np.all(values <= _LARGEST))
        self.whole = self.whole and whole
        self._chunks.append((np.array(self._words, np.int32), values.astype(np.int32) if whole else values))
        self._words, self._values = [], []

    def finish(self, base: int, limits: Limits) -> tuple[Int32Array, AnyArray | None]:
        """The stream, and weights unless every value is whole; chunks are freed on the way."""
        self._flush()
        words, weights = GrowingArray(), GrowingArray(np.float64)
        self._chunks.reverse()
        while self._chunks:
            ids, values = self._chunks.pop()
            if self.whole:
                limits.add(values)
            words.append(np.repeat(ids - base, values) if self.whole else ids - base)
            weights.append(np.empty(0) if self.whole else values)
        return words.finish(), None if self.whole else weights.finish()


def read_svmlight(
    path: Path,
    vocabulary: tuple[str, ...] | None,
    *,
    zero_based: bool | None = None,
    target: str = "auto",
    encoding: str = "utf-8",
    max_size: int | None = None,
) -> Corpus:
    """Targets are labels where all are whole (``1``, or ``1,3`` for two), and responses otherwise.

    ``target`` is ``"label"``, ``"response"`` or ``"none"`` to settle that; 0 on every line means none.
    Indices start at 1 unless an index 0 occurs or ``zero_based`` says so. ``qid:n`` gives groups.
    """
    if target not in ("auto", "label", "response", "none"):
        raise InputError(f"target={target!r} must be 'auto', 'label', 'response' or 'none'.")
    entries, limits = _Entries(), Limits(path, max_size)
    sizes, totals, targets, queries = [], [], [], []
    lowest, highest, highest_line = _LARGEST, -1, 0
    for document in _documents(path, encoding):
        if document.words:
            lowest = min(lowest, min(document.words))
            if max(document.words) > highest:
                highest, highest_line = max(document.words), document.line
        entries.add(document)
        sizes.append(len(document.words))
        totals.append(sum(document.values))
        targets.append((document.line, document.target))
        queries.append(document.query)
    if not targets:
        raise InputError(f"{path} has no documents.")
    base = 0 if zero_based or (zero_based is None and lowest == 0) else 1
    if lowest < base:
        raise InputError(f"{path}: an index 0 occurs, so that zero_based=False cannot be right.")
    limits.check_sizes(0, highest - base + 1, named=vocabulary is not None, entries=sum(sizes))
    names = default_vocabulary(max(highest - base + 1, 1)) if vocabulary is None else vocabulary
    if highest - base >= len(names):
        expected = f"an index from {base} to {len(names) - 1 + base}, for the {len(names)} words of the vocabulary"
        raise malformed(path, highest_line, highest, expected)
    words, weights = entries.finish(base, limits)
    lengths = np.array(totals if weights is None else sizes, np.float64).astype(np.int64)
    corpus = Corpus(words=words, doc_ptr=pointers(lengths), vocabulary=names, weights=weights)
    groups = [query for query in queries if query is not None]
    return corpus.with_metadata(
        groups=joined_groups(groups) if len(groups) == corpus.n_docs else None, **_meaning(path, targets, target)
    )


def _documents(path: Path, encoding: str) -> Iterator[_Document]:
    for number, line in enumerate(text_lines(path, encoding), 1):
        body = line.partition("#")[0]
        if body.strip():
            yield _document(path, number, body)
        elif not line.strip():
            raise malformed(path, number, line, _LINE)


def _document(path: Path, number: int, body: str) -> _Document:
    fields = body.split()
    goal = "" if ":" in fields[0] else fields.pop(0)
    query = fields.pop(0)[4:] if fields and fields[0].startswith("qid:") else None
    words, values = [], []
    convert = float if body.isascii() and "_" not in body else as_number
    for field in fields:
        index, _, text = field.partition(":")
        try:
            value = convert(text)
            if not (_INDEX.fullmatch(index) and int(index) < _LARGEST and 0 <= value < float("inf")):
                raise ValueError
        except ValueError:
            raise malformed(path, number, field, _LINE) from None
        if value:
            words.append(int(index))
            values.append(value)
    return _Document(number, goal, query, words, values)


def _meaning(path: Path, targets: list[tuple[int, str]], target: str) -> dict[str, Any]:
    """The targets as labels or responses of ``Corpus.with_metadata``."""
    if target == "none" or (target == "auto" and all(goal in ("", "0") for _, goal in targets)):
        return {}
    if target == "label" or (target == "auto" and all(not g or _LABELS.fullmatch(g) for _, g in targets)):
        names = path.with_name(path.name + ".labels")
        known = word_list(names) if names.is_file() else None
        return {"labels": [_label_names(path, line, goal, known) for line, goal in targets]}
    responses = []
    for line, goal in targets:
        try:
            responses.append(as_number(goal))
        except ValueError:
            raise malformed(path, line, goal, "a number as the target, or whole numbers as labels") from None
    return {"responses": responses}


def _label_names(path: Path, line: int, goal: str, known: tuple[str, ...] | None) -> tuple[str, ...]:
    labels = goal.split(",") if goal else []
    if known is None:
        return tuple(label.removeprefix("+") for label in labels)
    if not all(_INDEX.fullmatch(label) and 1 <= int(label) <= len(known) for label in labels):
        expected = f"labels from 1 to {len(known)}, the lines of {path.name}.labels"
        raise malformed(path, line, goal, expected)
    return tuple(known[int(label) - 1] for label in labels)
