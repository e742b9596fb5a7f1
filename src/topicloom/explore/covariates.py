"""Prevalence over time and by group, with intervals and counts of documents."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.evaluation.prevalence import LabelPrevalence, label_prevalence
from topicloom.explore.documents import plain
from topicloom.explore.source import Source, lengths
from topicloom.explore.tokens import clean

MOST_PERIODS = 100
_MOST_GROUPS = 100
_OTHERS = "(others)"
_UNITS = ("Y", "M", "D")  # coarsest first
ABOUT = (
    "The mean share in documents like these, {level:.0%} intervals: a Bayesian bootstrap over documents, each with the "
    "uncertainty that its number of tokens leaves. Documents count the same, whatever their length; in the share of a "
    "topic they count by their tokens. {draws}"
)
_ONE_STATE = "How the topics themselves might be different is not in the intervals."
_STATES = "They hold how the topics of tokens differ between {n} kept draws of the chain."
_COLLECTIONS = " Collections have the posterior intervals of their mixtures π instead (prevalence)."


def prevalence(source: Source, labels: Sequence[Hashable], level: float) -> LabelPrevalence:
    """Prevalence by labels of documents (None: does not count), as the page has it; empty documents do not count."""
    assert source.corpus is not None
    assert source.theta is not None
    assert source.concentration is not None
    filled = source.corpus.doc_lengths > 0
    known = [label if used else None for label, used in zip(labels, filled, strict=True)]
    return label_prevalence(states(source), known, source.concentration, base=base(source), level=level)


def states(source: Source) -> list[FloatArray]:
    """θ of the published estimate or, where draws were kept, of each draw, with rows that sum to 1."""
    assert source.theta is not None
    if source.draws is None:
        return [source.theta]
    return [draw / draw.sum(axis=1, keepdims=True) for draw in np.asarray(source.draws, np.float64)]


def base(source: Source) -> FloatArray:
    """The prior of a document of which nothing is known, or one with the mean shares where a model has none."""
    alpha = getattr(source.prior, "alpha", None)
    if alpha is None or not np.all(alpha.mean(axis=0) > 0):
        return np.maximum(source.share, 1e-6)
    return np.asarray(alpha.mean(axis=0))


def share_intervals(source: Source, level: float) -> list[list[float]] | None:
    """Intervals of each topic's share of the tokens."""
    if source.corpus is None or source.theta is None or source.concentration is None:
        return None
    weight = lengths(source.corpus)
    if not weight.any():
        return None
    used = weight > 0
    found = label_prevalence(
        [theta[used] for theta in states(source)], np.zeros(int(used.sum()), np.int64), source.concentration[used],
        weights=weight[used], level=level,
    )  # fmt: skip
    return [[short(low), short(high)] for low, high in zip(found.lower[0], found.upper[0], strict=True)]


def short(value: Any) -> float:
    """A share with the digits that are shown."""
    return float(f"{float(value):.4g}")


def by_topic(found: LabelPrevalence) -> list[list[list[float]]]:
    """[topic][label] of (mean, lower, upper)."""
    stacked = np.stack((found.mean, found.lower, found.upper), axis=2).transpose(1, 0, 2)
    return [[[short(value) for value in cell] for cell in row] for row in stacked.tolist()]


# -- times -------------------------------------------------------------------------------------------------------


def times(source: Source, level: float) -> dict[str, Any] | None:
    """Prevalence by periods, in their order."""
    corpus = source.corpus
    if corpus is None or corpus.times is None or not np.any(corpus.doc_lengths > 0):
        return None
    name, periods, shown, values = _periods(corpus.times)
    used = np.flatnonzero(corpus.doc_lengths > 0)
    if len({periods[d] for d in used} - {None}) < 2:
        return None
    found = prevalence(source, periods, level)
    return {
        "name": name,
        "labels": [shown[label] for label in found.labels],
        "values": [values[label] for label in found.labels],
        "docs": found.docs.tolist(),
        "topics": by_topic(found),
    }


def _periods(when: AnyArray) -> tuple[str, list[Any], dict[Any, str], dict[Any, float]]:
    """What periods are, the period of each document, and how each is shown and placed on an axis."""
    if when.dtype.kind == "M":
        return _dates(when)
    known = np.isfinite(when.astype(float))
    numbers = when.astype(float)
    distinct = np.unique(numbers[known])
    if len(distinct) <= MOST_PERIODS and np.all(distinct == np.floor(distinct)):
        whole = [int(value) if ok else None for value, ok in zip(numbers, known, strict=True)]
        return "time", whole, {int(v): str(int(v)) for v in distinct}, {int(v): int(v) for v in distinct}
    width = _round_width((distinct[-1] - distinct[0]) / MOST_PERIODS) if len(distinct) > 1 else 1.0
    cell = np.floor(np.where(known, numbers, 0.0) / width).astype(np.int64)
    keys = sorted(set(cell[known].tolist()))
    shown = {key: f"{key * width:g}–{(key + 1) * width:g}" for key in keys}
    return (
        "time", [int(key) if ok else None for key, ok in zip(cell, known, strict=True)], shown,
        {key: short((key + 0.5) * width) for key in keys},
    )  # fmt: skip


