"""Sweeps on several shards leave the posterior exactly as it is; wrong shares of the topics, and sweeps that leave them
out, do not."""

import inspect
from collections.abc import Callable
from itertools import cycle
from types import SimpleNamespace

import numpy as np
import pytest

from tests.helpers.mutating import REJECT, compiled_mutant
from tests.oracles import lda as oracle
from topicloom.engine import exact_shards, shards
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.state import rebuild_counts, rebuild_lists
from topicloom.lda.gibbs import auto, dense, get_sampler, sparse
from topicloom.lda.gibbs.in_blocks import sampler_in_blocks
from topicloom.numerics.rng import stream

REPLICATES = 5000
CORPUS = oracle.tiny_corpus([[0, 3, 1], [2, 0, 3], [1, 2]], 4)
CASE = oracle.Case(
    CORPUS, make_prior(np.array([0.4, 0.9]), np.array([0.3, 0.1, 0.5, 0.2]), 3, {2: np.array([0.7, 0.0])})
)

# Several tokens of a part in one document, so that it matters what the first of them leaves for the others.
LONG = oracle.Case(
    oracle.tiny_corpus([[0, 1, 0, 2, 1, 0, 1], [2, 0, 1]], 3),
    make_prior(np.array([0.4, 0.9]), np.array([0.3, 0.2, 0.5]), 2),
)


def p_value(name: str, n_shards: int, case: oracle.Case = CASE, exact: bool = True, n: int = REPLICATES) -> float:
    """p-value that the posterior is invariant under a sweep of a sampler as it stands."""
    kernel = get_sampler(name)

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state, key = kernel.restore(case.corpus, z, case.n_topics), Key(51, replicate, 12)
        return kernel.sweep(case.corpus, state, case.prior, key, Schedule(n_shards, exact=exact))[0].z

    return oracle.invariance(case, sweep, n, seed=52)


@pytest.mark.parametrize("name", ["dense", "sparse", "words", "mh", "auto"])
@pytest.mark.parametrize("n_shards", [2, 3])
def test_posterior_is_invariant(name: str, n_shards: int) -> None:
    assert len(shards.start_shards(CORPUS, 2, n_shards, shards.Loads()).words) == n_shards
    p = p_value(name, n_shards)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


@pytest.mark.parametrize("n_shards", [2, 3])
def test_posterior_is_invariant_where_auto_takes_another_sampler_in_each_sweep(n_shards: int) -> None:
    """Counts change their form, and words are cut anew."""
    names = cycle(auto.BLOCK_SAMPLERS)
    kernel = sampler_in_blocks(
        "in turn", auto.init, rebuild_lists, sparse.conditional_of, auto.BLOCK_SAMPLERS, lambda *_: next(names)
    )

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state, key = kernel.restore(CORPUS, z, 2), Key(57, replicate, 1)
        return kernel.run(CORPUS, state, CASE.prior, key, Schedule(n_shards), 4)[0].z

    p = oracle.invariance(CASE, sweep, 2000, seed=58)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


def test_posterior_is_invariant_where_documents_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts then meet after each sweep alone. Documents of one token, so that there are several pieces of them."""
    monkeypatch.setattr(shards, "LEAST", 0)
    monkeypatch.setattr(shards, "PER_TOPIC", 0)
    corpus = oracle.tiny_corpus([[0], [1, 2], [2], [0], [1], [2, 0]], 3)
    case = oracle.Case(corpus, make_prior(np.array([0.3, 0.9]), np.array([0.4, 0.2, 0.5]), 6))
    assert shards.start_shards(corpus, 2, 2, shards.Loads(), in_pieces=True).docs.shape == (2, 8, 2)
    assert p_value("dense", 2, case) > oracle.FALSE_ALARM


def test_totals_that_lag_behind_are_rejected() -> None:
    assert p_value("dense", 2, exact=False, n=4 * REPLICATES) < REJECT


# -- mutants ---------------------------------------------------------------------------------------------------------


def mutant_p_value(
    engine: SimpleNamespace, make_draw: Callable, rebuild: Callable, n: int = REPLICATES, case: oracle.Case = CASE
) -> float:
    """The same of sweeps as some engine makes them, by some ``make_draw``."""
    progress = shards.start_shards(case.corpus, 2, 2, shards.Loads())

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state = rebuild(case.corpus, z, 2)
        for t in (1, 2):
            key = Key(53, replicate, t)
            engine.sweep_exactly(progress, make_draw, case.corpus, state, case.prior, key, Schedule(2))
        return state.z

    with np.errstate(all="ignore"):
        return oracle.invariance(case, sweep, n, seed=54)


def changed(*change: str) -> SimpleNamespace:
    """The engine's source with one text in place of another; compiled functions run as plain Python."""
    source, (old, new) = inspect.getsource(exact_shards), change
    assert old in source
    names = dict(vars(exact_shards))
    exec(compile(source.replace(old, new).replace("@kernel\n", ""), "<mutant of exact_shards>", "exec"), names)
    return SimpleNamespace(**names)


