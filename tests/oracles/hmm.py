"""Hidden Markov models the slow way: by listing every path. Shares nothing with the package but the data's form."""

import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from tests.oracles import lda as oracle
from topicloom.corpus import Corpus


class HMMCase(NamedTuple):
    corpus: Corpus
    initial: np.ndarray  # [K] Dirichlet parameters
    transition: np.ndarray  # [K, K]
    emission: np.ndarray  # [K, V]
    n_paths: int

    @property
    def n_states(self) -> int:
        return len(self.initial)


def sequences(case: HMMCase) -> list[list[int]]:
    ptr = case.corpus.doc_ptr
    return [case.corpus.words[a:b].tolist() for a, b in itertools.pairwise(ptr.tolist())]


def log_joint(case: HMMCase, z: np.ndarray) -> float:
    """log of P(p¹ … pᵐ, w¹ = … = wᵐ = w), by the chain rule: one symbol, one move after the other, all paths in turn.

    Each draw is from the predictive of its Dirichlet given all draws before it, in whatever path they were.
    """
    starts = np.zeros(case.n_states)
    moves = np.zeros((case.n_states, case.n_states))
    emitted = np.zeros(case.emission.shape)
    total = 0.0

    def draw(counts: np.ndarray, prior: np.ndarray, i: int) -> float:
        p = (counts[i] + prior[i]) / (counts.sum() + prior.sum())
        counts[i] += 1
        return float(np.log(p))

    for path in np.asarray(z).reshape(case.n_paths, case.corpus.n_tokens):
        at = 0
        for sequence in sequences(case):
            before = None
            for v in sequence:
                k = int(path[at])
                at += 1
                if before is None:
                    total += draw(starts, case.initial, k)
                else:
                    total += draw(moves[before], case.transition[before], k)
                if v < case.emission.shape[1]:  # a missing symbol has probability 1
                    total += draw(emitted[k], case.emission[k], v)
                before = k
    return total


def posterior(case: HMMCase) -> tuple[np.ndarray, np.ndarray]:
    """Every setting of all paths together [S, m · N] and its exact probability [S]."""
    states = np.array(list(oracle.all_states(case.n_paths * case.corpus.n_tokens, case.n_states)))
    logs = np.array([log_joint(case, z) for z in states])
    p = np.exp(logs - logs.max())
    return states, p / p.sum()


def conditional(case: HMMCase, z: np.ndarray, path: int, place: int) -> np.ndarray:
    logs = np.empty(case.n_states)
    for k in range(case.n_states):
        other = z.copy()
        other[path, place] = k
        logs[k] = log_joint(case, other)
    p = np.exp(logs - logs.max())
    return p / p.sum()


def cases() -> dict[str, HMMCase]:
    """Asymmetric priors; sequences of one symbol and of none; runs of one symbol, which invite equal moves."""
    two = {
        "initial": np.array([0.6, 1.7]),
        "transition": np.array([[1.3, 0.4], [0.3, 0.8]]),
        "emission": np.array([[0.2, 0.5, 0.9], [0.7, 0.3, 0.1]]),
    }
    three = {
        "initial": np.array([0.2, 0.9, 0.5]),
        "transition": np.array([[1.5, 0.2, 0.4], [0.3, 0.6, 0.9], [0.8, 0.1, 2.0]]),
        "emission": np.array([[0.4, 0.2], [0.1, 0.9], [0.6, 0.5]]),
    }

    def corpus(docs: list[list[int]], n: int) -> Corpus:
        return oracle.tiny_corpus(docs, n)

    sticky = {  # small parameters make each move weigh much, so that what neighbouring moves share shows
        "initial": np.array([0.8, 1.1]),
        "transition": np.array([[0.15, 0.1], [0.1, 0.2]]),
        "emission": np.array([[1.2, 0.9], [0.8, 1.3]]),
    }
    return {
        "sticky": HMMCase(corpus([[0, 0, 1, 0, 0]], 2), **sticky, n_paths=1),
        "sticky, two paths": HMMCase(corpus([[0, 0, 1]], 2), **sticky, n_paths=2),
        "starts": HMMCase(
            corpus([[0], [1], [], [0, 1], [0]], 2), **{**sticky, "initial": two["initial"] / 6}, n_paths=1
        ),
        "one path": HMMCase(corpus([[0, 0, 0, 1, 0], [], [2, 2, 1]], 3), **two, n_paths=1),
        "one path, three states": HMMCase(corpus([[0, 1, 1, 0], [1]], 2), **three, n_paths=1),
        "two paths": HMMCase(corpus([[0, 0, 1], [], [2], [0]], 3), **two, n_paths=2),
        "missing": HMMCase(corpus([[0, 2, 0, 1], [2], [1, 2]], 3), **sticky, n_paths=1),
        "missing, two paths": HMMCase(corpus([[0, 2, 0]], 3), **sticky, n_paths=2),
        "two paths, one sequence": HMMCase(corpus([[0, 0, 0, 0, 1]], 3), **two, n_paths=2),
        "two paths, three states": HMMCase(corpus([[1, 1], [0]], 2), **three, n_paths=2),
    }


