"""Hidden Markov models that are wrong on purpose: listing all paths, or the definition, must reject each.

A mutant is the package's own source with one change, run as plain Python; the right source goes through the same door
first.
"""

import importlib
import inspect
import types
from functools import cache

import numpy as np
import pytest

from tests.helpers.sweeping import undecorated
from tests.oracles import hmm as hmm_oracle
from tests.oracles import lda as oracle
from topicloom.engine.blocks import tokens_of
from topicloom.engine.sampler import Key
from topicloom.hmm import forward_backward, gibbs
from topicloom.hmm.state import HMMState, Parameters, make_hmm_prior, no_counts, observed_symbols
from topicloom.numerics.rng import stream

REPLICATES = 3000
REJECT = 1e-9  # a right program gets this far once in a billion tries
WHICH = ("sticky", "sticky, two paths", "starts", "two paths")


def mutate(module: str, *changes: tuple[str, str]) -> types.SimpleNamespace:
    """The module's source with every occurrence of each text replaced by another, as plain Python."""
    source = inspect.getsource(importlib.import_module(f"topicloom.{module}"))
    for old, new in changes:
        assert old in source, f"the mutant's text is gone from {module}: {old!r}"
        source = source.replace(old, new)
    source = undecorated(source)
    names: dict[str, object] = {"__name__": f"mutant of {module}"}
    exec(compile(source, f"<mutant of {module}>", "exec"), names)
    return types.SimpleNamespace(**names)


@cache
def case_of(which: str):
    case = hmm_oracle.cases()[which]
    return case, make_hmm_prior(case.initial, case.transition, case.emission), hmm_oracle.posterior(case)


def worst(sweep_of, n: int = REPLICATES, cases: tuple[str, ...] = WHICH) -> float:
    """The least p-value over the cases; ``sweep_of(case, prior)`` gives a sweep from z to z."""
    least = 1.0
    for which in cases:
        case, prior, known = case_of(which)
        with np.errstate(all="ignore"):
            least = min(least, hmm_oracle.invariance(case, sweep_of(case, prior), n, seed=52, known=known))
        if least < REJECT:
            break
    return least


def visit(module, corpus, state, prior, rng, soft: bool, out) -> None:
    kept = prior.emission.predictive(state.emission, observed_symbols(corpus))
    module.visit_collapsed(tokens_of(corpus), state, prior.moves, kept, rng, soft, out)


def collapsed(module: types.SimpleNamespace):
    none = Parameters(np.zeros((0, 0)), np.zeros((0, 0)))

    def of(case, prior):
        def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
            state = gibbs.restore(case.corpus, z, case.n_states)
            for t in range(2):
                rng = stream(51, replicate, t)
                visit(module, case.corpus, state, prior, rng, False, none)
            return state.z

        return sweep

    return of


COLLAPSED = {
    "own path's counts not removed from what is weighed": [
        ("w = above[k] * (moves[p, k] + a[p, k])",
         "w = (above[k] + (k == old)) * (moves[p, k] + (k == old) + a[p, k])"),
        ("d = below[k]", "d = below[k] + (k == old)"),
        ("w *= moves[k, q] + a[k, q] + again", "w *= moves[k, q] + (k == old) + a[k, q] + again"),
    ],
    "own move into the place not removed from what is weighed": [
        ("(moves[p, k] + a[p, k])", "(moves[p, k] + (k == old) + a[p, k])"),
    ],
    "own move out of the place not removed from what is weighed": [
        ("w *= moves[k, q] + a[k, q] + again", "w *= moves[k, q] + (k == old) + a[k, q] + again"),
    ],
    "adjacent equal moves ignored": [("again = own if k == q else 0.0", "again = 0.0")],
    "adjacent move ignored in the total of the row": [("left[k] + a_left[k] + own", "left[k] + a_left[k]")],
    "adjacent moves ignored altogether": [("own = 1.0 if k == p else 0.0", "own = 0.0")],
    "no total of the row": [("d *= left[k] + a_left[k] + own", "pass")],
    "no denominator of symbols": [("d = below[k]", "d = 1.0")],
    "first state drawn as if it followed the last sequence's": [
        ("            p = n_states\n", "            p = n_states if s == 0 else p\n"),
    ],
    "last state weighed as if something followed": [("inner = t + 1 < stop", "inner = t + 1 < path.shape[0]")],
    "totals never updated": [
        ("                remove(kept, v, old)\n", ""), ("                add(kept, v, new)\n", ""),
    ],
    "symbols ignored": [("w = above[k] *", "w ="), ("d = below[k]", "d = 1.0")],
}  # fmt: skip
SYMBOLS = {
    "prior left out above": [("above[k] = n[row, k] + prior[row, k]", "above[k] = n[row, k] + 1e-3")],
    "prior left out below": [("total[k] + prior_total[k]", "total[k] + 1e-3")],
    "a missing symbol counted": [("if row < kept.prior.shape[0]:", "if True:")],
}


