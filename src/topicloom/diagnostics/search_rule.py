"""Scores of held-out documents compared: standard errors over documents and chains, and the one-standard-error rule.

The log-likelihood of document d under chain c is y_cd = mean + document effect + chain effect + rest. Documents are the
unit for which a result is to hold, so the error of a mean is first of all that over documents, of each document's mean
over chains; this includes the rest. What all documents of a chain have in common is Monte Carlo noise: its variance,
the chains' variance less what the rest alone would give, is added, divided by the number of chains. With several folds
each has chains of its own, so that their noise is estimated within each fold.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom._types import BoolArray, FloatArray, Int64Array
from topicloom.errors import InputError


class Scores(NamedTuple):
    """Log-likelihoods of held-out documents, under several chains."""

    values: FloatArray  # [chains, documents]
    tokens: Int64Array  # [documents] that each is the sum over
    fold: Int64Array  # [documents] fold in which each is held out


class Estimate(NamedTuple):
    """A mean per token, with its standard error and the two parts of it: error² = documents² + chains²."""

    mean: float
    error: float
    documents: float
    chains: float  # NaN if there is one chain; it then counts as 0
    freedom: float  # degrees of freedom of the error (Satterthwaite): few, if chains are few and make most of it


class _Part(NamedTuple):
    """A part of a variance, and its degrees of freedom."""

    variance: float
    freedom: int


def per_token(scores: Scores) -> Estimate:
    """Log-likelihood per token, over all documents and chains."""
    _check(scores)
    mean = _mean(scores)
    return _estimate(mean, _document_variance(scores.values.mean(axis=0), scores, mean), [_chain_variance(scores)])


def difference(one: Scores, other: Scores) -> Estimate:
    """By how much one number of topics is better than another per token, on the same documents.

    Documents are paired: the error over documents is that of their differences. Chains are not, since chain 0 of one
    has nothing in common with chain 0 of the other, so that their variances add up.
    """
    _check(one)
    _check(other)
    if not np.array_equal(one.tokens, other.tokens) or not np.array_equal(one.fold, other.fold):
        raise InputError("scores are of different documents; compare those of the same ones.")
    mean = _mean(one) - _mean(other)
    between = one.values.mean(axis=0) - other.values.mean(axis=0)
    return _estimate(mean, _document_variance(between, one, mean), [_chain_variance(one), _chain_variance(other)])


def _estimate(mean: float, documents: _Part, chains: list[_Part]) -> Estimate:
    of_chains = sum(part.variance for part in chains)
    known = [documents, *(part for part in chains if part.variance > 0)]
    total = sum(part.variance for part in known)
    squares = sum(part.variance**2 / part.freedom for part in known)
    freedom = total**2 / squares if squares > 0 else np.inf
    error, by_documents, by_chains = (float(np.sqrt(x)) for x in (total, documents.variance, of_chains))
    return Estimate(mean, error, by_documents, by_chains, float(freedom))


def _mean(scores: Scores) -> float:
    return float(scores.values.mean(axis=0).sum() / scores.tokens.sum())


def _document_variance(values: FloatArray, scores: Scores, mean: float) -> _Part:
    """Variance of Σ values / Σ tokens over draws of documents, of which long ones weigh more."""
    n = len(values)
    rest = values - mean * scores.tokens
    return _Part(float(n / (n - 1) * np.square(rest).sum() / float(scores.tokens.sum()) ** 2), n - 1)


def _chain_variance(scores: Scores) -> _Part:
    """Variance of the mean over chains that comes from what documents of a chain have in common."""
    n_chains = len(scores.values)
    if n_chains < 2:
        return _Part(float("nan"), 0)
    total, folds = 0.0, np.unique(scores.fold)
    for fold in folds:
        here = scores.fold == fold
        tokens, n_docs = scores.tokens[here], int(np.count_nonzero(here))
        apart = scores.values[:, here] - scores.values[:, here].mean(axis=0)
        of_chain = apart.sum(axis=1)
        rest = apart - np.outer(of_chain, tokens / tokens.sum())
        by_chance = np.square(rest).sum() * n_docs / max(n_docs - 1, 1)
        total += float((np.square(of_chain).sum() - by_chance) / (n_chains - 1))
    variance = max(total, 0.0) / n_chains / float(scores.tokens.sum()) ** 2
    return _Part(variance, len(folds) * (n_chains - 1))


def _check(scores: Scores) -> None:
    values, tokens, fold = scores
    if values.ndim != 2 or tokens.shape != values.shape[1:] or fold.shape != tokens.shape or len(values) == 0:
        raise InputError("scores must have values of chains × documents, and tokens and a fold for each document.")
    if len(tokens) < 2 or tokens.min() < 1 or not np.all(np.isfinite(values)):
        raise InputError("scores need at least two documents, each with a token and a finite value.")


# -- the rule ------------------------------------------------------------------------------------------------


class Ranking(NamedTuple):
    """Numbers of topics compared with the one that has the highest score."""

    highest: int  # its place
    difference: FloatArray  # [n] to the highest, 0 or less
    error: FloatArray  # [n] of the difference; 0 for the highest
    within_one: BoolArray  # [n] no more than one standard error below
    together: BoolArray  # [n] cannot be told from the highest


def rank(difference: FloatArray, error: FloatArray, freedom: FloatArray, tell_apart: float) -> Ranking:
    """The one-standard-error rule on differences to the highest score.

    An error that is known from few chains is itself uncertain. So one standard error stands for the central 68% of
    Student's t with the error's degrees of freedom, and ``tell_apart`` in the same way: with many chains these are just
    one and ``tell_apart``.

    Parameters
    ----------
    difference : array of shape (n,)
        To the highest, whose own is 0. NaN for numbers of topics that were dropped.
    error, freedom : arrays of shape (n,)
        Standard error of each difference, and its degrees of freedom.
    tell_apart : float
        From how many standard errors on a difference is one.
    """
    below = -np.where(np.isnan(difference), -np.inf, difference)
    bound = np.where(np.isnan(error), 0.0, error)
    one, more = (widened(errors, freedom) for errors in (1.0, tell_apart))
    return Ranking(int(np.argmin(below)), difference, error, below <= one * bound, below <= more * bound)


def widened(errors: float, freedom: FloatArray) -> FloatArray:
    """So many standard errors of a normal distribution as those of Student's t that hold the same share."""
    known = np.clip(np.nan_to_num(freedom, nan=1e9), 1.0, 1e9)
    return np.asarray(-scipy.special.stdtrit(known, scipy.special.ndtr(-errors)))


