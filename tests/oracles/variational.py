"""Slow, readable variational inference to compare with: loops over tokens, definitions of every quantity.

Here every *token* has its own γ [N, K]; the package keeps one for each distinct (document, word) pair.
"""

import itertools

import numpy as np
from scipy.special import digamma, gammaln

from tests.oracles import lda as oracle
from topicloom.corpus import Corpus
from topicloom.engine.prior import Prior


def token_pairs(corpus: Corpus) -> np.ndarray:
    """Number of each token's pair."""
    pairs = corpus.pairs
    number = {}
    for d in range(corpus.n_docs):
        for i in range(pairs.ptr[d], pairs.ptr[d + 1]):
            number[d, int(pairs.word[i])] = i
    return np.array([number[int(d), int(v)] for d, v in zip(corpus.token_docs, corpus.words, strict=True)])


def poisson_binomial(probabilities: np.ndarray) -> np.ndarray:
    """Distribution of a sum of Bernoullis, by adding up all outcomes one by one."""
    out = np.zeros(len(probabilities) + 1)
    for outcome in itertools.product((0, 1), repeat=len(probabilities)):
        p = np.prod([g if x else 1 - g for x, g in zip(outcome, probabilities, strict=True)])
        out[sum(outcome)] += p
    return out


def mean_log(gammas: np.ndarray, prior: float, how: str) -> float:
    """E[log(prior + n)] of a count with these tokens: exactly, by eq. 17, or by its mean alone."""
    mean, var = gammas.sum(), (gammas * (1 - gammas)).sum()
    if how == "cvb0":
        return float(np.log(prior + mean))
    if how == "cvb":
        return float(np.log(prior + mean) - var / (2 * (prior + mean) ** 2))
    p = poisson_binomial(gammas)
    return float(p @ np.log(prior + np.arange(len(p))))


def collapsed_update(corpus: Corpus, gamma: np.ndarray, prior: Prior, token: int, how: str) -> np.ndarray:
    """Eq. 15 for one token, every count made from the other tokens."""
    beta = oracle.beta_matrix(prior)
    others = np.arange(corpus.n_tokens) != token
    d, v = corpus.token_docs[token], corpus.words[token]
    log_weight = np.empty(prior.n_topics)
    for k in range(prior.n_topics):
        in_doc = gamma[others & (corpus.token_docs == d), k]
        in_word = gamma[others & (corpus.words == v), k]
        log_weight[k] = (
            mean_log(in_doc, prior.alpha[0, k], how)
            + mean_log(in_word, beta[v, k], how)
            - mean_log(gamma[others, k], beta[:, k].sum(), how)
        )
    weight = np.exp(log_weight - log_weight.max())
    return weight / weight.sum()


def collapsed_sweep(corpus: Corpus, pair_gamma: np.ndarray, prior: Prior, how: str) -> np.ndarray:
    """Every pair in turn: one token's update, given to all of the pair's tokens."""
    pair = token_pairs(corpus)
    pair_gamma = pair_gamma.astype(float).copy()
    for i in range(len(pair_gamma)):
        token = int(np.flatnonzero(pair == i)[0])
        pair_gamma[i] = collapsed_update(corpus, pair_gamma[pair], prior, token, how)
    return pair_gamma


def collapsed_bound(corpus: Corpus, gamma: np.ndarray, prior: Prior) -> float:
    """Eq. 12 by listing all states: Σ_z q(z) [log p(x, z) − log q(z)]."""
    total = 0.0
    for z in oracle.all_states(corpus.n_tokens, prior.n_topics):
        q = np.prod(gamma[np.arange(len(z)), list(z)])
        if q > 0:
            total += q * (oracle.log_joint(corpus, np.array(z), prior) - np.log(q))
    return total


def log_evidence(case: oracle.Case) -> float:
    """log p(x), by listing all states."""
    logs = [oracle.log_joint(case.corpus, np.array(z), case.prior)
            for z in oracle.all_states(case.corpus.n_tokens, case.n_topics)]  # fmt: skip
    top = max(logs)
    return float(top + np.log(np.sum(np.exp(np.array(logs) - top))))


def vb_bound(corpus: Corpus, gamma: np.ndarray, doc: np.ndarray, word: np.ndarray, prior: Prior) -> float:
    """Eq. 2 term by term for any γ [N, K] of tokens, α̃ [D, K] and β̃ [V, K]."""
    beta = oracle.beta_matrix(prior)
    log_theta = digamma(doc) - digamma(doc.sum(axis=1, keepdims=True))
    log_phi = digamma(word) - digamma(word.sum(axis=0))
    total = 0.0
    for i in range(corpus.n_tokens):
        d, v = corpus.token_docs[i], corpus.words[i]
        for k in range(prior.n_topics):
            g = gamma[i, k]
            if g > 0:
                total += g * (log_theta[d, k] + log_phi[v, k] - np.log(g))
    for d in range(corpus.n_docs):
        total += _log_dirichlet(prior.alpha[0], log_theta[d]) - _log_dirichlet(doc[d], log_theta[d])
    for k in range(prior.n_topics):
        total += _log_dirichlet(beta[:, k], log_phi[:, k]) - _log_dirichlet(word[:, k], log_phi[:, k])
    return float(total)


def _log_dirichlet(parameter: np.ndarray, mean_log: np.ndarray) -> float:
    """E[log Dirichlet(x | parameter)] given E[log x]."""
    return float(gammaln(parameter.sum()) - gammaln(parameter).sum() + ((parameter - 1) * mean_log).sum())


def vb_gamma(corpus: Corpus, doc: np.ndarray, word: np.ndarray) -> np.ndarray:
    """Eq. 6 for every token."""
    gamma = np.empty((corpus.n_tokens, doc.shape[1]))
    for i in range(corpus.n_tokens):
        d, v = corpus.token_docs[i], corpus.words[i]
        w = np.exp(digamma(doc[d]) + digamma(word[v]) - digamma(word.sum(axis=0)))
        gamma[i] = w / w.sum()
    return gamma


def small_case(seed: int, n_topics: int = 2, seeded: bool = True) -> oracle.Case:
    """Six to nine tokens in three documents, words repeated, asymmetric priors."""
    rng = np.random.default_rng(seed)
    n_words = int(rng.integers(2, 5))
    docs = [rng.integers(0, n_words, rng.integers(2, 4)).tolist() for _ in range(3)]
    boosts = {0: rng.uniform(0, 1, n_topics)} if seeded else None
    prior = oracle.make_prior(rng.uniform(0.05, 1.5, n_topics), rng.uniform(0.05, 1, n_words), 3, boosts)
    return oracle.Case(oracle.tiny_corpus(docs, n_words), prior)
