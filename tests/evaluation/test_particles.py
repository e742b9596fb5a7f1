"""The left-to-right estimate is unbiased: against p(w | φ, α) summed over all topics of tiny documents."""

from collections.abc import Callable
from itertools import product
from math import exp, lgamma
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import norm

from topicloom.corpus import Corpus
from topicloom.evaluation import left_to_right
from topicloom.evaluation import particles as compiled

FALSE_ALARM = 1e-5  # of this whole file, shared by its z-tests


class Case(NamedTuple):
    words: list[int]  # ascending, as the kernel takes them
    topics: list[list[float]]
    alpha: list[float]


CASES = {
    # Word 2 tells nothing of the topic, word 0 nearly everything: weights differ, and particles are selected.
    "telling words": Case([0, 0, 0, 2, 2], [[0.69, 0.01, 0.3], [0.02, 0.68, 0.3]], [0.05, 0.3]),
    "three topics": Case(
        [0, 1, 1, 3], [[0.5, 0.1, 0.1, 0.3], [0.1, 0.7, 0.1, 0.1], [0.0, 0.2, 0.3, 0.5]], [0.1, 0.4, 1.5]
    ),
    "one word thrice": Case([0, 0, 0], [[0.9, 0.1], [0.2, 0.8]], [0.3, 1.2]),
    "a single token": Case([1], [[0.9, 0.1], [0.2, 0.8]], [0.3, 1.2]),
}
SETTINGS = [(1, False), (1, True), (8, False), (8, True)]  # particles, resample
LIMIT = float(norm.isf(FALSE_ALARM / 2 / (len(CASES) * len(SETTINGS) + 1)))


def exact_probability(case: Case) -> float:
    """Σ_z p(z | α) Π_i φ_{z_i w_i}, p(z | α) in its Dirichlet-multinomial form."""
    a, n = sum(case.alpha), len(case.words)
    total = 0.0
    for z in product(range(len(case.alpha)), repeat=n):
        log_prior = lgamma(a) - lgamma(a + n)
        for k, alpha_k in enumerate(case.alpha):
            log_prior += lgamma(alpha_k + z.count(k)) - lgamma(alpha_k)
        likelihood = 1.0
        for k, w in zip(z, case.words, strict=True):
            likelihood *= case.topics[k][w]
        total += exp(log_prior) * likelihood
    return total


def estimates(kernels: ModuleType, case: Case, n_particles: int, resample: bool, n: int) -> np.ndarray:
    """n independent estimates of p, each from its own key."""
    phi, alpha = np.ascontiguousarray(np.transpose(case.topics)), np.array(case.alpha)
    words, ptr = np.array(case.words, np.int32), np.array([0, len(case.words)])
    work = kernels.scratch(len(words), len(alpha), n_particles)
    for array in (phi, alpha, words, ptr):
        array.flags.writeable = False  # as the library passes them, so that one compiled form serves both
    log_p, out = np.empty(1), np.empty(n)
    for seed in range(n):
        kernels.estimate_documents(0, 1, words, ptr, phi, alpha, resample, np.uint64(seed), work, log_p)
        out[seed] = np.exp(log_p[0])
    return out


def z_score(kernels: ModuleType, case: Case, n_particles: int, resample: bool, n: int) -> float:
    ratio = estimates(kernels, case, n_particles, resample, n) / exact_probability(case)
    error = ratio.std(ddof=1) / np.sqrt(n)
    if error < 1e-14:  # nothing random in it
        return 0.0 if abs(ratio[0] - 1) < 1e-12 else np.inf
    return float((ratio.mean() - 1) / error)


@pytest.mark.parametrize(("n_particles", "resample"), SETTINGS)
@pytest.mark.parametrize("name", CASES)
def test_mean_estimate_is_the_exact_probability(name: str, n_particles: int, resample: bool) -> None:
    z = z_score(compiled, CASES[name], n_particles, resample, n=10_000)
    assert abs(z) < LIMIT, f"keys 0 to 9,999: z = {z:.2f}"


