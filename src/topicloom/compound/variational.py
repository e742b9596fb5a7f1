"""Variational EM for documents in collections: variational Bayes with a row of α for each, and mixtures fitted to it.

The state is that of variational Bayes with the mixtures' parameters τ, and γ and α, beside it (compound LDA, algorithm
3).
"""

import numpy as np

from topicloom._types import Int32Array, Int64Array
from topicloom.compound import vem
from topicloom.corpus.corpus import Corpus
from topicloom.engine.checks import check_prior
from topicloom.engine.prior import Prior
from topicloom.files.checks import Contents
from topicloom.lda.variational import bayes as vb
from topicloom.lda.variational.batch import bound
from topicloom.lda.variational.sampler import Collections
from topicloom.lda.variational.state import PairIndex, VariationalState


def with_collections(settings: vem.Settings, rows: Int32Array) -> Collections:
    """What an iteration of variational Bayes does with collections; ``rows`` has that of each document."""

    def check(file: Contents, corpus: Corpus) -> None:
        check_prior(file, rows)
        shape = file.arrays["state_hyper"].shape if "state_hyper" in file.arrays else ()
        if shape != (1, 1 + file.sizes["K"]):
            file.fail("the array 'state_hyper' does not have one entry more than there are topics")

    return Collections(
        start=lambda state, prior: start_collections(state, prior, settings),
        fit=lambda index, state, prior, learn: fit_collections(index, state, prior, settings, learn),
        bound=lambda index, state, prior, n_jobs: bound_with_collections(index, state, prior, settings, n_jobs),
        check=check,
    )


def bound_with_collections(
    index: PairIndex, state: VariationalState, prior: Prior, settings: vem.Settings, n_jobs: int
) -> float:
    """The bound (63)."""
    gamma, alpha = float(state.hyper[0, 0]), state.hyper[0, 1:]
    own = vem.collections_part(state.tau, gamma, alpha, _used_docs(index, prior), settings.alpha_prior)
    return bound(index, state, "vb", prior, n_jobs) + own


def _used_docs(index: PairIndex, prior: Prior) -> Int64Array:
    """Documents with words of each row of α."""
    used = np.diff(index.ptr) > 0
    return np.bincount(prior.alpha_row[used], minlength=len(prior.alpha)).astype(np.int64)


def start_collections(state: VariationalState, prior: Prior, settings: vem.Settings) -> VariationalState:
    """The state with mixtures of collections that know nothing yet."""
    tau = prior.alpha / prior.alpha.sum(axis=1, keepdims=True) * max(float(settings.alpha.sum()), 1.0)
    return state._replace(tau=tau, hyper=np.concatenate(([settings.gamma], settings.alpha))[None, :])


def fit_collections(
    index: PairIndex, state: VariationalState, prior: Prior, settings: vem.Settings, learn: bool
) -> tuple[VariationalState, Prior, float]:
    """Mixtures, then γ and α where they are learned; also how far, relatively, these two moved."""
    used = np.diff(index.ptr) > 0
    mass = float(index.count.sum()) / max(int(used.sum()), 1)
    seen = vem.Evidence(_used_docs(index, prior), np.empty_like(state.tau), mass)
    vb.mean_log_by_row(state.doc, used, prior.alpha_row, seen.mean_log)
    gamma, alpha, moved = float(state.hyper[0, 0]), state.hyper[0, 1:].copy(), 0.0
    tau = vem.fit_mixtures(state.tau, gamma, alpha, seen)
    if learn and settings.learn_gamma:
        new = vem.fit_gamma(tau, gamma, seen)
        gamma, moved = new, abs(new - gamma) / gamma
    if learn and settings.alpha_prior is not None:
        one = vem.fit_alpha(tau, float(alpha[0]), settings.alpha_prior)
        alpha, moved = np.full_like(alpha, one), max(moved, abs(one - alpha[0]) / alpha[0])
    prior = prior._replace(alpha=gamma * vem.split(tau)[0])
    state.doc[~used] = prior.alpha[prior.alpha_row[~used]]  # documents without words have no other parameters
    return state._replace(tau=tau, hyper=np.concatenate(([gamma], alpha))[None, :]), prior, moved
