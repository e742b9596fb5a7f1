"""Annealed importance sampling is unbiased: against exact probabilities of tiny documents; wrong kernels are seen."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from tests.diagnostics.tiny_documents import corpus_of, tiny_documents
from tests.evaluation.test_particles import CASES, Case, exact_probability
from tests.helpers.mutating import compiled_mutant
from topicloom.corpus import Corpus
from topicloom.diagnostics import annealed as package
from topicloom.diagnostics.annealed import annealed, annealed_weights, scratch, temperature_steps
from topicloom.errors import InputError
from topicloom.numerics.rng import Purpose, path_key

FALSE_ALARM = 1e-7  # of this whole file, shared by its z-tests
TEMPERATURES: dict[str, Any] = {"one step": 1, "three steps": 3, "ten steps": 10, "uneven": [0.0, 0.5, 0.6, 1.0]}
LIMIT = float(norm.isf(FALSE_ALARM / 2 / (len(CASES) * len(TEMPERATURES))))
PARTICLES = 50_000


def weights(kernels: Any, case: Case, temperatures: Any, n: int = PARTICLES) -> np.ndarray:
    """n independent estimates of p, as shares of p."""
    phi, alpha = np.ascontiguousarray(np.transpose(case.topics)), np.array(case.alpha)
    words, ptr, tau = np.array(case.words, np.int32), np.array([0, len(case.words)]), temperature_steps(temperatures)
    for array in (phi, alpha, words, ptr, tau):
        array.flags.writeable = False  # as the library passes them, so that one compiled form serves both
    out = np.empty((1, n))
    with np.errstate(divide="ignore"):
        kernels.anneal_documents(
            0, 1, words, ptr, phi, alpha, tau, path_key(Purpose.ANNEALED, 0), scratch(len(words), len(alpha), n), out
        )
    return np.exp(out[0]) / exact_probability(case)


def z_score(share: np.ndarray) -> float:
    error = share.std(ddof=1) / np.sqrt(len(share))
    if error < 1e-14:  # nothing random in it
        return 0.0 if abs(share[0] - 1) < 1e-12 else np.inf
    return float((share.mean() - 1) / error)


@pytest.mark.parametrize("steps", TEMPERATURES)
@pytest.mark.parametrize("name", CASES)
def test_mean_weight_is_the_exact_probability(name: str, steps: str) -> None:
    """False-alarm rate of all together: 1e-7, if means of 50,000 weights are normal."""
    z = z_score(weights(package, CASES[name], TEMPERATURES[steps]))
    assert abs(z) < LIMIT, f"z = {z:.2f}"


def test_more_steps_make_weights_more_even() -> None:
    spread = [weights(package, CASES["telling words"], steps).std() for steps in (1, 10, 100)]
    assert spread[0] > spread[1] > spread[2]


# -- wrong kernels -----------------------------------------------------------------------------------------------

MUTANTS = {
    "the weight has the step before": ("(tau[s] - tau[s - 1]) * _log", "(tau[s - 1] - tau[max(s - 2, 0)]) * _log"),
    "the weight has the whole temperature": ("(tau[s] - tau[s - 1]) * _log", "tau[s] * _log"),
    "weighed after the move instead of before": (
        "            weights[r] += (tau[s] - tau[s - 1]) * _log_likelihood(place, work.logs, topic[r])\n",
        "            _refresh(place, work.tempered, alpha, topic[r], counts[r], work.share, work.streams[r])\n"
        "            weights[r] += (tau[s] - tau[max(s - 2, 0)]) / 2 * _log_likelihood(place, work.logs, topic[r])\n",
    ),
    "moves at the temperature of the next step": ("np.exp(tau[s] * ", "np.exp(tau[s + 1] * "),
    "moves by the posterior at once": ("np.exp(tau[s] * ", "np.exp("),
    "topics are not drawn from the prior": ("counts[r, k] += 1.0", "counts[r, k] += 1.0 if i > 0 else 3.0"),
    "the last step is left out": ("range(1, len(tau))", "range(1, len(tau) - 1)"),
}


def test_the_right_source_passes_by_the_mutants_door() -> None:
    same: SimpleNamespace = compiled_mutant("diagnostics.annealed")
    for case in CASES.values():
        np.testing.assert_array_equal(weights(same, case, 3, 100), weights(package, case, 3, 100))


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_kernels_are_rejected(name: str) -> None:
    mutant = compiled_mutant("diagnostics.annealed", MUTANTS[name])
    z = max((z_score(weights(mutant, CASES["telling words"], TEMPERATURES[s])) for s in ("three steps", "uneven")),
            key=abs)  # fmt: skip
    assert abs(z) > LIMIT, f"the mutant passes with z = {z:.2f}"


# -- what a value depends on -------------------------------------------------------------------------------------


def test_a_value_depends_on_the_document_alone() -> None:
    tiny = tiny_documents()
    found = annealed(tiny.topics, tiny.alpha, tiny.corpus, temperatures=5, n_particles=6)
    order = np.random.default_rng(0).permutation(tiny.corpus.n_docs)
    moved = annealed(tiny.topics, tiny.alpha, tiny.corpus.select(order), temperatures=5, n_particles=6, n_jobs=2)
    for ours, theirs in zip(found, moved, strict=True):
        np.testing.assert_array_equal(ours[order], theirs)
    turned = corpus_of([[2, 0, 1, 1]], 8), corpus_of([[1, 2, 1, 0]], 8)
    first, second = (annealed(tiny.topics, tiny.alpha, one, temperatures=5) for one in turned)
    assert first.log_mean == second.log_mean


def test_first_particles_and_seeds() -> None:
    tiny = tiny_documents()
    few, many, other = (
        annealed_weights(tiny.topics, tiny.alpha, tiny.corpus, 5, n, seed, 1) for n, seed in ((3, 0), (9, 0), (3, 1))
    )
    np.testing.assert_array_equal(few, many[:, :3])
    assert not np.any(few == other)
    assert len(np.unique(many)) > 0.9 * many.size


def test_odd_documents() -> None:
    corpus = Corpus([0, 1], [0, 0, 2], ("a", "b"))
    found = annealed([[0.5, 0.5]], [1.0], corpus, temperatures=3)
    assert found.log_p[0] == found.error[0] == 0
    assert found.log_p[1] == pytest.approx(2 * np.log(0.5))
    none = annealed([[1.0, 0.0], [1.0, 0.0]], [1.0, 1.0], corpus, temperatures=3)
    assert none.log_mean[1] == -np.inf
    assert none.ess[1] == 0


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "a", None, [0.0], [0.0, 0.5], [0.1, 1.0], [0.0, 0.6, 0.6, 1.0],
                                 [0.0, np.nan, 1.0], [[0.0, 1.0]]])  # fmt: skip
def test_bad_temperatures_are_told(bad: Any) -> None:
    with pytest.raises(InputError, match="temperatures"):
        annealed([[0.5, 0.5]], [1.0], Corpus([0, 1], [0, 2], ("a", "b")), temperatures=bad)
