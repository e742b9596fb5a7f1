"""Successive halving: all numbers of topics start with a little evidence, hopeless ones go, the others get more.

A round has a number of sweeps, of chains, of folds and of held-out documents. The last has all of them. Chains go on
from round to round, so that a survivor's first rounds cost nothing beside their scores.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.diagnostics.search_rule import Scores, hopeless, look_at
from topicloom.diagnostics.search_tasks import Found, Setting, Task

LEAST_SWEEPS = 20  # of a first look; priors are learned from there on
LEAST_DOCS = 50
DROP_AT = 4.0  # standard errors
MARGIN = 0.02  # nats per token: 2% of perplexity
MARGIN_OF_ONE = 0.1  # the same for single chains, whose noise is not known; a chain that is stuck may be 3% off

RunTasks = Callable[[Sequence[Task]], dict[Task, Found]]


class Round(NamedTuple):
    """How much evidence every number of topics gets in a round."""

    sweeps: int
    n_chains: int
    n_folds: int
    n_docs: int  # held-out documents per fold


class Dropped(NamedTuple):
    """A number of topics that got no more sweeps, and on what evidence."""

    n_topics: int
    round: int  # from 1
    sweeps: int
    n_chains: int
    n_docs: int
    leader: int  # number of topics with the highest score of the round
    difference: float  # to the leader, per token
    error: float  # standard error of the difference
    credit: float  # what further sweeps might bring


def plan_rounds(max_iter: int, n_chains: int, folds: Sequence[Int64Array], halving: bool) -> tuple[Round, ...]:
    """An eighth of the sweeps for one chain, then a third for two, then all; short runs have no first looks."""
    smallest = min(map(len, folds))
    last = Round(max_iter, n_chains, len(folds), max(map(len, folds)))
    if not halving:
        return (last,)
    looks = [(max_iter // 8, 1, smallest // 4), (max_iter // 3, min(2, n_chains), smallest // 2)]
    first = [
        Round(sweeps, chains, 1, min(max(LEAST_DOCS, n_docs), smallest))
        for sweeps, chains, n_docs in looks
        if sweeps // 2 >= LEAST_SWEEPS
    ]
    return (*first, last)


def tasks_of(n_topics: Sequence[int], given: Round, *, last: bool) -> list[Task]:
    """The fits of a round."""
    return [
        Task(k, chain, fold, given.sweeps, given.n_docs, last)
        for k in sorted(n_topics, reverse=True)  # the longest first, so that workers finish together
        for chain in range(given.n_chains)
        for fold in range(given.n_folds)
    ]


def look(
    setting: Setting, n_topics: Sequence[int], number: int, given: Round, max_iter: int, run: RunTasks
) -> list[Dropped]:
    """A first round: which of the numbers of topics to drop. Scores after half of the sweeps show the trend."""
    found = run(tasks_of(n_topics, given, last=False))
    fits = [fits_of(found, k, given, last=False) for k in n_topics]
    scores, before = ([scores_of(setting, of, given, when) for of in fits] for when in ("completion", "halfway"))
    tokens = float(scores[0].tokens.sum())
    gain = np.array([(b.values.mean(0) - a.values.mean(0)).sum() for a, b in zip(before, scores, strict=True)]) / tokens
    doublings = math.log2(max_iter / given.sweeps)
    at = look_at(scores)
    out = hopeless(at, gain, doublings, DROP_AT, MARGIN if given.n_chains > 1 else MARGIN_OF_ONE)
    return [
        Dropped(
            n_topics[i], number, given.sweeps, given.n_chains, len(scores[i].tokens), n_topics[at.leader],
            float(at.difference[i]), float(at.error[i]), float(doublings * max(gain[i] - gain[at.leader], 0.0)),
        )
        for i in np.flatnonzero(out).tolist()
    ]  # fmt: skip


def fits_of(found: dict[Task, Found], n_topics: int, given: Round, *, last: bool = True) -> list[list[Found]]:
    """The fits of one number of topics in a round, by fold."""
    return [
        [found[Task(n_topics, chain, fold, given.sweeps, given.n_docs, last)] for chain in range(given.n_chains)]
        for fold in range(given.n_folds)
    ]


def scores_of(setting: Setting, fits: list[list[Found]], given: Round, when: str = "completion") -> Scores:
    """Held-out scores by completion, of all chains and folds; those "halfway" through the sweeps of a first look."""
    documents, fold = _documents(setting, given)
    return Scores(_joined(fits, when), held_out_tokens(setting.corpus, documents), fold)


def left_to_right_scores(setting: Setting, fits: list[list[Found]], given: Round) -> Scores:
    """The same by the left-to-right estimate, of the first documents of each fold."""
    documents, fold = _documents(setting, given._replace(n_docs=min(given.n_docs, setting.left_to_right_docs)))
    return Scores(_joined(fits, "left_to_right"), setting.corpus.doc_lengths[documents], fold)


def _joined(fits: list[list[Found]], name: str) -> FloatArray:
    """[chains, documents of all folds]."""
    return np.stack([np.concatenate([getattr(fit, name) for fit in of_chain]) for of_chain in zip(*fits, strict=True)])


def _documents(setting: Setting, given: Round) -> tuple[Int64Array, Int64Array]:
    """Held-out documents that a round scores, and the fold of each."""
    parts = [part[: given.n_docs] for part in setting.folds[: given.n_folds]]
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def held_out_tokens(corpus: Corpus, documents: Int64Array) -> Int64Array:
    """Tokens of the second halves."""
    return np.asarray(corpus.doc_lengths[documents] // 2)


def mean_and_error(values: FloatArray) -> tuple[float, float]:
    """Mean over fits and its standard error, which is NaN for one fit."""
    if len(values) < 2 or not np.all(np.isfinite(values)):
        return float(values.mean()), math.nan
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
