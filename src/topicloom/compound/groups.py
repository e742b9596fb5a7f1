"""Collections as they come in: a label of any hashable kind for each document."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import Int32Array
from topicloom.corpus._checks import as_array, shown
from topicloom.corpus._columns import group_kind, group_value, is_missing
from topicloom.corpus.corpus import Corpus
from topicloom.errors import InputError, counted, there_are

ALL = "all"  # the one collection of documents that have none
_FEW = 20  # documents among which labels that hardly any two share may be meant

_SHARED = {  # what to do about labels that are hardly shared
    "number": "give bins of the numbers, such as np.digitize(values, [10, 20, 50])",
    "date": "give periods, such as [date.year // 10 * 10 for date in dates]",
    "label": "give labels such as an author or a source, or use LDA",
}


def with_groups(corpus: Corpus, groups: Any, *, every: bool, name: str = "groups") -> Corpus:
    """The corpus with a label for each document; ``every``: none may be missing."""
    if groups is None:
        labels = corpus.groups
    else:
        if hasattr(groups, "__array__") and not isinstance(groups, np.ndarray | Iterable):
            groups = as_array(name, groups)
        if isinstance(groups, str | bytes | Mapping) or not isinstance(groups, Iterable):
            raise InputError(f"{name} is {shown(groups)}; give one label per document, such as a year.")
        labels = tuple(_listed(groups))
        if len(labels) != corpus.n_docs:
            raise InputError(
                f"{name} has {counted(len(labels), 'labels')} but {there_are(corpus.n_docs, 'documents')}; "
                "give one each."
            )
    if labels is None:
        return corpus
    labels = tuple(_label(d, label) for d, label in enumerate(labels))
    if every and None in labels:
        raise InputError(
            f"document {labels.index(None)} has no collection; give each document's label, or leave the document out."
        )
    return corpus.with_metadata(groups=labels)


def training_groups(corpus: Corpus, groups: Any, y: Any) -> Corpus:
    """The corpus with a collection for each document: ``groups``, or ``y``, or its own."""
    given = with_groups(corpus, groups, every=True)
    if y is not None:
        named = with_groups(corpus, y, every=True, name="y")
        if given.groups is not None and given.groups != named.groups:
            where = "the corpus has groups" if groups is None else "groups are given"
            raise InputError(
                f"y is the collection of each document, and {where} that differ from it; give one of them alone."
            )
        given = named
    if given.groups is None:
        raise InputError(
            "CompoundLDA requires y to be passed, but the target y is None, and so are groups: give groups=… or y, one "
            "label per document, or a Corpus with groups. Searches of scikit-learn pass y; their groups= is for the "
            'splitter. For a single collection give groups=["all"] * n_docs, or use LDA.'
        )
    _check_shared(given.groups, "y" if groups is None and y is not None else "groups")
    return given


def _check_shared(labels: Sequence[Hashable], name: str) -> None:
    """Refuse numbers and dates that hardly any two documents share, and names that no two do."""
    different, kind = set(labels), "label"
    if len(labels) < _FEW or 2 * len(different) <= len(labels):
        return
    kinds = {group_kind(group_value(label)) for label in different}
    if kinds in ({"number"}, {"date"}):
        kind = kinds.pop()
    elif len(different) < len(labels):
        return
    raise InputError(
        f"{name} has {counted(len(different), f'different {kind}s')} for {counted(len(labels), 'documents')}, but a "
        f"collection is of documents that share a label; {_SHARED[kind]}."
    )


def _listed(groups: Any) -> Iterable[Any]:
    if hasattr(groups, "columns") and hasattr(groups, "to_numpy"):  # a frame, which would give its names
        groups = groups.to_numpy()
    if isinstance(groups, np.ndarray) and groups.ndim == 2 and groups.shape[1] == 1:
        groups = groups[:, 0]  # a column, as scikit-learn takes it
    if isinstance(groups, np.ndarray) and groups.dtype.kind == "M":
        groups = groups.astype("datetime64[us]")  # nanoseconds would come out as whole numbers
    return groups.tolist() if hasattr(groups, "tolist") else groups  # type: ignore[no-any-return]


def _label(d: int, label: Any) -> Hashable:
    """A label of Python's own type; None for one that is missing."""
    if is_missing(label):
        return None
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, Hashable):
        raise InputError(
            f"document {d}: {shown(plain)} is no label of a collection; it must be hashable, such as a string."
        )
    return plain


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
    """The number of each document's collection, with numbers for labels that are not known and for no label.

    A label that is not among them may be known by its value: "1991" is 1991, "1.0" is 1.
    """
    number: dict[Hashable, int] = {label: j for j, label in enumerate(labels)}
    by_value = {group_value(label): j for j, label in enumerate(labels)}
    for label in set(groups) - number.keys():
        number[label] = by_value.get(group_value(label), unknown)
    number[None] = missing
    return np.array([number[label] for label in groups], np.int32)


class Order(NamedTuple):
    """Collections in the order in which they are shown and in which trends go through them."""

    numbers: list[int]
    times: list[float] | None  # where each stands; None where labels are neither numbers nor dates
    unit: str | None  # of the times


def in_order(labels: Sequence[Hashable]) -> Order:
    """Numbers and dates by their value, text of them included; other labels sorted, or as they come."""
    values = [group_value(label) for label in labels]
    kinds = {group_kind(value) for value in values}
    if kinds in ({"number"}, {"date"}):
        at = [_years(value) if isinstance(value, datetime) else float(value) for value in values]  # type: ignore[arg-type]
        numbers = sorted(range(len(at)), key=at.__getitem__)
        return Order(numbers, [at[j] for j in numbers], "year" if kinds == {"date"} else "unit")
    place = {label: j for j, label in enumerate(labels)}
    return Order([place[label] for label in ordered(labels)], None, None)


def _years(when: datetime) -> float:
    return 1970.0 + (when - datetime(1970, 1, 1)).total_seconds() / (365.25 * 86400)
