"""Wrong samplers of supervised topics, each of which the tests of the right one must reject.

Among them are eqs. 19 and 21 of the LightMedLDA paper as they are printed: a proposal that has seen the token's own
topic is refused, though its own values are divided out.
"""

import importlib
import types
from typing import NamedTuple

import numpy as np
import pytest

from tests.helpers.mutating import REJECT, compiled_mutant, mutate
from tests.medlda import test_augment, test_sampler
from tests.oracles import lda as oracle
from tests.oracles import medlda as mo
from topicloom.medlda import sampler as medlda
from topicloom.medlda.sampler import Options

OUT = "                slope_without[c] = slope[c] + bend[c] * leaving[c]\n"
MOVED = "                    slope[c] = slope_without[c] - bend[c] * joining[c]\n"
BY_EXP = "share[s] * guess[t] * total[t]"
BY_EXP_BACK = "share[t] * guess[s] * total[s]"
BY_DOC = "stay, move = (row[s] + b) * total[t], (row[t] + b) * total[s]"
BY_WORD = "stay, move = share[s] * total[t], share[t] * total[s]"
LESS = (" -= 1\n", " -= 0\n")


class Mutant(NamedTuple):
    composition: str
    changes: list[tuple[str, str]]
    module: str = "medlda.proposals"
    case: str = "one task"


TOPICS = {
    "exp-proposal not divided out": Mutant("exp", [
        ("guess[t] * total[t]", "total[t]"), ("guess[s] * total[s]", "total[s]"),
    ]),
    "exponent dropped from the target": Mutant("word", [("x = there - here", "x = 0.0")]),
    "exponent dropped, by document": Mutant("doc", [("x = there - here", "x = 0.0")]),
    "m_d not updated": Mutant("mixture", [(MOVED, "                    pass\n")]),
    "token left in m_d": Mutant("mixture", [(OUT, "                slope_without[c] = slope[c]\n")]),
    "gain of the first topic for all": Mutant("mixture", [("s, here = t, there", "s = t")], case="two tasks"),
    "square of a weight whole": Mutant("mixture", [("0.5 * bend[c] * eta[c]", "bend[c] * eta[c]")]),
    "first task alone": Mutant("cycle", [
        ("for c in range(eta.shape[0]):\n        s +=", "for c in range(1):\n        s +="),
    ], case="two tasks"),
    "pull not divided by the length": Mutant("doc", [("* slope[c] * inverse) * inverse", "* slope[c] * inverse)")]),
    "table of the document's topics, divided out (eq. 21)": Mutant(
        "exp", [("normal(stream) / sqrt(more)", "0.0"), ("pull[d, c] += more * seen[d, c]", "pass"),
                ("curve[d, c] += more", "pass")], "medlda.augment"),
    "noise not in the target": Mutant(
        "exp", [("pull[d, c] += more * seen[d, c]", "pass"), ("curve[d, c] += more", "pass")], "medlda.augment"),
    "document's topics with the token's own, divided out (eq. 19)": Mutant("doc", [
        ("of_doc = end - begin - 1", "of_doc = end - begin"), ("z[at + 1 if at >= i else at]", "z[at]"),
        (BY_DOC, "stay = (row[s] + b) * total[t] * share[s] * (share[t] + (t == old))\n"
                 "                    move = (row[t] + b) * total[s] * share[t] * (share[s] + (s == old))"),
    ]),
    "word's topics of the sweep's start": Mutant("word", [("z_by_word[place] = s\n", "pass\n")], case="repeated word"),
    "ratio of the document proposal turned round": Mutant("doc", [
        (BY_DOC, BY_DOC.replace("stay, move", "move, stay")),
    ]),
    "ratio of the word proposal without totals": Mutant("word", [(BY_WORD, "stay, move = share[s], share[t]")],
                                                        case="two tasks"),
    "α never proposed": Mutant("doc", [("doc_mass = of_doc + alpha_sum", "doc_mass = max(of_doc, 1e-9)")]),
    "dense: factors kept after a move": Mutant("dense", [("                lifted = -1\n", "")], "medlda.dense"),
    "dense: token left in m_d": Mutant("dense", [("slope[c] + bend[c] * eta[old, c]", "slope[c]")], "medlda.dense"),
    "dense: exponent dropped": Mutant("dense", [(" * coef[k] * lift[k]", " * coef[k]")], "medlda.dense"),
    "dense: squares of weights left out": Mutant("dense", [("out[k] = -bends[k]", "out[k] = 0.0")], "medlda.dense"),
    "token left in the document's counts": Mutant("word", [("            doc[old] -= 1\n", "")]),
}  # fmt: skip


