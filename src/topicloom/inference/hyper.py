"""Learning α and β: Minka's fixed point for the Dirichlet-multinomial, as a step of its own between sweeps.

α (one value a topic) maximises p(z | α) p(α), β (one value for all words) p(w | z, β) p(β), given the current z. The
sums run over distinct counts only, however many documents or words have them, so a step costs far less than a sweep.
"""

import numpy as np
from scipy.special import digamma

from topicloom._types import FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.inference.kernel import Prior
from topicloom.inference.state import AnyState, count_histogram
from topicloom.inference.tails import tails
from topicloom.kernels.mixtures import expected_tables

RATE = 1.0  # of the exponential hyperprior on each α_k and on β; nothing beside a corpus, and keeps tiny ones finite
SMALLEST = 1e-6  # a topic without a single token would otherwise be driven to exactly 0 and could never come back
_ROUNDS, _CLOSE = 20, 1e-5


def learn_alpha(corpus: Corpus, state: AnyState, prior: Prior, n_jobs: int = 1) -> Prior:
    """α ← α_k Σ_d[Ψ(n_dk + α_k) − Ψ(α_k)] / (Σ_d[Ψ(N_d + Σα) − Ψ(Σα)] + rate), repeated until it settles."""
    assert len(prior.alpha) == 1, "rows of several collections are learned with their mixtures"
    lengths, times = np.unique(corpus.doc_lengths[corpus.doc_lengths > 0], return_counts=True)
    if len(lengths) == 0:
        return prior
    found = tails(corpus, state.z, prior, n_jobs)
    alpha, top = prior.alpha[0], np.empty(prior.n_topics)
    for _ in range(_ROUNDS):
        expected_tables(*found, alpha, top)
        total = alpha.sum()
        bottom = np.sum(times * (digamma(lengths + total) - digamma(total)))
        new = np.maximum(top / (bottom + RATE), SMALLEST)
        settled = np.max(np.abs(new - alpha) / alpha) < _CLOSE
        alpha = new
        if settled:
            break
    return prior._replace(alpha=alpha[None, :])


def learn_beta(state: AnyState, prior: Prior) -> Prior:
    """β ← β Σ_kv[Ψ(n_kv + β) − Ψ(β)] / (V Σ_k[Ψ(n_k + Vβ) − Ψ(Vβ)] + rate), repeated until it settles."""
    by_count = count_histogram(state)
    counts = np.flatnonzero(by_count)
    times = by_count[counts]
    if len(counts) == 0:
        return prior
    n_words = len(prior.beta)
    beta = float(prior.beta[0])
    for _ in range(_ROUNDS):
        top = np.sum(times * (digamma(counts + beta) - digamma(beta)))
        bottom = n_words * np.sum(digamma(state.topic + n_words * beta) - digamma(n_words * beta))
        new = max(beta * top / (bottom + RATE), SMALLEST)
        settled = abs(new - beta) / beta < _CLOSE
        beta = float(new)
        if settled:
            break
    betas: FloatArray = np.full(n_words, beta)
    return prior._replace(beta=betas, beta_sum=np.full(prior.n_topics, beta * n_words))
