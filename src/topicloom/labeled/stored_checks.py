"""What the files of labeled models must hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimator.label_sets import LabelSets
from topicloom.errors import StorageError
from topicloom.files.checks import Contents, Expected
from topicloom.labeled.label_rules import CHOSEN

_NAMES = (str, int, float)
_LABELED = {
    "label_counts": Expected("i", ("K",), low=0),
    "unlabeled_docs": Expected("b1", ("D",)),
    "n_labelled": Expected("i", (1,), low=1),
    "meta": Expected("f8", ("V + 1",)),
    "calibration": Expected("f8", ("calibration",)),
    "label_offset": Expected("f8", ("offsets",), optional=True),  # earlier versions have none of these three
    "label_slope": Expected("f8", ("slopes",), positive=True, optional=True),
    "rule_scores": Expected("f8", ("scores",), low=0, high=1, optional=True),
    "threshold": Expected("f8", (1,), low=0, high=1),
}
_DEPENDENCY = {
    "label_by_word": Expected("f8", ("K", "T'"), positive=True),
    "label_alpha": Expected("f8", ("T'",), positive=True),
}


def check_labeled(file: Contents) -> None:
    arrays = file.arrays
    file.values("classes", "K", _NAMES)
    file.sizes["V + 1"] = file.sizes["V"] + 1
    file.expect(_LABELED)
    if file.sizes["calibration"] not in (0, 4):
        file.fail(f"the array 'calibration' has {file.sizes['calibration']} entries, expected none or 4")
    wanted = file.sizes["K"] if file.sizes["calibration"] else 0
    by_label = [file.sizes[name] for name in ("offsets", "slopes") if name in file.sizes]
    if by_label not in ([], [wanted, wanted]):
        file.fail(f"the arrays 'label_offset' and 'label_slope' must both have {wanted} entries, or both be left out")
    if file.sizes.get("scores", 0) not in (0, len(CHOSEN)):
        file.fail(f"the array 'rule_scores' has {file.sizes['scores']} entries, expected none or {len(CHOSEN)}")
    n_labelled = int(np.count_nonzero(~arrays["unlabeled_docs"]))
    if arrays["n_labelled"][0] != n_labelled or np.any(arrays["label_counts"] > n_labelled):
        file.fail("the arrays 'n_labelled', 'unlabeled_docs' and 'label_counts' do not fit each other")
    file.equals("alpha", np.where(arrays["label_counts"] > 0, arrays["alpha"], 0.0), "labels that occur")
    if np.any(arrays["alpha"][arrays["label_counts"] > 0] <= 0):
        file.fail("the array 'alpha' has a value that is not positive for a label that occurs")


def check_dependency(file: Contents, n_label_topics: Any) -> None:
    if n_label_topics is not None:
        file.sizes["T'"] = n_label_topics
    file.expect(_DEPENDENCY)
    if file.sizes["T'"] == 0:
        file.fail("the array 'label_by_word' has no label topics")


def check_labels(path: Path, arrays: Mapping[str, AnyArray], info: Any, corpus: Corpus) -> None:
    """Label sets of all documents; those with words need at least one."""
    file = Contents(path, arrays, info)
    size = file.whole("n_labels", 1)
    file.values("classes", size, _NAMES)
    file.expect({"ptr": Expected("i8", ("D + 1",), low=0), "label": Expected("i4", ("labels",), low=0, high=size - 1)})
    file.expect_no_others()
    ptr, label = arrays["ptr"], arrays["label"]
    if len(ptr) - 1 != corpus.n_docs:
        raise StorageError(f"{path} has labels of {len(ptr) - 1} documents; the corpus has {corpus.n_docs}.")
    if ptr[0] != 0 or ptr[-1] != len(label) or np.any(np.diff(ptr) < 0):
        file.fail(f"the array 'ptr' does not rise from 0 to the number of labels, {len(label)}")
    falls = np.diff(label) <= 0
    falls[ptr[(ptr > 0) & (ptr < len(label))] - 1] = False  # between documents
    if np.any(falls):
        file.fail("the array 'label' does not rise within a document")
    if len(label) == 0 or np.any((np.diff(ptr) == 0) & (corpus.doc_lengths > 0)):
        file.fail("a document with words has no label")


def check_same_labels(path: Path, model: Any, classes: AnyArray, sets: LabelSets) -> None:
    """Whether the label sets are those that a model was fitted on."""
    pairs = (
        (model.classes_, classes),
        (model.label_counts_, sets.frequencies),
        (model.unlabeled_docs_, sets.sizes == 0),
    )
    if not all(np.array_equal(one, other) for one, other in pairs):
        raise StorageError(f"{path} belongs to another model: it has other labels. Restore it from a copy.")
