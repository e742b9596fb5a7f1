"""What labeled, supervised, compound and hidden Markov models add to a page."""

from itertools import combinations
from typing import Any

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.errors import StorageError
from topicloom.explore.covariates import collection_prevalence, short
from topicloom.explore.documents import Documents, plain
from topicloom.explore.source import Source
from topicloom.explore.tokens import clean
from topicloom.explore.words import N_BEST, WordTable
from topicloom.numerics.product import product

_MOST_PAIRS = 45  # differences of two collections: all pairs of ten,
_MOST_DIFFERENCES = 6000  # or as many as have no more values than this: 24 collections with 20 topics
_MOST_RELATED = 10
_MOST_SEQUENCES, _MOST_SYMBOLS = 200, 1000


def family(source: Source, docs: Documents, words: WordTable, best: list[list[int]], level: float) -> Any:
    """The part of the page that a kind of model has of its own; None if it has none.

    ``best`` has the numbers of each topic's most relevant words.
    """
    model = source.model
    if hasattr(model, "label_counts_"):
        return {"labels": _labels(model, words, best)}
    if hasattr(model, "class_topic_rows"):
        return {"classes": _classes(source, words)}
    if hasattr(model, "pi_draws_"):
        return {"collections": _collections(model, level)}
    if hasattr(model, "transition_"):
        return {"states": _states(source, docs, words)}
    return None


# -- labels --------------------------------------------------------------------------------------------------------


def _labels(model: Any, words: WordTable, best: list[list[int]]) -> dict[str, Any]:
    """A topic is a label; labels are related by the documents that have both."""
    names = [clean(str(plain(name))) for name in model.classes_.tolist()]
    found: dict[str, Any] = {
        "names": names,
        "docs": np.asarray(model.label_counts_).astype(int).tolist(),
        "topics": [[k] for k in range(len(names))],
        "words": [[words[v] for v in own] for own in best],
        "related": [[] for _ in names],
    }
    try:
        sets = model._training_sets()
    except StorageError:  # it was saved without them
        return found
    both = _together(np.asarray(sets.ptr), np.asarray(sets.label), len(names))
    for k, row in enumerate(both):
        order = np.argsort(-row, kind="stable")[:_MOST_RELATED]
        found["related"][k] = [[int(other), int(row[other])] for other in order if row[other] > 0]
    return found


def _together(ptr: AnyArray, label: AnyArray, n: int) -> AnyArray:
    """Documents that have both of two labels [n, n], 0 on the diagonal."""
    import scipy.sparse as sp

    has = sp.csr_array((np.ones(len(label), np.int64), label.astype(np.int64), ptr), shape=(len(ptr) - 1, n))
    both = np.asarray((has.T @ has).todense())  # sparse and whole: no BLAS
    np.fill_diagonal(both, 0)
    return both


# -- classes -------------------------------------------------------------------------------------------------------


def _classes(source: Source, words: WordTable) -> dict[str, Any]:
    """Weights η of topics for each class, and the words that push toward it and away from it.

    A word's push is Σ_k p(topic k | word) η_kc: what a token of the word adds, on average, to the class's value. Of
    three classes or more it is less its mean over the classes, since what is added to all of them tells none apart.
    Words are in the order of what all their tokens add, so that frequent ones come before rare ones of the same push.
    """
    model = source.model
    coef, directions = np.asarray(model.coef_), model._directions()
    numbers = not hasattr(model, "classes_")
    group_of = {task: group for group, own in enumerate(model._groups) for task in own}
    names, weights, pushes = [], [], []
    for name, task, sign in directions:
        chain = model._best_of(group_of[task])
        eta = sign * coef[task]
        names.append(clean(str(plain(name))))
        own = chain == model.best_chain_
        weights.append([short(value) for value in eta] if own else None)
        by_word = model._by_words[chain]  # expected counts plus β: p(topic | word), up to a factor per word
        pushes.append(np.einsum("vk,k->v", by_word, eta) / by_word.sum(axis=1))
    targets = model._training_targets() if source.corpus is not None else None
    return {
        "names": names,
        "n": _class_sizes(model, targets, numbers),
        "weights": weights,
        "words": _pushing(source, np.array(pushes), words),
        "confusion": None,
        "numbers": numbers,
    }


