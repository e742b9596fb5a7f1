"""Runs of VB, CVB, CVB0 and Gibbs that stop along the way, and the two measures of CVB's section 4."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from topicloom._types import FloatArray
from topicloom.corpus import Corpus
from topicloom.engine.counts import document_counts
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.run import Plan, run_chains, start_chain
from topicloom.evaluation import token_probabilities
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.variational import batch as v
from topicloom.lda.variational.sampler import _FRESH
from topicloom.lda.variational.state import pair_index

VARIATIONAL = ("VB", "VB, one round", "CVB", "CVB0")
METHODS = (*VARIATIONAL, "Gibbs")
_MODE: dict[str, v.Mode] = {"VB": "vb", "VB, one round": "vb", "CVB": "cvb", "CVB0": "cvb0"}


@dataclass
class Curve:
    """One run: bound a training token and log probability a held-out token after the given iterations."""

    iterations: list[int] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)
    test: list[float] = field(default_factory=list)
    second_order: list[float] = field(default_factory=list)  # the collapsed bound by plain expansion


def symmetric(corpus: Corpus, n_topics: int, alpha: float, beta: float) -> Prior:
    return make_prior(np.full(n_topics, alpha), np.full(corpus.n_words, beta), corpus.n_docs)


def token_probability(theta: FloatArray, phi: FloatArray, test: Corpus) -> FloatArray:
    """Σ_k θ_jk φ_kw of each held-out token (eqs. 19, 20); φ by word [V, K]."""
    return token_probabilities(phi.T, theta, test)


def variational_states(
    method: str, corpus: Corpus, prior: Prior, seed: int, grid: Sequence[int]
) -> Iterator[tuple[int, v.PairIndex, v.VariationalState]]:
    """The state after each of the given iterations; "one round" updates each document once an iteration."""
    mode = _MODE[method]
    index = pair_index(corpus)
    state = v.start(index, mode, prior, seed, 0)
    for iteration in range(1, grid[-1] + 1):
        work = v.Work(doc_rounds=1) if method == "VB, one round" else v.Work(fresh=iteration <= _FRESH)
        state, _ = v.iterate(index, state, mode, prior, work)
        if iteration in grid:
            yield iteration, index, state


def run_variational(method: str, train: Corpus, test: Corpus, prior: Prior, seed: int, grid: Sequence[int]) -> Curve:
    curve = Curve()
    for iteration, index, state in variational_states(method, train, prior, seed, grid):
        curve.iterations.append(iteration)
        curve.bound.append(v.bound(index, state, _MODE[method], prior) / train.n_tokens)
        if method in ("CVB", "CVB0"):
            curve.second_order.append(v.bound_second_order(index, state, prior) / train.n_tokens)
        p = token_probability(normal(state.doc, 1), normal(state.word, 0), test)
        curve.test.append(float(np.log(p).mean()))
    return curve


def compare_exact(
    train: Corpus, test: Corpus, prior: Prior, grid: Sequence[int]
) -> list[tuple[int, tuple[float, ...]]]:  # fmt: skip
    """After each iteration of the grid: exact bounds and test log probabilities of the exact and the Gaussian form,
    the share of the tokens that they assign otherwise, and the seconds that each has taken."""
    index = pair_index(train)
    modes: tuple[v.Mode, v.Mode] = ("cvb_exact", "cvb")
    states = [v.start(index, mode, prior, 0, 0) for mode in modes]
    seconds = [0.0, 0.0]
    found = []
    for iteration in range(1, grid[-1] + 1):
        for m, mode in enumerate(modes):
            started = time.process_time()
            states[m], _ = v.iterate(index, states[m], mode, prior, v.Work())
            seconds[m] += time.process_time() - started
        if iteration not in grid:
            continue
        bounds = [v.bound_exact(index, state.gamma, prior) / train.n_tokens for state in states]
        tests = [float(np.log(token_probability(normal(s.doc, 1), normal(s.word, 0), test)).mean()) for s in states]
        apart = np.abs(states[0].gamma - states[1].gamma).sum(axis=1)
        share = float(np.sum(index.count * apart) / (2 * index.count.sum()))
        found.append((iteration, (*bounds, *tests, share, *seconds)))
    return found


def normal(counts: FloatArray, axis: int) -> FloatArray:
    shares: FloatArray = counts / counts.sum(axis=axis, keepdims=True)
    return shares


def run_gibbs(train: Corpus, test: Corpus, prior: Prior, seed: int, grid: Sequence[int], thin: int = 10) -> Curve:
    """Eq. 20: at sweep t the probabilities are averaged over the samples taken every ``thin`` sweeps since t/2."""
    kernel = get_sampler("auto")
    chain = start_chain(kernel, train, prior, seed, 0)
    curve = Curve()
    kept: list[tuple[int, FloatArray]] = []
    doc = np.empty((train.n_docs, prior.n_topics))
    for stop in sorted({*grid, *range(thin, grid[-1] + 1, thin)}):
        plan = Plan(seed=seed, max_iter=stop, burn_in=None, thin=1, estimator="standard", trace_every=10**9)
        if run_chains(kernel, train, [chain], plan):
            raise KeyboardInterrupt
        document_counts(train.doc_ptr, chain.state.z, doc)
        word = chain.state.as_dense().word_topic + prior.beta[:, None]
        p = token_probability(normal(doc + prior.alpha[0], 1), normal(word, 0), test)
        if stop % thin == 0:
            kept = [(sweep, old) for sweep, old in kept if sweep >= (stop + thin) / 2]
            kept.append((stop, p.astype(np.float32)))
        if stop in grid:
            recent = [old for sweep, old in kept if sweep >= stop / 2]
            mean = np.mean(recent, axis=0) if recent else p
            curve.iterations.append(stop)
            curve.bound.append(np.nan)
            curve.test.append(float(np.log(mean).mean()))
    return curve


def run(method: str, train: Corpus, test: Corpus, prior: Prior, seed: int, grid: Sequence[int]) -> Curve:
    if method == "Gibbs":
        return run_gibbs(train, test, prior, seed, grid)
    return run_variational(method, train, test, prior, seed, grid)
