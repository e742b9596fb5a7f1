"""Reports label by label against definitions, and limits of numbers of documents against enumeration."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import topicloom
from topicloom.errors import InputError
from topicloom.evaluation import label_report, label_set_scores, regression_scores
from topicloom.evaluation.reports import confusion_counts, count_limits


def case(seed: int, n_docs: int = 30, n_labels: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth, answer = rng.random((n_docs, n_labels)) < 0.3, rng.random((n_docs, n_labels)) < 0.3
    truth[:, 1] = answer[:, 2] = False  # a label without documents, and one that is never predicted
    return truth, answer, rng.random((n_docs, n_labels))


@pytest.mark.parametrize("seed", range(5))
def test_measures_are_their_definitions(seed: int) -> None:
    truth, answer, p = case(seed)
    found = label_report(sp.csr_array(truth.astype(int)), answer, p, list("abcde"))
    right = (truth & answer).sum(axis=0)
    for k in range(5):
        precision = right[k] / answer[:, k].sum() if answer[:, k].any() else 0.0
        recall = right[k] / truth[:, k].sum() if truth[:, k].any() else 0.0
        assert found.precision[k] == pytest.approx(precision)
        assert found.recall[k] == pytest.approx(recall)
        assert found.f1[k] == pytest.approx(2 * right[k] / max((truth[:, k].sum() + answer[:, k].sum()), 1))
        assert found.expected is not None
        assert found.expected[k] == pytest.approx(sum(p[:, k]))
    np.testing.assert_array_equal(found.support, truth.sum(axis=0))
    np.testing.assert_array_equal(found.predicted, answer.sum(axis=0))
    assert found.without_prediction == pytest.approx(np.mean([not row.any() for row in answer]))
    assert found.without_label == pytest.approx(np.mean([not row.any() for row in truth]))
    scores = label_set_scores(truth, answer)
    kinds = {"micro": "micro_f1", "macro": "macro_f1", "samples": "example_f1"}
    for average, name in kinds.items():
        assert found.averages[average]["f1"] == pytest.approx(scores[name])
    weighted = (found.recall * found.support).sum() / found.support.sum()
    assert found.averages["weighted"]["recall"] == pytest.approx(weighted)
    assert found.calibration is not None
    group = [np.minimum(np.floor(p.ravel() * 10), 9) == g for g in range(10)]
    np.testing.assert_array_equal(found.calibration.size, [own.sum() for own in group])
    np.testing.assert_allclose(found.calibration.observed, [truth.ravel()[own].mean() for own in group])
    assert found.columns()["label"] == list("abcde")


def test_limits_are_those_of_the_distribution_of_the_sum() -> None:
    rng = np.random.default_rng(0)
    p = np.column_stack([rng.random(9), rng.random(9) ** 4, np.zeros(9), np.ones(9)])
    lower, upper = count_limits(p, 0.8)
    for k in range(4):
        mass = np.zeros(10)
        for y in itertools.product((0, 1), repeat=9):
            mass[sum(y)] += np.prod(np.where(y, p[:, k], 1 - p[:, k]))
        below = np.cumsum(mass)
        assert lower[k] == np.flatnonzero(below > 0.1 + 1e-12)[0]
        assert upper[k] == np.flatnonzero(below >= 0.9 - 1e-12)[0]
    many = np.full((4000, 1), 0.5)  # where it is taken to be normal
    import scipy.stats

    lower, upper = count_limits(many, 0.95)
    np.testing.assert_allclose([lower[0], upper[0]], scipy.stats.binom.interval(0.95, 4000, 0.5), atol=1)


def test_right_probabilities_are_within_their_limits_as_often_as_said() -> None:
    rng = np.random.default_rng(1)
    p = rng.beta(0.3, 3, (300, 400))
    truth = rng.random(p.shape) < p
    right, wrong = label_report(truth, truth, p), label_report(truth, truth, np.sqrt(p))
    inside = [np.mean((own.lower <= own.support) & (own.support <= own.upper)) for own in (right, wrong)]
    assert inside[0] > 0.95 - 5.5 * np.sqrt(0.95 * 0.05 / 400)
    assert inside[1] < 0.3


def test_labels_can_be_sorted() -> None:
    truth = np.array([[1, 0, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    found = label_report(truth, np.array([[0, 0, 1], [0, 1, 1], [0, 0, 0], [0, 0, 0]]), truth * 0.9, ["b", "c", "a"])
    assert [found.order(by) for by in ("support", "f1", "name", "number")] == [
        [0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2],
    ]  # fmt: skip
    far = label_report(truth, truth, np.array([[0.9, 0.9, 0.9]] * 4))
    assert far.order("calibration")[2] == 0  # of which most documents have it
    with pytest.raises(InputError, match=r"by='zebra' is not known"):
        found.order("zebra")
    with pytest.raises(InputError, match=r"there are no probabilities"):
        label_report(truth, truth).order("calibration")


def test_wrong_input_is_refused() -> None:
    truth = np.eye(3)
    for arguments, message in (
        ((truth, truth[:2]), r"the true labels have shape \(3, 3\)"),
        ((truth, truth, truth[:, :2]), r"what is scored has \(3, 2\)"),
        ((truth, truth, truth * 2), r"probability must be from 0 to 1"),
        ((truth, truth, None, ["a"]), r"names"),
    ):
        with pytest.raises(InputError, match=message):
            label_report(*arguments)
    with pytest.raises(InputError, match=r"the true numbers have shape"):
        regression_scores([1.0, 2.0], [1.0])


def test_numbers_and_confusions() -> None:
    truth, answer = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0])
    assert regression_scores(truth, answer) == pytest.approx(
        {"r2": 1 - 5 / np.sum((truth - truth.mean()) ** 2), "mean_absolute_error": 1.0,
         "root_mean_squared_error": np.sqrt(5 / 3), "mean_error": -1 / 3}
    )  # fmt: skip
    true, said = np.eye(3, dtype=bool)[[0, 0, 1, 2]], np.eye(3, dtype=bool)[[0, 2, 1, 2]]
    assert confusion_counts(true, said).tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 1]]


TEXTS = ["goal match team", "vote law party", "atom quark field"] * 8
QUICK = {"max_iter": 12, "burn_in": 6, "random_state": 0}


@pytest.mark.filterwarnings("ignore")
def test_models_report_what_they_predict() -> None:
    labels = [["sport"], ["state"], ["nature", "state"]] * 8
    new, true = ["goal team", "vote", "atom atom", "quark law"], [["sport"], ["sport"], ["nature", "other"], []]
    model = topicloom.LabeledLDA(**QUICK).fit(TEXTS, labels)
    found = model.label_report(new, true)
    assert found.names == ("nature", "sport", "state", "other")  # the last was never seen: it counts as missed
    assert found.support.tolist() == [1, 2, 0, 1]
    assert found.recall[3] == found.mean_probability[3] == 0
    np.testing.assert_array_equal(found.predicted[:3], model.predict(new).sum(axis=0))
    np.testing.assert_allclose(found.mean_probability[:3], model.predict_proba(new).mean(axis=0))
    assert found.averages["micro"]["f1"] == pytest.approx(model.score(new, true))
    with pytest.raises(InputError, match="no labels to compare with"):
        model.label_report(new)
    for loss, y in (("logistic", [0, 1, 2] * 8), ("hinge", [False, True, False] * 8), ("hinge", labels)):
        med = topicloom.MedLDAClassifier(4, loss=loss, **QUICK).fit(TEXTS, y)
        truth = labels[:4] if y is labels else y[:4]
        found = med.label_report(TEXTS[:4], truth)
        assert (found.mean_probability is not None) == (loss == "logistic")
        assert list(found.names) == med.classes_.tolist()
        assert found.averages["micro"]["f1"] == pytest.approx(med.score(TEXTS[:4], truth))
    numbers = topicloom.MedLDARegressor(3, **QUICK).fit(TEXTS, [1.0, 2.0, 3.0] * 8)
    report = numbers.regression_report(TEXTS[:3], [1.0, 2.0, 4.0])
    assert report["r2"] == pytest.approx(numbers.score(TEXTS[:3], [1.0, 2.0, 4.0]))
    assert report["mean_error"] == pytest.approx(np.mean(numbers.predict(TEXTS[:3]) - [1.0, 2.0, 4.0]))