def test_the_unchanged_collapsed_sweep_passes() -> None:
    assert worst(collapsed(mutate("hmm.collapsed"))) > oracle.FALSE_ALARM


@pytest.mark.parametrize("name", COLLAPSED)
def test_wrong_collapsed_sweeps_are_rejected(name: str) -> None:
    sweep = collapsed(mutate("hmm.collapsed", *COLLAPSED[name]))
    assert worst(sweep) < REJECT or worst(sweep, 4 * REPLICATES) < REJECT


def with_emission(*changes: tuple[str, str]) -> types.SimpleNamespace:
    """The collapsed sweep over a mutant of symbols."""
    module, emission = mutate("hmm.collapsed"), mutate("hmm.emissions.categorical", *changes)
    for name in ("predict", "remove", "add"):
        module.visit_collapsed.__globals__[name] = getattr(emission, name)
    return module


@pytest.mark.parametrize("name", SYMBOLS)
def test_wrong_predictives_are_rejected(name: str) -> None:
    right, wrong = collapsed(with_emission()), collapsed(with_emission(*SYMBOLS[name]))
    cases = ("missing", "missing, two paths")
    assert worst(right, cases=cases) > oracle.FALSE_ALARM
    assert worst(wrong, cases=cases) < REJECT or worst(wrong, 4 * REPLICATES, cases) < REJECT


# -- shared counts -------------------------------------------------------------------------------------------------


def any_sampler(module: types.SimpleNamespace, sampler: str):
    def of(case, prior):
        def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
            state = module.restore(case.corpus, z, case.n_states)
            for t in range(2):
                state, _ = module.sweep(case.corpus, state, prior, Key(53, replicate, t), sampler)
            return state.z

        return sweep

    return of


SHARED = {
    "counts of the first path alone": [
        ("np.sum([counts.moves for counts, _ in done], axis=0)", "done[0][0].moves"),
        ("np.sum([counts.emission for counts, _ in done], axis=0)", "done[0][0].emission"),
    ],
    "counts averaged over the paths": [
        ("np.sum([counts.moves for counts, _ in done], axis=0)", "np.mean([d[0].moves for d in done], axis=0)"),
        ("np.sum([counts.emission for counts, _ in done], axis=0)", "np.mean([d[0].emission for d in done], axis=0)"),
    ],
    "prior left out of the draw": [("prior.moves + counts.moves, moves", "1e-3 + counts.moves, moves")],
    "prior counted once a path": [
        ("dirichlets(rng, prior.moves + counts.moves", "dirichlets(rng, 2 * prior.moves + counts.moves"),
    ],
    "one stream for all paths": [("key.sweep, 1 + j)", "key.sweep, 1)")],
}  # fmt: skip


@pytest.mark.parametrize("sampler", ["partial", "blocked"])
def test_the_unchanged_drawn_sweeps_pass(sampler: str) -> None:
    assert worst(any_sampler(mutate("hmm.gibbs"), sampler)) > oracle.FALSE_ALARM


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("sampler", ["partial", "blocked"])
def test_wrong_sharing_is_rejected(sampler: str, name: str) -> None:
    sweep = any_sampler(mutate("hmm.gibbs", *SHARED[name]), sampler)
    cases = ("sticky, two paths", "two paths")
    assert worst(sweep, cases=cases) < REJECT or worst(sweep, 4 * REPLICATES, cases) < REJECT


def test_collapsed_counts_of_the_first_path_alone_are_rejected() -> None:
    right = mutate("hmm.gibbs")
    loop = "for j in range(z.shape[0]):\n        path = z[j]\n        for s in range(ptr.shape[0] - 1):\n"
    loop += "            before"
    wrong = mutate("hmm.gibbs", (loop, loop.replace("z.shape[0]", "1")))

    def counted_by(module):
        def of(case, prior):
            def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
                state = gibbs.restore(case.corpus, z, case.n_states)
                state.moves[:] = 0
                state.emission[:] = 0
                module.count(tokens_of(case.corpus), state)
                rng, none = stream(54, replicate), Parameters(np.zeros((0, 0)), np.zeros((0, 0)))
                visit(right, case.corpus, state, prior, rng, False, none)
                return state.z

            return sweep

        return of

    assert worst(counted_by(right)) > oracle.FALSE_ALARM
    assert worst(counted_by(wrong)) < REJECT


