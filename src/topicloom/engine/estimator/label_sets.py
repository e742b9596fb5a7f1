"""Label sets as they come in: an indicator matrix, names in lists, or a corpus's own."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray, BoolArray, Int32Array, Int64Array
from topicloom.corpus._checks import check_encodable, shown
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimator import refused as _refused
from topicloom.errors import InputError, counted, there_are
from topicloom.files.arrays import from_bytes, to_bytes

_EXPECTED = "give a documents × labels matrix of 0 and 1, or one list of label names per document"


class LabelSets(NamedTuple):
    """Each document's labels, as numbers, ascending: those of document d are ``label[ptr[d]:ptr[d + 1]]``."""

    ptr: Int64Array
    label: Int32Array
    n_labels: int

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.ptr) - 1

    @property
    def sizes(self) -> Int64Array:
        """Number of labels of each document."""
        return np.diff(self.ptr)

    @property
    def frequencies(self) -> Int64Array:
        """Number of documents with each label."""
        return np.bincount(self.label, minlength=self.n_labels)


def read_labels(y: Any, corpus: Corpus) -> tuple[AnyArray, LabelSets]:
    """(class names, each document's labels). Columns of a matrix without names are the classes 0, 1, …"""
    if y is None:
        if corpus.labels is None:
            raise InputError(f"the documents have no labels: {_EXPECTED}, or a Corpus with labels.")
        y = corpus.labels
    y = plain_labels(y)
    if _is_matrix(y):
        names, truth = _indicator(y)
        if len(truth) != corpus.n_docs:
            raise InputError(
                f"y has {counted(len(truth), 'rows')} but {there_are(corpus.n_docs, 'documents')}; give one for each."
            )
        return check_names(names), sets_of(truth)
    lists = _name_lists(y, corpus.n_docs)
    names = check_names(sorted_names({name for own in lists for name in own}))
    number = {name: k for k, name in enumerate(names.tolist())}
    return names, _from_numbers([{number[name] for name in own} for own in lists], len(names))


def true_labels(y: Any, n_docs: int, classes: AnyArray) -> BoolArray:
    """True labels [D, K + U]: columns of a model's K classes, then of the U labels that it has never seen."""
    return named_labels(y, n_docs, classes)[1]


def named_labels(y: Any, n_docs: int, classes: AnyArray) -> tuple[list[Any], BoolArray]:
    """Names of the columns of ``true_labels``, and these."""
    y = plain_labels(y)
    if _is_matrix(y):
        names, truth = _indicator(y)
        if truth.shape != (n_docs, len(classes)) or (_has_names(y) and names.tolist() != classes.tolist()):
            raise InputError(f"y has shape {truth.shape}; expected ({n_docs}, {len(classes)}), a column per class.")
        return classes.tolist(), truth
    lists = _name_lists(y, n_docs)
    number = {name: k for k, name in enumerate(classes.tolist())}
    for own in lists:
        for name in own:
            number.setdefault(name, len(number))
    out = np.zeros((n_docs, len(number)), bool)
    for d, own in enumerate(lists):
        out[d, [number[name] for name in own]] = True
    return list(number), out


def plain_labels(y: Any) -> Any:
    """The same labels: as an array if they can only be made one, and rows that are arrays in a list as lists."""
    if hasattr(y, "__array__") and not hasattr(y, "shape"):
        with _refused.in_own_words(y, _refused.CLASSES):
            y = np.asarray(y)
    if isinstance(y, list | tuple) and y and all(isinstance(own, np.ndarray) for own in y):
        y = [own.tolist() for own in y]
    return y


def beside(truth: BoolArray, values: AnyArray) -> AnyArray:
    """What a model says of its K labels [D, K], with 0 for those that ``truth`` has and the model has never seen."""
    return np.pad(values, ((0, 0), (0, truth.shape[1] - values.shape[1])))


def micro_f1(truth: BoolArray, answer: AnyArray) -> float:
    """Of label sets; labels that the model has never seen count as missed."""
    from topicloom.evaluation.labels import label_set_scores

    return label_set_scores(truth, beside(truth, answer))["micro_f1"]


def sets_of(truth: BoolArray) -> LabelSets:
    """The label sets of an indicator matrix."""
    docs, label = np.nonzero(truth)
    ptr = np.concatenate(([0], np.cumsum(np.bincount(docs, minlength=len(truth))))).astype(np.int64)
    return LabelSets(ptr, label.astype(np.int32), truth.shape[1])


def indicator(sets: LabelSets) -> BoolArray:
    """Label sets as a matrix [D, K]: the inverse of ``sets_of``."""
    out = np.zeros((sets.n_docs, sets.n_labels), bool)
    out[np.repeat(np.arange(sets.n_docs), sets.sizes), sets.label] = True
    return out


