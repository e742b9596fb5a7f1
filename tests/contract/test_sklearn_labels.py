"""scikit-learn's own checks of the labeled models, and ours for what theirs leave out.

CVB0 takes the checks' fractional data as they are; for the sampler they are rounded at the door (see ``test_sklearn``).
"""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from tests.contract.rounded import Rounded
from topicloom import DependencyLDA, LabeledLDA, PriorLDA

QUICK: dict[str, Any] = {
    "max_iter": 6, "burn_in": 3, "thin": 1, "random_state": 0,
    "predict_options": {"burn_in": 3, "thin": 1, "n_samples": 3},
}  # fmt: skip
MATRIX = "the check wants one class a document from predict, which gives label sets as a matrix of 0 and 1."
EXPECTED = {
    "check_estimator_sparse_array": MATRIX,
    "check_estimator_sparse_matrix": MATRIX,
    "check_classifiers_one_label": MATRIX,
    "check_classifiers_classes": MATRIX,
    "check_classifiers_train": MATRIX,
    "check_classifier_multioutput": "decision_function gives shares, which are all above the check's threshold of 0.",
    "check_supervised_y_2d": "the check gives classes as one column, but a matrix is one of 0 and 1.",
    "check_decision_proba_consistency": "the check feeds negative numbers whatever the tags say.",
}
# What each is expected to fail with; the errors of scikit-learn's assertions on shapes have no words.
FAILS_WITH = {
    "check_classifiers_one_label": "shapes (10, 1), (10,) mismatch",
    "check_classifier_multioutput": "Arrays are not equal",
    "check_supervised_y_2d": "y has 2 in column 0; give a documents × labels matrix of 0 and 1",
    "check_decision_proba_consistency": "Negative values in data",
}


class RoundedLabeledLDA(Rounded, LabeledLDA):
    pass


class RoundedPriorLDA(Rounded, PriorLDA):
    pass


class RoundedDependencyLDA(Rounded, DependencyLDA):
    pass


CVB0: list[Any] = [
    LabeledLDA(method="cvb0", **QUICK),
    PriorLDA(method="cvb0", **QUICK),
    DependencyLDA(method="cvb0", label_sweeps=6, **QUICK),
]
GIBBS: list[Any] = [
    RoundedLabeledLDA(**QUICK),
    RoundedPriorLDA(label_rule="threshold", **QUICK),
    RoundedDependencyLDA(label_sweeps=6, estimator="cgs_p", **QUICK),
]


def named(model: Any) -> str:
    return f"{type(model).__name__}-{model.method}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", CVB0 + GIBBS, ids=named)
def test_every_check_passes_but_those_for_single_classes(model: Any) -> None:
    results = check_estimator(model, expected_failed_checks=EXPECTED, on_fail=None, on_skip=None)
    failed = {
        result["check_name"]: repr(result["exception"])[:300] for result in results if result["status"] == "failed"
    }
    assert not failed
    passing = {result["check_name"] for result in results if result["status"] == "passed"} & set(EXPECTED)
    assert not passing, "these checks pass now: take them off the list"
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == set(EXPECTED)
    for result in results:
        if result["status"] == "xfail":
            assert FAILS_WITH.get(result["check_name"], "") in str(result["exception"])
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {"check_array_api_input"}
    assert sum(result["status"] == "passed" for result in results) >= 50


# -- what the checks that fail would have looked at ------------------------------------------------------------------


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    return np.random.default_rng(0).poisson(0.8, size=(40, 12)) + np.eye(40, 12, dtype=int)


@pytest.fixture(scope="module")
def classes() -> np.ndarray:
    return np.random.default_rng(1).permutation(np.repeat(["four", "one", "three", "two"], 10))


class AsArray:
    """An array by request only."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.values, dtype)


@pytest.mark.parametrize("model", CVB0, ids=named)
def test_a_vector_of_classes_is_one_label_for_each_document(model: Any, counts: np.ndarray, classes: Any) -> None:
    import pandas as pd

    fitted = clone(model).fit(counts, [[name] for name in classes.tolist()])
    assert fitted.classes_.tolist() == ["four", "one", "three", "two"]
    for given in (classes, classes.tolist(), classes.astype(object), pd.Series(classes), AsArray(classes)):
        again = clone(model).fit(counts, y=given)
        assert again.fingerprint_ == fitted.fingerprint_
        assert again.score(counts, y=given) == fitted.score(counts, classes)
    np.testing.assert_array_equal(fitted.predict(counts).sum(axis=1), 1)
    assert fitted.predict_proba(counts).shape == fitted.decision_function(counts).shape == (40, 4)


@pytest.mark.parametrize("model", CVB0, ids=named)
def test_rows_of_a_label_matrix_may_be_arrays_in_a_list(model: Any, counts: np.ndarray) -> None:
    truth = np.random.default_rng(2).integers(0, 2, size=(40, 5))
    fitted = clone(model).fit(counts, truth)
    for given in (list(truth), tuple(truth), AsArray(truth), sp.csr_array(truth)):
        assert clone(model).fit(counts, given).fingerprint_ == fitted.fingerprint_
        assert fitted.score(counts, given) == fitted.score(counts, truth)


@pytest.mark.parametrize("model", CVB0, ids=named)
def test_sparse_counts_give_the_same_answers(model: Any, counts: np.ndarray, classes: np.ndarray) -> None:
    fitted = clone(model).fit(counts, classes)
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_matrix, sp.dok_matrix):
        X = kind(counts)
        assert clone(model).fit(X, classes).fingerprint_ == fitted.fingerprint_
        for method in ("transform", "decision_function", "predict_proba", "predict"):
            np.testing.assert_array_equal(getattr(fitted, method)(X), getattr(fitted, method)(counts))


@pytest.mark.parametrize("model", CVB0, ids=named)
def test_one_class_is_predicted_for_all(model: Any, counts: np.ndarray) -> None:
    fitted = clone(model).fit(counts, ["only"] * 40)
    np.testing.assert_array_equal(fitted.predict(counts), np.ones((40, 1)))
    assert fitted.predict_labels(counts) == [("only",)] * 40


@pytest.mark.parametrize("model", CVB0, ids=named)
def test_topics_that_are_put_out_are_named(model: Any, counts: np.ndarray, classes: np.ndarray) -> None:
    fitted = clone(model).set_output(transform="pandas").fit(counts, classes)
    names = list(map(str, fitted.classes_))
    assert fitted.get_feature_names_out().tolist() == fitted.transform(counts).columns.tolist() == names