def invariance(case: HMMCase, sweep, n: int, seed: int, known=None) -> float:
    """p-value that the exact joint posterior of all paths is invariant under ``sweep(z [m, N], replicate)``."""
    states, p = known or posterior(case)
    starts = np.random.default_rng(seed).choice(len(states), size=n, p=p)
    shape = (case.n_paths, case.corpus.n_tokens)

    def draw(replicate: int) -> int:
        z = sweep(states[starts[replicate]].reshape(shape), replicate)
        return oracle.state_number(np.asarray(z).ravel(), case.n_states)

    return oracle.drawn_p_value(draw, p, n)


# -- given parameters ----------------------------------------------------------------------------------------------


def path_probability(path, sequence, initial, transition, emission) -> float:
    shown = np.column_stack((emission, np.ones(len(emission))))  # the last symbol stands for a missing one
    p = initial[path[0]] * shown[path[0], sequence[0]]
    for t in range(1, len(sequence)):
        p *= transition[path[t - 1], path[t]] * shown[path[t], sequence[t]]
    return float(p)


def listed(sequence, initial, transition, emission) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """All paths of a sequence and P(path, w)."""
    paths = list(oracle.all_states(len(sequence), len(initial)))
    return paths, np.array([path_probability(path, sequence, initial, transition, emission) for path in paths])


def dirichlet_multinomial(n: np.ndarray, a: np.ndarray) -> float:
    return float(gammaln(a.sum()) - gammaln((a + n).sum()) + np.sum(gammaln(a + n) - gammaln(a)))


# -- collapsed expected counts, zero order --------------------------------------------------------------------------


def pair_shares(case: HMMCase, paths: list[list[tuple[int, ...]]], q: list[np.ndarray]) -> list[np.ndarray]:
    """Of each sequence P(state before, state) at its places [T, K, K]; the first has its states in row 0."""
    found = []
    for own, shares in zip(paths, q, strict=True):
        xi = np.zeros((len(own[0]), case.n_states, case.n_states))
        for path, share in zip(own, shares, strict=True):
            for t, k in enumerate(path):
                xi[t, path[t - 1] if t else 0, k] += share
        found.append(xi)
    return found


def cvb0(case: HMMCase, xi: list[np.ndarray], n_iter: int) -> list[np.ndarray]:
    """CVB0 by listing every path of each sequence: a place's own expected counts are taken out of all counts.

    A path's weight is the product, over its places, of predictive probabilities from the counts that are left.
    """
    given, n = sequences(case), case.emission.shape[1]
    paths = [list(oracle.all_states(len(own), case.n_states)) for own in given]
    for _ in range(n_iter):
        starts, moves, emitted = np.zeros(case.n_states), np.zeros((case.n_states,) * 2), np.zeros(case.emission.shape)
        for own, x in zip(given, xi, strict=True):
            for t, v in enumerate(own):
                if t:
                    moves += x[t]
                else:
                    starts += x[0, 0]
                if v < n:
                    emitted[:, v] += x[t].sum(axis=0)
        q = []
        for own, x, listed_paths in zip(given, xi, paths, strict=True):
            weights = np.ones(len(listed_paths))
            for i, path in enumerate(listed_paths):
                for t, (v, k) in enumerate(zip(own, path, strict=True)):
                    if t:
                        p = path[t - 1]
                        left = moves[p] - x[t, p] + case.transition[p]
                    else:
                        left = starts - x[0, 0] + case.initial
                    weights[i] *= left[k] / left.sum()
                    if v < n:
                        out = emitted[k] + case.emission[k]
                        share = x[t, :, k].sum()
                        weights[i] *= (out[v] - share) / (out.sum() - share)
            q.append(weights / weights.sum())
        xi = pair_shares(case, paths, q)
    return xi


def marginals(case: HMMCase) -> np.ndarray:
    """The exact P(state at each place | all sequences) [N, K], one path."""
    states, p = posterior(case)
    return np.stack([(states == k).T @ p for k in range(case.n_states)], axis=1)
