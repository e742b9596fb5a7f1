"""The probability of documents under fixed topics, with its Monte Carlo error.

log p(w_d | φ, α), with θ integrated out, can only be estimated. Both estimators here average independent and unbiased
estimates of p itself: whole runs of left-to-right, or particles of annealed importance sampling
(:mod:`topicloom.diagnostics.annealed`). The logarithm of an average is a little low. The jackknife over the estimates
tells how low, and how far the logarithm would vary if all were done again.
"""

from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import check_whole
from topicloom.corpus.corpus import Corpus
from topicloom.evaluation.sequential import left_to_right
from topicloom.numerics.rng import Purpose, path_key


class Estimate(NamedTuple):
    """Estimates of log p(w_d | φ, α), one for each document."""

    log_mean: FloatArray  # [D] log of the mean of R unbiased estimates of p: its exponential is unbiased
    bias: FloatArray  # [D] of log_mean, by the jackknife; below 0 as a rule
    error: FloatArray  # [D] Monte Carlo standard error of log_p, by the jackknife
    ess: FloatArray  # [D] effective number of estimates: (Σ p)² / Σ p², from 1 to R

    @property
    def log_p(self) -> FloatArray:
        """``log_mean`` without its estimated bias: the one to add up over documents."""
        return self.log_mean - self.bias


def from_runs(logs: AnyArray) -> Estimate:
    """Estimates from R independent unbiased estimates of each document's probability.

    Parameters
    ----------
    logs : array [D, R]
        Logarithms of the estimates; −∞ for an estimate of 0. R is at least 2.

    Returns
    -------
    Estimate
        Where all estimates of a document are 0, ``log_mean`` is −∞ and ``ess`` is 0.

    Notes
    -----
    With p̄ the mean of all estimates and p̄₋ᵣ the mean of all but the r-th, and m the mean of log p̄₋ᵣ over r: the bias is
    (R − 1) (m − log p̄), and the squared error (R − 1)/R · Σᵣ (log p̄₋ᵣ − m)².

    Examples
    --------
    >>> import numpy as np
    >>> found = from_runs(np.log([[0.1, 0.2, 0.3], [0.2, 0.2, 0.2]]))
    >>> np.exp(found.log_mean).round(3)
    array([0.2, 0.2])
    >>> found.error.round(2)
    array([0.3, 0. ])
    >>> found.ess.round(2)
    array([2.57, 3.  ])
    """
    logs = np.asarray(logs, np.float64)
    n = logs.shape[1]
    top = logs.max(axis=1)
    some = top > -np.inf
    scaled = np.exp(logs - np.where(some, top, 0.0)[:, None])
    total = scaled.sum(axis=1)
    whole = np.where(some, total, 1.0)
    log_mean = np.where(some, top + np.log(whole / n), -np.inf)
    # Of the others of an estimate that is all there is, nothing is known but that they are small.
    without = (
        np.log(np.maximum(whole[:, None] - scaled, np.finfo(np.float64).tiny) / (n - 1)) - np.log(whole / n)[:, None]
    )
    middle = without.mean(axis=1)
    bias = np.where(some, (n - 1) * middle, 0.0)
    error = np.sqrt((n - 1) / n * ((without - middle[:, None]) ** 2).sum(axis=1))
    ess = np.where(some, whole**2 / np.where(some, (scaled**2).sum(axis=1), 1.0), 0.0)
    return Estimate(log_mean, bias, np.where(some, error, 0.0), ess)


def repeated_left_to_right(
    topics: Any,
    alpha: Any,
    corpus: Corpus,
    *,
    n_runs: int = 8,
    n_particles: int = 20,
    resample: bool = True,
    seed: int = 0,
    n_jobs: int = 1,
) -> Estimate:
    """Left-to-right estimates of log p(w_d | φ, α) with their Monte Carlo errors, from independent runs.

    Parameters
    ----------
    topics : array [K, V]
        Rows sum to 1.
    alpha : array [K]
        Prior of θ.
    corpus : Corpus
    n_runs : int, default=8
        Independent runs, at least 2. An error from few runs is itself uncertain: by some 27% with 8 of them.
    n_particles, resample, n_jobs
        As in :func:`~topicloom.evaluation.left_to_right`.
    seed : int, default=0

    Returns
    -------
    Estimate
        An empty document has log p = 0 and no error.

    Examples
    --------
    >>> from topicloom.corpus import from_texts
    >>> corpus = from_texts(["river bank river bank", "money bank"])
    >>> found = repeated_left_to_right([[0.4, 0.2, 0.4], [0.2, 0.6, 0.2]], [1.0, 1.0], corpus)
    >>> found.log_p.shape, bool((found.error < 0.1).all())
    ((2,), True)
    """
    check_whole("n_runs", n_runs, 2)
    runs = [
        left_to_right(
            topics, alpha, corpus, n_particles=n_particles, resample=resample, seed=run_seed(seed, run), n_jobs=n_jobs
        )
        for run in range(n_runs)
    ]
    return from_runs(np.stack(runs, axis=1))


def run_seed(seed: int, run: int) -> int:
    """A seed of each run; that of run 0 is the seed itself."""
    return seed if run == 0 else int(path_key(Purpose.LEFT_TO_RIGHT, seed, run))
