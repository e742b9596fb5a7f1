"""Independent, slow versions of what supervised topics compute, and tests of invariance over topics and weights."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tests.oracles import lda as oracle
from topicloom.corpus import Corpus
from topicloom.engine.prior import Prior, make_prior

NUMBERS = ("epsilon_insensitive", "squared")  # losses of numbers; all others are of −1 and 1


def means(corpus: Corpus, z: np.ndarray, n_topics: int) -> np.ndarray:
    """z̄ [D, K]; zeros for a document without words."""
    out = np.zeros((corpus.n_docs, n_topics))
    for d in range(corpus.n_docs):
        own = z[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]
        for k in own:
            out[d, k] += 1 / len(own)
    return out


def log_losses(loss: str, epsilon: float, target: np.ndarray, weight: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Log pseudo-likelihood of every document and task, from the losses' definitions."""
    if loss == "hinge":
        return -2 * weight * np.maximum(0, 1 - target * value)
    if loss == "logistic":
        return weight * np.log(expit(target * value))
    if loss == "squared":
        return -0.5 * weight * (target - value) ** 2
    return -2 * weight * np.maximum(0, np.abs(target - value) - epsilon)


class Case(NamedTuple):
    """A tiny corpus with a prior, and what its documents are to be."""

    corpus: Corpus
    prior: Prior
    target: np.ndarray
    weight: np.ndarray
    loss: str = "hinge"
    epsilon: float = 0.1
    nu: float = 0.7

    @property
    def n_topics(self) -> int:
        return self.prior.n_topics

    @property
    def has_words(self) -> np.ndarray:
        return np.diff(self.corpus.doc_ptr) > 0

    def log_joint(self, z: np.ndarray, eta: np.ndarray) -> float:
        """log of the regularised posterior at (z, η), without the constant of η's prior."""
        value = means(self.corpus, z, self.n_topics) @ eta
        losses = log_losses(self.loss, self.epsilon, self.target, self.weight, value)[self.has_words]
        return oracle.log_joint(self.corpus, z, self.prior) + losses.sum() - 0.5 * self.nu * np.sum(eta**2)

    def log_augmented(self, z: np.ndarray, eta: np.ndarray, pull: np.ndarray, curve: np.ndarray) -> float:
        """log density of z given η and the augmented variables."""
        value = means(self.corpus, z, self.n_topics) @ eta
        return oracle.log_joint(self.corpus, z, self.prior) + float(np.sum(pull * value - 0.5 * curve * value**2))


def cases() -> dict[str, Case]:
    """Two and three topics, one and two tasks, repeated words, an empty document, weights by document."""
    two = oracle.tiny_corpus([[0, 0, 1], [], [1, 2]], 3)
    three = oracle.tiny_corpus([[0, 1, 0], [2, 1]], 3)
    plain = make_prior(np.array([0.3, 0.9]), np.array([0.2, 0.5, 0.4]), 3)
    rows = make_prior(
        np.array([[0.2, 0.7, 0.4], [1.1, 0.3, 0.6]]), np.array([0.6, 0.1, 0.3]), 2, alpha_row=np.array([0, 1])
    )
    one = np.array([[1.0], [-1.0], [-1.0]])
    repeated = oracle.tiny_corpus([[0, 0, 0], [0, 1]], 2)
    flat = make_prior(np.array([0.8, 1.2]), np.array([0.1, 0.3]), 2)
    return {
        "one task": Case(two, plain, one, np.array([[1.5], [0.8], [2.5]])),
        "repeated word": Case(repeated, flat, np.array([[1.0], [-1.0]]), np.array([[0.5], [0.8]])),
        "two tasks": Case(three, rows, np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([[1.5, 0.7], [2.0, 1.2]])),
    }


