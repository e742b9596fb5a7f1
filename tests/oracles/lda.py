"""Independent, slow, readable versions of what the package computes, for tests to compare with.

Nothing here is shared with the package: counts are made by loops over tokens, probabilities by their definitions.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln
from scipy.stats import chi2

from topicloom.corpus import Corpus
from topicloom.engine.prior import Prior, make_prior

# A statistical test that a correct program fails once in ten million times. With the seeds fixed it either always
# passes or always fails; the rate says how surprised to be when it fails after a change.
FALSE_ALARM = 1e-7
# A p-value on the way at which a program is wrong beyond doubt, far below what any test asks for. Where every cell is
# expected to have ten draws and more, a right program gets there less than once in 10^10, at all looks together.
CERTAIN = 1e-20
FIRST_LOOK = 100  # draws; then after half as many again, each time


class Case(NamedTuple):
    """A corpus small enough to list all its states, with a prior."""

    corpus: Corpus
    prior: Prior

    @property
    def n_topics(self) -> int:
        return self.prior.n_topics


def beta_matrix(prior: Prior) -> np.ndarray:
    """β_vk, boosts included."""
    beta = np.repeat(prior.beta[:, None], prior.n_topics, axis=1)
    for v, row in enumerate(prior.boost_row):
        if row >= 0:
            beta[v] += prior.boost[row]
    return beta


def log_joint(corpus: Corpus, z: np.ndarray, prior: Prior) -> float:
    """log p(w, z | α, β) from the Dirichlet-multinomial's definition, document by document and topic by topic."""
    n_topics = prior.n_topics
    beta = beta_matrix(prior)
    word_topic = np.zeros((corpus.n_words, n_topics))
    total = 0.0
    for d in range(corpus.n_docs):
        doc = np.zeros(n_topics)
        for i in range(corpus.doc_ptr[d], corpus.doc_ptr[d + 1]):
            doc[z[i]] += 1
            word_topic[corpus.words[i], z[i]] += 1
        total += _dirichlet_multinomial(doc, prior.alpha[prior.alpha_row[d]])
    for k in range(n_topics):
        total += _dirichlet_multinomial(word_topic[:, k], beta[:, k])
    return total


def _dirichlet_multinomial(counts: np.ndarray, parameter: np.ndarray) -> float:
    """log of Γ(Σa)/Γ(Σa + n) ∏ Γ(a_i + n_i)/Γ(a_i): the probability of one ordered sequence with these counts."""
    return float(
        gammaln(parameter.sum())
        - gammaln(parameter.sum() + counts.sum())
        + np.sum(gammaln(parameter + counts) - gammaln(parameter))
    )


def multipath_log_joint(corpus: Corpus, paths: np.ndarray, prior: Prior) -> float:
    """log f_m(p¹ … pᵐ) with θ and φ integrated out (multipath Gibbs eq. 5): paths [m, N] share topic-word counts."""
    beta = beta_matrix(prior)
    word_topic = np.zeros(beta.shape)
    total = 0.0
    for z in paths:
        for d in range(corpus.n_docs):
            doc = np.zeros(prior.n_topics)
            for i in range(corpus.doc_ptr[d], corpus.doc_ptr[d + 1]):
                doc[z[i]] += 1
                word_topic[corpus.words[i], z[i]] += 1
            total += _dirichlet_multinomial(doc, prior.alpha[prior.alpha_row[d]])
    return total + sum(_dirichlet_multinomial(word_topic[:, k], beta[:, k]) for k in range(prior.n_topics))