def test_public_function_estimates_the_same_quantity() -> None:
    case = CASES["telling words"]
    corpus = Corpus(words=case.words, doc_ptr=[0, len(case.words)], vocabulary=("a", "b", "c"))
    values = [
        np.exp(left_to_right(np.array(case.topics), np.array(case.alpha), corpus, n_particles=4, seed=seed)[0])
        for seed in range(2_000)
    ]
    ratio = np.array(values) / exact_probability(case)
    z = (ratio.mean() - 1) / (ratio.std(ddof=1) / np.sqrt(len(ratio)))
    assert abs(z) < LIMIT, f"seeds 0 to 1,999: z = {z:.2f}"


def test_many_particles_come_close_to_the_exact_probability() -> None:
    for case in CASES.values():
        for resample in (True, False):
            near = estimates(compiled, case, 20_000, resample, n=1)[0]
            assert near == pytest.approx(exact_probability(case), rel=0.05)


# -- the test above rejects wrong kernels --------------------------------------------------------------------

_REMOVE = "        count[topic[j]] -= 1.0\n"
_WEIGH = "        total = _weigh(word_topic[tokens[j]], count, alpha, share)\n"

MUTANTS = {
    "a token counts itself while it is drawn again": (_REMOVE + _WEIGH, _WEIGH + _REMOVE, True),
    "the prior's sum taken as if it were symmetric": ("alpha.sum()", "alpha[0] * len(alpha)", False),
    "a drawn topic is not counted": ("count[r, k] += 1.0", "count[r, k] += 0.0", False),
    "the denominator counts the token being read": ("(i + alpha_sum)", "(i + 1 + alpha_sum)", False),
    "weights forgotten: a product of mean predictions": (
        "weight[r] *= total / (i + alpha_sum)",
        "weight[r] = total / (i + alpha_sum) / n_particles",
        False,
    ),
    "weights kept after selection": (
        "stream)\n            weight[:] = 1.0 / n_particles",
        "stream)",
        False,
    ),
    "selection regardless of weights": ("cumulative += weight[r] * n_particles", "cumulative += 1.0", False),
}


def interpreted(change: Callable[[str], str]) -> ModuleType:
    """The kernel's source, changed and run by the interpreter, which is quicker than compiling it."""
    module = ModuleType("changed_left_to_right")
    source = Path(compiled.__file__).read_text(encoding="utf-8")
    module.__dict__["__name__"] = "changed_left_to_right"
    code = change(source).replace("@kernel\n", "").replace("@reducing_kernel\n", "")
    exec(compile(code, "changed_left_to_right", "exec"), module.__dict__)
    combine, fill = module.combine, module.fill_stream
    # Called from Python, a compiled function returns a Python int: keep it unsigned.
    module.combine = lambda key, part: np.uint64(combine(np.uint64(key), part))  # type: ignore[attr-defined]
    module.fill_stream = lambda stream, key: fill(stream, np.uint64(key))  # type: ignore[attr-defined]
    return module


def test_interpreted_source_is_the_kernel() -> None:
    case = CASES["telling words"]
    same = interpreted(lambda source: source)
    for resample in (True, False):
        np.testing.assert_allclose(
            estimates(same, case, 4, resample, n=50), estimates(compiled, case, 4, resample, n=50), rtol=1e-12
        )


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_kernels_are_rejected(name: str) -> None:
    old, new, resample = MUTANTS[name]

    def change(source: str) -> str:
        assert source.count(old) == 1, f"{old!r} is not in the kernel once; adapt the mutant"
        return source.replace(old, new)

    z = z_score(interpreted(change), CASES["telling words"], 8, resample, n=4_000)
    assert abs(z) > LIMIT, f"the mutant passes with z = {z:.2f}"
