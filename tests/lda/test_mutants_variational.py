"""Deliberately wrong variational programs, each of which the tests of the right one must reject."""

import importlib
import inspect
import types

import numba
import numpy as np
import pytest

from tests.helpers.sweeping import undecorated
from tests.oracles import variational as slow
from topicloom.lda.variational import batch as v
from topicloom.lda.variational.state import pair_index

ACCEPT, REJECT = 3e-7, 1e-4


def mutate(module: str, *changes: tuple[str, str]) -> types.SimpleNamespace:
    """The module's source with every occurrence of each text replaced by another, run as plain Python."""
    source = inspect.getsource(importlib.import_module(f"topicloom.lda.variational.{module}"))
    for old, new in changes:
        assert old in source, f"the mutant's text is gone from {module}: {old!r}"
        source = source.replace(old, new)
    source = undecorated(source)
    names: dict[str, object] = {"__name__": f"mutant of {module}", "numba": numba}
    exec(compile(source, f"<mutant of {module}>", "exec"), names)
    return types.SimpleNamespace(**names)


def sweep_error(monkeypatch: pytest.MonkeyPatch, mode: v.Mode, module: str, changes: list[tuple[str, str]]) -> float:
    """Largest difference of two iterations from the definitions, over a few small corpora."""
    cases = [slow.small_case(seed, 2) for seed in range(3)]
    starts = [v.start(pair_index(case.corpus), mode, case.prior, seed, 0) for seed, case in enumerate(cases)]
    monkeypatch.setattr(v, "collapsed" if module == "collapsed" else "exact", mutate(module, *changes))
    worst = 0.0
    for case, state in zip(cases, starts, strict=True):
        index = pair_index(case.corpus)
        for _ in range(2):
            expected = slow.collapsed_sweep(case.corpus, state.gamma, case.prior, mode)
            state, _ = v.iterate(index, state, mode, case.prior, v.Work())
            worst = max(worst, float(np.abs(state.gamma - expected).max()))
    return worst


COLLAPSED = {
    "own contribution left in": ("cvb0", [("own = gamma[i], min(n, 1.0)", "own = gamma[i], 0.0")]),
    "the pair's whole multiplicity left out": ("cvb0", [("own = gamma[i], min(n, 1.0)", "own = gamma[i], n")]),
    "added back once": ("cvb0", [("_set_gamma(g, weight, 1.0 / total, n)", "_set_gamma(g, weight, 1.0 / total, 1.0)")]),
    "total not lowered by the token": ("cvb0", [("/ max(topic[k] - g, _LOW)\n", "/ topic[k]\n")]),
    "stale totals": ("cvb0", [("        topic[k] += x\n", "")]),
    "variance left out": ("cvb", [("power[k] = 0.5 *", "power[k] = 0.0 *")]),
    "variance of the total with the wrong sign": ("cvb", [("0.5 * ((topic_var", "0.5 * (-(topic_var")]),
    "own variance left in": ("cvb", [("v = g * (1.0 - gamma[k])\n        d, w", "v = 0.0\n        d, w")]),
    "variances not updated": ("cvb", [("_add_to_counts(power, doc_var[d], word_var[v], topic_var)", "pass")]),
    "variance γ in place of γ(1 − γ)": ("cvb", [("(g * (1.0 - g) - change[k])", "(g - change[k])")]),
}  # fmt: skip
# A distribution that does not add up to 1 is convolved afresh, which mends some of these: they come without that.
UNMENDED = ("_CLOSE = 1e-10", "_CLOSE = 1e300")
EXACT = {
    "own token not taken out": [
        ("if deconvolve(pmf, size, gamma[i, k], work) > _CLOSE:", "work[:size] = pmf[:size]\n    if False:"),
    ],
    "deconvolution in the wrong direction": [
        UNMENDED,
        ("- gamma * below) / (1.0 - gamma)", "- gamma * below) / gamma"),
    ],
    "old token stays in the distribution": [UNMENDED, ("        pmf[: size - j] = work[: size - j]\n", "")],
    "total's expectation added": [("- _mean_log_without(topic_pmf[k]", "+ _mean_log_without(topic_pmf[k]")],
    "mean in place of the mean logarithm": [("pmf[m] * math.log(prior + m)", "pmf[m] * (prior + m)")],
    "fresh distribution with the token in it": [
        ("- (1 if i == without else 0)", ""),
        ("if deconvolve(pmf, size, gamma[i, k], work) > _CLOSE:", "if True:"),
    ],
}


@pytest.mark.parametrize("mode", ["cvb0", "cvb", "cvb_exact"])
def test_unchanged_sweeps_pass(mode: v.Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "exact" if mode == "cvb_exact" else "collapsed"
    assert sweep_error(monkeypatch, mode, module, []) < ACCEPT


@pytest.mark.parametrize("name", COLLAPSED)
def test_wrong_collapsed_updates_are_rejected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mode, changes = COLLAPSED[name]
    with np.errstate(all="ignore"):
        assert not sweep_error(monkeypatch, mode, "collapsed", changes) < REJECT


@pytest.mark.parametrize("name", EXACT)
def test_wrong_exact_updates_are_rejected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with np.errstate(all="ignore"):
        assert not sweep_error(monkeypatch, "cvb_exact", "exact", EXACT[name]) < REJECT


def vb_errors(monkeypatch: pytest.MonkeyPatch, changes: list[tuple[str, str]]) -> tuple[float, float]:
    """How far the bound falls in a run, and the largest difference of one iteration from eqs. 4 to 6."""
    monkeypatch.setattr(v, "vb", mutate("bayes", *changes))
    fall = error = 0.0
    for seed in range(2):
        case = slow.small_case(seed, 2, seeded=False)
        index = pair_index(case.corpus)
        state = v.start(index, "vb", case.prior, seed, 0)
        last = -np.inf
        for _ in range(8):
            before = state.word.copy()
            state, _ = v.iterate(index, state, "vb", case.prior, v.Work(doc_tol=1e-12, doc_rounds=500))
            gamma = slow.vb_gamma(case.corpus, state.doc, before)
            doc = np.repeat(case.prior.alpha, case.corpus.n_docs, axis=0)
            word = np.repeat(case.prior.beta[:, None], 2, axis=1)
            np.add.at(doc, case.corpus.token_docs, gamma)
            np.add.at(word, case.corpus.words, gamma)
            error = max(error, float(np.abs(doc - state.doc).max()), float(np.abs(word - state.word).max()))
            gamma = slow.vb_gamma(case.corpus, state.doc, state.word)
            value = slow.vb_bound(case.corpus, gamma, state.doc, state.word, case.prior)
            fall = max(fall, last - value)
            last = value
    return fall, error


VB = {
    "prior left out of documents": [("sums[k] = alpha[k] + mix[k] * sums[k]", "sums[k] = 1e-9 + mix[k] * sums[k]")],
    "counts left out": [("count[i] / dot(t, w)", "1.0 / dot(t, w)")],
    "means in place of exp E log": [("out[k] = exp(digamma(row[k]) - base)", "out[k] = row[k]")],
    "topics' digamma left out": [("to[k] = exp(digamma(row[k]) - base[k])", "to[k] = row[k]")],
    "word counts without the word's factor": [("            row[k] *= w[k]\n", "            row[k] *= 1.0\n")],
}


def test_unchanged_vb_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    fall, error = vb_errors(monkeypatch, [])
    assert fall < 1e-9
    assert error < 1e-8


@pytest.mark.parametrize("name", VB)
def test_wrong_vb_is_rejected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with np.errstate(all="ignore"):
        _, error = vb_errors(monkeypatch, VB[name])
    assert not error < REJECT
