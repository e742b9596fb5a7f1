"""scikit-learn's own checks of hidden Markov models of numbers, which take a matrix: places × features.

The second argument of ``fit`` and ``score`` is ``lengths``, as in hmmlearn, and the checks give y there. So a class
that ignores y is checked. What cannot hold is listed with its reason.
"""

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from topicloom import HMM

ORDER = "a place's state depends on its neighbours, and score_samples has a number per sequence"
EXCEPTIONS = {
    "check_methods_sample_order_invariance": ORDER,
    "check_methods_subset_invariance": ORDER,
    "check_fit1d": "a vector is a sequence of single numbers",
    "check_dtype_object": "our message on what is no number names its place, and has other words",
}
QUICK: dict[str, Any] = {"max_iter": 5, "start": {"n_runs": 3}, "random_state": 0}


class WithoutY(HMM):
    """The checks give y, which sequences do not have."""

    def fit(self, X: Any, y: Any = None) -> "WithoutY":
        return super().fit(X)

    def score(self, X: Any, y: Any = None) -> float:
        return super().score(X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "options",
    [{}, {"method": "em"}, {"sampler": "blocked", "n_paths": 2}, {"emission": "gaussian_full", "sampler": "partial"}],
    ids=["collapsed", "em", "blocked", "full"],
)
def test_every_check_passes_on_numbers(options: dict[str, Any]) -> None:
    model = WithoutY(2, **{"emission": "gaussian", **QUICK, **options})
    results = check_estimator(model, expected_failed_checks=EXCEPTIONS, on_fail=None, on_skip=None)
    failed = {r["check_name"]: repr(r["exception"])[:300] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) >= 34
    unexpected = set(EXCEPTIONS) - {r["check_name"] for r in results if r["status"] == "xfail"}
    assert not unexpected, "these checks pass now: take them off the list"


def test_numbers_of_features() -> None:
    model = HMM(2, emission="gaussian", **QUICK).fit(np.array([[0.1, 2.0], [0.3, 1.0], [4.0, 1.0]]))
    assert model.n_features_in_ == 2
    symbols = HMM(2, **QUICK).fit([0, 1, 1])
    assert not hasattr(symbols, "n_features_in_")
    assert not hasattr(HMM(2, emission="gaussian"), "n_features_in_")