def _round_width(width: float) -> float:
    """The next width of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(width))
    return float(next(power * step for step in (1.0, 2.0, 5.0, 10.0) if power * step >= width * (1 - 1e-12)))


def _dates(when: AnyArray) -> tuple[str, list[Any], dict[Any, str], dict[Any, float]]:
    """Days, months or years: the coarsest that tell as much as the finest of which there are not too many."""
    known = ~np.isnat(when)
    n_periods = [len(np.unique(when[known].astype(f"datetime64[{unit}]"))) for unit in _UNITS]
    most = max((n for n in n_periods if n <= MOST_PERIODS), default=n_periods[0])
    unit = _UNITS[n_periods.index(most)]
    cell = when.astype(f"datetime64[{unit}]")
    name = {"D": "day", "M": "month", "Y": "year"}[unit]
    number = cell.astype(np.int64)
    if unit == "Y" and len(np.unique(number[known])) > MOST_PERIODS:
        years = np.where(known, when.astype("datetime64[Y]").astype(np.int64) + 1970, 0)
        return _periods(np.where(known, years.astype(float), np.nan))
    keys = np.unique(number[known])
    dates = keys.astype(f"datetime64[{unit}]")
    days = dates.astype("datetime64[D]").astype(np.int64)
    values = 1970 + days / 365.2425 if unit != "Y" else keys + 1970
    return (
        name,
        [int(key) if ok else None for key, ok in zip(number, known, strict=True)],
        {int(key): str(date) for key, date in zip(keys, dates, strict=True)},
        {int(key): round(float(value), 4) for key, value in zip(keys, values, strict=True)},
    )


# -- groups ------------------------------------------------------------------------------------------------------


def groups(source: Source, level: float) -> list[dict[str, Any]] | None:
    """Prevalence by group and by label, where documents have these."""
    corpus = source.corpus
    if corpus is None or not np.any(corpus.doc_lengths > 0):
        return None
    found = []
    if corpus.groups is not None:
        found.append(_of_collections(source, level) or _of_groups(source, list(corpus.groups), level))
    if corpus.labels is not None and not hasattr(source.model, "label_counts_"):
        found.append(_of_labels(source, level))
    return [one for one in found if one is not None] or None


def _of_groups(source: Source, values: list[Any], level: float) -> dict[str, Any] | None:
    shown = [None if plain(value) is None else str(plain(value)) for value in values]
    most = dict(Counter(label for label in shown if label is not None).most_common(_MOST_GROUPS))
    if len(most) < 2:
        return None
    kept = [label if label is None or label in most else _OTHERS for label in shown]
    assert source.corpus is not None
    if len({label for label, n in zip(kept, source.corpus.doc_lengths, strict=True) if label and n}) < 1:
        return None
    found = prevalence(source, kept, level)
    names = [str(label) for label in found.labels]
    return {"name": "group", "labels": names, "docs": found.docs.tolist(), "topics": by_topic(found)}


def _of_labels(source: Source, level: float) -> dict[str, Any] | None:
    """Documents with several labels count for each."""
    corpus = source.corpus
    assert corpus is not None
    assert corpus.labels is not None
    assert source.theta is not None
    assert source.concentration is not None
    count = Counter(label for own in corpus.labels for label in own)
    most = {label for label, _ in count.most_common(_MOST_GROUPS)}
    pairs = [(d, label) for d, own in enumerate(corpus.labels) if corpus.doc_lengths[d] for label in own]
    pairs = [(d, label) for d, label in pairs if label in most]
    if len({label for _, label in pairs}) < 2:
        return None
    rows = np.array([d for d, _ in pairs], np.int64)
    found = label_prevalence(
        [theta[rows] for theta in states(source)], [label for _, label in pairs], source.concentration[rows],
        base=base(source), level=level,
    )  # fmt: skip
    names = [clean(str(label)) for label in found.labels]
    return {"name": "label", "labels": names, "docs": found.docs.tolist(), "topics": by_topic(found)}


def _of_collections(source: Source, level: float) -> dict[str, Any] | None:
    """Mixtures of a compound model, by its own intervals."""
    if not hasattr(source.model, "pi_draws_"):
        return None
    found = collection_prevalence(source.model, level)
    return {
        "name": "collection",
        "labels": [clean(str(plain(label))) for label in found.labels],
        "docs": found.docs.tolist(),
        "topics": by_topic(found),
    }


def collection_prevalence(model: Any, level: float) -> LabelPrevalence:
    """What ``CompoundLDA.prevalence`` says of its collections, in the order of ``trends``."""
    columns = model._prevalence_columns(None, level)
    order = list(model._order().numbers)
    mean, lower, upper = (
        np.asarray(columns[name], float).reshape(len(order), -1) for name in ("mean", "lower", "upper")
    )
    labels = tuple(model.collections_[j] for j in order)
    return LabelPrevalence(labels, np.asarray(model.collection_docs_)[order], mean, lower, upper)


def about_intervals(source: Source, level: float) -> str | None:
    if source.corpus is None:
        return None
    own = _COLLECTIONS if hasattr(source.model, "pi_draws_") else ""
    draws = _ONE_STATE if source.draws is None else _STATES.format(n=len(source.draws))
    return ABOUT.format(level=level, draws=draws) + own