def put_in_place(monkeypatch: pytest.MonkeyPatch, module: str, mutant: types.SimpleNamespace) -> None:
    """Make the sampler use a mutant of one of its modules."""
    right = importlib.import_module(f"topicloom.{module}")
    (name,) = [name for name, value in vars(medlda).items() if value is right]
    monkeypatch.setattr(medlda, name, mutant)


def mutant_of(module: str, *changes: tuple[str, str]) -> types.SimpleNamespace:
    """Compiled where that is quicker than to draw by plain Python."""
    return (compiled_mutant if module == "medlda.augment" else mutate)(module, *changes)


@pytest.mark.parametrize(
    ("module", "composition"),
    [
        ("medlda.proposals", "mixture"),
        ("medlda.proposals", "exp"),
        ("medlda.augment", "exp"),
        ("medlda.dense", "dense"),
    ],
)
def test_the_unchanged_source_passes(module: str, composition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(monkeypatch, module, mutant_of(module))
    assert topics_p_value(mo.cases()["one task"], composition, 800) > oracle.FALSE_ALARM


def topics_p_value(case: mo.Case, composition: str, n: int) -> float:
    with np.errstate(all="ignore"):
        return mo.topic_p_value(case, lambda *args: test_sampler.draw_topics(case, composition, 2, *args), n, seed=53)


@pytest.mark.parametrize("name", TOPICS)
def test_wrong_topics_are_rejected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = TOPICS[name]
    put_in_place(monkeypatch, mutant.module, mutant_of(mutant.module, *mutant.changes))
    worst = 1.0
    for n in (500, 14_000):
        worst = min(worst, topics_p_value(mo.cases()[mutant.case], mutant.composition, n))
        if worst < REJECT:
            return
    assert worst < REJECT


SOFT = {
    "token left in what the classifier says": [("sums[c] - leaving[c] + eta[k, c]", "sums[c] + eta[k, c]")],
    "losses left out": [("coef[k] = losses[k] * ", "coef[k] = ")],
    "losses of another topic": [("if key >> 32 != own:", "if own < 0:")],
}


@pytest.mark.parametrize("name", SOFT)
def test_wrong_soft_counts_are_rejected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, z, eta = test_sampler.random_case(5, "hinge")
    state = test_sampler.state_of(case, z, eta)
    right = medlda.topic_counts(case.corpus, state, case.prior, "cgs_p").doc
    put_in_place(monkeypatch, "medlda.soft_counts", mutate("medlda.soft_counts", *SOFT[name]))
    wrong = medlda.topic_counts(case.corpus, state, case.prior, "cgs_p").doc
    assert np.abs(wrong - right).max() > 1e-3


# -- losses --------------------------------------------------------------------------------------------------------

HINGE = "pull[d, c] = w * y * (1.0 + w * xi)"
LOSSES = {
    "λ for 2λ": ("hinge", [
        ("w * abs(1.0 - y * f))", "0.5 * w * abs(1.0 - y * f))"),
        (HINGE, "pull[d, c] = 0.5 * w * y * (1.0 + 0.5 * w * xi)"),
        ("curve[d, c] = w * w * xi", "curve[d, c] = 0.25 * w * w * xi"),
    ]),
    "linear part left out": ("hinge", [(HINGE, "pull[d, c] = w * w * y * xi")]),
    "mean in place of its inverse": ("hinge", [("w * abs(1.0 - y * f))", "1.0 / (w * abs(1.0 - y * f)))")]),
    "margin of the wrong side": ("hinge", [("abs(1.0 - y * f)", "abs(1.0 + y * f)")]),
    "κ without the half": ("logistic", [("0.5 * w * y", "w * y")]),
    "Pólya-Gamma without its tilt": ("logistic", [("polya_gamma(stream, w, f)", "polya_gamma(stream, w, 0.0)")]),
    "Pólya-Gamma of shape 1": ("logistic", [("polya_gamma(stream, w, f)", "polya_gamma(stream, 1.0, f)")]),
    "Pólya-Gamma without the rest of its sum": ("logistic", [("total + scale *", "total + 0.0 * scale *")]),
    "one variable for both sides": ("epsilon_insensitive", [
        ("below = inverse_gaussian(stream, w * abs(f - y - epsilon))", "below = above"),
    ]),
    "one side alone": ("epsilon_insensitive", [
        ("above * (y - epsilon) + below * (y + epsilon)", "above * (y - epsilon)"), ("(above + below)", "above"),
    ]),
    "ε forgotten": ("epsilon_insensitive", [("y - f - epsilon", "y - f"), ("f - y - epsilon", "f - y")]),
}  # fmt: skip


def loss_error(draw, loss: str) -> float:
    places = [(1.0, 0.4), (-1.0, -2.0)]
    return max(test_augment.worst_ratio(draw, loss, y, here, 20_000) for y, here in places)


@pytest.mark.parametrize("name", LOSSES)
def test_wrong_losses_are_rejected(name: str) -> None:
    loss, changes = LOSSES[name]
    wrong = compiled_mutant("medlda.augment", *changes).augment
    assert loss_error(wrong, loss) > 8


SQUARED = {
    "pull without λ": [("pull[d, c] = w * y\n", "pull[d, c] = y\n")],
    "half the curvature": [("curve[d, c] = w\n", "curve[d, c] = 0.5 * w\n")],
}


@pytest.mark.parametrize("name", SQUARED)
def test_wrong_squared_losses_are_rejected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the formula alone, and by whole sweeps."""
    wrong = compiled_mutant("medlda.augment", *SQUARED[name])
    assert test_augment.squared_error(wrong.augment) > 0.1
    put_in_place(monkeypatch, "medlda.augment", wrong)
    case = mo.grid_case("squared")
    case = case._replace(weight=4 * case.weight)
    assert test_sampler.sweeps_p_value(case, Options("dense"), 6000) < REJECT


# -- weights -------------------------------------------------------------------------------------------------------

WEIGHTS = {
    "own share left in": (1, [("(mean[c] + own[c] * weights[c])", "mean[c]")]),
    "what the classifier says not updated": (1, [("r[c] -= s * b[c] * change[c]", "pass")]),
    "precision by the share": (1, [("s, b = share[j] * share[j], curve", "s, b = share[j], curve")]),
    "prior of the weights left out": (1, [("whole = nu + own[c]", "whole = own[c] + 1e-9")]),
    "standard deviation for variance": (1, [("/ sqrt(whole)", "/ whole")]),
    "joint without the prior": (0, [("matrix[k, k] = nu", "matrix[k, k] = 1e-9")]),
    "joint, factor not turned": (0, [("s -= matrix[j, i] * linear[j]", "s -= 0.0")]),
    "joint without curvature": (0, [("row[topics[j]] += w * s * share[j]", "pass")]),
}  # fmt: skip


@pytest.mark.parametrize("name", WEIGHTS)
def test_wrong_weights_are_rejected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    n_gibbs, changes = WEIGHTS[name]
    put_in_place(monkeypatch, "medlda.weights", compiled_mutant("medlda.weights", *changes))
    with np.errstate(all="ignore"):
        assert min(test_sampler.weights_p_value(n_gibbs, n) for n in (400, 2500)) < REJECT


# -- steps that are settled without an exponential -----------------------------------------------------------------

SHORTCUTS = {
    "series of e^y too large": [("x * (1.0 + x * x / 6.0)", "x * (1.0 + x * x / 2.0)")],
    "series of e^−y too large": [("even - odd", "even - 0.9 * odd")],
    "refused by the order alone": [("if x <= 0.0:", "if x <= 0.5:")],
    "accepted by the order alone": [("if x >= 0.0:", "if x >= -0.5:")],
}


@pytest.mark.parametrize("name", SHORTCUTS)
def test_wrong_shortcuts_are_rejected(name: str) -> None:
    wrong = mutate("medlda.proposals", *SHORTCUTS[name])
    assert test_sampler.wrong_steps(wrong._accepts) > 0
