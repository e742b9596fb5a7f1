"""Wrong draws of mixtures, each of which the tests of the right ones must reject."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.compound.test_mixtures import mixer
from tests.helpers.mutating import REJECT, mutate
from tests.oracles import compound
from tests.oracles import lda as oracle

COUNTING = {
    "tables of exactly so many tokens": [("            n_docs[i] += n_docs[i + 1]\n", "            pass\n")],
    "document left in the next one's counts": [("            doc[k] = 0\n", "            doc[k] = 1\n")],
    "collection of the first document for all": [("np.int64(row[d])", "np.int64(row[0])")],
}
AGS_STEP = {
    "γ forgotten": [("prior.alpha.ravel(), rng", "now.pi.ravel(), rng")],
    "α forgotten": [("+ now.alpha, log_pi", "+ 1.0, log_pi")],
    "γ forgotten in the next prior": [("self.gamma * self.pi", "1.0 * self.pi")],
}
MGS = {
    "no Metropolis-Hastings correction": [("chance = exp(min(ratio, 0.0))", "chance = 1.0")],
    "γ forgotten": [("a = gamma * x / total", "a = x / total")],
    "γ|φ| in place of γ|φ|/Σ|φ|": [("a = gamma * x / total", "a = gamma * x")],
    "proposals taken for symmetric": [
        ("ratio += _log_proposal(now, new, new_drift, step) - _log_proposal(new, now, drift, step)", "pass"),
    ],
    "reverse proposal with the old variances": [("_log_proposal(now, new, new_drift, step)",
                                                 "_log_proposal(now, now, drift, step)")],
    "proposal ratio upside down": [("_log_proposal(now, new, new_drift, step) - _log_proposal(new, now, drift, step)",
                                    "_log_proposal(new, now, drift, step) - _log_proposal(now, new, new_drift, step)")],
    "normalising constant of the proposal left out": [("0.5 * log(x) + away", "away")],
    "α forgotten": [("(alpha[k] - 1.0) * log(x) - x", "-x"), ("drift[k] = alpha[k] - x", "drift[k] = 1.0 - x")],
}  # fmt: skip
Changes = Sequence[tuple[str, str]]
STEP = 0.3  # at which a fair share of proposals is not accepted


def step_with(
    kernels: Sequence[tuple[str, str]] = (),
    step: Sequence[tuple[str, str]] = (),
    counts: Sequence[tuple[str, str]] = (),
) -> object:
    """The package's step with changes to its kernels, to itself and to the counts it needs, as plain Python."""
    wrong, counting = mutate("compound.mixtures", *step, *kernels), mutate("engine.documents_by_count", *counts)
    names = ("documents_by_count", "expected_tables", "slope")
    wrong.step.__globals__.update({name: getattr(counting, name) for name in names})
    return wrong.step


def p_value(step, method: str, n: int) -> float:
    try:
        with np.errstate(all="ignore"):
            alpha, moves, steps = (0.5, 3, 1) if method == "ags" else (2.0, 1, 12)
            return compound.mixtures_invariance(mixer(step, method, alpha, moves, STEP, steps), alpha, n, seed=8)
    except IndexError:  # counts that cannot be
        return 0.0


def rejected(step, method: str) -> bool:
    """Most are rejected at once; the subtle ones take more draws."""
    return any(p_value(step, method, n) < REJECT for n in (1500, 6000))


@pytest.mark.parametrize("method", ["ags", "mgs"])
def test_the_unchanged_steps_pass(method: str) -> None:
    assert p_value(step_with(), method, 1500) > oracle.FALSE_ALARM


@pytest.mark.parametrize("name", COUNTING)
def test_wrong_counts_of_documents_are_rejected(name: str) -> None:
    assert rejected(step_with(counts=COUNTING[name]), "ags")


@pytest.mark.parametrize("name", AGS_STEP)
def test_wrong_steps_are_rejected(name: str) -> None:
    assert rejected(step_with(step=AGS_STEP[name]), "ags")


@pytest.mark.parametrize("name", MGS)
def test_wrong_langevin_steps_are_rejected(name: str) -> None:
    assert rejected(step_with(MGS[name]), "mgs")