def fixed(case: Case, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some η, pull and curve to hold while topics move; strong, so that the exponent matters."""
    rng = np.random.default_rng(seed)
    shape = case.target.shape
    eta = rng.normal(size=(case.n_topics, shape[1])) * 1.5
    pull = 3 * rng.normal(size=shape) * case.has_words[:, None]
    return eta, pull, rng.uniform(0.5, 4, shape) * case.has_words[:, None]


def topic_p_value(case: Case, sweep: Callable[..., np.ndarray], n: int, seed: int) -> float:
    """p-value that z given fixed η, pull and curve is invariant under ``sweep(z, eta, pull, curve, replicate)``."""
    eta, pull, curve = fixed(case)
    states = np.array(list(oracle.all_states(case.corpus.n_tokens, case.n_topics)))
    logs = np.array([case.log_augmented(z, eta, pull, curve) for z in states])
    p = np.exp(logs - logs.max())
    p /= p.sum()
    starts = np.random.default_rng(seed).choice(len(states), size=n, p=p)

    def draw(replicate: int) -> int:
        return oracle.state_number(sweep(states[starts[replicate]], eta, pull, curve, replicate), case.n_topics)

    return oracle.drawn_p_value(draw, p, n)


class Grid:
    """The joint of topics and the weights of one task and two topics, on a fine grid over the weights."""

    def __init__(self, case: Case, reach: float = 8.0, n: int = 240, bins: int = 3) -> None:
        self.case, self.n, self.bins = case, n, bins
        edges = np.linspace(-reach, reach, n + 1)
        self.width, self.centre = edges[1] - edges[0], 0.5 * (edges[1:] + edges[:-1])
        self.states = np.array(list(oracle.all_states(case.corpus.n_tokens, 2)))
        first, second = np.meshgrid(self.centre, self.centre, indexing="ij")
        logs = np.empty((len(self.states), n, n))
        prior = -0.5 * case.nu * (first**2 + second**2)
        for i, z in enumerate(self.states):
            share = means(case.corpus, z, 2)
            logs[i] = oracle.log_joint(case.corpus, z, case.prior) + prior
            for d in np.flatnonzero(case.has_words):
                value = share[d, 0] * first + share[d, 1] * second
                logs[i] += log_losses(case.loss, case.epsilon, case.target[d], case.weight[d], value)
        p = np.exp(logs - logs.max())
        self.p = p / p.sum()
        assert self.p[:, [0, -1]].sum() + self.p[:, :, [0, -1]].sum() < 1e-9  # nothing beyond the grid
        each = self.p.sum(axis=(0, 2)), self.p.sum(axis=(0, 1))
        self.cuts = [np.searchsorted(np.cumsum(q), np.arange(1, bins) / bins) + 1 for q in each]
        self.edges = edges
        self.cells = np.zeros((len(self.states), bins, bins))
        rows = np.searchsorted(self.cuts[0], np.arange(n), side="right")
        columns = np.searchsorted(self.cuts[1], np.arange(n), side="right")
        for i in range(len(self.states)):
            np.add.at(self.cells[i], (rows[:, None], columns[None, :]), self.p[i])

    def draw(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """States and weights from the joint; within a cell of the grid weights are uniform."""
        rng = np.random.default_rng(seed)
        flat = rng.choice(self.p.size, size=n, p=self.p.ravel())
        which, i, j = np.unravel_index(flat, self.p.shape)
        jitter = (rng.random((n, 2)) - 0.5) * self.width
        return self.states[which], np.stack([self.centre[i], self.centre[j]], axis=1) + jitter

    def p_value(self, sweep: Callable[..., tuple[np.ndarray, np.ndarray]], n: int, seed: int) -> float:
        """p-value that topics and weights are invariant under ``sweep(z, eta, replicate)``."""
        states, weights = self.draw(n, seed)
        observed = np.zeros(self.cells.shape)
        for replicate in range(n):
            z, eta = sweep(states[replicate], weights[replicate][:, None].copy(), replicate)
            bins = [
                int(np.searchsorted(self.edges[self.cuts[k]], eta[k, 0], side="right"))
                for k in range(2)
            ]  # fmt: skip
            observed[oracle.state_number(z, 2), bins[0], bins[1]] += 1
        return oracle.chi_square(observed.ravel(), self.cells.ravel())


def grid_case(loss: str) -> Case:
    corpus = oracle.tiny_corpus([[0, 1], [], [1, 1]], 2)
    prior = make_prior(np.array([0.6, 0.9]), np.array([0.4, 0.7]), 3)
    target = np.array([[0.8], [0.0], [-0.5]]) if loss in NUMBERS else np.array([[1.0], [1.0], [-1.0]])
    return Case(corpus, prior, target, np.array([[1.6], [1.0], [0.7]]), loss=loss)
