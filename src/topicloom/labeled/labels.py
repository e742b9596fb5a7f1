"""Label sets of training documents as a file."""

from topicloom._types import AnyArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimator.label_sets import LabelSets, classes_from_bytes, classes_to_bytes
from topicloom.files.directories import Part, Stored
from topicloom.files.manifests import LABELS
from topicloom.labeled import stored_checks as _stored_checks


def labels_part(classes: AnyArray, sets: LabelSets) -> dict[str, Part]:
    arrays: dict[str, AnyArray] = {"ptr": sets.ptr, "label": sets.label, "classes": classes_to_bytes(classes)}
    return {LABELS: (arrays, {"n_labels": sets.n_labels})}


def load_labels(stored: Stored, corpus: Corpus) -> tuple[AnyArray, LabelSets]:
    arrays, info = stored.read(LABELS)
    _stored_checks.check_labels(stored.path(LABELS), arrays, info, corpus)
    return classes_from_bytes(arrays["classes"]), LabelSets(arrays["ptr"], arrays["label"], info["n_labels"])
