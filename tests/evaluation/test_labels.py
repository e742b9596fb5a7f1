"""Measures of label sets, rankings and probabilities against definitions and scikit-learn; rules of label sets."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from topicloom.errors import InputError
from topicloom.evaluation import calibration_bins, label_calibration, label_ranking_scores, label_set_scores
from topicloom.labeled import label_rules as rules
from topicloom.labeled.calibration import fit_calibration


def case(seed: int, n_docs: int = 12, n_labels: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.random((n_docs, n_labels)) < 0.35
    truth[0] = False  # a document without labels
    scores = np.round(rng.random((n_docs, n_labels)), 1)  # with ties
    return truth, rng.random((n_docs, n_labels)) < 0.4, scores


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_measures_are_scikit_learn_s_and_their_definitions(seed: int) -> None:
    truth, answer, scores = case(seed)
    found = label_set_scores(truth, answer)
    for name, average in (("micro_f1", "micro"), ("macro_f1", "macro"), ("example_f1", "samples")):
        assert found[name] == metrics.f1_score(truth, answer, average=average, zero_division=0)

    def f1(t: np.ndarray, a: np.ndarray) -> float:
        return 2 * (t & a).sum() / (t.sum() + a.sum()) if t.sum() + a.sum() else 0.0

    assert found["micro_f1"] == pytest.approx(f1(truth, answer))
    assert found["macro_f1"] == pytest.approx(np.mean([f1(truth[:, k], answer[:, k]) for k in range(6)]))
    assert found["example_f1"] == pytest.approx(np.mean([f1(truth[d], answer[d]) for d in range(12)]))
    ranked = label_ranking_scores(truth, scores)
    assert ranked["coverage"] == metrics.coverage_error(truth, scores)
    assert ranked["ranking_loss"] == metrics.label_ranking_loss(truth, scores)
    assert ranked["average_precision"] == metrics.label_ranking_average_precision_score(truth, scores)
    some = [d for d in range(12) if truth[d].any()]
    assert ranked["one_error"] == pytest.approx(np.mean([not truth[d, int(np.argmax(scores[d]))] for d in some]))
    assert label_set_scores(sp.csr_array(truth.astype(int)), answer.astype(float)) == found


def test_calibration_is_measured() -> None:
    rng = np.random.default_rng(0)
    p = rng.random((4000, 5)) ** 2
    truth = rng.random((4000, 5)) < p
    right = label_calibration(truth, p)
    assert right["calibration_error"] < 0.015
    assert right["brier"] == pytest.approx(metrics.brier_score_loss(truth.ravel(), p.ravel()))
    wrong = label_calibration(truth, np.sqrt(p))
    assert wrong["calibration_error"] == pytest.approx(np.mean(np.sqrt(p) - p), abs=0.01)
    assert wrong["mean_probability"] > wrong["base_rate"] + 0.1
    expected, observed, size = calibration_bins(truth, p, 7)
    assert size.tolist() == [2858, 2857, 2857, 2857, 2857, 2857, 2857]
    cuts = np.sort(p, axis=None)[np.cumsum(size)[:-1]]
    group = np.searchsorted(cuts, p, side="right")
    np.testing.assert_allclose(expected, [p[group == g].mean() for g in range(7)])
    np.testing.assert_allclose(observed, [truth[group == g].mean() for g in range(7)])


def test_wrong_input_is_refused() -> None:
    with pytest.raises(InputError, match=r"true labels have shape \(3, 2\), what is scored has \(2, 2\)"):
        label_set_scores(np.ones((3, 2)), np.ones((2, 2)))
    with pytest.raises(InputError, match="predicted must be a documents × labels matrix of 0 and 1"):
        label_set_scores(np.ones((2, 2)), np.full((2, 2), 0.5))
    with pytest.raises(InputError, match="true labels have shape"):
        label_ranking_scores(np.ones((2, 2)), np.ones((2, 3)))
    with pytest.raises(InputError, match="true labels have shape"):
        label_calibration(np.ones((2, 2)), np.ones((2, 3)))


def test_best_labels_and_ties() -> None:
    scores = np.array([[0.1, 0.5, 0.5, 0.0], [0.2, 0.2, 0.2, 0.2]])
    chosen = rules.best_labels(scores, np.array([2, 3]))
    np.testing.assert_array_equal(chosen, [[0, 1, 1, 0], [1, 1, 1, 0]])
    np.testing.assert_array_equal(rules.best_labels(scores, np.array([0, 4])), [[0] * 4, [1] * 4])


def test_proportional_cut() -> None:
    scores = np.array([[0.9, 0.1, 0.5], [0.8, 0.2, 0.5], [0.1, 0.3, 0.5], [0.0, 0.4, 0.5]])
    chosen = rules.proportional(scores, np.array([0.5, 0.1, 0.0]))
    np.testing.assert_array_equal(chosen, [[1, 0, 0], [1, 0, 0], [0, 0, 0], [0, 1, 0]])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_the_threshold_is_the_best_there_is(seed: int) -> None:
    truth, _, scores = case(seed)
    if not truth.any():
        return
    found = rules.best_threshold(scores, truth)

    def f1(t: float) -> float:
        return float(metrics.f1_score(truth, rules.above(scores, t), average="micro", zero_division=0))

    assert f1(found) == pytest.approx(max(f1(t) for t in [*np.unique(scores), 2.0]))
    assert rules.above(scores, 2.0).sum(axis=1).tolist() == [1] * len(scores)


def test_the_meta_labeler_finds_a_linear_number_of_labels() -> None:
    rng = np.random.default_rng(1)
    X = rng.poisson(1.0, (500, 20))
    sizes = np.where(X[:, 0] > X[:, 1], 4, 1)
    model = rules.fit_meta_labeler(X, sizes)
    assert np.abs(model.sizes(X, 10) - sizes).mean() < 0.6 * np.abs(np.rint(sizes.mean()) - sizes).mean()
    assert model.sizes(X, 2).max() == 2
    assert model.sizes(np.zeros((1, 20)), 10)[0] >= 1
    again = rules.fit_meta_labeler(sp.csr_array(X), sizes)
    np.testing.assert_array_equal(model.coef, again.coef)


def test_a_calibration_without_contrast_is_a_constant() -> None:
    counts, rate = np.ones((4, 1)), np.array([0.9])
    always = fit_calibration(counts, rate, np.ones((4, 1), bool))
    assert always.probability(counts, rate) == pytest.approx(np.full((4, 1), 0.9))
    never = fit_calibration(counts, rate, np.zeros((4, 1), bool))
    assert never.probability(counts, rate) == pytest.approx(np.full((4, 1), 0.1))
