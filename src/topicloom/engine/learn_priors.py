"""Learning α and β: Minka's fixed point for the Dirichlet-multinomial, as a step of its own between sweeps.

α (one value per topic, or one for all) maximises p(z | α) p(α), β (one value for all words) p(w | z, β) p(β), given the
current z. The sums run over distinct counts only, however many documents or words have them, so a step costs far less
than a sweep.

Where documents or topics look alike, because topics have not formed yet or because there are too few tokens to form
them, the likelihood rises without end: a larger prior makes them more alike, and so on until all topics are the same.
A step toward a prior that outweighs its data ``MOST`` times is therefore not taken (``runs_away``): the prior stays
where it is until the data can tell.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import digamma

from topicloom._types import FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.documents_by_count import documents_by_count, expected_tables
from topicloom.engine.prior import Prior
from topicloom.engine.state import AnyState

RATE = 1.0  # of the exponential hyperprior on each α_k and on β; nothing beside a corpus, and keeps tiny ones finite
SMALLEST = 1e-6  # a topic without a single token would otherwise be driven to exactly 0 and could never come back
MOST = 4.0  # times a document's mean mass, for Σα, or a topic's, for Vβ
_ROUNDS, _CLOSE = 20, 1e-5


def runs_away(old: float, new: float, most: float, rises: Callable[[float], bool]) -> bool:
    """Whether a prior's total that goes from ``old`` to ``new`` is on its way beyond ``most``.

    ``rises`` says whether the likelihood still rises at a total. A prior that falls is always on its way back.
    """
    return new > old and rises(most)


def after_sweep(corpus: Corpus, chain: Any, info: Any, plan: Any) -> None:
    """Learn the priors of a chain, if it is time to."""
    if plan.learns(chain.sweep):
        if plan.learn_alpha:
            chain.prior = learn_alpha(
                corpus, chain.state, chain.prior, plan.schedule.n_jobs, symmetric=plan.symmetric_alpha
            )
        if plan.learn_beta:
            chain.prior = learn_beta(chain.state, chain.prior)


def learn_alpha(
    corpus: Corpus, state: AnyState, prior: Prior, n_jobs: int = 1, *, symmetric: bool = False
) -> Prior:  # fmt: skip
    """α ← α_k Σ_d[Ψ(n_dk + α_k) − Ψ(α_k)] / (Σ_d[Ψ(N_d + Σα) − Ψ(Σα)] + rate), repeated until it settles.

    With ``symmetric`` α is one number: α ← α Σ_dk[Ψ(n_dk + α) − Ψ(α)] / (K Σ_d[Ψ(N_d + Kα) − Ψ(Kα)] + rate).
    """
    assert len(prior.alpha) == 1, "rows of several collections are learned with their mixtures"
    lengths, times = np.unique(corpus.doc_lengths[corpus.doc_lengths > 0], return_counts=True)
    if len(lengths) == 0:
        return prior
    by_count = documents_by_count(corpus, state.z, prior, n_jobs)
    alpha, top = prior.alpha[0], np.empty(prior.n_topics)

    def step(alpha: FloatArray) -> FloatArray:
        expected_tables(by_count, alpha, top)
        total = alpha.sum()
        bottom = np.sum(times * (digamma(lengths + total) - digamma(total)))
        if symmetric:
            return np.full(len(top), max(top.sum() / (len(top) * bottom + RATE), SMALLEST))
        return np.asarray(np.maximum(top / (bottom + RATE), SMALLEST))

    for _ in range(_ROUNDS):
        new = step(alpha)
        settled = np.max(np.abs(new - alpha) / alpha) < _CLOSE
        alpha = new
        if settled:
            break
    mass = float(np.sum(lengths * times) / times.sum())
    total = float(alpha.sum())
    if runs_away(
        float(prior.alpha[0].sum()), total, MOST * mass, lambda most: step(alpha * (most / total)).sum() > most
    ):
        return prior
    return prior._replace(alpha=alpha[None, :])


def learn_beta(state: AnyState, prior: Prior) -> Prior:
    """β ← β Σ_kv[Ψ(n_kv + β) − Ψ(β)] / (V Σ_k[Ψ(n_k + Vβ) − Ψ(Vβ)] + rate), repeated until it settles."""
    by_count = state.count_histogram()
    counts = np.flatnonzero(by_count)
    times = by_count[counts]
    if len(counts) == 0:
        return prior
    n_words = len(prior.beta)
    beta = float(prior.beta[0])

    def step(beta: float) -> float:
        top = np.sum(times * (digamma(counts + beta) - digamma(beta)))
        bottom = n_words * np.sum(digamma(state.topic + n_words * beta) - digamma(n_words * beta))
        return float(max(beta * top / (bottom + RATE), SMALLEST))

    for _ in range(_ROUNDS):
        new = step(beta)
        settled = abs(new - beta) / beta < _CLOSE
        beta = new
        if settled:
            break
    mass = float(np.mean(state.topic)) / n_words
    if runs_away(float(prior.beta[0]), beta, MOST * mass, lambda most: step(most) > most):
        return prior
    betas: FloatArray = np.full(n_words, beta)
    return prior._replace(beta=betas, beta_sum=np.full(prior.n_topics, beta * n_words))