ENGINE = {
    "means in place of draws": ("log_gamma(stream, totals[k] + beta_sum[k])", "log(totals[k] + beta_sum[k])"),
    "shares left out": ("out[k] = exp(weights[part, k] - top - log(total))", "out[k] = 1.0"),
    "weights without their sum": ("exp(weights[part, k] - top - log(total))", "exp(weights[part, k])"),
    "shares by counts alone": ("log_gamma(stream, totals[k] + beta_sum[k])", "log_gamma(stream, totals[k] + 1e-9)"),
    "Σβ of all words": ("beta_sum=prior.beta[part].sum() + boosts", "beta_sum=prior.beta_sum"),
    "seed words left out of Σβ": ("beta[part].sum() + boosts", "beta[part].sum() + 0 * boosts"),
    "shares of the call's start": (
        "draw_weights(self.totals[w],", "draw_weights(self.__dict__.setdefault(w, self.totals[w].copy()),",
    ),
    "totals of all words": ("state.add_topics(part, own)", "state.add_topics((0, corpus.n_words), own)"),
    "one stream for all parts": ("key.sweep + sweep, at, w)", "key.sweep + sweep, at)"),
    "shares of another part": ("fill_share(w, weights, parts.share[w])", "fill_share(1 - w, weights, parts.share[w])"),
}  # fmt: skip


@pytest.mark.parametrize("what", ["the right one", *ENGINE])
def test_wrong_shares_are_rejected(what: str) -> None:
    engine = changed(*ENGINE.get(what, ("", "")))
    n = REPLICATES if what == "the right one" else 4 * REPLICATES
    p = mutant_p_value(engine, dense.make_draw, rebuild_counts, n)
    assert p > oracle.FALSE_ALARM if what == "the right one" else p < REJECT, f"p = {p:.3g}"


REBUILD = {"dense": rebuild_counts, "sparse": rebuild_lists, "by_word": rebuild_lists}
KERNELS = [
    ("dense", "doc[k] + alpha[k]) * share[k]", "doc[k] + alpha[k])"),
    ("dense", "doc[old] - 1 + a[old]) * share[old]", "doc[old] - 1 + a[old])"),
    ("dense", "doc[new] + a[new]) * share[new]", "doc[new] + a[new])"),
    ("sparse", "lines[old, SHARE] /", "1.0 /"),
    ("sparse", "lines[new, SHARE] /", "1.0 /"),
    ("by_word", "lines[old, SHARE] /", "1.0 /"),
    ("by_word", "lines[new, SHARE] /", "1.0 /"),
]


@pytest.mark.parametrize(("module", "right", "wrong"), KERNELS)
def test_kernels_that_forget_a_share_are_rejected(module: str, right: str, wrong: str) -> None:
    mutant = compiled_mutant(f"lda.gibbs.{module}", (right, wrong))
    p = mutant_p_value(exact_shards, mutant.make_draw, REBUILD[module], 4 * REPLICATES, LONG)
    assert p < REJECT, f"p = {p:.3g}"


@pytest.mark.parametrize("module", REBUILD)
def test_unchanged_kernels_pass(module: str) -> None:
    """By the same door as the mutants."""
    kernel = compiled_mutant(f"lda.gibbs.{module}")
    assert mutant_p_value(exact_shards, kernel.make_draw, REBUILD[module], case=LONG) > oracle.FALSE_ALARM


def mh_p_value(n: int, *changes: tuple[str, str]) -> float:
    mutant = compiled_mutant("lda.gibbs.mh", *changes)

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state = rebuild_counts(LONG.corpus, z, 2)
        return mutant.sweep(LONG.corpus, state, LONG.prior, Key(55, replicate, 1), Schedule(2))[0].z

    return oracle.invariance(LONG, sweep, n, seed=56)


@pytest.mark.parametrize("k", ["k", "old", "s"])
def test_proposals_that_forget_a_share_are_rejected(k: str) -> None:
    right, wrong = f"(topic[{k}] + beta_sum[{k}]) / of_part[{k}]", f"topic[{k}] + beta_sum[{k}]"
    p = mh_p_value(4 * REPLICATES, (right, wrong))
    assert p < REJECT, f"p = {p:.3g}"


def test_unchanged_proposals_pass() -> None:
    assert mh_p_value(REPLICATES) > oracle.FALSE_ALARM


# -- shares ----------------------------------------------------------------------------------------------------------


def test_shares_are_those_of_a_dirichlet_distribution() -> None:
    """Their sums, means and variances; where counts and β are tiny, none is lost below the smallest number."""
    counts, beta = np.array([[3, 0], [5, 40]]), np.array([[0.5, 1e-4], [0.2, 2.0]])
    n = 20_000
    drawn, out = np.empty((n, 2, 2)), np.empty(2)
    for i in range(n):
        weights = np.empty((2, 2))
        for p in range(2):
            exact_shards.draw_weights(counts[p], beta[p], stream(57, i, p), weights[p])
        assert np.isfinite(weights).all()
        for p in range(2):
            exact_shards.fill_share(p, weights, out)
            drawn[i, p] = out
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-12)
    a = counts + beta
    mean = a / a.sum(axis=0)
    variance = mean * (1 - mean) / (a.sum(axis=0) + 1)
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 5.5 * np.sqrt(variance / n) + 1e-6)
    np.testing.assert_allclose(drawn[..., 0].var(axis=0), variance[:, 0], rtol=0.08)