def compare(scores: Sequence[Scores | None], tell_apart: float) -> Ranking:
    """The ranking of several numbers of topics by scores of the same documents; None is one that was dropped."""
    means = np.array([-np.inf if one is None else _mean(one) for one in scores])
    highest = scores[int(np.argmax(means))] if len(scores) else None
    if highest is None:
        raise InputError("there are no scores to compare.")
    gap, error, freedom = (np.full(len(scores), np.nan) for _ in range(3))
    for i, one in enumerate(scores):
        if one is highest:
            gap[i] = error[i] = 0.0
        elif one is not None:
            found = difference(one, highest)
            gap[i], error[i], freedom[i] = found.mean, found.error, found.freedom
    return rank(gap, error, freedom, tell_apart)


# -- halving -------------------------------------------------------------------------------------------------


class Look(NamedTuple):
    """Numbers of topics compared with the leader on little evidence."""

    leader: int  # its place
    difference: FloatArray  # [n]
    error: FloatArray  # [n]
    freedom: float  # of the chains' noise; NaN if it is not known


def look_at(scores: Sequence[Scores]) -> Look:
    """As ``compare``, but with one noise of chains for all: two chains of one number say next to nothing about it."""
    leader = int(np.argmax([_mean(one) for one in scores]))
    parts = [_chain_variance(one) for one in scores]
    noise = float(np.mean([part.variance for part in parts]))
    found = [difference(one, scores[leader]) for one in scores]
    error = np.sqrt([one.documents**2 + (0.0 if np.isnan(noise) else 2 * noise) for one in found])
    freedom = float(sum(part.freedom for part in parts)) or float("nan")
    return Look(leader, np.array([one.mean for one in found]), error, freedom)


def hopeless(found: Look, gain: FloatArray, doublings: float, drop_at: float, margin: float) -> BoolArray:
    """Which numbers of topics to drop before they have had all their sweeps.

    Many topics need more sweeps than few. So each is credited with what it may still win: for every doubling of the
    sweeps that is left, as much as the last doubling brought it more than it brought the leader. (Gains of later
    doublings are smaller.) It is dropped if with this credit it is still below the leader, by more than ``drop_at``
    standard errors, widened as in :func:`rank`, and by more than ``margin`` per token. The leader never is.

    Parameters
    ----------
    gain : array of shape (n,)
        What the last doubling of the sweeps brought, per token.
    doublings : float
        How often the sweeps can still be doubled.
    """
    credit = doublings * np.maximum(gain - gain[found.leader], 0.0)
    bound = widened(drop_at, np.array([found.freedom])) * found.error
    dropped = found.difference + credit < -np.maximum(bound, margin)
    dropped[found.leader] = False
    return np.asarray(dropped)
