"""How well labels or classes of held-out documents are predicted, as a page shows it."""

from typing import Any

import numpy as np

from topicloom.corpus._checks import shown
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimator.label_sets import beside
from topicloom.errors import InputError
from topicloom.evaluation.reports import LabelReport, confusion_counts, label_report
from topicloom.explore.covariates import short
from topicloom.explore.documents import plain
from topicloom.explore.tokens import clean


def add_report(family: Any, model: Any, held_out: Any) -> None:
    """Add to the part of a page that a model of labels or classes has what it predicts of documents not seen in fit."""
    if not hasattr(model, "label_report"):
        raise InputError(
            f"held_out is for models of labels or classes, and {type(model).__name__} is none; leave it out."
        )
    corpus, y = _read(model, held_out)
    names, truth = model._true_labels(corpus, y)
    answer, p = model._predictions(corpus)
    answer, p = beside(truth, answer), None if p is None else beside(truth, p)
    part = family.get("labels") or family["classes"]
    part["report"] = _report(label_report(truth, answer, p, names))
    known = truth[:, : len(model.classes_)]
    if "confusion" in part and bool(np.all(known.sum(axis=1) <= 1)) and bool(np.all(answer.sum(axis=1) == 1)):
        part["confusion"] = confusion_counts(known, answer[:, : len(model.classes_)]).tolist()


def _read(model: Any, held_out: Any) -> tuple[Corpus, Any]:
    if isinstance(held_out, Corpus):
        return model._new_corpus(held_out), None
    if isinstance(held_out, tuple) and len(held_out) == 2:
        return model._new_corpus(held_out[0]), held_out[1]
    raise InputError(f"held_out is {shown(held_out)}; give a Corpus with labels, or a pair (documents, labels).")


def _report(found: LabelReport) -> dict[str, Any]:
    rows = []
    for k, name in enumerate(found.names):
        expected = None
        if found.expected is not None and found.lower is not None and found.upper is not None:
            expected = [short(found.expected[k]), int(found.lower[k]), int(found.upper[k])]
        measures = [short(own[k]) for own in (found.precision, found.recall, found.f1)]
        counts = [int(found.support[k]), int(found.predicted[k])]
        rows.append([clean(str(plain(name))), *counts, *measures, expected])
    averages = {name: [short(own[m]) for m in ("precision", "recall", "f1")] for name, own in found.averages.items()}
    return {
        "docs": found.n_documents, "without": short(found.without_prediction), "level": found.level,
        "averages": averages, "rows": rows,
    }  # fmt: skip
