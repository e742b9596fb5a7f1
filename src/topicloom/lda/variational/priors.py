"""Learned priors for the variational modes.

VB has its own bound, whose part in α is a Dirichlet's likelihood given E[log θ]: Minka's fixed point for it, Ψ(α_k) =
Ψ(Σα) + mean E[log θ_k], never lowers it. The collapsed modes maximise the likelihood of the expected counts, as the
samplers do with their drawn ones. α is learned by topic, β is one number for all words.

Expected counts are smoother than counts of tokens, the more so the less mass a document or a topic has, and smooth
counts call for large priors. What a prior may weigh against its data is therefore limited more closely than in
samplers (``engine.learn_priors.runs_away``).
"""

import numpy as np
from scipy.special import digamma, polygamma

from topicloom._types import BoolArray, FloatArray
from topicloom.engine.learn_priors import SMALLEST, runs_away
from topicloom.engine.prior import Prior
from topicloom.lda.variational import bayes as vb
from topicloom.lda.variational.batch import Mode
from topicloom.lda.variational.state import PairIndex, VariationalState

_LARGEST = 1e4  # a prior beyond this is as good as infinite; without variation in the data nothing else would stop it
_MOST_ALPHA, _MOST_BETA = 0.25, 1.0  # Σα as a share of a document's mean mass, and Vβ of a topic's
_ROUNDS, _CLOSE = 20, 1e-5


def learn_priors(
    pairs: PairIndex,
    state: VariationalState,
    mode: Mode,
    prior: Prior,
    *,
    alpha: bool,
    beta: bool,
    symmetric: bool = False,
) -> tuple[VariationalState, Prior, float]:
    """State and prior after a step for α, for β or for both, and how far, relatively, the priors moved.

    The counts in a state hold their prior, so they move with it.
    """
    changes = [0.0]
    used = np.diff(pairs.ptr) > 0
    if alpha and used.any():
        old = prior.alpha[0]
        new = learned_alpha(state.doc, old, used, bayes=mode == "vb", symmetric=symmetric)
        prior = prior._replace(alpha=new[None, :])
        if mode == "vb":
            state.doc[~used] = new  # a document without words has no other parameters than the prior's
        else:
            state.doc[:] += new - old
        changes.append(float(np.abs(new - old).sum() / old.sum()))  # a topic that dies out does not count for much
    if beta:
        old_beta = float(prior.beta[0])
        n_words = len(prior.beta)
        new_beta = fit_word_dirichlet(state.word, old_beta) if mode == "vb" else fit_word_polya(state.word, old_beta)
        if mode != "vb":
            state.word[:] += new_beta - old_beta
            state.topic[:] += n_words * (new_beta - old_beta)
        prior = with_beta(prior, new_beta)
        changes.append(abs(new_beta - old_beta) / old_beta)
    return state, prior, max(changes)


def with_beta(prior: Prior, beta: float) -> Prior:
    n_words = len(prior.beta)
    return prior._replace(beta=np.full(n_words, beta), beta_sum=np.full(prior.n_topics, beta * n_words))


def mean_log(rows: FloatArray, used: BoolArray) -> FloatArray:
    """Mean of E[log θ_k] over documents."""
    out = np.empty(rows.shape[1])
    vb.mean_log_columns(rows, used, out)
    return out / max(int(used.sum()), 1)


def learned_alpha(
    doc: FloatArray, alpha: FloatArray, used: BoolArray, *, bayes: bool, symmetric: bool = False
) -> FloatArray:
    """α from documents' parameters [D, K] of VB, or from their expected counts, which hold the old α."""
    if not bayes:
        return fit_polya(doc, alpha, used, symmetric)
    goal, mass = mean_log(doc, used), float(doc[used].sum(axis=1).mean() - alpha.sum())
    if symmetric:
        goal[:] = goal.mean()
    return fit_dirichlet(goal, alpha, mass=mass)


def fit_dirichlet(goal: FloatArray, alpha: FloatArray, rounds: int = 50, mass: float = np.inf) -> FloatArray:
    """α that maximises a Dirichlet's likelihood given the mean of log θ; each round raises it."""
    first = alpha
    for _ in range(rounds):
        new = np.clip(inverse_digamma(digamma(alpha.sum()) + goal), SMALLEST, _LARGEST)
        settled = np.max(np.abs(new - alpha) / alpha) < _CLOSE
        alpha = new
        if settled:
            break
    share = alpha / alpha.sum()

    def rises(most: float) -> bool:
        return bool(np.isfinite(most) and np.sum(share * (digamma(most) - digamma(most * share) + goal)) > 0)

    return first if runs_away(float(first.sum()), float(alpha.sum()), _MOST_ALPHA * mass, rises) else alpha


