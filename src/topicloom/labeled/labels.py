"""Label sets of training documents as a file, and what a fitted model has beside its topics."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimator.label_sets import LabelSets, classes_from_bytes, classes_to_bytes
from topicloom.files.directories import Part, Stored
from topicloom.files.manifests import LABELS
from topicloom.labeled import calibration as _calibration
from topicloom.labeled import stored_checks as _stored_checks
from topicloom.labeled.label_rules import MetaLabeler


def labels_part(classes: AnyArray, sets: LabelSets) -> dict[str, Part]:
    arrays: dict[str, AnyArray] = {"ptr": sets.ptr, "label": sets.label, "classes": classes_to_bytes(classes)}
    return {LABELS: (arrays, {"n_labels": sets.n_labels})}


def load_labels(stored: Stored, corpus: Corpus) -> tuple[AnyArray, LabelSets]:
    arrays, info = stored.read(LABELS)
    _stored_checks.check_labels(stored.path(LABELS), arrays, info, corpus)
    return classes_from_bytes(arrays["classes"]), LabelSets(arrays["ptr"], arrays["label"], info["n_labels"])


def model_arrays(model: Any) -> dict[str, AnyArray]:
    """What a fitted model has beside its topics."""
    return {
        "classes": classes_to_bytes(model.classes_),
        "label_counts": model.label_counts_,
        "unlabeled_docs": model.unlabeled_docs_,
        "n_labelled": np.array([model._n_labelled]),
        "meta": np.append(model._meta.coef, model._meta.intercept),
        "threshold": np.array([model.threshold_]),
        "rule_scores": model._rule_scores,
        **_calibration.to_arrays(model._calibration),
    }


def set_model_arrays(model: Any, arrays: Mapping[str, AnyArray]) -> None:
    """The same again; earlier versions chose no rule."""
    model.classes_ = classes_from_bytes(arrays["classes"])
    model.label_counts_, model.unlabeled_docs_ = arrays["label_counts"], arrays["unlabeled_docs"]
    model._n_labelled, model.threshold_ = int(arrays["n_labelled"][0]), float(arrays["threshold"][0])
    model._meta = MetaLabeler(arrays["meta"][:-1], float(arrays["meta"][-1]))
    model._calibration, model._sets = _calibration.from_arrays(arrays), None
    model._rule_scores = arrays.get("rule_scores", np.zeros(0))
