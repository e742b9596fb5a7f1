"""Collections as they come in: a label of any hashable kind for each document."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from topicloom._types import Int32Array
from topicloom.corpus.corpus import Corpus
from topicloom.errors import InputError

ALL = "all"  # the one collection of documents that have none


def with_groups(corpus: Corpus, groups: Any, *, every: bool) -> Corpus:
    """The corpus with a label for each document; ``every``: none may be missing."""
    if groups is None:
        labels = corpus.groups
    else:
        if isinstance(groups, str | bytes | Mapping) or not isinstance(groups, Iterable):
            raise InputError(f"groups is {type(groups).__name__}; give one label a document, such as a year.")
        labels = tuple(groups.tolist() if hasattr(groups, "tolist") else groups)
        if len(labels) != corpus.n_docs:
            raise InputError(f"groups has {len(labels)} labels but there are {corpus.n_docs} documents; give one each.")
    if labels is None:
        return corpus
    labels = tuple(_label(d, label) for d, label in enumerate(labels))
    if every and None in labels:
        raise InputError(
            f"document {labels.index(None)} has no collection; give each document's label, or leave the document out."
        )
    return corpus.with_metadata(groups=labels)


def _label(d: int, label: Any) -> Hashable:
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, Hashable):
        raise InputError(f"document {d}: {plain!r} is no label of a collection; it must be hashable, such as a string.")
    return None if isinstance(plain, float) and np.isnan(plain) else plain


def collections_of(corpus: Corpus) -> tuple[tuple[Hashable, ...], Int32Array]:
    """Labels of collections, sorted where they can be, and the number of each document's collection."""
    if corpus.groups is None:
        return (ALL,), np.zeros(corpus.n_docs, np.int32)
    labels = ordered(corpus.groups)
    return labels, numbers_of(corpus.groups, labels, -1, -1)


def ordered(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Distinct labels, sorted; in the order in which they come if they cannot be compared."""
    distinct = list(dict.fromkeys(labels))
    try:
        return tuple(sorted(distinct))  # type: ignore[type-var]
    except TypeError:
        return tuple(distinct)


def numbers_of(
    groups: Sequence[Hashable], labels: Sequence[Hashable], unknown: int, missing: int
) -> Int32Array:  # fmt: skip
    """The number of each document's collection, with numbers for labels that are not known and for no label."""
    number: dict[Hashable, int] = {label: j for j, label in enumerate(labels)}
    return np.array([missing if label is None else number.get(label, unknown) for label in groups], np.int32)
