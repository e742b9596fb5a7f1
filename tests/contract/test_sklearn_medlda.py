"""scikit-learn's own checks of the supervised models, on data rounded at the door (see ``test_sklearn``)."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator

from tests.contract.rounded import Rounded
from topicloom import MedLDAClassifier, MedLDARegressor

QUICK: dict[str, Any] = {
    "max_iter": 12, "burn_in": 8, "thin": 2, "predict_options": {"burn_in": 4, "n_samples": 4}, "random_state": 0,
}  # fmt: skip
# These feed negative numbers whatever the tags say; the message is scikit-learn's own.
NEGATIVE = dict.fromkeys(("check_class_weight_classifiers", "check_decision_proba_consistency"), "negative data")
# A document of weight 0 has no loss, but its words count; and one document twice is not one with another draw.
WEIGHTS = {f"check_sample_weight_equivalence_on_{kind}_data": "words count" for kind in ("dense", "sparse")}


class RoundedClassifier(Rounded, MedLDAClassifier):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # blobs in the plane are no topics
        return tags


class RoundedRegressor(Rounded, MedLDARegressor):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [
        RoundedClassifier(3, **QUICK),
        RoundedClassifier(3, loss="logistic", loss_weight=10.0, **QUICK),
        RoundedClassifier(3, multi_class="ovr", sampler="mh", **QUICK),
        RoundedRegressor(3, **QUICK),
    ],
    ids=["classifier", "logistic", "one against the rest", "regressor"],
)
def test_every_check_passes_on_whole_numbers(estimator: Any) -> None:
    results = check_estimator(estimator, expected_failed_checks=NEGATIVE | WEIGHTS, on_fail=None, on_skip=None)
    failed = {
        result["check_name"]: repr(result["exception"])[:300] for result in results if result["status"] == "failed"
    }
    assert not failed
    assert sum(result["status"] == "passed" for result in results) >= 50