def without(sets: LabelSets, docs: BoolArray) -> LabelSets:
    """The same with no labels for the documents of a mask."""
    sizes = np.where(docs, 0, sets.sizes)
    ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return LabelSets(ptr, sets.label[~np.repeat(docs, sets.sizes)], sets.n_labels)


def sorted_names(names: Iterable[Hashable]) -> AnyArray:
    """The names of labels, sorted; all must be strings, or none."""
    found = list(names)
    if not found:
        raise InputError("no document has a label; at least one is needed to learn from.")
    if len({isinstance(name, str) for name in found}) > 1:
        raise InputError("some labels are strings and some are not; give all of one kind.")
    return np.array(sorted(found))  # type: ignore[type-var]


def check_names(names: AnyArray) -> AnyArray:
    """The names of labels or classes, if a file can hold them."""
    check_encodable("labels", [name for name in names.tolist() if isinstance(name, str)])
    return names


def _from_numbers(numbers: Sequence[Iterable[int]], n_labels: int) -> LabelSets:
    own = [sorted(of) for of in numbers]
    ptr = np.concatenate(([0], np.cumsum([len(of) for of in own]))).astype(np.int64)
    return LabelSets(ptr, np.array([k for of in own for k in of], np.int32), n_labels)


def _is_matrix(y: Any) -> bool:
    if sp.issparse(y) or _has_names(y):
        return True
    if isinstance(y, np.ndarray):
        return bool(y.ndim == 2)
    rows = isinstance(y, list | tuple) and len(y) > 0 and all(isinstance(row, list | tuple) for row in y)
    # Lists of 0 and 1, all of one length, are the rows of a matrix only if no document could mean them as names.
    return rows and len({len(row) for row in y}) == 1 and len(y[0]) > 1 and _zeros_and_ones(y)


def _zeros_and_ones(rows: Any) -> bool:
    values = [value for row in rows for value in row]
    plain = all(isinstance(value, int | float | np.number) for value in values)
    return plain and set(values) <= {0, 1} and any(len(set(row)) < len(row) for row in rows)


def _has_names(y: Any) -> bool:
    return hasattr(y, "columns") and hasattr(y, "to_numpy")


def _indicator(y: Any) -> tuple[AnyArray, BoolArray]:
    names = np.array(list(y.columns)) if _has_names(y) else None
    is_sparse: bool = sp.issparse(y)  # named, because narrowing here would hide the attributes from mypy
    dense = y.toarray() if is_sparse else np.asarray(y.to_numpy() if _has_names(y) else y)
    if dense.ndim != 2 or dense.shape[1] == 0:
        raise InputError(f"y has shape {dense.shape}; {_EXPECTED}.")
    good = dense.dtype.kind in "buif" and np.isin(dense, (0, 1))
    if not np.all(good):
        if dense.dtype.kind not in "buif":
            raise InputError(f"y holds {dense.dtype} values; {_EXPECTED}.")
        doc, column = np.argwhere(~good)[0]
        raise InputError(f"document {doc}: y has {dense[doc, column]} in column {column}; {_EXPECTED}.")
    truth = dense.astype(bool)
    if not truth.any():
        raise InputError("no document has a label; at least one is needed to learn from.")
    return (np.arange(truth.shape[1]) if names is None else names), truth


def _name_lists(y: Any, n_docs: int) -> list[tuple[Any, ...]]:
    if isinstance(y, str | bytes | Mapping) or not isinstance(y, Iterable):
        raise InputError(f"y is {type(y).__name__}; {_EXPECTED}.")
    rows = list(y.tolist() if isinstance(y, np.ndarray) else y)
    if len(rows) != n_docs:
        raise InputError(
            f"y has {counted(len(rows), 'entries')} but {there_are(n_docs, 'documents')}; give one for each."
        )
    lists = []
    for d, row in enumerate(rows):
        single = isinstance(row, str | bytes) or not isinstance(row, Iterable) or getattr(row, "ndim", 1) == 0
        own = (row,) if single else tuple(row)
        for name in own:
            if not isinstance(name, str | int | np.integer | float):
                raise InputError(f"document {d}: {shown(name)} is no label; a label is a string or a number.")
            if isinstance(name, float) and not name.is_integer():
                raise InputError(f"document {d}: {shown(name)} is no label; classes are whole numbers, not continuous.")
        lists.append(tuple(dict.fromkeys(own)))
    return lists


# -- files ---------------------------------------------------------------------------------------------------------


def classes_to_bytes(classes: AnyArray) -> AnyArray:
    """Names of classes as a file has them."""
    return to_bytes(classes.tolist())


def classes_from_bytes(stored: AnyArray) -> AnyArray:
    """The same, from a file."""
    return np.array(from_bytes(stored))