def _pushing(source: Source, pushes: FloatArray, words: WordTable) -> list[list[Any]]:
    """Of each class, the words that push toward it and then those that push away, the most last."""
    share = source.word_share
    if len(pushes) > 2:
        pushes = pushes - pushes.mean(axis=0)
    found = []
    for push in pushes:
        # A constant added to all weights is an intercept, so what a word adds is what it has more than the mean token.
        adds = share * (push - np.einsum("v,v->", share, push))
        order = [int(v) for v in np.argsort(-adds, kind="stable") if share[v] > 0]
        found.append([[words[v], short(push[v])] for v in order[:N_BEST] + order[N_BEST:][-N_BEST:]])
    return found


def _class_sizes(model: Any, targets: Any, numbers: bool) -> list[int | None]:
    if targets is None or numbers:
        return [None] * len(model._directions())
    positive = np.asarray(targets.target) > 0
    sizes = positive.sum(axis=0)
    return [int(sizes[task]) if sign > 0 else int(len(positive) - sizes[task]) for _, task, sign in model._directions()]


# -- collections ---------------------------------------------------------------------------------------------------


def _collections(model: Any, level: float) -> dict[str, Any]:
    """Mixtures π, differences of pairs, and trends, as the model's own functions have them."""
    found = collection_prevalence(model, level)
    order = model._order()
    values = order.times if order.times is not None else [None] * len(found.labels)
    stacked = np.stack((found.mean, found.lower, found.upper), axis=2)
    labels = found.labels
    return {
        "names": [clean(str(plain(label))) for label in labels],
        "docs": found.docs.tolist(),
        "values": [None if value is None else float(f"{value:.8g}") for value in values],
        "pi": [[[short(value) for value in cell] for cell in row] for row in stacked.tolist()],
        "differences": [
            {"first": j, "second": i, "topics": _change(model._difference_columns(labels[j], labels[i], level))}
            for i, j in _pairs(*found.mean.shape)
        ],
        "trends": _trends(model, level),
    }  # fmt: skip


def _pairs(n: int, n_topics: int) -> list[tuple[int, int]]:
    """All pairs of collections or, if these are many, neighbours and the first with the last."""
    most = max(_MOST_PAIRS, _MOST_DIFFERENCES // n_topics)
    if n * (n - 1) // 2 <= most:
        return list(combinations(range(n), 2))
    return [(0, n - 1), *((i, i + 1) for i in range(n - 1))][:most]


def _trends(model: Any, level: float) -> list[list[float]] | None:
    if len(model.collections_) < 2 or model._order().times is None:
        return None
    return _change(model._trend_columns(level=level))


def _change(columns: dict[str, Any]) -> list[list[float]]:
    rows = zip(*(columns[name] for name in ("mean", "lower", "upper", "probability")), strict=True)
    return [[short(value) for value in row] for row in rows]


# -- states --------------------------------------------------------------------------------------------------------


def _states(source: Source, docs: Documents, words: WordTable) -> dict[str, Any]:
    model, corpus = source.model, source.corpus
    assert corpus is not None
    assert source.posterior is not None
    sequences = []
    for d in map(int, docs.rows[:_MOST_SEQUENCES]):
        own = corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]][:_MOST_SYMBOLS]
        share = source.posterior(d)[:_MOST_SYMBOLS]
        sequences.append(
            {
                "id": clean(corpus.ids[d]) if corpus.ids is not None else str(d),
                "symbols": [words[int(v)] for v in own],
                "states": share.argmax(axis=1).tolist() if len(own) else [],
                "probability": [round(float(p), 2) for p in share.max(axis=1)] if len(own) else [],
            }
        )
    emission = np.asarray(model.emission_)
    best = np.argsort(-emission, axis=1, kind="stable")[:, :N_BEST]
    return {
        "n": len(model.initial_),
        "start": [short(value) for value in model.initial_],
        "transitions": [[short(value) for value in row] for row in model.transition_],
        "symbols": [
            [[words[int(v)], short(row[v])] for v in own if row[v] > 0] for row, own in zip(emission, best, strict=True)
        ],
        "stationary": [short(value) for value in stationary(np.asarray(model.transition_))],
        "sequences": sequences,
    }


def stationary(transition: FloatArray) -> FloatArray:
    """Shares of states in the long run, from an even start: of states that do not mix, those that it leads to."""
    lazy = (np.eye(len(transition)) + transition) / 2.0  # has the same limit, and states that take turns have one, too
    for _ in range(60):
        lazy = product(lazy, lazy)
        lazy /= lazy.sum(axis=1, keepdims=True)
    return np.asarray(lazy.mean(axis=0))