def path_cases() -> dict[str, Case]:
    """As ``cases``, of a size at which two paths can be listed jointly."""
    two, three = tiny_corpus([[0, 0, 1], [], [1]], 3), tiny_corpus([[0, 1], [0]], 3)
    return {
        "two topics": Case(two, make_prior(np.array([0.3, 0.9]), np.array([0.2, 0.5, 0.4]), 3)),
        "three topics": Case(three, make_prior(np.array([0.2, 0.7, 0.4]), np.array([0.6, 0.1, 0.3]), 2)),
        "seed word": Case(
            two, make_prior(np.array([0.5, 0.8]), np.array([0.2, 0.3, 0.4]), 3, {1: np.array([1.5, 0.0])})
        ),
        "two collections": Case(
            two,
            make_prior(np.array([[0.3, 0.9], [1.4, 0.2]]), np.array([0.2, 0.5, 0.4]), 3, alpha_row=np.array([0, 1, 1])),
        ),
    }


def conditional(corpus: Corpus, z: np.ndarray, prior: Prior, token: int) -> np.ndarray:
    """p(z_token = k | everything else), from ratios of the joint."""
    logs = np.empty(prior.n_topics)
    for k in range(prior.n_topics):
        other = z.copy()
        other[token] = k
        logs[k] = log_joint(corpus, other, prior)
    p = np.exp(logs - logs.max())
    return p / p.sum()


def all_states(n_tokens: int, n_topics: int) -> Iterator[tuple[int, ...]]:
    return itertools.product(range(n_topics), repeat=n_tokens)