DRAWN = {
    "partial": {
        "what follows is ignored": [("w *= moves[k, q]\n                weight[k] = w\n                total += w\n"
                                     "            u = uniform", "pass\n                weight[k] = w\n"
                                     "                total += w\n            u = uniform")],
        "symbols are ignored": [("w = moves[p, k] * emission[v, k]", "w = moves[p, k]")],
    },
    "blocked": {
        "backward without the move": [("if q < n_states:\n                    w *= moves[k, q]", "if False:\n"
                                       "                    pass")],
        "backward along the wrong move": [("w = alpha[t - first, k]\n                if q < n_states:\n"
                                           "                    w *= moves[k, q]",
                                           "w = alpha[t - first, k]\n                if q < n_states:\n"
                                           "                    w *= moves[q, k]")],
        "first states not counted": [("        n_moves[n_states, q] += 1.0\n", "")],
    },
}  # fmt: skip


def drawn(module: types.SimpleNamespace, sampler: str):
    def of(case, prior):
        tokens = tokens_of(case.corpus)

        def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
            state = gibbs.restore(case.corpus, z, case.n_states)
            for t in range(2):
                rng = stream(55, replicate, t)
                seen = observed_symbols(case.corpus)
                given, _ = gibbs.on_rows(gibbs.draw_known(state, seen, prior, rng), seen, prior)
                counts = no_counts(prior, seen.n_rows)
                for path in state.z:
                    if sampler == "partial":
                        module.sweep_single(tokens, path, given, rng, counts)
                    else:
                        room = forward_backward.room_for_forward(case.corpus, case.n_states)
                        module.sweep_blocked(tokens, path, given, rng, counts, room)
                state = HMMState(state.z, counts.moves, counts.emission)
            return state.z

        return sweep

    return of


@pytest.mark.parametrize("sampler", DRAWN)
def test_the_unchanged_kernels_given_parameters_pass(sampler: str) -> None:
    assert worst(drawn(mutate("hmm.gibbs"), sampler)) > oracle.FALSE_ALARM


@pytest.mark.parametrize(("sampler", "name"), [(s, name) for s in DRAWN for name in DRAWN[s]])
def test_wrong_kernels_given_parameters_are_rejected(sampler: str, name: str) -> None:
    sweep = drawn(mutate("hmm.gibbs", *DRAWN[sampler][name]), sampler)
    assert worst(sweep) < REJECT or worst(sweep, 4 * REPLICATES) < REJECT


# -- dense estimates -----------------------------------------------------------------------------------------------


def soft_error(module: types.SimpleNamespace) -> float:
    """Largest difference between the mean dense counts and the mean counts over the exact posterior."""
    case, prior, (states, p) = case_of("two paths")
    shape = (case.n_paths, case.corpus.n_tokens)
    difference = no_counts(prior, case.corpus.n_words)
    for z, share in zip(states, p, strict=True):
        state = gibbs.restore(case.corpus, z.reshape(shape), case.n_states)
        soft = no_counts(prior, case.corpus.n_words)
        visit(module, case.corpus, state, prior, stream(0), True, soft)
        difference.moves[:] += share * (soft.moves - state.moves)
        difference.emission[:] += share * (soft.emission - state.emission)
    return float(max(np.abs(d).max() for d in difference))


SOFT = {
    "adjacent equal moves ignored": [("again = own if k == q else 0.0", "again = 0.0")],
    "a move counted at one end alone": [("part = 1.0 if p == n_states else 0.5", "part = 1.0")],
    "a first state counted by half": [("part = 1.0 if p == n_states else 0.5", "part = 0.5")],
    "no exclusion": [("w = above[k] *", "w = (above[k] + (k == old)) *")],
}


def test_unchanged_dense_counts_pass() -> None:
    assert soft_error(mutate("hmm.collapsed")) < 1e-12


@pytest.mark.parametrize("name", SOFT)
def test_wrong_dense_counts_are_rejected(name: str) -> None:
    assert soft_error(mutate("hmm.collapsed", *SOFT[name])) > 1e-3