def fit_word_dirichlet(word: FloatArray, beta: float) -> float:
    """One β for all words and topics that maximises VB's bound."""
    n_words = len(word)
    goal = float(np.mean(digamma(word)) - np.mean(digamma(word.sum(axis=0))))
    first, mass = beta, float(word.sum(axis=0).mean()) / n_words - beta
    for _ in range(50):
        new = float(np.clip(inverse_digamma(digamma(n_words * beta) + goal), SMALLEST, _LARGEST))
        settled = abs(new - beta) / beta < _CLOSE
        beta = new
        if settled:
            break

    def rises(most: float) -> bool:
        return bool(digamma(n_words * most) - digamma(most) + goal > 0)

    return first if runs_away(first, beta, _MOST_BETA * mass, rises) else beta


def inverse_digamma(y: FloatArray | float) -> FloatArray:
    """x with Ψ(x) = y: Newton from Minka's start, five steps of which give full precision."""
    y = np.asarray(y, np.float64)
    with np.errstate(over="ignore"):
        x = np.where(y >= -2.22, np.exp(np.minimum(y, 700.0)) + 0.5, -1.0 / (y + 0.5772156649015329))
    for _ in range(5):
        x = np.maximum(x - (digamma(x) - y) / polygamma(1, x), x * 0.1)
    return np.asarray(x)


def fit_polya(rows: FloatArray, alpha: FloatArray, used: BoolArray, symmetric: bool = False) -> FloatArray:
    """α ← α_k Σ_d[Ψ(n_dk + α_k) − Ψ(α_k)] / Σ_d[Ψ(N_d + Σα) − Ψ(Σα)] on expected counts; ``rows`` hold the old α.

    With ``symmetric`` the mean over topics is every topic's.
    """
    first = alpha
    totals = rows[used].sum(axis=1) - alpha.sum()
    n_used = int(used.sum())
    top = np.empty_like(alpha)

    def step(alpha: FloatArray) -> FloatArray:
        vb.sum_digamma(rows, alpha - first, used, top)
        total = alpha.sum()
        bottom = float(np.sum(digamma(totals + total) - digamma(total)))
        if not bottom > 0:  # the prior is so large that rounding leaves nothing of the counts
            return alpha
        new = alpha * (top - n_used * digamma(alpha)) / bottom
        return np.asarray(np.clip(np.full_like(new, new.mean()) if symmetric else new, SMALLEST, _LARGEST))

    for _ in range(_ROUNDS):
        new = step(alpha)
        settled = np.max(np.abs(new - alpha) / alpha) < _CLOSE
        alpha = new
        if settled:
            break
    total = float(alpha.sum())

    def rises(most: float) -> bool:
        return bool(step(alpha * (most / total)).sum() > most)

    return first if runs_away(float(first.sum()), total, _MOST_ALPHA * float(totals.mean()), rises) else alpha


def fit_word_polya(word: FloatArray, beta: float) -> float:
    """β ← β Σ_kv[Ψ(n_kv + β) − Ψ(β)] / (V Σ_k[Ψ(n_k + Vβ) − Ψ(Vβ)]) on expected counts; ``word`` holds the old β."""
    n_words, n_topics = word.shape
    counts = word.sum(axis=0) - n_words * beta
    first, used, top = beta, np.ones(n_words, bool), np.empty(n_topics)

    def step(beta: float) -> float:
        vb.sum_digamma(word, np.full(n_topics, beta - first), used, top)
        bottom = float(n_words * np.sum(digamma(counts + n_words * beta) - digamma(n_words * beta)))
        if not bottom > 0:
            return beta
        return float(np.clip(beta * (top.sum() - word.size * digamma(beta)) / bottom, SMALLEST, _LARGEST))

    for _ in range(_ROUNDS):
        new = step(beta)
        settled = abs(new - beta) / beta < _CLOSE
        beta = new
        if settled:
            break
    mass = float(counts.mean()) / n_words
    return first if runs_away(first, beta, _MOST_BETA * mass, lambda most: step(most) > most) else beta