def posterior(case: Case, n_paths: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Every state [S, N], of several paths one after the other, and its exact posterior probability [S]."""
    states = np.array(list(all_states(case.corpus.n_tokens * n_paths, case.n_topics)))
    if n_paths == 1:
        logs = np.array([log_joint(case.corpus, z, case.prior) for z in states])
    else:
        logs = np.array([multipath_log_joint(case.corpus, z.reshape(n_paths, -1), case.prior) for z in states])
    p = np.exp(logs - logs.max())
    return states, p / p.sum()


def start_probabilities(case: Case, order: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Every state and its probability if tokens are placed in this order, each given those before it."""
    corpus, prior, beta = case.corpus, case.prior, beta_matrix(case.prior)
    states = np.array(list(all_states(corpus.n_tokens, case.n_topics)))
    logs = np.zeros(len(states))
    for s, z in enumerate(states):
        for n, i in enumerate(order):
            before, d, v = np.array(order[:n], int), corpus.token_docs[i], corpus.words[i]
            weight = np.empty(case.n_topics)
            for k in range(case.n_topics):
                there = before[z[before] == k]
                of_doc, of_word = (corpus.token_docs[there] == d).sum(), (corpus.words[there] == v).sum()
                share = of_doc + prior.alpha[prior.alpha_row[d], k]
                weight[k] = share * (of_word + beta[v, k]) / (len(there) + beta[:, k].sum())
            logs[s] += np.log(weight[z[i]] / weight.sum())
    return states, np.exp(logs)


def state_number(z: np.ndarray, n_topics: int) -> int:
    """Where a state stands in ``all_states``."""
    number = 0
    for k in z:
        number = number * n_topics + int(k)
    return number


def chi_square(observed: np.ndarray, probability: np.ndarray, least: float = 5.0) -> float:
    """p-value of the observed counts under the exact probabilities; cells expected below ``least`` are put together."""
    n = observed.sum()
    order = np.argsort(probability)
    expected, seen = probability[order] * n, observed[order]
    pooled = int(np.searchsorted(np.cumsum(expected), least)) + 1
    expected = np.concatenate(([expected[:pooled].sum()], expected[pooled:]))
    seen = np.concatenate(([seen[:pooled].sum()], seen[pooled:]))
    statistic = np.sum((seen - expected) ** 2 / expected)
    return float(chi2.sf(statistic, len(expected) - 1))


def drawn_p_value(draw: Callable[[int], int | None], probability: np.ndarray, n: int) -> float:
    """p-value of ``n`` independent draws under the exact probabilities; ``draw(replicate)`` gives a cell's number.

    None is a cell that cannot be, and ends it. So does a p-value below ``CERTAIN`` on the way, which saves wrong
    programs, often slow ones, most of their draws; right ones draw all, and are judged by all.
    """
    observed = np.zeros(len(probability))
    look = FIRST_LOOK
    for replicate in range(n):
        cell = draw(replicate)
        if cell is None:
            return 0.0
        observed[cell] += 1
        if replicate + 1 == look:
            look += look // 2
            if (p := _interim_p_value(observed, probability)) < CERTAIN:
                return p
    return chi_square(observed, probability)


def _interim_p_value(observed: np.ndarray, probability: np.ndarray, least: float = 10.0) -> float:
    """As ``chi_square``, with all cells expected below ``least`` put together, so that the far tail can be trusted."""
    expected = probability * observed.sum()
    small = expected < least
    rest = expected[small].sum()
    if rest < least:  # too little for a cell, even together: left out, which makes the statistic smaller
        expected, seen = expected[~small], observed[~small]
    else:
        expected = np.append(expected[~small], rest)
        seen = np.append(observed[~small], observed[small].sum())
    if len(expected) < 2:
        return 1.0
    return float(chi2.sf(np.sum((seen - expected) ** 2 / expected), len(expected)))


def invariance(
    case: Case, sweep: Callable[[np.ndarray, int], np.ndarray], n: int, seed: int, n_paths: int = 1
) -> float:
    """p-value that the posterior is invariant under ``sweep``.

    Starting states come from the exact posterior, so that the draws after the sweeps are independent and the χ² test
    is valid. ``sweep(z, replicate)`` returns the new assignments.
    """
    states, p = posterior(case, n_paths)
    starts = np.random.default_rng(seed).choice(len(states), size=n, p=p)

    def draw(replicate: int) -> int:
        return state_number(sweep(states[starts[replicate]], replicate), case.n_topics)

    return drawn_p_value(draw, p, n)


def tiny_corpus(docs: list[list[int]], n_words: int) -> Corpus:
    words = np.array([v for doc in docs for v in doc], np.int32)
    ptr = np.concatenate(([0], np.cumsum([len(doc) for doc in docs])))
    return Corpus(words=words, doc_ptr=ptr, vocabulary=tuple(f"w{v}" for v in range(n_words)), ordered=True)


def cases() -> dict[str, Case]:
    """Asymmetric priors, two and three topics, repeated words, an empty document, seed words, two collections."""
    two = tiny_corpus([[0, 0, 1], [], [1, 2, 0]], 3)
    three = tiny_corpus([[0, 1, 0], [2, 1]], 3)
    run = tiny_corpus([[0, 0, 0, 0], [0, 1]], 2)
    return {
        "two topics": Case(two, make_prior(np.array([0.3, 0.9]), np.array([0.2, 0.5, 0.4]), 3)),
        "three topics": Case(three, make_prior(np.array([0.2, 0.7, 0.4]), np.array([0.6, 0.1, 0.3]), 2)),
        "one word in a row": Case(run, make_prior(np.array([0.2, 0.5]), np.array([0.1, 0.6]), 2)),
        "seed word": Case(
            two, make_prior(np.array([0.5, 0.8]), np.array([0.2, 0.3, 0.4]), 3, {1: np.array([1.5, 0.0])})
        ),
        "two collections": Case(
            two,
            make_prior(np.array([[0.3, 0.9], [1.4, 0.2]]), np.array([0.2, 0.5, 0.4]), 3, alpha_row=np.array([0, 1, 1])),
        ),
    }


def random_case(seed: int, n_docs: int, n_words: int, n_topics: int) -> tuple[Case, np.ndarray]:
    """A small random corpus with two collections, a seed word, perhaps empty documents, and assignments."""
    rng = np.random.default_rng(seed)
    docs = [rng.integers(0, n_words, rng.integers(0, 8)).tolist() for _ in range(n_docs)]
    docs[0] = docs[0] or [0, 0]
    corpus = tiny_corpus(docs, n_words)
    prior = make_prior(
        rng.uniform(0.05, 2, (2, n_topics)),
        rng.uniform(0.01, 1, n_words),
        n_docs,
        {0: rng.uniform(0, 2, n_topics)},
        alpha_row=rng.integers(0, 2, n_docs),
    )
    return Case(corpus, prior), rng.integers(0, n_topics, corpus.n_tokens)


# -- documents' labels -------------------------------------------------------------------------------------------


def label_lists(sets) -> list[list[int]]:
    return [sets.label[sets.ptr[d] : sets.ptr[d + 1]].tolist() for d in range(len(sets.ptr) - 1)]


def labeled_log_joint(corpus: Corpus, z: np.ndarray, prior: Prior, sets: list[list[int]]) -> float:
    """log p(w, z | α, β, labels): θ_d a Dirichlet over the document's labels; −∞ if a token has another one."""
    word_topic = np.zeros((corpus.n_words, prior.n_topics))
    total = 0.0
    for d, own in enumerate(sets):
        doc = np.zeros(prior.n_topics)
        for i in range(corpus.doc_ptr[d], corpus.doc_ptr[d + 1]):
            if z[i] not in own:
                return -np.inf
            doc[z[i]] += 1
            word_topic[corpus.words[i], z[i]] += 1
        if doc.sum():
            total += _dirichlet_multinomial(doc[own], prior.alpha[prior.alpha_row[d]][own])
    for k in range(prior.n_topics):
        total += _dirichlet_multinomial(word_topic[:, k], prior.beta)
    return total


def labeled_conditional(corpus: Corpus, z: np.ndarray, prior: Prior, sets: list[list[int]], token: int) -> np.ndarray:
    """p(z_token = k | everything else), 0 for labels that the document lacks."""
    logs = np.empty(prior.n_topics)
    for k in range(prior.n_topics):
        other = z.copy()
        other[token] = k
        logs[k] = labeled_log_joint(corpus, other, prior, sets)
    p = np.exp(logs - logs.max())
    return p / p.sum()


def labeled_cases() -> dict[str, tuple[Case, list[list[int]]]]:
    """Overlapping labels, a single label, an empty document, repeated words, asymmetric priors by document."""
    docs = tiny_corpus([[0, 0, 1], [], [1, 2, 0]], 3)
    alpha = np.array([[0.3, 0.9, 0.5], [1.4, 0.2, 0.7]])
    beta = np.array([0.2, 0.5, 0.4])
    prior = make_prior(alpha, beta, 3, alpha_row=np.array([0, 1, 1]))
    long = tiny_corpus([[0, 0, 0, 0], [0, 1], [1]], 2)
    four = make_prior(np.array([0.2, 0.5, 0.8, 0.4]), np.array([0.1, 0.6]), 3)
    return {
        "three labels": (Case(docs, prior), [[0, 2], [1], [1, 2]]),
        "all and one": (Case(docs, prior), [[0, 1, 2], [0], [1]]),
        "none shared": (Case(long, four), [[0, 3], [1, 2], [2]]),
    }


def labeled_invariance(
    case: Case, sets: list[list[int]], sweep: Callable[[np.ndarray, int], np.ndarray], n: int, seed: int
) -> float:
    """As ``invariance``, over the states that the labels allow; one that they do not allow is a failure for certain."""
    own = [sets[d] for d in case.corpus.token_docs]
    states = np.array(list(itertools.product(*own)))
    number = {tuple(z): i for i, z in enumerate(states.tolist())}
    logs = np.array([labeled_log_joint(case.corpus, z, case.prior, sets) for z in states])
    p = np.exp(logs - logs.max())
    p /= p.sum()
    starts = np.random.default_rng(seed).choice(len(states), size=n, p=p)

    def draw(replicate: int) -> int | None:
        return number.get(tuple(int(k) for k in sweep(states[starts[replicate]], replicate)))

    return drawn_p_value(draw, p, n)
